"""Estimators against the exact truth of the pocket policy, on real samples.

Every statistic is computed from real rollouts and compared with its exact value in units of the
standard deviation that the exact law gives it (100 replicates of the same size); over these
replicates its mean must hit the truth as well, which is what unbiased means.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from rewardable.metrics import (
    LabelCounts,
    StoppingRule,
    SupportDynamics,
    best_at_k,
    collision_probability,
    count_labels,
    coverage,
    distinct_at_k,
    graded_trainability,
    pass_at_k,
    pass_hat_k,
    polarisation,
    rarefied_coverage,
    reward_variance,
    support_dynamics,
    trainability,
    unseen_mass,
)

Z = 3.5
K = 4
"""Budget of support dynamics."""
Statistic = Callable[[Any, Any], float]
Truth = Callable[[Any, Any], float]


def rates(exact: Any) -> np.ndarray:
    return np.array(exact.rates)


def successes(sample: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.full(sample.c_P.size, sample.success_PN.shape[1]), sample.c_P


def labels(sample: Any, kind: str) -> LabelCounts:
    code_PN = getattr(sample, f"{kind}_PN")
    prompt = np.repeat(np.arange(code_PN.shape[0]), code_PN.shape[1])
    return count_labels(prompt, code_PN.reshape(-1), code_PN.shape[0])


def rows(sample: Any) -> tuple[np.ndarray, np.ndarray, int]:
    size, n = sample.success_PN.shape
    return sample.success_PN.reshape(-1).astype(float), np.repeat(np.arange(size), n), size


def shares(exact: Any, kind: str) -> list[np.ndarray]:
    """Probability of each label among successes, one array a prompt."""
    return [np.array(list(each.masses(kind).values())) / each.rate for each in exact.prompts]


@cache
def stopped(sample: Any, rule: StoppingRule) -> tuple[np.ndarray, np.ndarray]:
    """Stop the rollouts of every prompt, in the order of their index, as the rule says."""
    states = []
    for row in sample.success_PN:
        n = 0
        while more := rule.wants_more(n, int(row[:n].sum())):
            n += more
        states.append((n, int(row[:n].sum())))
    n_P, c_P = np.array(states).T
    return n_P, c_P


def denominator(sample: Any) -> float:
    """The denominator of polarisation: its numerator over what polarisation leaves of 1."""
    return float(reward_variance(*rows(sample)).mean()) / (
        1 - polarisation(*successes(sample)).mean
    )


def pair_denominator(exact: Any) -> float:
    p = rates(exact)
    return float(p.mean() - (p.sum() ** 2 - (p**2).sum()) / (p.size * (p.size - 1)))


@cache
def dynamics(a: Any, b: Any) -> SupportDynamics:
    return support_dynamics(*successes(a), *successes(b), k=K)


def dynamics_truth(part: str, a: Any, b: Any) -> float:
    u, v = (1 - (1 - rates(each)) ** K for each in (a, b))
    return float({"preserved": u * v, "shrunk": u * (1 - v), "expanded": (1 - u) * v}[part].mean())


RULE = StoppingRule(successes=2, cap=64)
ROUNDS = StoppingRule(successes=3, cap=64, first=8, step=8)

FIXED: dict[str, tuple[Statistic, Truth]] = {
    **{
        f"pass@{k}": (
            lambda a, _, k=k: pass_at_k(*successes(a), k).mean(),
            lambda a, _, k=k: a.pass_at(k),
        )
        for k in (1, 4, 16, 64, 96)
    },
    **{
        f"pass^{k}": (
            lambda a, _, k=k: pass_hat_k(*successes(a), k).mean(),
            lambda a, _, k=k: float((rates(a) ** k).mean()),
        )
        for k in (2, 4)
    },
    **{
        f"best@{k}": (
            lambda a, _, k=k: best_at_k(*rows(a), k).mean(),
            lambda a, _, k=k: a.pass_at(k),
        )
        for k in (2, 32)
    },
    **{
        f"U_{g}": (
            lambda _, b, g=g: trainability(*successes(b), g).mean(),
            lambda _, b, g=g: b.trainability(g),
        )
        for g in (2, 8, 64)
    },
    "graded U_8": (
        lambda _, b: graded_trainability(*rows(b), 8).mean(),
        lambda _, b: b.trainability(8),
    ),
    "reward variance": (
        lambda a, _: reward_variance(*rows(a)).mean(),
        lambda a, _: float((rates(a) * (1 - rates(a))).mean()),
    ),
    **{
        f"distinct {kind}s@{k}": (
            lambda a, _, k=k, kind=kind: distinct_at_k(labels(a, kind), successes(a)[0], k).mean(),
            lambda a, _, k=k, kind=kind: np.mean([p.distinct_at(kind, k) for p in a.prompts]),
        )
        for kind in ("solution", "entry")
        for k in (1, 16, 96)
    },
    **{
        f"coverage of {kind}s@{k}": (
            lambda _, b, k=k, kind=kind: coverage(
                labels(b, kind), TOTALS[kind], successes(b)[0], k
            ).mean(),
            lambda _, b, k=k, kind=kind: b.coverage(kind, k),
        )
        for kind in ("solution", "entry")
        for k in (8, 64)
    },
    "polarisation's denominator": (lambda a, _: denominator(a), lambda a, _: pair_denominator(a)),
    **{
        f"{part} support@{K}": (
            lambda a, b, part=part: getattr(dynamics(a, b), part),
            lambda a, b, part=part: dynamics_truth(part, a, b),
        )
        for part in ("preserved", "shrunk", "expanded")
    },
    **{
        f"pass@{k}, stopped": (
            lambda a, _, k=k: pass_at_k(*stopped(a, RULE), k, RULE).mean(),
            lambda a, _, k=k: a.pass_at(k),
        )
        for k in (1, 8, 64)
    },
    **{
        f"pass@{k}, stopped in rounds": (
            lambda _, b, k=k: pass_at_k(*stopped(b, ROUNDS), k, ROUNDS).mean(),
            lambda _, b, k=k: b.pass_at(k),
        )
        for k in (1, 32)
    },
    "U_8, stopped in rounds": (
        lambda a, _: trainability(*stopped(a, ROUNDS), 8, ROUNDS).mean(),
        lambda a, _: a.trainability(8),
    ),
}
TOTALS: dict[str, np.ndarray] = {}


@pytest.fixture(scope="module", autouse=True)
def totals(base: Any) -> None:
    for kind in ("solution", "entry"):
        TOTALS[kind] = np.array([each.totals[kind] for each in base.exact.prompts])


@pytest.mark.parametrize("name", FIXED)
def test_unbiased_estimators_hit_the_truth(
    name: str, base: Any, sharp: Any, simulated: Any
) -> None:
    statistic, truth = FIXED[name]
    true = truth(base.exact, sharp.exact)
    drawn = np.array([statistic(a, b) for a, b in simulated])
    sd = drawn.std(ddof=1)
    assert 0 < sd < 0.5
    assert abs(statistic(base.sample, sharp.sample) - true) < Z * sd
    assert abs(drawn.mean() - true) < Z * sd / np.sqrt(drawn.size)


def rarefied(sample: Any, exact: Any, kind: str, m: int) -> float:
    """Mean of rarefied coverage minus its truth, over the prompts that it keeps."""
    found = rarefied_coverage([labels(sample, kind)], [sample.c_P], TOTALS[kind], m).value_AP[0]
    true = np.array([each.rarefied(kind, m) for each in exact.prompts])
    return float(np.nanmean(found - true))


def unseen(sample: Any, exact: Any, kind: str) -> float:
    """Mean of Good-Turing's unseen mass minus the mass that c - 1 successes leave unseen."""
    found = unseen_mass(labels(sample, kind), sample.c_P)
    pairs = zip(shares(exact, kind), sample.c_P, strict=True)
    true = [(q * (1 - q) ** (c - 1)).sum() if c else np.nan for q, c in pairs]
    return float(np.nanmean(found - np.array(true)))


