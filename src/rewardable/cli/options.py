"""Options that several verbs share, with one help text each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rewardable.errors import ConfigError

if TYPE_CHECKING:
    from rewardable.workflows.config import RunConfig

Policies = Annotated[
    list[str],
    typer.Argument(
        metavar="BASE [TRAINED]...",
        help="Folder, hub id, *.gguf, LoRA folder, vllm:FOLDER, http://HOST/v1#MODEL, fake:FILE, "
        "'pocket', or a mix, for example mix:logits,alpha=0.3,first=4,TRAINED,EARLIER. "
        "The first is the base.",
        show_default=False,
    ),
]
TaskName = Annotated[
    str, typer.Option("--task", help="Trained task, NAME or NAME:option=value,...")
]
FutureTasks = Annotated[
    list[str] | None,
    typer.Option("--future-task", help="Task to forecast; may be given several times."),
]
Out = Annotated[Path | None, typer.Option("--out", help="Run folder [default: runs/TASK].")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Samples = Annotated[int, typer.Option("-n", "--n", help="Samples a prompt and policy.")]
StopAt = Annotated[
    int,
    typer.Option(
        "--stop-at-successes", help="Leave a prompt after so many successes; 0 draws n of each."
    ),
]
Cap = Annotated[int, typer.Option(help="Most graded samples of a prompt [default: n].")]
First = Annotated[int, typer.Option(help="Samples before the first look [default: the group].")]
Step = Annotated[int, typer.Option(help="Samples between two looks.")]
GiveUp = Annotated[
    int, typer.Option(help="From so many samples on leave a prompt behind half the pace; 0: never.")
]
Prompts = Annotated[int, typer.Option(help="Instances a task.")]
Perturb = Annotated[int, typer.Option(help="Paraphrases of each instance to sample too.")]
Temperatures = Annotated[
    str, typer.Option(help="Comma-separated; every policy is sampled at each.")
]
TopP = Annotated[float, typer.Option(help="Nucleus; 1 is off.")]
MaxNewTokens = Annotated[int, typer.Option(help="Token limit of an answer.")]
Seed = Annotated[int, typer.Option(help="Keys every random draw.")]
Group = Annotated[int, typer.Option(help="Group size G of the trainability forecast.")]
RefusalScreen = Annotated[
    bool,
    typer.Option(help="Also sample the refusal screen, 200 short requests, of chat models."),
]
PromptFormat = Annotated[str, typer.Option(help="auto, chat or raw.")]
TemplateFrom = Annotated[
    str, typer.Option(help="Take every policy's chat template from here [default: the base].")
]
OwnTemplates = Annotated[
    bool, typer.Option("--own-templates", help="Compare policies under their own templates.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps...")]
Dtype = Annotated[str, typer.Option(help="auto, float32, bfloat16, float16.")]
DeviceMap = Annotated[str, typer.Option(help="Passed to transformers, for example 'auto'.")]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Sample rollouts again whose engine failed.")
]
Workers = Annotated[int, typer.Option(help="Grading processes; 0 grades in this one.")]
Timeout = Annotated[
    float, typer.Option(help="Seconds a verdict may take, then it is UNGRADED; 0 is no limit.")
]
EngineArgs = Annotated[
    list[str] | None,
    typer.Option("--engine-arg", help="ENGINE.KEY=VALUE for http or vllm; may be given often."),
]
BatchRows = Annotated[int, typer.Option(help="Sequences in flight; 0 chooses.")]


def parse_temperatures(text: str) -> tuple[float, ...]:
    """Parse ``"0.6,1.0"``; ConfigError for anything else."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise ConfigError(
            f"--temperatures must be numbers with commas between, got {text!r}; "
            "for example 0.6,1.0,1.4."
        ) from error


def default_out(out: Path | None, task: str) -> Path:
    """Return the run folder: the given one, or ``runs/`` and the task's name."""
    return out if out is not None else Path("runs") / task.partition(":")[0].replace(".", "-")


def run_config(
    policies: list[str],
    task: str,
    future_task: list[str] | None,
    temperatures: str,
    template_from: str = "",
    *,
    stopping: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0),
    **plain: Any,
) -> RunConfig:
    """Build a run's configuration from options; ``plain`` ones are passed as they are.

    stopping: successes (0: none), cap, first, step and give_up of a stopping rule.
    """
    from rewardable.workflows.config import RunConfig, stopping_rule
    from rewardable.workflows.sources import resolve_source

    rule = stopping_rule(*stopping, n=plain.get("n", 64), group=plain.get("group", 8))
    if rule is not None:
        plain["n"] = rule.cap
    return RunConfig(
        stopping=rule,
        policies=tuple(resolve_source(policy) for policy in policies),
        task=task,
        future_tasks=tuple(future_task or ()),
        temperatures=parse_temperatures(temperatures),
        template_from=resolve_source(template_from),
        **plain,
    )


def words(text: str) -> list[str]:
    """Split at commas; nothing gives nothing."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_numbers(text: str, option: str) -> tuple[float, ...]:
    """Parse ``"0.2,0.4"``; ConfigError for anything else."""
    try:
        return tuple(float(part) for part in words(text))
    except ValueError as error:
        raise ConfigError(f"{option} must be numbers with commas between, got {text!r}.") from error


def whole_numbers(text: str, option: str) -> tuple[int, ...]:
    """Parse ``"1,2,4"``; ConfigError for anything else."""
    try:
        return tuple(int(part) for part in words(text))
    except ValueError as error:
        raise ConfigError(
            f"{option} must be whole numbers with commas between, got {text!r}."
        ) from error
