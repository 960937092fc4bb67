"""Whether a verifier accepts right answers, refuses what is none, and says the same again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rewardable.errors import ConfigError
from rewardable.metrics import binomial_interval
from rewardable.protocols import Task, Verifier
from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.results import Estimate, Example, Label, Row, Table, table_to_json
from rewardable.workflows.events import Event, OnEvent, ignore
from rewardable.workflows.verifiers.asking import Answer, ask
from rewardable.workflows.verifiers.probes import (
    ANY,
    EITHER,
    NOT_RIGHT,
    PROBES,
    RIGHT,
    Trial,
    gold_of,
    trials,
)
from rewardable.workflows.verifiers.targets import (
    RewardOptions,
    load_target,
    require_columns,
)

PROMPTS = 20
REPEATS = 10
REPEATED = 12
"""Prompts of which an answer, the right one where it is known, is judged REPEATS times."""
EXAMPLES = 3
QUOTE = 2000
STRICT = ("gold", "adversarial")
"""Probes that may fail on no prompt, whatever is allowed."""

PASSED, FAILED, TOLD, SKIPPED = "passed", "FAILED", "told", "not tried"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A trial and what became of it."""

    trial: Trial
    answer: Answer

    @property
    def ok(self) -> bool:
        """Whether the verdict is as expected."""
        outcome = self.answer.verdict.outcome
        if self.answer.broke:
            return False
        if self.trial.expected == ANY:
            return True
        right = outcome is Outcome.CORRECT
        return right if self.trial.expected == RIGHT else not right


@dataclass(frozen=True, kw_only=True)
class Check:
    """The outcome; ``failed`` names the required probes that were not passed."""

    table: Table
    failed: tuple[str, ...]

    @property
    def json(self) -> str:
        """The table as JSON."""
        return table_to_json(self.table)


def check(
    name: str,
    *,
    task: str = "",
    count: int = PROMPTS,
    seed: int = 0,
    allow: float = 0.0,
    timeout_s: float | None = 10.0,
    options: RewardOptions | None = None,
    on_event: OnEvent = ignore,
) -> Check:
    """Probe a task's verifier, a verifier or a reward function.

    task: whose prompts and right answers are used; needed where ``name`` is no task.
    allow: share of the prompts on which a probe may fail, but gold and hostile texts.
    timeout_s: seconds a verdict may take, in a process of its own; None asks in this process.

    Raises
    ------
    ConfigError: an unknown name, no task, or a verifier that cannot be sent to a process.
    """
    target = load_target(name, options)
    source = load_target(task).task if task else target.task
    if source is None:
        raise ConfigError(
            f"{name} is no task, so it has no prompts and no right answers: name a task with "
            "--task, for example --task gsm8k:path=FILE.jsonl."
        )
    prompts = source.prompts(count, seed)
    require_columns(target.verifier, prompts)
    return probe(
        target.verifier, source, prompts, allow=allow, timeout_s=timeout_s, on_event=on_event
    )


def probe(
    verifier: Verifier,
    task: Task,
    prompts: Sequence[Prompt],
    *,
    allow: float = 0.0,
    timeout_s: float | None = None,
    on_event: OnEvent = ignore,
) -> Check:
    """Probe a verifier on prompts of a task."""
    tried = list(trials(task, prompts))
    asked = [(trial.prompt, trial.completion) for trial in tried]
    on_event(Event(stage=f"probing {verifier.name}", done=0, total=len(asked)))
    answers = ask(verifier, asked, timeout_s=timeout_s)
    judged = [Judged(trial=one, answer=said) for one, said in zip(tried, answers, strict=True)]
    on_event(Event(stage=f"probing {verifier.name}", done=len(asked), total=len(asked)))
    repeats = _repeats(verifier, task, prompts, timeout_s)
    rows = [*_probe_rows(judged, allow), _repeat_row(repeats), *_time_rows(judged)]
    failed = tuple(str(row.labels["probe"]) for row in rows if row.labels["result"] == FAILED)
    table = Table(
        name=f"verifier-check {verifier.name}@{verifier.version}",
        title=f"{verifier.name}@{verifier.version} on {len(prompts)} prompts of {task.name}",
        rows=tuple(rows),
        notes=_notes(task, prompts, rows),
        examples=tuple(_examples(judged)),
        provenance={"task": task.name, "verifier": verifier.name, "version": verifier.version},
    )
    return Check(table=table, failed=failed)


def _probe_rows(judged: Sequence[Judged], allow: float) -> Iterator[Row]:
    for name, line in PROBES.items():
        if name == "either place":
            yield from _either_rows(judged, line, allow)
            continue
        for required in (True, False):
            group = [
                one for one in judged if (one.trial.probe, one.trial.required) == (name, required)
            ]
            if group:
                allowed = 0.0 if name in STRICT else allow
                yield _probe_row(name, line, group, allowed if required else None)
        if not any(one.trial.probe == name for one in judged):
            labels = {**_labels(name, line, 0, 0), "result": SKIPPED}
            yield Row(labels=labels, estimate=Estimate(value=None))


def _either_rows(judged: Sequence[Judged], line: str, allow: float) -> Iterator[Row]:
    """Yield a row on the prompts where a list was tried both ways round."""
    by_prompt: dict[str, list[Judged]] = {}
    for one in judged:
        if one.trial.probe in EITHER:
            by_prompt.setdefault(one.trial.prompt.key, []).append(one)
    ok = [any(one.ok for one in pair) for pair in by_prompt.values()]
    if ok:
        labels = _labels("either place", line, len(ok), sum(not one for one in ok))
        yield _row(labels, NOT_RIGHT, sum(ok), len(ok), 0, allow)


