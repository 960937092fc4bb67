"""Table of the verdict: what the other tables say, in sentences. It claims nothing of its own.

A sentence says "rose" or "fell" only where the interval of the paired difference excludes zero;
over budgets that is the simultaneous band. Otherwise it says that no change is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardable.measure import clauses, doubts
from rewardable.measure.arms import Arm, Pair
from rewardable.measure.clauses import Claim, Source
from rewardable.measure.rows import FALL, NONE, RISE, row
from rewardable.measure.study import Study, TaskStudy
from rewardable.measure.words import listing
from rewardable.results import Row, Table

BAND_CAVEAT = (
    "Intervals of pass@k, support@k and coverage@k hold for all budgets at once; the others hold "
    "one by one."
)
CAVEAT = "Intervals cover prompts and samples, not training seeds."


def verdict_table(study: Study, tables: Mapping[str, Table]) -> Table:
    """Return one row a sentence (label ``text``) and one note a paragraph.

    Labels: topic (plain, pass, support, coverage, best, transitions, trainability, shape,
    truncation, temperature, ungraded), tone (rise, fall, none), task, role, and before and after,
    or policy.
    ``headline`` marks the comparison of the last trained policy.
    """
    rows: list[Row] = []
    notes: list[str] = []
    for task in study.tasks:
        source = Source(tables, task, study.config)
        subjects = _subjects(task)
        for place, subject in enumerate(subjects, start=1):
            claims = _claims(source, subject)
            last = place == len(subjects)
            rows += [_row(task, subject, claim, last) for claim in claims]
            notes.append(" ".join(claim.text for claim in claims))
    return Table(
        name="verdict",
        title="Verdict",
        rows=tuple(rows),
        notes=(*notes, BAND_CAVEAT, CAVEAT),
        provenance=study.provenance,
    )


def _subjects(task: TaskStudy) -> Sequence[Pair | Arm]:
    """Return the pairs at the headline spec, or the only policy."""
    return task.headline_pairs or task.arms[:1]


def _row(task: TaskStudy, subject: Pair | Arm, claim: Claim, headline: bool) -> Row:
    return row(
        subject.labels,
        claim.estimate,
        topic=claim.topic,
        name=claim.name,
        text=claim.text,
        tone=claim.tone,
        role=task.role,
        headline=headline,
    )


def _claims(source: Source, subject: Pair | Arm) -> list[Claim]:
    if isinstance(subject, Arm):
        return _with_plain(source, subject, clauses.description(source, subject))
    changes = [*clauses.rate(source, subject), *clauses.reach(source, subject)]
    forecast = clauses.trainability(source, subject)
    future = clauses.is_future(source)
    plain = _plain(subject, changes, source)
    if future:
        plain = _future(subject, forecast[0], changes, source)
    order = [forecast, changes] if future else [changes]
    return [
        plain,
        *(claim for part in order for claim in part),
        *clauses.transitions(source, subject),
        *([] if future else forecast),
        *doubts.shape(source, subject),
        *doubts.temperatures(source, subject),
        *doubts.truncation(source, subject),
        *clauses.ungraded(source, subject),
    ]


def _size(source: Source, subject: Pair | Arm) -> str:
    arms = (subject,) if isinstance(subject, Arm) else (subject.before, subject.after)
    n_P = [int(n) for arm in arms for n in (arm.rollouts_P.min(), arm.rollouts_P.max())]
    n = f"{min(n_P)}" if min(n_P) == max(n_P) else f"{min(n_P)} to {max(n_P)}"
    return f"{arms[0].n_prompts} prompts, {n} samples each"


def _with_plain(source: Source, arm: Arm, claims: list[Claim]) -> list[Claim]:
    text = f"{source.title}: {arm.policy} at {arm.spec} alone ({_size(source, arm)})."
    return [Claim(topic="plain", name="", text=text, estimate=claims[0].estimate), *claims]


def _plain(pair: Pair, changes: Sequence[Claim], source: Source) -> Claim:
    """Say what happened in one sentence without numbers."""
    first, rest = changes[0], changes[1:]
    named = {tone: [claim.name.split(" (")[0] for claim in rest if claim.tone == tone]
             for tone in (FALL, RISE, NONE)}  # fmt: skip
    blind = [claim for claim in changes if claim.estimate.low is None]
    before, after = pair.before.policy, pair.after.policy
    if blind:
        words = f"too little data to say how {after} differs from {before}"
    else:
        words = _what_happened(before, after, first.tone, named)
    text = f"{source.title}: {words} ({_size(source, pair)})."
    tone = NONE if blind else FALL if named[FALL] else first.tone
    return Claim(topic="plain", name="", text=text, estimate=first.estimate, tone=tone)


def _what_happened(before: str, after: str, rate: str, named: Mapping[str, list[str]]) -> str:
    fell, rose, same = (listing(named[tone]) for tone in (FALL, RISE, NONE))
    if rate == RISE:
        words = f"{after} is right more often than {before}"
        words += f" but reaches less: {fell} fell" if fell else ""
    elif rate == FALL:
        words = f"{after} is right less often than {before}" + (
            f", and {fell} fell" if fell else ""
        )
    elif fell:
        words = f"{after} reaches less than {before}: {fell} fell; no change of pass@1 is shown"
    elif not rose:
        return f"no change is shown between {before} and {after}"
    else:
        words = f"no change of pass@1 is shown between {before} and {after}"
    words += f"; {rose} rose" if rose else ""
    return words + (f"; no change of {same.replace(' and ', ' or ')} is shown" if same else "")


def _future(pair: Pair, forecast: Claim, changes: Sequence[Claim], source: Source) -> Claim:
    """Say in one sentence what later training could learn from, and what else fell."""
    before, after = pair.before.policy, pair.after.policy
    words = {
        RISE: f"{after} gives later training more to learn from than {before}",
        FALL: f"{after} gives later training less to learn from than {before}",
        NONE: f"no change is shown in what later training could learn from, {before} or {after}",
    }[forecast.tone]
    fell = [claim.name.split(" (")[0] for claim in changes if claim.tone == FALL]
    words += f"; {listing(fell)} fell" if fell else ""
    text = f"{source.title} ({source.config.future_note}): {words} ({_size(source, pair)})."
    tone = FALL if fell else forecast.tone
    return Claim(topic="plain", name="", text=text, estimate=forecast.estimate, tone=tone)
