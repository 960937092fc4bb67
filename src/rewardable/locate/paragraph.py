"""The findings of ``locate`` in one paragraph of plain words, for the last policy."""

from __future__ import annotations

from collections.abc import Mapping

from rewardable.locate.coverage_split import SHARE
from rewardable.locate.gathered import Gathered
from rewardable.results import Estimate, Label, Row, Table

TRIFLE = 0.01
"""Share of truncated rollouts that is worth a sentence."""


def paragraph_table(g: Gathered, tables: Mapping[str, Table]) -> Table:
    """Return a table whose notes are the sentences and whose rows are the figures they quote."""
    notes, rows = list[str](), list[Row]()
    if len(g.names) > 1:
        before, after = g.names[0], g.names[-1]
        for build in (_split, _coverage, _forced, _ratios, _doses, _openings):
            sentence, used = build(tables, before, after)
            notes += [sentence] if sentence else []
            rows += used
    if not notes and len(g.names) > 1:
        notes = ["The methods that ran give tables alone; they stand in the report."]
    if not notes:
        notes = ["Nothing to compare: name a trained policy beside the base."]
    return Table(
        name="located",
        title="Where it was lost",
        rows=tuple(rows),
        notes=(*notes, *_left_out(g), *g.notes, _rests_on(g)),
    )


def _left_out(g: Gathered) -> list[str]:
    """Say what was not graded, and what a token limit cut, where that is not a trifle."""
    said: list[str] = []
    for one in g.rollouts:
        n, cut = len(one.rows), sum(row.truncated for row in one.rows)
        if one.ungraded:
            said.append(
                f"{one.ungraded} of {n + one.ungraded} rollouts of {one.policy.name} could not be "
                "graded and are left out."
            )
        if cut > TRIFLE * n:
            said.append(
                f"{cut} of {n} rollouts of {one.policy.name} were cut at the token limit and are "
                "graded as they stand: a limit that cuts one policy more passes for lost execution."
            )
    return said


def _rests_on(g: Gathered) -> str:
    """Say how much the figures rest on, and what their intervals cover."""
    counts = ", ".join(
        f"{len(one.rows)} free and {_n_forced(g, one.policy.name)} forced rollouts of "
        f"{one.policy.name}"
        for one in g.rollouts
    )
    return (
        f"{len(g.prompts)} prompts: {counts}. Intervals cover prompts and samples, not training "
        "seeds."
    )


def _n_forced(g: Gathered, name: str) -> int:
    return sum(len(one.success) for one in g.results.get(name, {}).values())


Said = tuple[str, list[Row]]


def _find(tables: Mapping[str, Table], name: str, **labels: Label) -> Row | None:
    found = tables[name].select(**labels) if name in tables else ()
    return found[0] if found else None


def _number(estimate: Estimate, sign: bool = False) -> str:
    if estimate.value is None:
        return "unknown"
    form = "+.3f" if sign else ".3f"
    text = format(estimate.value, form)
    if estimate.low is None or estimate.high is None:
        return f"{text} ({'; '.join(estimate.warnings) or f'no interval: {estimate.method}'})"
    return f"{text} [{estimate.low:{form}}, {estimate.high:{form}}]"


def _split(tables: Mapping[str, Table], before: str, after: str) -> Said:
    pair: dict[str, Label] = {"before": before, "after": after}
    names = ("change of pass@1", "access part", "execution part")
    rows = [_find(tables, "entries", metric=name, **pair) for name in names]
    found = [one for one in rows if one is not None]
    if len(found) < 3:
        return "", []
    change, access, execution = (_number(one.estimate, sign=True) for one in found)
    return (
        f"From {before} to {after} pass@1 changed by {change}: {access} by which families are "
        f"started, {execution} by how started families are finished.",
        found,
    )