def _probe_row(name: str, line: str, group: Sequence[Judged], allow: float | None) -> Row:
    by_prompt: dict[str, bool] = {}
    for one in group:
        key = one.trial.prompt.key
        by_prompt[key] = by_prompt.get(key, True) and one.ok
    labels = _labels(name, line, len(group), sum(not one.ok for one in group))
    ungraded = sum(one.answer.verdict.outcome is Outcome.UNGRADED for one in group)
    expected = group[0].trial.expected
    return _row(labels, expected, sum(by_prompt.values()), len(by_prompt), ungraded, allow)


def _labels(name: str, line: str, tried: int, failed: int) -> dict[str, Label]:
    return {"probe": name, "what": line, "tried": tried, "failed": failed}


def _row(
    labels: Mapping[str, Label],
    expected: str,
    passed: int,
    prompts: int,
    ungraded: int,
    allow: float | None,
) -> Row:
    """Build a row; ``allow`` is the share of prompts that may fail, None where all may."""
    tried = labels["tried"]
    failed = allow is not None and 1 - passed / prompts > allow
    result = TOLD if allow is None else FAILED if failed else PASSED
    estimate = _share(passed, prompts, int(tried or 0), ungraded)
    return Row(labels={**labels, "result": result, "expected": expected}, estimate=estimate)


def _share(passed: int, prompts: int, n: int, ungraded: int) -> Estimate:
    low, high = binomial_interval([prompts], [passed])
    return Estimate(
        value=passed / prompts,
        low=float(low[0]),
        high=float(high[0]),
        method="share of prompts on which every answer was judged as expected; Clopper-Pearson",
        n_prompts=prompts,
        n_graded=n - ungraded,
        n_ungraded=ungraded,
    )


def _repeats(
    verifier: Verifier, task: Task, prompts: Sequence[Prompt], timeout_s: float | None
) -> list[list[Verdict]]:
    """Return the verdicts of one answer to each of some prompts, judged again in turns."""
    texts = [
        (prompt, Completion(text=next(iter(gold_of(task, prompt)), prompt.text)))
        for prompt in prompts[:REPEATED]
    ]
    answers = ask(verifier, texts * REPEATS, timeout_s=timeout_s)
    return [[said.verdict for said in answers[i :: len(texts)]] for i in range(len(texts))]


def _repeat_row(repeats: Sequence[Sequence[Verdict]]) -> Row:
    same = [all(verdict == found[0] for verdict in found) for found in repeats]
    line = f"the same answer judged {REPEATS} times"
    labels = _labels("the same again", line, len(same) * REPEATS, len(same) - sum(same))
    return _row(labels, "one verdict", sum(same), len(same), 0, 0.0)


def _time_rows(judged: Sequence[Judged]) -> Iterator[Row]:
    plain = [one for one in judged if one.trial.probe != "adversarial"]
    hostile = [one for one in judged if one.trial.probe == "adversarial"]
    for what, group in (("answers", plain), ("hostile texts", hostile)):
        seconds = [one.answer.seconds for one in group if one.answer.seconds is not None]
        for method, pick in (("median", median), ("longest", max)):
            line = f"{method} of {what}, milliseconds"
            labels = _labels("time", line, len(group), len(group) - len(seconds))
            estimate = Estimate(
                value=1000 * pick(seconds) if seconds else None,
                method=f"{method} of {len(seconds)} timings",
                n_graded=len(seconds),
                n_ungraded=len(group) - len(seconds),
            )
            yield Row(labels={**labels, "result": TOLD}, estimate=estimate)


def _notes(task: Task, prompts: Sequence[Prompt], rows: Sequence[Row]) -> tuple[str, ...]:
    open_ = sum(not gold_of(task, prompt) for prompt in prompts)
    notes: list[str] = []
    if open_:
        notes.append(
            f"{task.name} gives no right answer for {open_} of {len(prompts)} prompts: gold, "
            "hedge, shotgun and truncated were not tried on them, and the echo is told only, since "
            "any prose may be right."
        )
    skipped = [str(row.labels["probe"]) for row in rows if row.labels["result"] == SKIPPED]
    if skipped:
        notes.append(f"Not tried: {', '.join(skipped)}.")
    if {"hedge", "shotgun"} & set(skipped) and open_ < len(prompts):
        notes.append(
            "Lists of answers are tried only where the task's verifier reads one answer out of a "
            "response (labels `answer` or `solution`)."
        )
    return tuple(notes)


def _examples(judged: Sequence[Judged]) -> Iterator[Example]:
    for name in PROBES:
        wrong = [one for one in judged if one.trial.probe == name and not one.ok]
        wrong.sort(key=lambda one: not one.trial.required)
        for one in wrong[:EXAMPLES]:
            said = one.answer.verdict
            yield Example(
                labels={
                    "probe": name,
                    "required": one.trial.required,
                    "kind": one.trial.text_kind,
                    "expected": one.trial.expected,
                    "outcome": said.outcome,
                    "reason": said.reason,
                },
                prompt=one.trial.prompt.text[:QUOTE],
                completion=one.trial.completion.text[:QUOTE],
            )
