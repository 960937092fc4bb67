"""``rewardable collapse BASE CHECKPOINT... --task NAME``, or ``rewardable collapse RUN``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import progress, say
from rewardable.cli.verdict import print_sampled
from rewardable.errors import ConfigError

if TYPE_CHECKING:
    from rewardable.workflows.collapse import CollapseResult

Who = Annotated[
    list[str],
    typer.Argument(
        metavar="BASE CHECKPOINT... | RUN",
        help="Policies, the first is the base or the run's own start; or one run folder.",
        show_default=False,
    ),
]


def collapse(
    who: Who,
    task: Annotated[str, typer.Option("--task", help="Task, NAME or NAME:option=value,...")] = "",
    n: o.Samples = 10,
    prompts: o.Prompts = 100,
    base: Annotated[
        str, typer.Option(help="Imported runs: compare with this policy [default: the first].")
    ] = "",
    out: o.Out = None,
    temperature: Annotated[float, typer.Option(help="Sampling temperature.", min=0)] = 1.0,
    top_p: o.TopP = 1.0,
    max_new_tokens: o.MaxNewTokens = 256,
    seed: o.Seed = 0,
    prompt_format: o.PromptFormat = "auto",
    template_from: o.TemplateFrom = "",
    own_templates: o.OwnTemplates = False,
    device: o.Device = "auto",
    dtype: o.Dtype = "auto",
    device_map: o.DeviceMap = "",
    batch_rows: o.BatchRows = 0,
) -> None:
    """Count distinct outputs of 100 prompts x 10 samples, each policy against the first one."""
    if n < 2:
        raise ConfigError(f"distinct outputs are counted among at least 2 samples, got -n {n}.")
    if len(who) == 1 and (Path(who[0]) / "config.toml").is_file():
        _tell(_held(Path(who[0]), task, base, n))
        return
    if not task or base:
        raise ConfigError(
            "policies are sampled on a task: name it with --task; the first policy is the base. "
            "--base is for imported runs. For rollouts that exist give one run folder."
        )
    from rewardable.workflows.collapse import collapse as run_collapse

    config = o.run_config(
        who,
        task,
        None,
        str(temperature),
        template_from,
        n=n,
        prompts=prompts,
        top_p=top_p,
        max_new_tokens=max_new_tokens,
        seed=seed,
        prompt_format=prompt_format,
        own_templates=own_templates,
        device=device,
        dtype=dtype,
        device_map=device_map,
        batch_rows=batch_rows,
    )
    folder = out or o.default_out(None, f"collapse-{task}")
    with progress() as on_event:
        _tell(run_collapse(folder, config, on_event))


def _held(folder: Path, task: str, base: str, k: int) -> CollapseResult:
    from rewardable.workflows.collapse import collapse_run
    from rewardable.workflows.runs import open_existing

    return collapse_run(open_existing(folder), task=task, base=base, k=k)


def _tell(result: CollapseResult) -> None:
    if result.sampled is not None:
        print_sampled(result.sampled)
    for text in result.table.notes:
        say(text)
    if result.sampled is not None:
        say(f"run: {result.path}")
