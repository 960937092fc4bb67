"""Rows of JSONL, CSV or Parquet with a field map: one rollout, one prompt, or one count a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rewardable.errors import DataError
from rewardable.importers.dump import Dump, plain
from rewardable.importers.fieldmap import Columns, check_field_map, named
from rewardable.importers.once import MOST_ROWS
from rewardable.importers.prompts import PromptBook
from rewardable.importers.report import ImportReport, Tally
from rewardable.importers.samples import Sample, samples_of
from rewardable.importers.sources import Row, format_of
from rewardable.importers.steps import Steps, step_of
from rewardable.importers.streams import sha256
from rewardable.importers.success import Scored, SuccessRule
from rewardable.records import (
    UNKNOWN_SPEC,
    FinishReason,
    Graded,
    Outcome,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
)
from rewardable.store.codec import count_broken

MOST_CHARACTERS = 1 << 24
"""Of a slice's completions."""

NextIndex = Callable[[str, str, str], int]
"""(policy key, spec key, prompt key) -> first index that is free."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GenericImport:
    """How to read a dump. ``fields`` maps targets (see ``fieldmap.TARGETS``) to columns.

    policy, task: names for rows that do not name theirs; policy None takes the file's name.
    success: rule like ``">= 1"``; without one, scores must be true/false or 1/0.
    spec: how the rollouts were sampled, None if nobody knows.
    format: jsonl, csv, tsv or parquet; None tells it from the file's name.
    skip_broken: leave out broken lines and rows that cannot be used, counting them, in place of
    refusing the file. steps: which training steps are wanted, where rows name theirs.
    """

    fields: Mapping[str, str]
    policy: str | None = None
    task: str = "imported"
    success: str | None = None
    spec: SamplingSpec | None = None
    format: str | None = None
    skip_broken: bool = False
    steps: Steps = field(default_factory=Steps)

    @property
    def counts_only(self) -> bool:
        """True when the rows are counts."""
        return "n" in self.fields


class CountItem(NamedTuple):
    """Successes among graded samples of one prompt by one policy."""

    policy_key: str
    prompt_key: str
    n: int
    c: int


@dataclass(slots=True)
class Slice:
    """What a number of rows turned into."""

    prompts: list[Prompt] = field(default_factory=list[Prompt])
    rollouts: list[Rollout] = field(default_factory=list[Rollout])
    graded: list[Graded] = field(default_factory=list[Graded])
    counts: list[CountItem] = field(default_factory=list[CountItem])
    characters: int = 0

    def add(self, rollout: Rollout) -> None:
        """Add a rollout."""
        self.rollouts.append(rollout)
        self.characters += len(rollout.completion.text)

    def is_full(self, size: int) -> bool:
        """Return whether it has so many rows, or much text."""
        return len(self.rollouts) + len(self.counts) >= size or self.characters >= MOST_CHARACTERS


class GenericReader:
    """Converts the rows of a dump. ``policies`` and :meth:`report` are complete at the end."""

    def __init__(self, path: Path, config: GenericImport, dump: Dump | None = None) -> None:
        check_field_map(config.fields)
        self.path = path
        self.config = config
        self.dump = dump or _plain_dump(path, config)
        self.sha256 = sha256(self.dump.files)
        self.provenance = f"imported from {path.name} sha256:{self.sha256}"
        self.policies: dict[str, Policy] = {}
        self.spec_key = config.spec.key if config.spec else UNKNOWN_SPEC
        self._policy_keys: dict[str, str] = {}
        self._facts = tuple(named(config.fields, "fact"))
        self._labels = tuple(named(config.fields, "label"))
        self._rule = SuccessRule(config.success)
        self._columns = Columns(config.fields, path.name)
        self._book = PromptBook(path.name)
        self._tally = Tally()
        self._free: dict[tuple[str, str], int] = {}
        self._lines: dict[tuple[str, str, int], int | str] = {}

    def slices(self, next_index: NextIndex, size: int = 4096) -> Iterator[Slice]:
        """Yield the file's content in slices of about ``size`` rows.

        DataError names a bad row, or the file when it has no usable row at all; then nothing is
        yielded.
        """
        piece = Slice()
        for row in self.dump.rows():
            try:
                self._take(row, piece, next_index)
            except DataError as error:
                if not self.config.skip_broken:
                    raise
                self._tally.note_bad_row(row.number, str(error))
            if piece.is_full(size):
                piece.prompts = self._book.handed_over()
                yield piece
                piece = Slice()
        self._require_rows()
        piece.prompts = self._book.handed_over()
        yield piece

    def _require_rows(self) -> None:
        tally = self._tally
        if tally.rows:
            self._columns.require_all_seen()
        if not tally.finishes and not tally.counts:
            kind = "count" if self.config.counts_only else "completion"
            notes = "".join(f" {note}" for note in self._warnings())
            left = "".join(f" {count:,} rows left out: {why}." for why, count in self._skipped())
            raise DataError(
                f"no rows in {self.path.name}, read as {self.dump.format}: expected at least one "
                f"{kind}.{left}{notes}"
            )

    def _take(self, row: Row, piece: Slice, next_index: NextIndex) -> None:
        for record in self.dump.records(row):
            step = step_of(record) or step_of(row.value)
            if not self.config.steps.holds(step):
                self.dump.notes.skipped["of other training steps"] += 1
                continue
            if step is not None and len(self._tally.steps) < 100:
                self._tally.steps.add(step)
            self._convert(Row(row.number, dict(record)), step, piece, next_index)
            self._tally.rows += 1

    def _convert(self, row: Row, step: str | None, piece: Slice, next_index: NextIndex) -> None:
        if self.config.counts_only:
            policy_key, prompt_key = self._policy_key(row, step), self._prompt_key(row)
            piece.counts.append(self._count(row, policy_key, prompt_key))
            return
        samples = list(samples_of(row, self._columns, self._labels, self.path.name))
        scored = [self._scored(row, sample) for sample in samples]
        policy_key, prompt_key = self._policy_key(row, step), self._prompt_key(row)
        for sample, said in zip(samples, scored, strict=True):
            index = self._index(row, sample, policy_key, prompt_key, next_index)
            place = RolloutId(
                policy_key=policy_key, spec_key=self.spec_key, prompt_key=prompt_key, index=index
            )
            piece.add(Rollout(id=place, completion=sample.completion, provenance=self.provenance))
            self._note(sample, policy_key, prompt_key)
            if "score" in self.config.fields:
                piece.graded.append(Graded(id=place, verdict=self._verdict(sample, said)))

    def _text(self, target: str, row: Row, default: str) -> str:
        value = self._columns.get(target, row.number, row.value)
        if target not in self.config.fields:
            return default
        if not isinstance(value, str | int) or value == "":
            raise DataError(
                f"{self.path.name} row {row.number}: {target} is {str(value)[:80]!r}, expected a "
                "name."
            )
        return str(value)

    def _policy_key(self, row: Row, step: str | None) -> str:
        default = self.config.policy or self.path.name.split(".")[0]
        name = self._text("policy", row, default)
        if self.config.steps.each and step is not None:
            name = f"{name}@{step}"
        if name not in self._policy_keys:
            self.policies[name] = Policy(
                name=name, weights=f"named:{name}", template="unknown", source=self.provenance
            )
            self._policy_keys[name] = self.policies[name].key
        return self._policy_keys[name]

    def _prompt_key(self, row: Row) -> str:
        get, number, value = self._columns.get, row.number, row.value
        facts = {name: get(f"fact.{name}", number, value) for name in self._facts}
        if "truth" in self.config.fields:
            facts["answer"] = get("truth", number, value)
        return self._book.key(
            number=number,
            task=self._text("task", row, self.config.task),
            given=get("prompt_id", number, value),
            content=get("prompt", number, value),
            facts=facts,
        )

    def _count(self, row: Row, policy_key: str, prompt_key: str) -> CountItem:
        n, c = (self._whole(target, row) for target in ("n", "c"))
        if not 0 <= c <= n:
            raise DataError(
                f"{self.path.name} row {row.number}: expected 0 <= c <= n, got {c=} {n=}"
            )
        self._once(policy_key, prompt_key, 0, row.number)
        self._tally.counts += 1
        self._tally.outcomes[Outcome.CORRECT] += c
        self._tally.outcomes[Outcome.WRONG] += n - c
        self._tally.samples[policy_key, prompt_key] += n
        return CountItem(policy_key, prompt_key, n, c)

    def _whole(self, target: str, row: Row) -> int:
        value = self._columns.get(target, row.number, row.value)
        try:
            if not isinstance(value, bool) and float(value) == int(value):
                return int(value)
        except (TypeError, ValueError, OverflowError):
            pass
        raise DataError(
            f"{self.path.name} row {row.number}: {target} is {str(value)[:80]!r}, expected a whole "
            "number."
        )

    def _index(
        self,
        row: Row,
        sample: Sample,
        policy_key: str,
        prompt_key: str,
        next_index: NextIndex,
    ) -> int:
        if "index" in self.config.fields:
            if sample.many:
                raise DataError(
                    f"{self.path.name} row {row.number}: a row with a list of completions numbers "
                    "them itself; leave index out of the field map."
                )
            index = self._whole("index", row)
            self._once(policy_key, prompt_key, index, row.number)
            return index
        if sample.many and sample.position == 0:
            self._once(policy_key, prompt_key, 0, row.number)
        place = (policy_key, prompt_key)
        if place not in self._free:
            self._free[place] = next_index(policy_key, self.spec_key, prompt_key)
        self._free[place] += 1
        return self._free[place] - 1

    def _once(self, policy_key: str, prompt_key: str, index: int, number: int | str) -> None:
        place = (policy_key, prompt_key, index)
        first = self._lines.get(place, number)
        if len(self._lines) < MOST_ROWS:  # of later ones a run folder finds the repeated
            self._lines[place] = first
        if first != number:
            raise DataError(
                f"{self.path.name} rows {first} and {number} are the same sample: equal policy, "
                "prompt and index. Map a prompt_id (and task, policy) that tells them apart, or "
                "remove one."
            )

    def _note(self, sample: Sample, policy_key: str, prompt_key: str) -> None:
        tally = self._tally
        tally.samples[policy_key, prompt_key] += 1
        tally.finishes[sample.completion.finish_reason] += 1
        tally.broken_texts += count_broken([sample.completion.text])
        tally.note_text(policy_key, prompt_key, sample.completion.text)
        if sample.odd_finish:
            tally.odd_finishes[sample.odd_finish] += 1

    def _scored(self, row: Row, sample: Sample) -> Scored:
        completion = sample.completion
        if completion.finish_reason is FinishReason.FAILED:
            return Scored(outcome=Outcome.UNGRADED, reason=f"engine: {completion.failure}")
        if "score" not in self.config.fields:
            return Scored(outcome=Outcome.UNGRADED)
        return self._rule.apply(sample.score, f"{self.path.name} row {row.number}: score")

    def _verdict(self, sample: Sample, scored: Scored) -> Verdict:
        outside = scored.raw is not None and scored.score is None
        self._tally.unit_scores += outside
        self._tally.note_score(scored.raw)
        self._tally.outcomes[scored.outcome] += 1
        if scored.reason:
            self._tally.reasons[scored.reason] += 1
        return Verdict(
            outcome=scored.outcome,
            verifier=f"imported:{self.config.fields['score']}",
            version=self._rule.text,
            reason=scored.reason,
            score=scored.score,
            parts={"raw": scored.raw} if outside else {},
            labels=sample.labels,
        )

    def _skipped(self) -> list[tuple[str, int]]:
        return self.dump.notes.skipped.most_common()

    def _warnings(self) -> list[str]:
        self._tally.merged_texts = self._book.merged_texts
        return [*self.dump.warnings(), *self._tally.warnings(each=self.config.steps.each)]

    def report(self) -> ImportReport:
        """Return what was found; call it after the last slice."""
        tally = self._tally
        sizes = tally.samples.values()
        return ImportReport(
            source=self.path.name,
            sha256=self.sha256,
            format=self.dump.format,
            n_rows=tally.rows,
            n_prompts=len(self._book),
            n_rollouts=tally.finishes.total(),
            n_counts=tally.counts,
            n_correct=tally.outcomes[Outcome.CORRECT],
            n_wrong=tally.outcomes[Outcome.WRONG],
            n_ungraded=tally.outcomes[Outcome.UNGRADED],
            n_failed=tally.finishes[FinishReason.FAILED],
            n_truncated=tally.finishes[FinishReason.LENGTH],
            n_per_prompt=(min(sizes, default=0), max(sizes, default=0)),
            policies=dict(self._policy_keys),
            reasons=dict(tally.reasons.most_common()),
            broken_texts=tally.broken_texts,
            torn_line=self.dump.torn_line,
            broken_lines=self.dump.broken_lines,
            n_bad_rows=tally.n_bad_rows,
            skipped=dict(self._skipped()),
            assumptions=tuple(self._assumptions()),
            warnings=tuple(self._warnings()),
        )

    def _assumptions(self) -> Iterator[str]:
        fields = self.config.fields
        if self.config.spec is None:
            yield "sampling parameters unknown: temperature, top-p, length limit, seed"
        if any(one.startswith("prompt key") for one in self.dump.notes.assumptions):
            pass
        elif "prompt_id" in fields:
            yield f"prompt key: the column {fields['prompt_id']!r} within its task"
        else:
            yield "prompt key: the normalised prompt text and the gold answer"
        if "score" in fields:
            yield f"success: {self._rule.text} (column {fields['score']!r})"
            if self._tally.values():
                yield self._tally.values()
        if "completion" in fields and "finish_reason" not in fields:
            yield "finish reasons unknown: truncated completions cannot be told from others"
        yield from self.dump.notes.assumptions
        if "policy" not in fields and len(self.policies) < 2:
            yield f"all rows are by one policy, {', '.join(self.policies) or 'none'}"


def _plain_dump(path: Path, config: GenericImport) -> Dump:
    kind = format_of(path, config.format)
    reader = plain(kind, skip_broken=config.skip_broken)
    return Dump(
        path=path, files=(path,), format=kind, rows_of=reader, skip_broken=config.skip_broken
    )
