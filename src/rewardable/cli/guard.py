"""``rewardable guard METRICS``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardable.cli.console import say
from rewardable.errors import ConfigError

if TYPE_CHECKING:
    from rewardable.workflows.guarding import Decision, Evidence

Metrics = Annotated[
    Path,
    typer.Argument(
        metavar="METRICS",
        help="A training run's folder, metrics.jsonl, guard.jsonl, TRL's trainer_state.json, or "
        "the JSON Lines of verl's file logger.",
        show_default=False,
    ),
]
Dumps = Annotated[
    list[Path] | None,
    typer.Option("--dump", help="Folder of verl's rollout or validation dumps; may be repeated."),
]
SuccessAt = Annotated[float, typer.Option(help="A dumped rollout succeeds from this score on.")]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", help="An action that the guard would have been allowed."),
]
Alias = Annotated[
    list[str] | None,
    typer.Option("--alias", help="NAME=SIGNAL: what a metric of yours means; may be repeated."),
]
Expected = Annotated[list[str] | None, typer.Option("--expect", help="A metric that must appear.")]
Alpha = Annotated[float, typer.Option(help="Chance of a false alarm in a run.")]
Tolerated = Annotated[float, typer.Option(help="Relative fall that is no loss.")]
StopAt = Annotated[float, typer.Option(help="Relative fall that stops.")]
SupportAt = Annotated[int, typer.Option(help="k of support@k.")]
Group = Annotated[int, typer.Option(help="Group size of trainability.")]


def guard(
    metrics: Metrics,
    dump: Dumps = None,
    success_at: SuccessAt = 1.0,
    allow: Allow = None,
    alias: Alias = None,
    expect: Expected = None,
    alpha: Alpha = 0.05,
    tolerated: Tolerated = 0.05,
    stop_at: StopAt = 0.25,
    support_at: SupportAt = 8,
    group: Group = 8,
) -> None:
    """Say what the guard would have decided in a run that is over."""
    from rewardable.workflows.guarding import guard_config, replay

    config = guard_config(
        alpha=alpha, tolerated=tolerated, stop_at=stop_at, support_at=support_at, group=group,
        allowed=tuple(allow or ()), expected=tuple(expect or ()),
        aliases=dict(map(parse_alias, alias or ())),
    )  # fmt: skip
    found = replay(metrics, config, tuple(dump or ()), success_at)
    say(f"{len(found.decisions):,} steps of {found.format}, {found.audits} sampled looks")
    for decision in found.spoken:
        print_decision(decision)
    last = found.decisions[-1]
    if not found.spoken:
        say("the guard says nothing: ok at every step.")
    say(f"at the end (step {last.step}): {last.state}; last good step {last.last_good}")
    for text in (*found.notes, *found.notices):
        say(f"note: {text}")
    if found.unknown:
        say(
            f"not known and not watched: {', '.join(found.unknown)}. Name what one means with "
            "--alias NAME=SIGNAL."
        )


def print_decision(decision: Decision) -> None:
    """Print a change of the state with its evidence, remedy and actions."""
    text = f"step {decision.step}: {decision.state}"
    say(f"{text}. {decision.remedy}" if decision.remedy else text)
    for one in decision.evidence:
        if one.fallen:
            say(f"  {evidence(one)}")
    if decision.actions:
        say(f"  would do: {', '.join(decision.actions)}")


def evidence(one: Evidence) -> str:
    """Write one signal now and at the start."""
    where = f" of {one.task}" if one.task else ""
    text = f"{one.signal}{where}: {one.value:.3g}, at the start {one.start_value:.3g}"
    if one.low is not None and one.high is not None:
        text += f", now within [{one.low:.3g}, {one.high:.3g}]"
    if one.e_value is not None and one.threshold is not None:
        text += f"; evidence {one.e_value:.3g}, it speaks from {one.threshold:.3g}"
    return f"{text} ({one.note})" if one.note else text


def parse_alias(text: str) -> tuple[str, str]:
    """Split ``NAME=SIGNAL``; ConfigError for anything else."""
    name, equals, signal = text.rpartition("=")
    if not (name and equals and signal):
        raise ConfigError(f"--alias needs NAME=SIGNAL, got {text!r}.")
    return name, signal
