"""Which entry, phase and opening rules a task is looked at with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from rewardable.errors import ConfigError, unknown_name
from rewardable.locate.phases import PHASES, PhaseFunction
from rewardable.locate.rules import ENTRIES, EntryFunction, by_pattern
from rewardable.protocols import Task
from rewardable.records import Prompt, Verdict


@runtime_checkable
class EntryTask(Protocol):
    """A task that can list the entries of its solutions, and texts that are solutions."""

    def entry_openings(self, prompt: Prompt) -> Mapping[str, Sequence[str]]:
        """Return entry -> the texts that an answer of this family may begin with."""
        ...

    def solution_texts(self, prompt: Prompt, count: int, seed: int) -> Sequence[str]:
        """Return up to ``count`` distinct right answers, solutions as evenly as possible."""
        ...


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How texts of a task are read. ``label``: the verdict's label that names the entry, or ""."""

    entry_name: str
    phase_name: str
    entry: EntryFunction
    phases: PhaseFunction
    label: str

    def entry_of(self, text: str, verdict: Verdict | None) -> str | None:
        """Return the entry by the verdict's label where the task has one, else by the text."""
        if self.label:
            return verdict.labels.get(self.label) if verdict is not None else None
        return self.entry(text)


def choose_rules(task: Task, entry: str, phases: str) -> Rules:
    """Resolve rule names: ``auto`` takes the verifier's entry label of a task that lists entries.

    Raises ConfigError for unknown names, with suggestions.
    """
    listed = isinstance(task, EntryTask)
    by_label = entry == "auto" and listed
    entry_name = entry if entry != "auto" else "first-operand-operator"
    phase_name = phases if phases != "auto" else ("operator" if listed else "solution")
    return Rules(
        entry_name="label entry" if by_label else entry_name,
        phase_name=phase_name,
        entry=_entry(entry_name),
        phases=_named("phase rule", phase_name, PHASES),
        label="entry" if by_label else "",
    )


def _entry(name: str) -> EntryFunction:
    if name.startswith("re:"):
        return by_pattern(name.removeprefix("re:"))
    return _named("entry rule", name, ENTRIES)


def _named(kind: str, name: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    if name in known:
        return known[name]
    if ":" not in name:
        raise unknown_name(kind, name, known, hint="A function of your own is module:attr.")
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot load the {kind} {name!r}: {error}.") from error
