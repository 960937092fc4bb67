"""How the tests of verifiers are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewardable.cli.console import print_rows, say
from rewardable.results import Estimate, Example, Row, Table

if TYPE_CHECKING:
    from rewardable.workflows.verifiers.check import Check
    from rewardable.workflows.verifiers.diff import Diff

PATTERNS, OTHERS = 15, 5
QUOTE = 160


def shown(text: str) -> str:
    """Return a foreign text as it may be printed: control characters written out."""
    return "".join(c if c in "\n\t" or c.isprintable() else repr(c)[1:-1] for c in text)


def print_diff(found: Diff) -> None:
    """Print the rates, then the patterns of flips with an example each."""
    table = found.table
    say(table.title)
    rates = [row for row in table.rows if row.labels["kind"] in ("rate", "change")]
    main = [row for row in rates if row.labels["policy"] == "all" and _told(row)]
    print_rows(
        ("of all rollouts", "rate", "95 % interval"),
        [(str(row.labels["what"]), *_numbers(row.estimate)) for row in main],
    )
    for row in rates:
        if row.labels["policy"] != "all" and row.labels["what"] == "flips":
            value, interval = _numbers(row.estimate)
            say(f"  {row.labels['policy']}, spec {row.labels['spec']}: {value} flips {interval}")
    _print_patterns(table)
    for note in table.notes:
        say(note)
    if found.kept:
        say(f"{found.kept:,} verdicts stored beside the old ones; they are the newest now")


def _print_patterns(table: Table) -> None:
    flips = [row for row in table.rows if row.labels["kind"] == "flip"]
    others = [row for row in table.rows if row.labels["kind"] == "same outcome"]
    patterns = [*flips[:PATTERNS], *others[:OTHERS]]
    quoted = {example.labels["pattern"]: example for example in reversed(table.examples)}
    for rank, row in enumerate(patterns):
        old, new = (_outcome(row, side) for side in ("old", "new"))
        what = "" if row.labels["kind"] == "flip" else " (same outcome)"
        say(f"{row.estimate.value:,.0f} x {old} -> {new}{what}, answer like {row.labels['shape']}")
        if row.labels["labels"]:
            say(f"    labels: {row.labels['labels']}")
        if rank < len(flips) and rank in quoted:
            say(f"    {_short(quoted[rank].completion)}")
    if len(flips) + len(others) > len(patterns):
        say(f"{len(flips) + len(others) - len(patterns):,} more patterns are in the table")


def _told(row: Row) -> bool:
    """Leave out the directions in which nothing moved."""
    return "->" not in str(row.labels["what"]) or bool(row.estimate.value)


def _outcome(row: Row, side: str) -> str:
    reason = row.labels[f"{side}_reason"]
    return f"{row.labels[side]} [{reason}]" if reason else str(row.labels[side])


def print_check(found: Check) -> None:
    """Print a line a probe, then what failed."""
    table = found.table
    say(table.title)
    rows = [
        (
            str(row.labels["probe"]),
            str(row.labels["result"]),
            f"{row.labels['failed']}/{row.labels['tried']}",
            _milliseconds(row) if row.labels["probe"] == "time" else _numbers(row.estimate)[0],
            str(row.labels["what"]),
        )
        for row in table.rows
    ]
    print_rows(("probe", "result", "unexpected", "prompts right", "what"), rows)
    for example in table.examples:
        if example.labels["required"]:
            _print_example(example)
    for note in table.notes:
        say(note)
    say(f"failed: {', '.join(found.failed)}" if found.failed else "all required probes passed")


def _print_example(example: Example) -> None:
    labels = example.labels
    kind = f" ({labels['kind']})" if labels["kind"] else ""
    said = f"{labels['outcome']} {labels['reason']}".strip()
    say(f"{labels['probe']}{kind}: expected {labels['expected']}, got {said}")
    say(f"    prompt: {_short(example.prompt)}")
    say(f"    answer: {_short(example.completion)}")


def print_audit(table: Table) -> None:
    """Print the error rates of each verifier."""
    say(table.title)
    rows = [row for row in table.rows if row.labels["kind"] in ("error", "success")]
    print_rows(
        ("verifier", "what", "rate", "95 % interval", "judged"),
        [
            (
                str(row.labels["verifier"]),
                f"{row.labels['error']}: {row.labels['what']}",
                *_numbers(row.estimate),
                f"{row.estimate.n_graded:,}",
            )
            for row in rows
        ],
    )
    for row in table.rows:
        if row.labels["kind"] == "stratum":
            twin = f", twin {row.labels['twin']}" if row.labels["twin"] else ""
            say(
                f"  verdict {row.labels['verdict']}{twin}: {row.labels['size']:,} rollouts, judged "
                f"{row.labels['right']} right, {row.labels['wrong']} wrong, "
                f"{row.labels['skipped']} skipped"
            )
    warnings = {warning for row in rows for warning in row.estimate.warnings}
    for line in (*sorted(warnings), *table.notes):
        say(line)


def _numbers(estimate: Estimate) -> tuple[str, str]:
    value = "-" if estimate.value is None else f"{100 * estimate.value:.2f} %"
    if estimate.low is None or estimate.high is None:
        return value, ""
    return value, f"[{100 * estimate.low:.2f}, {100 * estimate.high:.2f}]"


def _milliseconds(row: Row) -> str:
    return "-" if row.estimate.value is None else f"{row.estimate.value:.3g} ms"


def _short(text: str) -> str:
    line = shown(" ".join(text.split()))
    return line if len(line) <= QUOTE else f"{line[:QUOTE]}..."
