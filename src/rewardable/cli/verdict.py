"""How an audit's outcome is printed."""

from __future__ import annotations

from collections.abc import Mapping

from rewardable.cli.console import say
from rewardable.results import Table
from rewardable.workflows.audit import AuditResult
from rewardable.workflows.grade import GradeSummary
from rewardable.workflows.sample import SampleReport

SHOWN = frozenset(
    {
        "pass",
        "support",
        "coverage",
        "best",
        "transitions",
        "trainability",
        "temperature",
        "ungraded",
    }
)
"""Topics that the terminal shows; the report shows all."""


def print_audit(result: AuditResult) -> None:
    """Print what was done, the verdict, and where the report lies."""
    print_sampled(result.sampled)
    print_graded(result.graded)
    print_verdict(result.tables["verdict"])
    say(f"report: {result.report}")


def print_verdict(verdict: Table) -> None:
    """Print the findings: every comparison in a sentence, the last one of a task in full."""
    compared = 0
    say("")
    for row in verdict.rows:
        plain, text = row.labels["topic"] == "plain", str(row.labels["text"])
        compared += plain
        if plain:
            say(text)
        elif row.labels["headline"] and row.labels["topic"] in SHOWN:
            say(f"  - {text}")
    for caveat in verdict.notes[compared:]:
        say(caveat)
    say("")


def print_gates(tables: Mapping[str, Table]) -> None:
    """Print how each gate came out, a line each."""
    for row in tables["gates"].rows if "gates" in tables else ():
        say(f"gate {row.labels['text']}")


def print_sampled(report: SampleReport) -> None:
    """Print how much was sampled, how fast, and what failed."""
    speed = f", {report.tokens / report.seconds:,.0f} tokens/s" if report.tokens else ""
    say(f"{report.rollouts:,} rollouts, {report.new:,} of them new{speed}")
    if report.failed:
        say(f"{report.failed:,} rollouts failed: {_reasons(report.reasons)}")


def print_graded(summary: GradeSummary) -> None:
    """Print how many verdicts were added and why rows stayed ungraded."""
    say(f"{summary.graded:,} graded, {summary.ungraded:,} ungraded")
    if summary.ungraded:
        say(f"ungraded because: {_reasons(summary.reasons)}")


def _reasons(reasons: dict[str, int]) -> str:
    most = sorted(reasons.items(), key=lambda item: -item[1])[:5]
    return "; ".join(f"{reason} ({count:,})" for reason, count in most)
