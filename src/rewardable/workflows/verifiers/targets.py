"""What a name on the command line stands for: a task, a verifier or a reward function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from rewardable.errors import ConfigError, unknown_name
from rewardable.protocols import Task, Verifier
from rewardable.records import Prompt
from rewardable.store import Group, Run
from rewardable.tasks import load_task
from rewardable.tasks.catalog import CATALOG
from rewardable.tasks.foreign import SIGNATURES, RewardVerifier, Signature, reward_verifier
from rewardable.tasks.options import split_spec

TWINS = ("policy=strict", "policy=lenient", "mode=strict", "mode=loose")


@dataclass(frozen=True, kw_only=True)
class RewardOptions:
    """How a reward function is asked; see ``tasks.foreign``."""

    signature: Signature = "auto"
    success_at: float = 1.0
    chat: bool = False
    columns: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, kw_only=True)
class Target:
    """A verifier, and the task that brought it (None for a bare one)."""

    verifier: Verifier
    task: Task | None


def signature_named(name: str) -> Signature:
    """Return the signature of this name; ConfigError with suggestions for another."""
    for known in SIGNATURES:
        if known == name:
            return known
    raise unknown_name("signature", name, SIGNATURES)


def load_target(name: str, options: RewardOptions | None = None) -> Target:
    """Load a task's spec, or ``module:attr`` of a task, a verifier or a reward function.

    Raises
    ------
    ConfigError: an unknown name, or something that is none of these.
    """
    head, _ = split_spec(name, CATALOG)
    found = None if head in CATALOG or ":" not in head else _attribute(head)
    if found is None or _builds(found):
        task = load_task(name)
        return Target(verifier=task.verifier, task=task)
    if name != head:
        raise ConfigError(f"{head} is no task: it takes no options, got {name!r}.")
    if isinstance(found, type):
        found = _made(head, cast(Callable[[], Any], found))
    if isinstance(found, Task):
        return Target(verifier=found.verifier, task=found)
    if isinstance(found, Verifier):
        return Target(verifier=found, task=None)
    if not callable(found):
        raise ConfigError(
            f"{head} is {found!r:.80}; expected a task, a verifier (name, version, verify) or a "
            "reward function."
        )
    told = options or RewardOptions()
    verifier = reward_verifier(
        head,
        found,
        signature=told.signature,
        success_at=told.success_at,
        chat=told.chat,
        columns=told.columns,
    )
    return Target(verifier=verifier, task=None)


def require_columns(verifier: Verifier, prompts: Sequence[Prompt]) -> None:
    """Raise ConfigError when a reward function needs what the prompts do not have."""
    if isinstance(verifier, RewardVerifier) and prompts:
        verifier.arguments(prompts[0])


def task_in_run(
    run: Run, wanted: str, target: Target | None = None
) -> tuple[str, tuple[Group, ...]]:
    """Return the task of the run that is meant, named, the target's own, or the only one, and what
    the run holds of it.

    Raises
    ------
    ConfigError: no such task in the run, or several to choose from.
    """
    groups = [group for group in run.groups() if group.n_rollouts]
    name = _chosen(run, sorted({group.task for group in groups}), wanted, target)
    return name, tuple(group for group in groups if group.task == name)


def _chosen(run: Run, held: Sequence[str], wanted: str, target: Target | None) -> str:
    if not held:
        raise ConfigError(f"{run.path} holds no rollouts; counts alone cannot be judged again.")
    if wanted:
        if wanted not in held:
            raise unknown_name("task of the run:", wanted, held)
        return wanted
    own = target.task.name if target is not None and target.task is not None else ""
    if own in held:
        return own
    if len(held) > 1:
        raise ConfigError(
            f"{run.path} holds the tasks {', '.join(held)}; say which with --in-task."
        )
    return held[0]


def twin_of(spec: str, verifier: str) -> Verifier | None:
    """Return a task's verifier under the other format policy; None when it has but one.

    spec: of the task. verifier: the name of the one whose twin is wanted.
    """
    name, _, _ = spec.partition(":")
    if name not in CATALOG:
        return None
    _, told = split_spec(spec, CATALOG)
    for option in TWINS:
        key, _, value = option.partition("=")
        options = ",".join(f"{k}={v}" for k, v in {**told, key: value}.items())
        try:
            found = load_task(f"{name}:{options}").verifier
        except ConfigError:
            continue
        if found.name != verifier:
            return found
    return None


def _attribute(target: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"cannot load {target!r}: {error}. Expected a task of the catalog, or module:attr of a "
            "task, a verifier or a reward function, where Python finds it (PYTHONPATH)."
        ) from error


def _builds(found: Any) -> bool:
    return isinstance(found, type) and callable(getattr(found, "build", None))


def _made(name: str, kind: Callable[[], Any]) -> Any:
    try:
        return kind()
    except TypeError as error:
        raise ConfigError(
            f"{name} cannot be made without arguments ({error}); name an object instead."
        ) from error
