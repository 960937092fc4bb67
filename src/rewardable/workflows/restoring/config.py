"""What a search is told."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from rewardable.engines import EngineOptions
from rewardable.errors import ConfigError, unknown_name
from rewardable.records import SamplingSpec
from rewardable.workflows.restoring.candidates import FAMILIES

COVERAGE, SUPPORT = "coverage", "support"
FREE_KEYS = frozenset({"device", "dtype", "batch_rows", "engine_args"})
"""Keys that may differ between a search and its resumption."""
_KEEP = re.compile(r"pass@1 within (\d+(?:\.\d+)?) points?")
_OBJECTIVE = re.compile(r"(coverage|support)@(\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """What is to be large: coverage@k of the solutions that exist, or support@k."""

    kind: str = COVERAGE
    k: int = 64

    @property
    def text(self) -> str:
        """The objective as it is written."""
        return f"{self.kind}@{self.k}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoreConfig:
    """The trained checkpoint, the earlier ones, the task, and how much may be drawn.

    margin: the loss of pass@1 that is accepted, 0.01 is one point. families, alphas: see
    ``candidates``; empty takes all families. share: samples of the search, at most, over those of
    the full grid. prompts: the selection split in the last rung; confirm_prompts: the other split.
    n: samples a prompt; 0 takes the objective's k. confirm_n likewise. future_prompts: of each
    future task, for finalists. baselines: also look at prompts, openings and temperatures.
    """

    trained: str
    earlier: tuple[str, ...]
    task: str
    future_tasks: tuple[str, ...] = ()
    margin: float = 0.01
    objective: Objective = Objective()
    families: tuple[str, ...] = ()
    alphas: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    prompts: int = 128
    n: int = 0
    share: float = 0.3
    confirm_prompts: int = 900
    confirm_n: int = 0
    future_prompts: int = 64
    group: int = 8
    baselines: bool = True
    way_prompt: str = " Find another way."
    temperature: float = 1.0
    temperatures: tuple[float, ...] = (0.7, 1.3, 1.6)
    max_new_tokens: int = 256
    seed: int = 0
    prompt_format: str = "auto"
    device: str = "auto"
    dtype: str = "auto"
    batch_rows: int = 0
    engine_args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if not self.earlier:
            raise ConfigError("no earlier checkpoint to restore from: name one with --with.")
        if self.trained in self.earlier or len(set(self.earlier)) < len(self.earlier):
            raise ConfigError(f"a checkpoint is named twice: {self.trained}, {self.earlier}.")
        for name in self.families:
            if name not in FAMILIES:
                raise unknown_name("family of candidates", name, FAMILIES)
        if not self.alphas or not all(0 < alpha <= 1 for alpha in self.alphas):
            raise ConfigError(f"alphas must lie in (0, 1], got {self.alphas}.")
        if not 0 < self.share <= 1 or not 0 < self.margin < 1:
            raise ConfigError(
                f"share must lie in (0, 1] and margin in (0, 1), got {self.share}, {self.margin}."
            )
        for name, least in (("prompts", 8), ("confirm_prompts", 8), ("future_prompts", 2)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        if self.temperature <= 0 or min(self.samples, self.confirm_samples) < self.objective.k:
            raise ConfigError(
                f"{self.objective.text} needs {self.objective.k} samples a prompt at a "
                f"temperature above 0, got n={self.samples}, confirm_n={self.confirm_samples}."
            )

    @property
    def samples(self) -> int:
        """Samples a prompt in the search."""
        return self.n or self.objective.k

    @property
    def confirm_samples(self) -> int:
        """Samples a prompt in the confirmation."""
        return self.confirm_n or self.objective.k

    @property
    def spec(self) -> SamplingSpec:
        """How all candidates are sampled."""
        return SamplingSpec(
            temperature=self.temperature, max_new_tokens=self.max_new_tokens, seed=self.seed
        )

    def engine_options(self) -> EngineOptions:
        """Return how the trained checkpoint is opened; the others get its template."""
        return EngineOptions(
            device=self.device,
            dtype=self.dtype,
            prompt_format=self.prompt_format,
            batch_rows=self.batch_rows,
            arguments=self.engine_args,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the folder."""
        raw = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return {**raw, "objective": self.objective.text}


def parse_keep(text: str) -> float:
    """Return the margin that ``pass@1 within 1 point`` names, as a share."""
    found = _KEEP.fullmatch(" ".join(text.split()))
    if found is None or not float(found[1]) > 0:
        raise ConfigError(
            f"what is kept must be written like 'pass@1 within 1 point', got {text!r}."
        )
    return float(found[1]) / 100


def parse_objective(text: str) -> Objective:
    """Read ``coverage@64`` or ``support@64``."""
    found = _OBJECTIVE.fullmatch(text.strip())
    if found is None or int(found[2]) < 2:
        raise ConfigError(f"the objective must be coverage@K or support@K, K > 1, got {text!r}.")
    return Objective(kind=found[1], k=int(found[2]))
