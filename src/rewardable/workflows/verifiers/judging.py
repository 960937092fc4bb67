"""A person's judgements of a sample: one by one, or through a CSV file; then the error rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from rewardable.errors import ConfigError, UserError
from rewardable.protocols import Task, Verifier
from rewardable.records import Outcome, Prompt
from rewardable.results import Estimate, Row, Table
from rewardable.store import Run
from rewardable.store.files import write_text
from rewardable.tasks import load_task
from rewardable.tasks.foreign import TRUTHS
from rewardable.workflows.config import config_from_dict
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.verifiers.judgements import (
    JUDGEMENTS,
    RIGHT,
    SKIP,
    WRONG,
    Question,
    add_judgement,
    judgement_named,
    read_judgements,
    read_told,
    write_questions,
)
from rewardable.workflows.verifiers.names import file_name
from rewardable.workflows.verifiers.probes import gold_of
from rewardable.workflows.verifiers.rescore import named_verifier
from rewardable.workflows.verifiers.sample import (
    SAMPLE,
    Item,
    Sample,
    draw_sample,
    first_verifier,
    read_sample,
    rollouts_of,
    sample_to_json,
)
from rewardable.workflows.verifiers.strata import Stratum, Tallied, error_rate, errors_of
from rewardable.workflows.verifiers.targets import load_target, task_in_run, twin_of

FOLDER = "verifier-audits"
GRADED = (str(Outcome.CORRECT), str(Outcome.WRONG))


class Audit:
    """A drawn sample and the judgements so far, in ``verifier-audits`` of the run folder."""

    def __init__(
        self,
        run: Run,
        folder: Path,
        sample: Sample,
        prompts: Mapping[str, Prompt],
        task: Task | None,
    ) -> None:
        self.run, self.folder, self.sample = run, folder, sample
        self._prompts, self._task = prompts, task
        self._said = read_judgements(folder / JUDGEMENTS)

    def questions(self, *, open_only: bool = True) -> list[Question]:
        """Return each distinct question once, in the sample's order; judged ones are left out."""
        first: dict[str, Item] = {}
        for item in self.sample.items:
            if not (open_only and item.question in self._said):
                first.setdefault(item.question, item)
        return [self._question(item) for item in first.values()]

    def judge(self, key: str, judgement: str) -> None:
        """Record a judgement: ``correct``, ``wrong`` or ``skip``; the last one of a key counts.

        Raises
        ------
        ConfigError: another word, or no such question.
        """
        said = judgement_named(judgement)
        if key not in {item.question for item in self.sample.items}:
            raise ConfigError(f"the sample has no question {key!r}.")
        add_judgement(self.folder / JUDGEMENTS, key, said)
        self._said[key] = said

    def export(self, path: Path) -> int:
        """Write the open questions as CSV with an empty column ``judgement``; return how many."""
        open_ = self.questions()
        write_questions(path, open_)
        return len(open_)

    def take(self, path: Path) -> int:
        """Read judgements from a CSV that :meth:`export` wrote; return how many.

        Rows without a judgement stay open. Nothing is recorded when some row is wrong.

        Raises
        ------
        DataError: a file without the columns, or rows that cannot be used; names the line.
        """
        known = {item.question for item in self.sample.items}
        told = list(read_told(path, known))
        for key, said in told:
            self.judge(key, said)
        return len(told)

    def strata(self) -> dict[Stratum, Tallied]:
        """Return what was judged of each stratum."""
        counted: Counter[tuple[Stratum, str]] = Counter()
        for item in self.sample.items:
            counted[item.stratum, self._said.get(item.question, "")] += 1
        return {
            stratum: Tallied(
                size=size,
                right=counted[stratum, RIGHT],
                wrong=counted[stratum, WRONG],
                skipped=counted[stratum, SKIP],
            )
            for stratum, size in sorted(self.sample.sizes.items())
        }

    def table(self) -> Table:
        """Return the error rates, and write them as the table ``verifier-audit ...``."""
        strata = self.strata()
        judged = {item.prompt for item in self.sample.items if item.question in self._said}
        sides = [("own", self.sample.verifier)]
        sides += [("twin", self.sample.twin)] if self.sample.twin else []
        rows = [row for side, name in sides for row in _rates(strata, side, name, len(judged))]
        table = Table(
            name=f"verifier-audit {self.sample.verifier}",
            title=f"How often {self.sample.verifier} is wrong on {self.sample.task}",
            rows=(*rows, *(_stratum_row(*one) for one in strata.items())),
            notes=self._notes(),
            provenance={"task": self.sample.task, "verifier": self.sample.verifier,
                        "twin": self.sample.twin, "seed": self.sample.seed, "n": self.sample.n},
        )  # fmt: skip
        self.run.write_table(table)
        return table

    def _notes(self) -> tuple[str, ...]:
        sample = self.sample
        notes = [
            f"{len(sample.items)} of {sum(sample.sizes.values()):,} graded rollouts were drawn, "
            f"seed {sample.seed}; rates are of rollouts in this run, weighted to it. They rest on "
            "a person's judgements, whose own errors they do not cover.",
        ]
        if sample.n_ungraded:
            notes.append(
                f"{sample.n_ungraded:,} rollouts that {sample.verifier} left ungraded do not count."
            )
        if not sample.twin:
            notes.append("The verifier has no strict or lenient twin: only its verdict stratifies.")
        if rollouts_of(self.run, sample.task) != sample.n_rollouts:
            notes.append("The run has grown since the sample was drawn; another --seed draws anew.")
        return tuple(notes)

    def _question(self, item: Item) -> Question:
        prompt = self._prompts[item.prompt]
        return Question(
            key=item.question,
            prompt=prompt.text,
            reference=_reference(prompt, self._task),
            response=item.text,
        )


