"""``rewardable choose RUN`` or ``rewardable choose BASE CHECKPOINT...``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardable.cli.console import print_rows, progress, say
from rewardable.cli.options import FutureTasks

if TYPE_CHECKING:
    from rewardable.results import Estimate
    from rewardable.workflows.choosing import ChooseResult

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN | BASE CHECKPOINT...",
        help="A training run's folder, or a base and checkpoints in order of training.",
        show_default=False,
    ),
]
Target = Annotated[
    str, typer.Option("--task", help="Task whose success is wanted [default: the trained one].")
]
Samples = Annotated[int | None, typer.Option("-n", "--n", help="Samples a prompt and policy.")]
Prompts = Annotated[int | None, typer.Option(help="Instances a task.")]
MaxNewTokens = Annotated[int | None, typer.Option(help="Token limit of an answer.")]
Temperature = Annotated[float | None, typer.Option(help="Of the audit's samples.")]
Group = Annotated[int | None, typer.Option(help="Group size of trainability.")]
Seed = Annotated[int | None, typer.Option(help="Keys the audit's samples.")]
Screen = Annotated[bool | None, typer.Option(help="Also sample the refusal screen of chat models.")]
Support = Annotated[float, typer.Option(help="Tolerated fall of support@k, share of prompts.")]
Trainability = Annotated[float, typer.Option(help="Tolerated fall of groups with variation.")]
HeldOut = Annotated[float, typer.Option(help="Tolerated fall of pass@1 on later tasks.")]
Refusal = Annotated[float, typer.Option(help="Tolerated fall of balanced accuracy, refusals.")]
Plasticity = Annotated[float, typer.Option(help="Tolerated rise of a probe's loss, nats a token.")]
ProbeTask = Annotated[
    str, typer.Option("--plasticity-task", help="New task that every policy is fine-tuned on.")
]
ProbeSeeds = Annotated[int, typer.Option(help="Repetitions of a probe.")]
ProbeSteps = Annotated[int, typer.Option(help="Fine-tuning steps of a probe.")]
ProbeRate = Annotated[float, typer.Option(help="Learning rate of a probe.")]
ProbeLora = Annotated[int, typer.Option(help="Rank of a probe's adapter; 0 trains all weights.")]
RewardSteps = Annotated[
    int, typer.Option(help="Steps of GRPO on the probe's task whose gain is shown; 0: none.")
]
OutFolder = Annotated[
    Path | None, typer.Option("--out", help="Folder [default: RUN/choose, or runs/choose].")
]


def choose(
    sources: Sources,
    task: Target = "",
    future_task: FutureTasks = None,
    plasticity_task: ProbeTask = "",
    support: Support = 0.1,
    trainability: Trainability = 0.1,
    held_out: HeldOut = 0.1,
    refusal: Refusal = 0.1,
    plasticity: Plasticity = 0.1,
    probe_seeds: ProbeSeeds = 5,
    probe_steps: ProbeSteps = 10,
    probe_rate: ProbeRate = 1e-4,
    probe_lora: ProbeLora = 0,
    reward_steps: RewardSteps = 0,
    n: Samples = None,
    prompts: Prompts = None,
    max_new_tokens: MaxNewTokens = None,
    temperature: Temperature = None,
    group: Group = None,
    seed: Seed = None,
    refusal_screen: Screen = None,
    out: OutFolder = None,
) -> None:
    """Rank the checkpoints of a run, and say which one to continue from.

    An audit that the run holds is taken up; name some of its options to make another.
    """
    from rewardable.workflows.choosing import Limits, ProbePlan, plan_of
    from rewardable.workflows.choosing import choose as run_choose

    asked: dict[str, Any] = {
        "task": task or None, "future_tasks": tuple(future_task or ()) or None, "n": n,
        "prompts": prompts, "max_new_tokens": max_new_tokens, "temperature": temperature,
        "group": group, "seed": seed, "refusal_screen": refusal_screen,
    }  # fmt: skip
    given = {name: value for name, value in asked.items() if value is not None}
    limits = Limits(
        support=support, trainability=trainability, held_out=held_out, refusal=refusal,
        plasticity=plasticity,
    )  # fmt: skip
    probe = None
    if plasticity_task:
        probe = ProbePlan(
            task=plasticity_task, seeds=probe_seeds, steps=probe_steps,
            learning_rate=probe_rate, lora=probe_lora, reward_steps=reward_steps,
        )  # fmt: skip
    plan = plan_of(sources, out, given, limits, probe)
    with progress() as on_event:
        result = run_choose(plan, on_event)
    print_choice(result)


def print_choice(result: ChooseResult) -> None:
    """Print the ranked candidates, the reason, and where everything lies."""
    print_rows(
        ("rank", "checkpoint", "target success", "worst margin", "violated", "open", "holds"),
        [
            (str(place), one.policy, shown(one.target), f"{one.worst:+.2f}",
             *(str(len(one.judged(kind))) for kind in ("violated", "open", "holds")))
            for place, one in enumerate(result.choice.ranked, start=1)
        ],
    )  # fmt: skip
    print_probes(result)
    say("")
    say(result.choice.reason)
    for note in result.table.notes[1:]:
        say(note)
    broken = bool(result.choice.ranked[0].judged("violated"))
    say(
        f"{'first in order, but it breaks a constraint' if broken else 'continue from'}: "
        f"{result.source}"
    )
    say(f"table, figure, audit: {result.table_path}, {result.figure}, {result.audit.report}")


def print_probes(result: ChooseResult) -> None:
    """Print what the probes of plasticity found, a line a figure and policy."""
    rows = result.table.select(what="probe")
    changes = {
        (row.labels["policy"], row.labels["metric"]): row.estimate
        for row in rows
        if row.labels["of"] == "change"
    }
    if not rows:
        return
    say("")
    print_rows(
        ("probe", "policy", "value", "against the base"),
        [
            (str(row.labels["metric"]), str(row.labels["policy"]), shown(row.estimate, 3),
             shown(changes.get((row.labels["policy"], row.labels["metric"])), 3, signed=True))
            for row in rows
            if row.labels["of"] == "level"
        ],
    )  # fmt: skip


def shown(one: Estimate | None, places: int = 2, *, signed: bool = False) -> str:
    """Write an estimate with its interval."""
    if one is None or one.value is None:
        return "-"
    form = f"{'+' if signed else ''}.{places}f"
    if one.low is None or one.high is None:
        return format(one.value, form)
    return f"{one.value:{form}} [{one.low:{form}}, {one.high:{form}}]"
