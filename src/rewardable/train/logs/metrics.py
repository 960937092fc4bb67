"""The numbers of a step as a tap, and the answers that a lenient verifier judges otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewardable.protocols import Verifier
from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.train.logs.numbers import (
    Numbers,
    length_numbers,
    logged,
    part_numbers,
    repetition_numbers,
    reward_numbers,
    variety_numbers,
)
from rewardable.train.taps import RolloutBatch


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """An answer that the verifier in training and a lenient one judge differently."""

    step: int
    prompt_key: str
    text: str
    strict: str
    strict_reason: str
    lenient: str
    lenient_reason: str


@dataclass(kw_only=True)
class StepMetrics:
    """A tap: what a step's rollouts are like.

    lenient: a second verifier; ``prompts`` are then needed to ask it. Rows of which either verdict
    is UNGRADED are not compared. order: of the n-grams. format_part, steps_part, solution: parts
    and label of verdicts to be read. keep: disagreements kept of a step, the first ones.

    ``disagreements`` holds those of the latest batch.
    """

    lenient: Verifier | None = None
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])
    order: int = 4
    format_part: str = "format"
    steps_part: str = "steps"
    solution: str = "solution"
    keep: int = 64
    disagreements: tuple[Disagreement, ...] = field(default=(), init=False)

    def __call__(self, batch: RolloutBatch) -> Numbers:
        """Return the numbers; what cannot be told is left out."""
        found = {
            **reward_numbers(batch),
            **length_numbers(batch),
            **repetition_numbers(batch, self.order),
            **variety_numbers(batch, self.solution),
            **part_numbers(batch, self.format_part, self.steps_part),
        }
        if self.lenient is not None:
            found |= self._compare(self.lenient, batch)
        return logged(found)

    def _compare(self, lenient: Verifier, batch: RolloutBatch) -> Numbers:
        compared, failed, differing = 0, 0, list[Disagreement]()
        for row, shaped in enumerate(batch.shaped):
            said = _ask(lenient, self.prompts[batch.prompt_keys[row]], batch.texts[row])
            failed += said.outcome is Outcome.UNGRADED
            if Outcome.UNGRADED in (said.outcome, shaped.verdict.outcome):
                continue
            compared += 1
            if said.outcome is not shaped.verdict.outcome:
                differing.append(_disagreement(batch, row, said))
        self.disagreements = tuple(differing[: self.keep])
        share = {"strict_lenient/disagree": len(differing) / compared} if compared else {}
        return {**share, "strict_lenient/ungraded": failed / len(batch.texts)}


def _ask(verifier: Verifier, prompt: Prompt, text: str) -> Verdict:
    """Ask a verifier that only looks on: what it raises must not end the training."""
    try:
        return verifier.verify(prompt, Completion(text=text))
    except Exception as error:  # noqa: BLE001 - the boundary of a verifier that only looks on
        reason = f"{type(error).__name__}: {error}"
        return Verdict(
            outcome=Outcome.UNGRADED,
            verifier=verifier.name,
            version=verifier.version,
            reason=reason,
        )


def _disagreement(batch: RolloutBatch, row: int, lenient: Verdict) -> Disagreement:
    strict = batch.shaped[row].verdict
    return Disagreement(
        step=batch.step,
        prompt_key=batch.prompt_keys[row],
        text=batch.texts[row],
        strict=strict.outcome.value,
        strict_reason=strict.reason,
        lenient=lenient.outcome.value,
        lenient_reason=lenient.reason,
    )
