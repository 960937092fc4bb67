"""Retention, polarisation, models, richness, votes: tables of a fake run against its truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rewardable.errors import ConfigError
from rewardable.measure import MeasureConfig, measure_run
from rewardable.measure.arms import Arm, Pair
from rewardable.measure.dynamics import extremes
from rewardable.measure.reliability import majority_curve
from rewardable.results import Estimate, Table

N, K = 96, 32


@pytest.fixture(scope="module")
def run(fake: ModuleType) -> tuple[Any, list[Any]]:
    return fake.narrowing_run(96, N, future=False)


def config_of(policies: list[Any], **more: Any) -> MeasureConfig:
    trained = tuple(policy.key for policy in policies[1:])
    return MeasureConfig(base=policies[0].key, trained=trained, headline_k=K, draws=200, **more)


@pytest.fixture(scope="module")
def tables(run: tuple[Any, list[Any]]) -> dict[str, Table]:
    return measure_run(run[0], config_of(run[1]))


def drawn(run: tuple[Any, list[Any]], policy: int) -> Any:
    fake, policies = run
    return fake.arms_["countdown", policies[policy].key, fake.specs_[0].key]


def true_rate(run: tuple[Any, list[Any]], policy: int) -> np.ndarray:
    return np.array([each.sum() for each in drawn(run, policy).text_probability])


def solution_masses(run: tuple[Any, list[Any]], policy: int) -> list[np.ndarray]:
    """The probability of every solution of every prompt."""
    found = []
    instances = run[0].tasks_["countdown"]
    for instance, each in zip(instances, drawn(run, policy).text_probability, strict=True):
        names = sorted(set(instance.solutions))
        held = np.array([name == np.array(instance.solutions) for name in names])
        found.append(held @ each)
    return found


def inside(found: Estimate, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


@pytest.mark.parametrize("policy", [0, 1, 2])
def test_true_pass_hat_k_is_inside_its_interval(
    run: tuple[Any, list[Any]], tables: dict[str, Table], policy: int
) -> None:
    name = run[1][policy].name
    for k in (1, 4, 16):
        truth = float(np.mean(true_rate(run, policy) ** k))
        found = tables["curves"].one(policy=name, metric="pass^k", k=k, band="simultaneous")
        assert inside(found, truth)


@pytest.mark.parametrize("units", ["prompts", "solutions"])
@pytest.mark.parametrize("policy", [1, 2])
def test_true_dynamics_are_inside_their_intervals(
    run: tuple[Any, list[Any]], tables: dict[str, Table], policy: int, units: str
) -> None:
    if units == "prompts":
        before, after = (true_rate(run, one) for one in (0, policy))
    else:
        before, after = (np.concatenate(solution_masses(run, one)) for one in (0, policy))
    u_b, u_a = 1 - (1 - before) ** K, 1 - (1 - after) ** K
    both, lost, new = u_b @ u_a, u_b @ (1 - u_a), (1 - u_b) @ u_a
    srr, ndr = both / (both + lost), new / (both + new)
    truth = {
        "retention (SRR)": srr,
        "discovery (NDR)": ndr,
        "support dynamics score (SDS)": 2 * srr * ndr / (srr + ndr),
        "net support change (NSCR)": (new - lost) / (both + new + lost),
    }
    where = {"after": run[1][policy].name, "units": units, "k": K}
    for metric, value in truth.items():
        assert inside(tables["dynamics"].one(metric=metric, **where), value), metric
    still = tables["dynamics"].one(metric="retention if nothing had changed", **where)
    assert still.value == pytest.approx(u_b @ u_b / u_b.sum(), abs=0.02)


def test_ungraded_rollouts_bound_the_dynamics_exactly(fake: ModuleType) -> None:
    run, policies = fake.narrowing_run(4, 4, future=False, ungraded=0.15)
    arms = [
        Arm(task="countdown", policy=one.name, policy_key=one.key, spec="s", spec_key="s",
            samples=run.samples(policy_key=one.key, spec_key=run.specs_[0].key, task="countdown"))
        for one in (policies[0], policies[2])
    ]  # fmt: skip
    seen: dict[str, list[float]] = {"retention (SRR)": [], "net support change (NSCR)": []}
    sides = []
    for arm in arms:
        counts, full = arm.counts, arm.counts.n_P + arm.counts.u_P
        assert counts.u_P.any()
        fills = product(*(range(u + 1) for u in counts.u_P))
        sides.append([(full, counts.c_P + np.array(fill)) for fill in fills])
    for (n_b, c_b), (n_a, c_a) in product(*sides):
        b, a = c_b / n_b, c_a / n_a
        if b.sum() and a.sum():
            seen["retention (SRR)"].append(b @ a / b.sum())
            seen["net support change (NSCR)"].append((a - b).sum() / (a + b - a * b).sum())
    found = extremes(Pair(*arms), 1)
    for metric, values in seen.items():
        assert found[metric] == pytest.approx((min(values), max(values)), abs=1e-12)


@pytest.mark.parametrize("policy", [0, 1, 2])
def test_true_polarisation_is_inside_its_interval(
    run: tuple[Any, list[Any]], tables: dict[str, Table], policy: int
) -> None:
    truths = []
    for one in (0, policy):
        p = true_rate(run, one)
        truths.append(1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean())))
    name = run[1][policy].name
    table = tables["polarisation"]
    assert inside(table.one(policy=name, metric="polarisation"), truths[1])
    if policy:
        change = table.one(after=name, metric="polarisation")
        assert inside(change, truths[1] - truths[0])


def test_models_are_labelled_and_never_certify(
    run: tuple[Any, list[Any]], tables: dict[str, Table]
) -> None:
    rows = tables["models"].rows
    assert {row.labels["metric"] for row in rows} == {
        "pass@k beyond n", "prompts near 0", "prompts near 1",
    }  # fmt: skip
    for row in rows:
        assert row.labels["model"]
        assert row.estimate.method.startswith("MODEL")
        assert any("a model, not a measurement" in text for text in row.estimate.warnings)
        assert "certified" not in row.labels
        assert row.estimate.low < row.estimate.high
    p = true_rate(run, 2)
    beyond = tables["models"].one(policy="step 200", metric="pass@k beyond n", k=4 * N)
    assert inside(beyond, float(np.mean(1 - (1 - p) ** (4 * N))))
    near = tables["models"].select(policy="step 200", metric="prompts near 0")[0]
    assert inside(near.estimate, float(np.mean(p <= near.labels["edge"])))


def test_no_model_of_few_informative_prompts(fake: ModuleType) -> None:
    run, policies = fake.narrowing_run(12, 16, future=False)
    table = measure_run(run, config_of(policies))["models"]
    assert {row.estimate.value for row in table.rows} == {None}
    assert all("a model needs 20" in row.estimate.warnings[0] for row in table.rows)


def test_true_coverage_at_equal_successes_is_inside_its_interval(
    run: tuple[Any, list[Any]], tables: dict[str, Table]
) -> None:
    c_AP = np.array([(drawn(run, policy).choice_PN >= 0).sum(axis=1) for policy in range(3)])
    for m, policy in product((2, 8), range(3)):
        kept_P = (c_AP >= m).all(axis=0)
        shares = [
            np.mean(1 - (1 - mass / mass.sum()) ** m)
            for mass, kept in zip(solution_masses(run, policy), kept_P, strict=True)
            if kept
        ]
        row = tables["richness"].select(
            policy=run[1][policy].name, kind="solution", successes=m,
            metric="coverage at equal successes",
        )[0]  # fmt: skip
        assert row.labels["dropped"] == int((~kept_P).sum())
        assert inside(row.estimate, float(np.mean(shares)))


def test_richness_stands_where_totals_are_unknown(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(30, totals=None)
    policy = run.add_policy("base")
    texts = ["a", "a", "a", "b", "b", "c"]
    rows = [fake.Given(prompt=p, outcome=1, text=f"{text}{p}") for p in range(30) for text in texts]
    run.give("hand", policy, rows)
    table = measure_run(run, MeasureConfig(base=policy.key))["richness"]
    assert table.one(metric="seen").value == pytest.approx(3)
    assert table.one(metric="unseen mass (Good-Turing)").value == pytest.approx(1 / 6)
    # f1 = 1, f2 = 1: bias-corrected Chao1 adds 5/6 * 1 * 0 / 4
    assert table.one(metric="exist at the least (Chao1)").value == pytest.approx(3)
    # E[distinct among 2 of 6] / 2, by all pairs
    pairs = [len({texts[i], texts[j]}) for i, j in combinations(range(6), 2)]
    found = table.one(metric="distinct share at equal successes", successes=2)
    assert found.value == pytest.approx(np.mean(pairs) / 2)


def voting_arm(fake: ModuleType, votes: Sequence[Sequence[tuple[str, int]]]) -> Arm:
    """An arm whose prompts got these (answer, outcome)."""
    rows = [
        fake.Given(prompt=p, outcome=outcome, text=f"{p} {i}", solution=answer or None)
        for p, own in enumerate(votes)
        for i, (answer, outcome) in enumerate(own)
    ]
    samples = fake.samples_given(fake.hand_prompts(len(votes)), rows)
    samples = replace(samples, labels={"answer": samples.labels["solution"]})
    return Arm(task="t", policy="p", policy_key="p", spec="s", spec_key="s", samples=samples)


def test_votes_split_ties_and_ungraded_rollouts_bound_them(fake: ModuleType) -> None:
    votes = [
        [("4", 1), ("4", 1), ("5", 0), ("5", 0), ("", 0)],
        [("7", 1), ("8", 0), ("9", -1), ("7", 1), ("8", 0)],
    ]
    found = majority_curve(voting_arm(fake, votes), [1, 2, 3], "answer", MeasureConfig(base="p"))

    def wins(own: Sequence[tuple[str, int]]) -> float:
        names = [answer for answer, _ in own if answer]
        if not names:
            return 0.0
        top = max(map(names.count, names))
        first = {name for name in names if names.count(name) == top}
        return sum(name in ("4", "7") for name in first) / len(first)

    for prompt, k in product((0, 1), (1, 2, 3)):
        graded = [vote for vote in votes[prompt] if vote[1] >= 0]
        expected = np.mean([wins(own) for own in combinations(graded, k)])
        assert found.values_PK[prompt, k - 1] == pytest.approx(expected)
    decided = [own for own in combinations(votes[1], 2) if all(o >= 0 for _, o in own)]
    low = sum(wins(own) for own in decided) / 10
    assert found.low_PK is not None
    assert found.high_PK is not None
    assert found.low_PK[1, 1] == pytest.approx(low)
    assert found.high_PK[1, 1] == pytest.approx(low + 4 / 10)


def test_useful_groups_are_the_share_of_a_batch(tables: dict[str, Table]) -> None:
    table = tables["trainability"]
    for where in ({"policy": "base"}, {"after": "step 200"}):
        share = table.one(metric="trainability", **where)
        useful = table.one(metric="useful groups", batch=32, **where)
        assert (useful.value, useful.low, useful.high) == pytest.approx(
            (32 * share.value, 32 * share.low, 32 * share.high)
        )


def test_graded_scores_have_a_trainability_of_their_own(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(30)
    policy = run.add_policy("base")
    rows = [
        fake.Given(prompt=p, outcome=0, text=f"{p} {i}", score=0.1 * i)
        for p in range(30)
        for i in range(4)
    ]
    run.give("hand", policy, rows)
    table = measure_run(run, MeasureConfig(base=policy.key, group=2, batch=10))["trainability"]
    assert table.one(metric="trainability").value == 0
    assert table.one(metric="trainability of scores").value == 1
    assert table.one(metric="useful groups", batch=10).value == 10


def clustered(fake: ModuleType, copies: int, fact: str) -> tuple[Any, Any]:
    """Every prompt ``copies`` times with the same outcomes, sharing a source problem."""
    rng = np.random.default_rng(5)
    c_P = rng.binomial(16, rng.beta(1, 2, 60))
    run = fake.GivenRun()
    prompts = fake.hand_prompts(60 * copies, totals=None)
    run.prompts_["hand"] = [
        replace(prompt, facts={fact: f"source {i // copies}"}) for i, prompt in enumerate(prompts)
    ]
    policy = run.add_policy("base")
    rows = [
        fake.Given(prompt=p, outcome=int(i < c_P[p // copies]), text=f"{i}")
        for p in range(60 * copies)
        for i in range(16)
    ]
    run.give("hand", policy, rows)
    return run, policy


@pytest.mark.parametrize(("fact", "told"), [("cluster", ""), ("problem", "problem")])
def test_copies_of_a_prompt_say_no_more_than_one(fake: ModuleType, fact: str, told: str) -> None:
    once, base = clustered(fake, 1, fact)
    plain = measure_run(once, MeasureConfig(base=base.key, draws=400))
    run, policy = clustered(fake, 3, fact)
    tables = measure_run(run, MeasureConfig(base=policy.key, draws=400, cluster=told))
    assert "60 sources" in tables["overview"].notes[0]
    for name, metric in (
        ("curves", "pass@k"), ("curves", "pass^k"), ("curves", "support@k"),
        ("trainability", "trainability"), ("polarisation", "polarisation"),
        ("models", "pass@k beyond n"), ("shape", "distinct outputs"),
    ):  # fmt: skip
        factor = 3 if metric == "support@k" else 1
        for own, row in zip(
            plain[name].select(metric=metric), tables[name].select(metric=metric), strict=True
        ):
            if own.estimate.low is None or own.estimate.method.startswith("exact"):
                continue
            assert own.labels == row.labels
            width = row.estimate.high - row.estimate.low
            assert width >= 0.85 * factor * (own.estimate.high - own.estimate.low), row.labels


def test_an_unknown_cluster_field_names_the_known_ones(fake: ModuleType) -> None:
    run, policy = clustered(fake, 1, "problem")
    with pytest.raises(ConfigError, match=r"cluster field 'problme'.*Did you mean 'problem'"):
        measure_run(run, MeasureConfig(base=policy.key, cluster="problme"))
