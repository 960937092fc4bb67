"""What a run is told: which policies, tasks, budgets. Saved in the run folder as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from rewardable.engines import EngineOptions
from rewardable.errors import ConfigError, unknown_name
from rewardable.metrics import StoppingRule
from rewardable.records import SamplingSpec

IMPORTED = "imported"
"""Key of a run's configuration that marks other tools' rollouts."""

FREE_KEYS = frozenset({"device", "device_map", "batch_rows", "engine_args"})
"""Keys that may differ between a run and its resumption: they say how, not what."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunConfig:
    """Policies (the first is the base), tasks (the first is the trained one) and the budget.

    n: samples a prompt and policy; under a stopping rule its cap. prompts: instances a task.
    stopping: when a prompt is left before n; None draws n of each.
    temperatures: every policy is sampled at each; the first one is the headline.
    prompts_seed chooses the instances; seed keys the samples.
    perturb: sample so many paraphrases of each instance too, of every task.
    refusal_screen: sample the refusal screen too where the base is a chat model.
    template_from: one chat template for all policies, taken from here; empty means the base's.
    engine_args: ``ENGINE.KEY=VALUE`` texts for the engines ``http`` and ``vllm``.
    """

    policies: tuple[str, ...]
    task: str
    future_tasks: tuple[str, ...] = ()
    n: int = 64
    stopping: StoppingRule | None = None
    prompts: int = 64
    temperatures: tuple[float, ...] = (1.0,)
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int = 256
    seed: int = 0
    prompts_seed: int = 0
    perturb: int = 0
    group: int = 8
    refusal_screen: bool = False
    prompt_format: str = "auto"
    template_from: str = ""
    own_templates: bool = False
    device: str = "auto"
    dtype: str = "auto"
    device_map: str = ""
    batch_rows: int = 0
    engine_args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if not self.policies:
            raise ConfigError("no policy to sample: name at least one.")
        if len(set(self.policies)) < len(self.policies):
            raise ConfigError(f"a policy is named twice: {', '.join(self.policies)}.")
        for name, least in (("n", 1), ("prompts", 1), ("group", 2), ("perturb", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}, got {getattr(self, name)}.")
        self._check_tasks()
        self._check_sampling()
        self._check_stopping()

    def _check_tasks(self) -> None:
        if len(set(self.tasks)) < len(self.tasks):
            raise ConfigError(f"a task is named twice: {', '.join(self.tasks)}.")

    def _check_sampling(self) -> None:
        if not self.temperatures:
            raise ConfigError("temperatures must name at least one temperature.")
        if len(set(self.temperatures)) < len(self.temperatures):
            raise ConfigError(f"a temperature is named twice: {self.temperatures}.")
        if 0 in self.temperatures and self.n > 1:
            raise ConfigError(
                f"temperature 0 is greedy: it draws one answer, so n = {self.n} copies of it say "
                "nothing. Use n = 1, or a temperature above 0."
            )
        if self.own_templates and self.template_from:
            raise ConfigError("own_templates and template_from exclude each other; choose one.")
        _ = self.specs

    def _check_stopping(self) -> None:
        rule = self.stopping
        if rule is None:
            return
        if rule.cap != self.n:
            raise ConfigError(f"the stopping rule's cap {rule.cap} must be n, got n = {self.n}.")
        if rule.first < self.group:
            raise ConfigError(
                f"a prompt may be left after {rule.first} rollouts, but trainability at group size "
                f"{self.group} needs {self.group} of each: look first at {self.group} or later."
            )

    @property
    def tasks(self) -> tuple[str, ...]:
        """The trained task, then the future ones."""
        return (self.task, *self.future_tasks)

    @property
    def specs(self) -> tuple[SamplingSpec, ...]:
        """One sampling specification a temperature."""
        return tuple(
            SamplingSpec(
                temperature=temperature,
                top_p=self.top_p,
                top_k=self.top_k,
                max_new_tokens=self.max_new_tokens,
                seed=self.seed,
            )
            for temperature in self.temperatures
        )

    def engine_options(self) -> EngineOptions:
        """Return how the base is opened (``sample`` gives its template to the others)."""
        return EngineOptions(
            device=self.device,
            dtype=self.dtype,
            device_map=self.device_map,
            prompt_format=self.prompt_format,
            template_from=self.template_from,
            batch_rows=self.batch_rows,
            arguments=self.engine_args,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the run folder."""
        found = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        for name in ("perturb", "engine_args"):
            if not found[name]:
                del found[name]  # so that runs made without it go on as they are
        return found


def stopping_rule(
    successes: int, cap: int, first: int, step: int, give_up: int, *, n: int, group: int
) -> StoppingRule | None:
    """Return the rule that the numbers of a command line describe; None for no successes.

    A cap of 0 is n, a first look of 0 comes after ``group`` rollouts.
    """
    if not successes:
        if cap or first or give_up:
            raise ConfigError("--cap, --first and --give-up need --stop-at-successes.")
        return None
    return StoppingRule(
        successes=successes, cap=cap or n, first=first or group, step=step, give_up=give_up
    )


def config_from_dict(raw: Mapping[str, Any]) -> RunConfig:
    """Read what :meth:`RunConfig.to_dict` wrote; an unknown key is an error with a suggestion."""
    known = {field.name for field in fields(RunConfig)}
    for key in raw:
        if key not in known:
            raise unknown_name("configuration key", key, known)
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()}
    try:
        if values.get("stopping") is not None:
            values["stopping"] = _rule(values["stopping"])
        return RunConfig(**values)
    except TypeError as error:
        raise ConfigError(f"a configuration value has the wrong type: {error}.") from error


def _rule(raw: Mapping[str, Any]) -> StoppingRule:
    known = {field.name for field in fields(StoppingRule)}
    for key in raw:
        if key not in known:
            raise unknown_name("stopping key", key, known)
    return StoppingRule(**raw)
