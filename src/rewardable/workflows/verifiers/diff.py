"""Judge archived rollouts by another verifier and show what changes. Stored verdicts stay."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rewardable.collect.progress import Buffer
from rewardable.errors import ConfigError, DataError
from rewardable.metrics import Interval, mean_interval
from rewardable.records import Graded, Prompt
from rewardable.results import Estimate, Example, Label, Row, Table
from rewardable.store import Run
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.verifiers.flips import (
    DIRECTIONS,
    PromptTally,
    Tally,
    flip_row,
)
from rewardable.workflows.verifiers.names import file_name
from rewardable.workflows.verifiers.rescore import Rescoring
from rewardable.workflows.verifiers.targets import Target, require_columns, task_in_run

FOLDER = "verifier-diffs"
KEEP_ROWS, KEEP_S = 20_000, 5.0
MOST_PATTERNS = 200
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Diff:
    """The outcome. ``rate``: flips a rollout, the mean over prompts; ``kept``: verdicts stored."""

    table: Table
    rate: float
    flips: int
    flips_file: Path
    kept: int


def diff(
    run: Run,
    target: Target,
    *,
    old: tuple[str, str] | None = None,
    task: str = "",
    workers: int = 0,
    timeout_s: float | None = None,
    keep: bool = False,
    on_event: OnEvent = ignore,
) -> Diff:
    """Compare the stored verdicts of a task with those of another verifier, rollout by rollout.

    old: name and version of the stored verdicts; None takes each rollout's newest.
    keep: store the new verdicts, too; they are then the newest. Nothing stored is overwritten.

    Writes the table ``verifier-diff NAME@VERSION`` and, as JSON lines, every flip.

    Raises
    ------
    ConfigError: no such task, or ``keep`` of a verifier whose version was not raised.
    DataError: no rollout has the old verdict.
    """
    chosen, groups = task_in_run(run, task, target)
    prompts = run.prompts(chosen)
    require_columns(target.verifier, prompts)
    pass_ = Rescoring(
        run=run,
        groups=groups,
        verifier=target.verifier,
        old=old,
        workers=workers,
        timeout_s=timeout_s,
        on_event=on_event,
    )
    new = f"{target.verifier.name}@{target.verifier.version}"
    file = run.path / FOLDER / f"{file_name(f'{chosen} {new}')}.jsonl"
    tally, kept = Tally(), 0
    with _replacing(file) as out, _sink(run, keep=keep) as buffer:
        for pair in pass_.pairs():
            pattern = tally.add(pair)
            if pattern is not None and pattern.flip:
                out.write(json.dumps(flip_row(pair, pattern)) + "\n")
            if keep:
                _require_raised(pair.old.verifier, pair.old.version, new)
                buffer.add(Graded(id=pair.rollout.id, verdict=pair.new))
                kept += 1
        _require_compared(run, pass_)
    table = _table(run, pass_, tally, prompts, new)
    run.write_table(table)
    rate = table.one(kind="rate", policy=ALL, spec=ALL, what="flips").value or 0.0
    flips = sum(count for pattern, count in tally.patterns.items() if pattern.flip)
    return Diff(table=table, rate=rate, flips=flips, flips_file=file, kept=kept)


@contextmanager
def _replacing(file: Path) -> Generator[IO[str]]:
    """Write beside a file, and put it in its place when all is written."""
    file.parent.mkdir(exist_ok=True)
    beside = file.with_name(f".{os.getpid()}-{file.name}")
    try:
        with beside.open("w", encoding="utf-8") as out:
            yield out
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)


def _sink(run: Run, *, keep: bool) -> Buffer[Graded]:
    def nothing(rows: Sequence[Graded]) -> None:
        pass

    write = run.add_verdicts if keep else nothing
    return Buffer(write, max_rows=KEEP_ROWS, max_s=KEEP_S)


def _require_raised(name: str, version: str, new: str) -> None:
    if f"{name}@{version}" == new:
        raise ConfigError(
            f"the new verifier calls itself {new}, as the stored one does; raise its version "
            "before its verdicts are kept. Were some kept before, name those to compare with: "
            "--old NAME@VERSION."
        )


def _require_compared(run: Run, pass_: Rescoring) -> None:
    if pass_.compared:
        return
    asked = "any verifier" if pass_.old is None else "@".join(pass_.old)
    held: set[str] = set()
    for group in pass_.groups if pass_.old is not None else ():
        rows = run.rollouts(policy_key=group.policy_key, spec_key=group.spec_key)
        held |= {f"{said.verifier}@{said.version}" for _, said in rows if said is not None}
    stored = f" The newest stored ones are of {', '.join(sorted(held))}." if held else ""
    raise DataError(
        f"no rollout of {pass_.task} in {run.path} has a verdict of {asked}.{stored} Grade first "
        "(rewardable grade RUN), or name another with --old NAME@VERSION."
    )


def _table(run: Run, pass_: Rescoring, tally: Tally, prompts: Sequence[Prompt], new: str) -> Table:
    names = {policy.key: policy.name for policy in run.policies()}
    clusters = {prompt.key: str(prompt.facts.get("cluster", prompt.key)) for prompt in prompts}
    rows = _rates(tally.by_prompt(tally.arms), clusters, {"policy": ALL, "spec": ALL})
    for policy, spec in tally.arms if len(tally.arms) > 1 else ():
        labels: dict[str, Label] = {"policy": names.get(policy, policy), "spec": spec}
        rows += _rates(tally.by_prompt([(policy, spec)]), clusters, labels)
    return Table(
        name=f"verifier-diff {new}",
        title=f"What {new} changes on {pass_.task}",
        rows=(*rows, *_pattern_rows(tally)),
        notes=_notes(pass_, tally, new),
        examples=_examples(tally, {prompt.key: prompt.text for prompt in prompts}, names),
        provenance={"task": pass_.task, "new": new, "old": _called(pass_.compared)},
    )


def _rates(
    found: Mapping[str, PromptTally], clusters: Mapping[str, str], labels: Mapping[str, Label]
) -> list[Row]:
    """Return the flip rate, its parts by direction, and the change of the success rate."""
    ids = _ids(clusters, found)
    shares = [("flips", [one.moves.total() / one.n for one in found.values()])]
    shares += [
        (f"{old} -> {now}", [one.moves[old, now] / one.n for one in found.values()])
        for old, now in DIRECTIONS
    ]
    n = sum(one.n for one in found.values())
    n_graded = sum(one.n_graded for one in found.values())
    sizes = {"n_prompts": len(found), "n_graded": n_graded, "n_ungraded": n - n_graded}
    rows = [
        Row(
            labels={**labels, "kind": "rate", "what": what},
            estimate=_estimate(mean_interval(values, clusters=ids), sizes),
        )
        for what, values in shares
    ]
    both = {key: one for key, one in found.items() if one.n_graded}
    if both:
        values = [one.change / one.n_graded for one in both.values()]
        interval = mean_interval(values, clusters=_ids(clusters, both), bounds=(-1.0, 1.0))
        estimate = _estimate(interval, {**sizes, "n_prompts": len(both)})
        rows.append(Row(labels={**labels, "kind": "change", "what": "pass@1"}, estimate=estimate))
    return rows


def _ids(clusters: Mapping[str, str], keys: Iterable[str]) -> list[str] | None:
    """Return the source of each prompt, None where every prompt is its own."""
    found = [clusters[key] for key in keys]
    return found if len(set(found)) < len(found) else None


def _estimate(interval: Interval, sizes: Mapping[str, int]) -> Estimate:
    known = interval.low == interval.low
    return Estimate(
        value=interval.mean,
        low=interval.low if known else None,
        high=interval.high if known else None,
        level=interval.level,
        method=f"mean over prompts; {interval.method}",
        warnings=interval.warnings,
        **sizes,
    )


def _pattern_rows(tally: Tally) -> list[Row]:
    return [
        Row(
            labels={
                "kind": "flip" if pattern.flip else "same outcome",
                "old": pattern.old,
                "new": pattern.new,
                "old_reason": pattern.old_reason,
                "new_reason": pattern.new_reason,
                "labels": pattern.labels,
                "shape": pattern.shape,
            },
            estimate=Estimate(value=float(count), method="rollouts of this pattern, counted"),
        )
        for pattern, count in list(tally.flips())[:MOST_PATTERNS]
    ]


def _examples(
    tally: Tally, texts: Mapping[str, str], names: Mapping[str, str]
) -> tuple[Example, ...]:
    return tuple(
        Example(
            labels={
                "pattern": rank,
                "policy": names.get(quoted.id.policy_key, quoted.id.policy_key),
                "prompt": quoted.id.prompt_key,
                "index": quoted.id.index,
                "old": f"{quoted.old.outcome} {quoted.old.reason}".strip(),
                "new": f"{quoted.new.outcome} {quoted.new.reason}".strip(),
            },
            prompt=texts.get(quoted.id.prompt_key, ""),
            completion=quoted.text,
        )
        for rank, (pattern, _) in enumerate(list(tally.flips())[:MOST_PATTERNS])
        if pattern.flip
        for quoted in tally.examples[pattern]
    )


def _called(compared: Mapping[tuple[str, str], int]) -> dict[str, int]:
    return {f"{name}@{version}": count for (name, version), count in sorted(compared.items())}


def _notes(pass_: Rescoring, tally: Tally, new: str) -> tuple[str, ...]:
    old = _called(pass_.compared)
    total = sum(old.values())
    notes = [
        f"Compared {total:,} rollouts of {pass_.task} ({pass_.judged:,} texts judged) with the "
        f"stored verdicts of {', '.join(f'{name} ({count:,})' for name, count in old.items())}. "
        "Rates are means over prompts of the share of a prompt's rollouts; intervals cover "
        "prompts and samples.",
    ]
    if len(old) > 1:
        notes.append("Several verifiers judged before; --old NAME@VERSION keeps to one.")
    if new in old:
        notes.append(
            f"The new verifier calls itself {new}, as a stored one does: raise its version."
        )
    if pass_.without_old:
        notes.append(f"{pass_.without_old:,} rollouts have no such verdict and were left out.")
    if pass_.failed:
        notes.append(f"{pass_.failed:,} rollouts whose engine failed were left out.")
    left = len(tally.patterns) - MOST_PATTERNS
    if left > 0:
        notes.append(f"{left:,} rarer patterns are not listed; every flip is in {FOLDER}/.")
    return tuple(notes)
