"""The start of a run: what later audits of the same prompts are compared with.

The start's value is bounded from below once, by a Student t over replicates of the same prompts
(the variance within prompts, pooled), or by bets where fewer than ten prompts vary. Later looks
are tested against that bound, so the doubt about the start is paid for and is not mistaken for a
change, which would grow with every look that shares the same start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import log
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rewardable.guard.betting import known_before, lower_bound
from rewardable.guard.blocks import (
    Blocks,
    Floats,
    Ints,
    bounded_blocks,
    support_blocks,
    variation_blocks,
)
from rewardable.guard.observation import Audit, PromptAudit
from rewardable.metrics import fixed_prompts_interval, pass_hat_k

Kind = Literal["support", "trainability", "distinct"]
KINDS: tuple[Kind, ...] = ("support", "distinct", "trainability")
_LEAST_VARYING = 10


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One sampled signal of one task at the start.

    size: k of support@k, G of trainability@G, rollouts a prompt of distinct. caps: for distinct,
        the count per prompt up to which solutions are counted: one more than the first
        replicate found (which is not used in the bound). unit: solutions per 1.0.
    centres: a_i of the bets. start, bound: estimate and lower bound of the mean, in [0, 1].
    solved: share of groups all right at the start. alpha: chance left for the looks.
    """

    kind: Kind
    task: str
    size: int
    keys: tuple[str, ...]
    start: float
    bound: float
    alpha: float
    centres: tuple[float, ...]
    caps: tuple[float, ...] = ()
    unit: float = 1.0
    solved: float = 0.0
    rollouts: int = 0
    method: str = ""

    @property
    def name(self) -> str:
        """Signal name with its size."""
        return f"{self.kind}@{self.size}"

    @property
    def centre(self) -> Floats:
        """Centres as an array."""
        return np.array(self.centres)

    def blocks(self, audit: Audit) -> Blocks:
        """Read a later look; whatever is missing counts in favour of the run."""
        n_P, c_P = counts_of(audit, self.keys)
        if self.kind == "support":
            return support_blocks(n_P, c_P, self.size)
        if self.kind == "trainability":
            return variation_blocks(n_P, c_P, self.size)
        return capped_blocks(audit, self.keys, np.array(self.caps), self.size)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Anchor:
        """Read what :meth:`to_dict` gave."""
        plain: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in raw.items()
        }
        return cls(**plain)


@dataclass(frozen=True, kw_only=True)
class Start:
    """Replicated audits of one task before anything is compared."""

    task: str
    keys: tuple[str, ...]
    audits: tuple[Audit, ...]
    left_out: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, audits: Sequence[Audit]) -> Start:
        """Keep the prompts that every replicate has graded rollouts of."""
        everything = sorted({key for audit in audits for key in audit.prompts})
        kept = [key for key in everything if all(_graded(audit, key) for audit in audits)]
        left = tuple(key for key in everything if key not in kept)
        return cls(task=audits[0].task, keys=tuple(kept), audits=tuple(audits), left_out=left)

    def least_n(self) -> int:
        """Return the rollouts that at least nine of ten prompts have in every replicate."""
        least_P = np.min([counts_of(audit, self.keys)[0] for audit in self.audits], axis=0)
        return int(np.quantile(least_P, 0.1, method="lower"))

    @property
    def named(self) -> bool:
        """The task names solutions."""
        found = [audit.prompts[key] for audit in self.audits for key in self.keys]
        return all(one.distinct is not None for one in found)

    def anchor(self, kind: Kind, size: int, alpha: float) -> Anchor:
        """Bound one signal; half of ``alpha`` is spent here."""
        if kind == "distinct":
            return self._distinct(size, alpha)
        keys = tuple(key for key in self.keys if self._least(key) >= size)
        pairs = [counts_of(audit, keys) for audit in self.audits]
        make = support_blocks if kind == "support" else variation_blocks
        looks = [make(n_P, c_P, size) for n_P, c_P in pairs]
        n_P, c_P = (np.sum([pair[i] for pair in pairs], axis=0) for i in (0, 1))
        if kind == "support" and len(looks) == 1:
            found = fixed_prompts_interval(n_P, c_P, size, level=1.0 - alpha)
            bound, method = found.low, found.method
        else:
            bound, method = start_bound(looks, alpha / 2)
        return Anchor(
            kind=kind,
            task=self.task,
            size=size,
            keys=keys,
            start=_mean(looks),
            bound=bound,
            alpha=alpha / 2,
            centres=tuple(known_before(looks, len(keys)).tolist()),
            solved=float(pass_hat_k(n_P, c_P, size).mean()),
            rollouts=int(n_P.sum()),
            method=method,
        )

    def _distinct(self, size: int, alpha: float) -> Anchor:
        keys = tuple(key for key in self.keys if self._least(key) >= size)
        design = self.audits[0].prompts
        caps_P = np.array([min(size, (design[key].distinct or 0) + 1) for key in keys], dtype=float)
        looks = [capped_blocks(audit, keys, caps_P, size) for audit in self.audits]
        bound, method = start_bound(looks[1:], alpha / 2)
        return Anchor(
            kind="distinct",
            task=self.task,
            size=size,
            keys=keys,
            start=_mean(looks[1:]),
            bound=bound,
            alpha=alpha / 2,
            centres=tuple(known_before(looks, len(keys)).tolist()),
            caps=tuple(caps_P.tolist()),
            unit=float(caps_P.max()),
            rollouts=int(sum(counts_of(audit, keys)[0].sum() for audit in self.audits)),
            method=method,
        )

    def _least(self, key: str) -> int:
        return min(audit.prompts[key].n for audit in self.audits)