def open_audit(
    run: Run,
    *,
    n: int = 100,
    seed: int = 0,
    task: str = "",
    verifier: str = "",
    twin: str = "",
    workers: int = 0,
    timeout_s: float | None = None,
    on_event: OnEvent = ignore,
) -> Audit:
    """Draw the sample, or take up the one that was drawn with these settings.

    verifier: ``NAME@VERSION`` of stored verdicts; empty: that of the newest.
    twin: a task or ``module:attr`` whose verdicts stratify, too; empty: the task's verifier under
    its other format policy, where it has one.

    Raises
    ------
    ConfigError, DataError: what cannot be found or drawn.
    """
    chosen, groups = task_in_run(run, task)
    called = named_verifier(verifier) or first_verifier(run, groups)
    known = _task_of(run, chosen)
    other = load_target(twin).verifier if twin else _twin(run, chosen, called[0])
    folder = run.path / FOLDER / file_name(f"n{n} s{seed} {chosen} {'@'.join(called)}")
    prompts = {prompt.key: prompt for prompt in run.prompts(chosen)}
    if (folder / SAMPLE).exists():
        sample = read_sample(folder / SAMPLE)
        if sample.twin != ("" if other is None else f"{other.name}@{other.version}"):
            raise ConfigError(
                f"{folder} was drawn with the twin {sample.twin or 'none'}; choose another --seed "
                "for another twin."
            )
        return Audit(run, folder, sample, prompts, known)
    sample = draw_sample(
        run, groups, called, other, n=n, seed=seed, workers=workers, timeout_s=timeout_s,
        on_event=on_event,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / SAMPLE, sample_to_json(sample))
    return Audit(run, folder, sample, prompts, known)


def _specs(run: Run, name: str) -> list[str]:
    """Return the specs that may be the task's: of the run's configuration, else its own name."""
    try:
        told = list(config_from_dict(run.config).tasks)
    except UserError:
        told = []
    return [*told, name]


def _task_of(run: Run, name: str) -> Task | None:
    for spec in _specs(run, name):
        try:
            task = load_task(spec)
        except ConfigError:
            continue
        if task.name == name:
            return task
    return None


def _twin(run: Run, name: str, verifier: str) -> Verifier | None:
    for spec in _specs(run, name):
        try:
            if load_task(spec).name == name:
                return twin_of(spec, verifier)
        except ConfigError:
            continue
    return None


def _reference(prompt: Prompt, task: Task | None) -> str:
    told = [str(prompt.facts[name]) for name in TRUTHS if prompt.facts.get(name) is not None]
    gold = [] if task is None or told else list(gold_of(task, prompt)[:1])
    return next(iter([*told, *gold]), "")


def _rates(
    strata: Mapping[Stratum, Tallied], side: str, name: str, n_prompts: int
) -> Iterator[Row]:
    kinds = (
        ("false CORRECT", GRADED[:1], "of its CORRECT verdicts, how many are wrong"),
        ("false WRONG", GRADED[1:], "of its WRONG verdicts, how many are right"),
        ("misjudged", GRADED, "of both"),
    )
    for kind, said, what in kinds:
        chosen = errors_of(strata, side, said)
        yield Row(
            labels={"kind": "error", "verifier": name, "error": kind, "what": what},
            estimate=error_rate(strata, chosen, n_prompts),
        )
    everything = errors_of(strata, side, GRADED)
    correct = errors_of(strata, side, GRADED[:1])
    graded = sum(strata[stratum].size for stratum in everything)
    passed = sum(strata[stratum].size for stratum in correct)
    labels = {"kind": "success", "verifier": name}
    yield Row(
        labels={**labels, "error": "by its verdicts", "what": "rollouts called CORRECT"},
        estimate=Estimate(
            value=passed / graded if graded else None, method="counted", n_graded=graded
        ),
    )
    yield Row(
        labels={**labels, "error": "by judgement", "what": "rollouts that are right"},
        estimate=error_rate(strata, dict.fromkeys(everything, "right"), n_prompts),
    )


def _stratum_row(stratum: Stratum, one: Tallied) -> Row:
    return Row(
        labels={"kind": "stratum", "verdict": stratum.own, "twin": stratum.twin,
                "size": one.size, "right": one.right, "wrong": one.wrong, "skipped": one.skipped},
        estimate=Estimate(
            value=one.right / one.n if one.n else None,
            method="share of judged rows that are right",
            n_graded=one.n,
            n_ungraded=one.skipped,
        ),
    )  # fmt: skip
