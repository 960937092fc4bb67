"""What is shown beside the candidates: other prompts, given openings, other temperatures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rewardable.engines.forced import with_opening
from rewardable.locate.task_rules import EntryTask
from rewardable.protocols import Task
from rewardable.records import Prompt, SamplingSpec, digest
from rewardable.workflows.restoring.config import RestoreConfig

MIN_P = "Min-p is not swept: no engine offers it."
OPENINGS = (
    "Forced openings come from the task's own list of solutions, which nobody has at inference: "
    "the baseline is flattered."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """The trained checkpoint asked in another way.

    rows: (changed prompt, samples, key of the original). forced: prompts carry openings.
    """

    name: str
    spec: SamplingSpec
    rows: tuple[tuple[Prompt, int, str], ...] = field(default=())
    forced: bool = False

    @property
    def twins(self) -> Mapping[str, str]:
        """Key of a changed prompt -> key of the original."""
        return {prompt.key: source for prompt, _, source in self.rows}


def baselines_of(
    config: RestoreConfig, task: Task, prompts: Sequence[Prompt]
) -> tuple[list[Baseline], list[str]]:
    """Return the baselines on ``prompts``, and what is not offered."""
    n, spec = config.samples, config.spec
    told = [MIN_P]
    asked = [(with_text(prompt, config.way_prompt), n, prompt.key) for prompt in prompts]
    found = [Baseline(name=f"prompt{config.way_prompt!r}", spec=spec, rows=tuple(asked))]
    if isinstance(task, EntryTask):
        rows = [row for prompt in prompts for row in _openings(task, prompt, n)]
        found.append(Baseline(name="forced openings", spec=spec, rows=tuple(rows), forced=True))
        told.append(OPENINGS)
    else:
        told.append("Openings are not forced: the task lists none.")
    plain = tuple((prompt, n, prompt.key) for prompt in prompts)
    for temperature in config.temperatures:
        if temperature != spec.temperature:
            warm = replace(spec, temperature=temperature)
            found.append(Baseline(name=f"temperature {temperature:g}", spec=warm, rows=plain))
    return found, told


def with_text(prompt: Prompt, text: str) -> Prompt:
    """Return the prompt with ``text`` behind its last turn, under a key of its own."""
    *before, last = prompt.messages
    messages = (*before, replace(last, content=last.content + text))
    return replace(prompt, messages=messages, explicit_key=digest("asked", prompt.key, text))


def _openings(task: EntryTask, prompt: Prompt, n: int) -> Iterator[tuple[Prompt, int, str]]:
    """Share ``n`` samples out over the entries of the prompt's solutions."""
    entries = sorted(task.entry_openings(prompt).items())
    texts = [openings[0] for _, openings in entries if openings][:n]
    for place, text in enumerate(texts):
        count = n // len(texts) + (place < n % len(texts))
        yield with_opening(prompt, text), count, prompt.key