def start_bound(looks: Sequence[Blocks], tail: float) -> tuple[float, str]:
    """Return a lower bound of the mean of replicated looks that fails with chance ``tail``."""
    value_RP = np.stack([blocks.value for blocks in looks])
    replicates = value_RP.shape[0]
    if replicates > 1:
        variance_P = value_RP.var(axis=0, ddof=1)
        varying = int((variance_P > 0).sum())
        if varying >= _LEAST_VARYING:
            freedom = (replicates - 1) * variance_P.sum() ** 2 / (variance_P**2).sum()
            error = np.sqrt(variance_P.mean() / value_RP.size)
            low = value_RP.mean() - student_quantile(1.0 - tail, float(freedom)) * error
            return float(max(low, 0.0)), "Student t over replicates"
    return lower_bound(looks, log(1.0 / tail)), "bets: too few replicates or varying prompts"


def student_quantile(level: float, freedom: float) -> float:
    """Quantile of Student's t, by the first three terms of Cornish and Fisher's expansion."""
    z = NormalDist().inv_cdf(level)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def capped_blocks(audit: Audit, keys: Sequence[str], caps_P: Floats, size: int) -> Blocks:
    """Distinct solutions up to the caps; every missing rollout may have been a new one."""
    found = [
        _at_most(audit.prompts.get(key), cap, size) for key, cap in zip(keys, caps_P, strict=True)
    ]
    return bounded_blocks(np.array(found) / caps_P.max(), caps_P / caps_P.max())


def _at_most(seen: PromptAudit | None, cap: float, size: int) -> float:
    if seen is None or seen.distinct is None:
        return cap
    return seen.distinct + max(size - seen.n, 0)


def counts_of(audit: Audit, keys: Sequence[str]) -> tuple[Ints, Ints]:
    """Return n and c in the order of the keys; 0 for a missing prompt."""
    found = [audit.prompts.get(key) for key in keys]
    n_P = np.array([one.n if one else 0 for one in found], dtype=np.int64)
    return n_P, np.array([one.c if one else 0 for one in found], dtype=np.int64)


def solved_share(audit: Audit, keys: Sequence[str], group: int) -> float:
    """Return the expected share of groups that are all right, over prompts with n >= G."""
    n_P, c_P = counts_of(audit, keys)
    enough: NDArray[np.bool_] = n_P >= group
    return float(pass_hat_k(n_P[enough], c_P[enough], group).mean()) if enough.any() else 0.0


def _graded(audit: Audit, key: str) -> bool:
    return key in audit.prompts and audit.prompts[key].n > 0


def _mean(looks: Sequence[Blocks]) -> float:
    return float(np.mean([blocks.value.mean() for blocks in looks]))
