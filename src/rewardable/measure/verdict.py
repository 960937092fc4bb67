"""Table of the verdict: what the other tables say, in sentences. It claims nothing of its own.

A sentence says "rose" or "fell" only where the interval of the paired difference excludes zero;
over budgets that is the simultaneous band. Otherwise it says that no change is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewardable.measure import clauses, doubts
from rewardable.measure.arms import Arm, Pair
from rewardable.measure.clauses import Claim, Source
from rewardable.measure.marked import FROM_TRAINING
from rewardable.measure.rows import FALL, NONE, RISE, row
from rewardable.measure.study import LEFT_OUT, Study, TaskStudy
from rewardable.measure.words import listing, plural
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
        notes=(*notes, *_left_out(study), BAND_CAVEAT, CAVEAT),
        provenance=study.provenance,
    )


def _left_out(study: Study) -> list[str]:
    marked = [note for note in study.warnings if note.startswith(FROM_TRAINING)]
    return marked + [note for task in study.tasks for note in task.warnings if LEFT_OUT in note]


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
        claims = [*clauses.description(source, subject), *clauses.ungraded(source, subject)]
        return _with_plain(source, subject, claims)
    changes = [*clauses.rate(source, subject), *clauses.reach(source, subject)]
    forecast = clauses.trainability(source, subject)
    future = clauses.is_future(source)
    lost = clauses.transitions(source, subject)
    plain = _plain(subject, changes, lost, source)
    if future:
        plain = _future(subject, forecast[0], [*changes, *lost], source)
    order = [forecast, changes] if future else [changes]
    return [
        plain,
        *(claim for part in order for claim in part),
        *lost,
        *([] if future else forecast),
        *doubts.shape(source, subject),
        *doubts.temperatures(source, subject),
        *doubts.truncation(source, subject),
        *clauses.ungraded(source, subject),
    ]


def _size(source: Source, subject: Pair | Arm) -> str:
    arms = (subject,) if isinstance(subject, Arm) else (subject.before, subject.after)
    n_P = [int(n) for arm in arms for n in (arm.drawn_P.min(), arm.drawn_P.max())]
    n = f"{min(n_P)}" if min(n_P) == max(n_P) else f"{min(n_P)} to {max(n_P)}"
    noun = "sample" if max(n_P) == 1 else "samples"
    return f"{plural(arms[0].n_prompts, 'prompt')}, {n} {noun} each"


def _with_plain(source: Source, arm: Arm, claims: list[Claim]) -> list[Claim]:
    text = f"{source.title}: {arm.policy} at {arm.spec} alone ({_size(source, arm)})."
    return [Claim(topic="plain", name="", text=text, estimate=claims[0].estimate), *claims]


def _plain(pair: Pair, changes: Sequence[Claim], lost: Sequence[Claim], source: Source) -> Claim:
    """Say what happened in one sentence; its only numbers are sizes and lost prompts."""
    words, tone = _headline(pair.before.policy, pair.after.policy, changes)
    told = _lost(lost)
    text = f"{source.title}: {words}{told} ({_size(source, pair)})."
    tone = FALL if told else tone
    return Claim(topic="plain", name="", text=text, estimate=changes[0].estimate, tone=tone)


def _headline(before: str, after: str, changes: Sequence[Claim]) -> tuple[str, str]:
    """Return words and tone. Quantities without an interval are left out."""
    told = [claim for claim in changes if claim.told and claim.headline]
    if not {"pass", "support"} & {claim.topic for claim in told}:
        return f"too little data to say how {after} differs from {before}", NONE
    rate = next((claim.tone for claim in told if claim.topic == "pass"), None)
    named = {tone: [_short(claim) for claim in told if claim.topic != "pass" and claim.tone == tone]
             for tone in (FALL, RISE, NONE)}  # fmt: skip
    tone = FALL if named[FALL] else rate or NONE
    return _what_happened(before, after, rate, named), tone


def _short(claim: Claim) -> str:
    return claim.name.split(" (")[0]


def _lost(claims: Sequence[Claim]) -> str:
    """Say how many prompts are certified lost; nothing where none is."""
    found = [claim.estimate for claim in claims if claim.tone == FALL]
    return "".join(
        f"; {one.value or 0:.0f} of {plural(one.n_prompts, 'prompt')} certified lost"
        for one in found
    )


def _what_happened(
    before: str, after: str, rate: str | None, named: Mapping[str, list[str]]
) -> str:
    fell, rose, same = (listing(named[tone]) for tone in (FALL, RISE, NONE))
    unshown = "nothing can be told of pass@1" if rate is None else "no change of pass@1 is shown"
    if rate == RISE:
        words = f"{after} is right more often than {before}"
        words += f" but reaches less: {fell} fell" if fell else ""
    elif rate == FALL:
        words = f"{after} is right less often than {before}" + (
            f", and {fell} fell" if fell else ""
        )
    elif fell:
        words = f"{after} reaches less than {before}: {fell} fell; {unshown}"
    elif not rose and rate == NONE:
        what = listing(["pass@1", *named[NONE]]).replace(" and ", " or ")
        return f"no change of {what} is shown between {before} and {after}"
    else:
        words = f"{unshown} between {before} and {after}"
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
    lost = _lost([claim for claim in changes if claim.topic == "transitions"])
    fell = [_short(claim) for claim in changes
            if claim.tone == FALL and claim.headline and claim.topic != "transitions"]  # fmt: skip
    words += (f"; {listing(fell)} fell" if fell else "") + lost
    text = f"{source.title} ({source.config.future_note}): {words} ({_size(source, pair)})."
    tone = FALL if fell or lost else forecast.tone
    return Claim(topic="plain", name="", text=text, estimate=forecast.estimate, tone=tone)
