"""Prompts together with paraphrases of them, under the same facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from rewardable.errors import ConfigError, unknown_name
from rewardable.protocols import Task, Verifier
from rewardable.records import Prompt
from rewardable.tasks.perturb import arithmetic, prose
from rewardable.tasks.perturb.wording import KINDS, Wording, Writer

SOURCE, KIND, ORIGINAL = "paraphrase_of", "paraphrase", "original"
"""Facts of a prompt: key of its source, kind of its wording; the kind of the source itself."""

CLUSTER = "cluster"

WRITERS: Mapping[str, Writer] = {
    "aime24": prose.math,
    "aime25": prose.math,
    "amc23": prose.math,
    "constraints": prose.instructions,
    "countdown": arithmetic.countdown,
    "countdown-steps": arithmetic.countdown,
    "countdown-steps-division": arithmetic.countdown,
    "countdown-steps-start": arithmetic.countdown,
    "divisible": arithmetic.divisible,
    "extraction": prose.extraction,
    "gsm8k": prose.math,
    "humaneval": prose.code,
    "ifbench": prose.instructions,
    "ifeval": prose.instructions,
    "joint": prose.instructions,
    "logic-steps": prose.logic,
    "math500": prose.math,
    "mathif": prose.instructions,
    "minerva-math": prose.math,
    "olympiadbench": prose.math,
    "reasonif": prose.instructions,
    "refusal": prose.refusal,
    "routes-instruction": arithmetic.routes,
    "routes-joint": arithmetic.routes,
    "routes-math": arithmetic.routes,
    "word-problems": arithmetic.word_problems,
}
"""Who words the prompts of a task of the catalog; others write themselves, or change spaces."""


@runtime_checkable
class ParaphraseSource(Protocol):
    """A task that words its own prompts differently."""

    def paraphrases(self, prompt: Prompt) -> Sequence[tuple[str, str]]:
        """Return (kind, text) of other wordings with the same gold, in order of interest."""
        ...


def wordings(task: Task, prompt: Prompt) -> Iterator[Wording]:
    """Yield the wordings that a task has of a prompt, the prompt's own among them or not."""
    if isinstance(task, ParaphraseSource):
        return (Wording(kind, text) for kind, text in task.paraphrases(prompt))
    writer = WRITERS.get(task.name.partition(":")[0], prose.instructions)
    return writer(prompt)


def paraphrased(
    task: Task, prompts: Sequence[Prompt], count: int, kinds: Sequence[str] = ()
) -> tuple[Prompt, ...]:
    """Return every prompt, then up to ``count`` paraphrases of it; fewer where there are fewer.

    All keep the facts; ``paraphrase_of`` is the key of the source and ``paraphrase`` the kind
    (``original`` for the source itself). A fact ``cluster`` is kept, else it is the source, so that
    intervals take a source as one unit. Only the last message changes. No two prompts are equal: a
    wording that another source has is left out. A count of 0 returns the prompts as they are.

    Raises
    ------
    ConfigError: a negative count, or a kind that does not exist.
    """
    if count < 0:
        raise ConfigError(f"the number of paraphrases must be at least 0, got {count}.")
    for kind in kinds:
        if kind not in KINDS:
            raise unknown_name("kind of paraphrase", kind, KINDS)
    if not count:
        return tuple(prompts)
    taken = {prompt.key for prompt in prompts}
    found: list[Prompt] = []
    for prompt in prompts:
        found.append(_marked(prompt, prompt, Wording(ORIGINAL, prompt.messages[-1].content)))
        left = count
        for wording in wordings(task, _last_turn(prompt)):
            if kinds and wording.kind not in kinds:
                continue
            other = _marked(prompt, _reworded(prompt, wording.text), wording)
            if left and other.key not in taken:
                taken.add(other.key)
                found.append(other)
                left -= 1
    return tuple(found)


def _last_turn(prompt: Prompt) -> Prompt:
    return replace(prompt, messages=prompt.messages[-1:])


def _reworded(prompt: Prompt, text: str) -> Prompt:
    *before, last = prompt.messages
    return replace(prompt, messages=(*before, replace(last, content=text)), explicit_key=None)


def _marked(source: Prompt, prompt: Prompt, wording: Wording) -> Prompt:
    facts = {CLUSTER: source.key, **source.facts, **wording.facts}
    return replace(prompt, facts={**facts, SOURCE: source.key, KIND: wording.kind})


@dataclass(frozen=True, kw_only=True, slots=True)
class PerturbedTask:
    """A task with paraphrases of its prompts; name, version and verifier are the task's own."""

    task: Task
    paraphrases_each: int
    kinds: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The task's name: a paraphrase is a prompt of the same task."""
        return self.task.name

    @property
    def version(self) -> str:
        """The task's version."""
        return self.task.version

    @property
    def verifier(self) -> Verifier:
        """The task's verifier."""
        return self.task.verifier

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` prompts of the task and their paraphrases."""
        chosen = self.task.prompts(count, seed)
        return paraphrased(self.task, chosen, self.paraphrases_each, self.kinds)


def perturb(task: Task, count: int = 5, kinds: Sequence[str] = ()) -> Task:
    """Build the task with ``count`` paraphrases beside each prompt; see :func:`paraphrased`."""
    return PerturbedTask(task=task, paraphrases_each=count, kinds=tuple(kinds))