def collisions(sample: Any, exact: Any, kind: str) -> float:
    found = collision_probability(labels(sample, kind), sample.c_P.size)
    return float(np.nanmean(found - [float((q**2).sum()) for q in shares(exact, kind)]))


CONDITIONAL: dict[str, Callable[[Any, Any, str], float]] = {
    "rarefied to 2": lambda sample, exact, kind: rarefied(sample, exact, kind, 2),
    "rarefied to 12": lambda sample, exact, kind: rarefied(sample, exact, kind, 12),
    "unseen mass": unseen,
    "collision probability": collisions,
}


@pytest.mark.parametrize("kind", ["solution", "entry"])
@pytest.mark.parametrize("name", CONDITIONAL)
def test_estimators_given_the_successes_hit_the_truth(
    name: str, kind: str, base: Any, simulated: Any
) -> None:
    error = CONDITIONAL[name]
    drawn = np.array([error(a, base.exact, kind) for a, _ in simulated])
    sd = drawn.std(ddof=1)
    assert 0 < sd < 0.1
    assert abs(error(base.sample, base.exact, kind)) < Z * sd
    assert abs(drawn.mean()) < Z * sd / np.sqrt(drawn.size)


def ratios(a: Any, b: Any) -> dict[str, float]:
    found = dynamics(a, b)
    own = polarisation(*successes(a)).mean
    return {
        "retention": found.retention.mean,
        "discovery": found.discovery.mean,
        "net change": found.net_change.mean,
        "unchanged retention": found.unchanged_retention[0],
        "polarisation": own,
    }


def test_consistent_ratios_are_near_the_truth(base: Any, sharp: Any, simulated: Any) -> None:
    u, v = (1 - (1 - rates(each.exact)) ** K for each in (base, sharp))
    true = {
        "retention": (u * v).mean() / u.mean(),
        "discovery": ((1 - u) * v).mean() / v.mean(),
        "net change": (v - u).mean() / (u + v - u * v).mean(),
        "unchanged retention": (u * u).mean() / u.mean(),
        "polarisation": 1
        - (rates(base.exact) * (1 - rates(base.exact))).mean() / pair_denominator(base.exact),
    }
    real, drawn = ratios(base.sample, sharp.sample), [ratios(a, b) for a, b in simulated]
    for name, value in true.items():
        replicates = np.array([each[name] for each in drawn])
        sd = replicates.std(ddof=1)
        assert abs(real[name] - value) < Z * sd, name
        assert abs(replicates.mean() - value) < 0.5 * sd, name  # a ratio may be a little biased


def test_ignoring_the_stop_shows(base: Any, simulated: Any) -> None:
    """The check has teeth: the plain estimate on stopped counts misses the truth."""
    drawn = np.array([pass_at_k(*stopped(a, RULE), 1).mean() for a, _ in simulated])
    wrong = drawn.mean() - base.exact.pass_at(1)
    assert wrong > 10 * drawn.std(ddof=1) / np.sqrt(drawn.size)