def _coverage(tables: Mapping[str, Table], before: str, after: str) -> Said:
    pair: dict[str, Label] = {"before": before, "after": after}
    names = ("change of coverage", "access part of coverage", "execution part of coverage")
    rows = [_find(tables, "entries", metric=name, **pair) for name in names]
    found = [one for one in rows if one is not None]
    if len(found) < 3:
        return "", []
    change, access, execution = (_number(one.estimate, sign=True) for one in found)
    share = _find(tables, "entries", metric=SHARE, **pair)
    if share is not None and found[0].estimate.excludes_zero:
        access += f" (a share of {_number(share.estimate)})"
        found.append(share)
    return (
        f"Coverage@{found[0].labels['k']} of solutions changed by {change}, of which access makes "
        f"{access} and execution {execution}: {_place(found[1].estimate, found[2].estimate)}.",
        found,
    )


def _place(access: Estimate, execution: Estimate) -> str:
    at_door = access.high is not None and access.high < 0
    in_room = execution.high is not None and execution.high < 0
    if at_door and in_room:
        return "lost both at the door (no longer started) and in the room (no longer finished)"
    if at_door:
        gained = execution.low is not None and execution.low > 0
        more = "; what is started is finished better" if gained else ""
        return f"lost at the door (no longer started){more}"
    if in_room:
        return "lost in the room (started, no longer finished)"
    return "no loss at either place is shown"


def _forced(tables: Mapping[str, Table], before: str, after: str) -> Said:
    pair: dict[str, Label] = {"before": before, "after": after, "access": "low"}
    names = (
        "forced execution, before",
        "forced execution, after",
        "change of forced execution",
    )
    rows = [_find(tables, "entries", metric=name, **pair) for name in names]
    found = [one for one in rows if one is not None and one.estimate.value is not None]
    if len(found) < 3:
        return "", []
    first, second, change = (one.estimate for one in found)
    return (
        f"Given the entry of a family that {after} seldom starts, it succeeds in "
        f"{_number(second)} of the cases, {before} behind the same prefixes in {_number(first)} "
        f"(change {_number(change, sign=True)}).",
        found,
    )


def _ratios(tables: Mapping[str, Table], before: str, after: str) -> Said:
    if "likelihood" not in tables:
        return "", []
    rows = tables["likelihood"].select(metric="ratio", before=before, after=after)
    found = [one for one in rows if one.estimate.value is not None]
    if not found:
        return "", []
    names = dict.fromkeys(str(one.labels["phase"]) for one in found)
    parts = [
        f"{name} "
        + "; ".join(
            f"{_number(one.estimate)} on texts of {one.labels['source']}"
            for one in found
            if one.labels["phase"] == name
        )
        for name in names
    ]
    return f"|Change of log-prob| a token: {', and '.join(parts)}.", list(found)


def _doses(tables: Mapping[str, Table], before: str, after: str) -> Said:
    """Speak of doses only where pass@1 differs: half of no gap is nothing."""
    told: dict[str, Label] = {"policy": after, "openings of": before}
    row = _find(tables, "interventions", metric="tokens that carry half", **told)
    gap = _find(tables, "interventions", metric="gap in pass@1", **told)
    if row is None or gap is None or not gap.estimate.excludes_zero:
        return "", []
    if row.estimate.value is None:
        return (
            f"No dose of {before}'s opening tokens given to {after} closes half of the gap in "
            "pass@1.",
            [row],
        )
    tokens = int(row.estimate.value)
    share = _find(tables, "interventions", metric="share of the gap", tokens=tokens, **told)
    much = "half of the gap" if share is None else f"{_number(share.estimate)} of the gap"
    closes = "token, given to {}, closes" if tokens == 1 else "tokens, given to {}, close"
    return (
        f"Of {before}'s openings {tokens} {closes.format(after)} {much} in pass@1.",
        [row, *([] if share is None else [share])],
    )


def _openings(tables: Mapping[str, Table], before: str, after: str) -> Said:
    pair: dict[str, Label] = {"before": before, "after": after}
    if "openings" not in tables:
        return "", []
    rows = [
        one
        for metric in ("distance", "share of re-ranking")
        for one in tables["openings"].select(metric=metric, **pair)
        if str(one.labels["kind"]).startswith("first")
    ]
    if len(rows) < 2 or rows[0].estimate.value is None:
        return "", []
    text = f"The distance between their openings is {_number(rows[0].estimate)}"
    if rows[1].estimate.value is not None and rows[0].estimate.excludes_zero:
        text += f", {_number(rows[1].estimate)} of it re-ranking of openings that {before} has"
    return f"{text}.", rows
