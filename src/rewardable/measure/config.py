"""What a measurement is told: who is compared with whom, on which tasks, at which budgets."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rewardable.errors import ConfigError
from rewardable.metrics import StoppingRule

_LEAST = (("group", 2), ("batch", 1), ("draws", 100), ("headline_k", 0), ("max_examples", 0))
CLUSTER = "cluster"
"""The fact of a prompt that names its source problem, unless another is told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureConfig:
    """Who is compared with whom, and how.

    base, trained: policy keys; ``trained`` in the order of training. No trained policy: the base
    is described alone.
    main_task, future_tasks: names of the tasks as their prompts carry them. Empty main task: the
    run's only task. future_note: what sentences add to a future task's name.
    screens: tasks that are shown by gold class alone (see ``classes``), at the first spec.
    spec_keys: the first is the headline; several compare every policy at every one of them. Empty:
    the only one under which the run has rollouts.
    policy_specs: pairs (policy key, spec key) for policies that were sampled under a spec of their
    own; naming one here is what allows the comparison.
    compare_templates: allow policies under different prompt templates.
    k_grid: sample budgets. Empty: 1, 2, 3, 4, 6, 8, 12 ... (2^j and 3*2^j) up to n, and n.
    headline_k: the budget of the verdict's support and coverage. 0: the largest power of two that
    is at most half of n.
    group: G, the group size of trainability. batch: groups in a training batch.
    level: of all intervals. draws, seed: of the bootstrap.
    cluster: the fact of a prompt that names its source problem; prompts of one source are one
    unit of the intervals. Empty: ``cluster``, where prompts have that fact.
    fail_on: gates, each an expression like ``support@64 falls > 5%`` (see docs/gate.md).
    success_at: a rollout is a success when its score is at least this. None: the verifier's
    outcome decides.
    stopping: the rule under which every prompt was sampled; None: as many of each as there are.
    max_examples, rollouts_per_example: how many prompts are quoted, and how many rollouts of each
    policy for each of them.
    """

    base: str
    trained: tuple[str, ...] = ()
    main_task: str = ""
    future_tasks: tuple[str, ...] = ()
    future_note: str = "not trained yet"
    screens: tuple[str, ...] = ()
    spec_keys: tuple[str, ...] = ()
    policy_specs: tuple[tuple[str, str], ...] = ()
    compare_templates: bool = False
    k_grid: tuple[int, ...] = ()
    headline_k: int = 0
    group: int = 8
    batch: int = 32
    level: float = 0.95
    draws: int = 2000
    seed: int = 0
    cluster: str = ""
    fail_on: tuple[str, ...] = ()
    success_at: float | None = None
    stopping: StoppingRule | None = None
    max_examples: int = 6
    rollouts_per_example: int = 3

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if len(set(self.policies)) < len(self.policies):
            raise ConfigError(f"a policy is compared with itself: {', '.join(self.policies)}.")
        if not 0.5 <= self.level < 1:
            raise ConfigError(f"level must be in [0.5, 1), got {self.level}.")
        for name, least in _LEAST:
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        if any(k < 1 for k in self.k_grid) or len(set(self.k_grid)) < len(self.k_grid):
            raise ConfigError(f"k_grid must be distinct budgets >= 1, got {self.k_grid}.")
        if self.success_at is not None and not 0 < self.success_at <= 1:
            raise ConfigError(f"success_at must be in (0, 1], got {self.success_at}.")

    @property
    def policies(self) -> tuple[str, ...]:
        """The base, then the trained ones."""
        return (self.base, *self.trained)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a table's provenance."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def budgets(n: int, k_grid: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the budgets k to report for ``n`` samples a prompt, ascending.

    >>> budgets(10)
    (1, 2, 3, 4, 6, 8, 10)
    """
    if k_grid:
        return tuple(sorted(k for k in k_grid if k <= n))
    doubling = {2**j for j in range(n.bit_length())} | {3 * 2**j for j in range(n.bit_length())}
    return tuple(sorted({k for k in doubling if k <= n} | {n}))


def headline_budget(ks: tuple[int, ...], n: int, headline_k: int = 0) -> int:
    """Return the budget the verdict speaks of: the told one, else about half of n.

    At k = n the estimate is a yes or no a prompt; half of n leaves room for averaging.
    """
    if headline_k:
        return max((k for k in ks if k <= headline_k), default=ks[0])
    half = [k for k in ks if k <= max(1, n // 2) and k & (k - 1) == 0]
    return half[-1] if half else ks[0]
