"""``rewardable restore TRAINED --with EARLIER... --task NAME``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import progress, say

Trained = Annotated[str, typer.Argument(help="The checkpoint to restore: a local folder.")]
Earlier = Annotated[
    list[str], typer.Option("--with", help="An earlier checkpoint; may be given several times.")
]
Keep = Annotated[str, typer.Option(help="The loss that is accepted.")]
Objective = Annotated[str, typer.Option(help="coverage@K or support@K.")]
Out = Annotated[Path, typer.Option(help="Folder of the search and of the restored policy.")]
Families = Annotated[
    str,
    typer.Option(
        help="uniform, several, windows, parts, slerp, logits, checkpoints, openings; or all."
    ),
]
Alphas = Annotated[str, typer.Option(help="Shares of the earlier checkpoint, with commas.")]
Selection = Annotated[int, typer.Option(help="Instances of the selection split.")]
Samples = Annotated[int, typer.Option("-n", "--n", help="Samples a prompt; 0: the K above.")]
Share = Annotated[
    float, typer.Option(help="Samples of the search over those of the full grid, at most.")
]
Proof = Annotated[int, typer.Option(help="Instances of the proof.")]
ProofSamples = Annotated[int, typer.Option(help="Samples of each; 0: the K above.")]
FuturePrompts = Annotated[int, typer.Option(help="Instances of each future task.")]
Baselines = Annotated[
    bool, typer.Option(help="Also look at prompts, forced openings and temperatures.")
]
WayPrompt = Annotated[str, typer.Option(help="What the prompt baseline adds to each prompt.")]
Temperature = Annotated[float, typer.Option(help="At which all are sampled.")]
Warm = Annotated[str, typer.Option(help="Temperatures of the baselines, with commas.")]


def restore(
    trained: Trained,
    earlier: Earlier,
    task: o.TaskName,
    future_task: o.FutureTasks = None,
    keep: Keep = "pass@1 within 1 point",
    objective: Objective = "coverage@64",
    out: Out = Path("runs/restore"),
    families: Families = "all",
    alphas: Alphas = "0.2,0.4,0.6,0.8",
    prompts: Selection = 128,
    n: Samples = 0,
    share: Share = 0.3,
    confirm_prompts: Proof = 900,
    confirm_n: ProofSamples = 0,
    future_prompts: FuturePrompts = 64,
    baselines: Baselines = True,
    way_prompt: WayPrompt = " Find another way.",
    temperature: Temperature = 1.0,
    temperatures: Warm = "0.7,1.3,1.6",
    max_new_tokens: o.MaxNewTokens = 256,
    seed: o.Seed = 0,
    group: o.Group = 8,
    prompt_format: o.PromptFormat = "auto",
    device: o.Device = "auto",
    dtype: o.Dtype = "auto",
    batch_rows: o.BatchRows = 0,
    engine_arg: o.EngineArgs = None,
) -> None:
    """Search for a policy that keeps what was gained and regains what was lost; prove; write it."""
    from rewardable.workflows.restoring import RestoreConfig, parse_keep, parse_objective
    from rewardable.workflows.restoring import restore as run_restore
    from rewardable.workflows.sources import resolve_source

    config = RestoreConfig(
        trained=resolve_source(trained), earlier=tuple(map(resolve_source, earlier)), task=task,
        future_tasks=tuple(future_task or ()), margin=parse_keep(keep),
        objective=parse_objective(objective),
        families=() if families == "all" else tuple(o.words(families)),
        alphas=o.parse_numbers(alphas, "--alphas"), prompts=prompts, n=n, share=share,
        confirm_prompts=confirm_prompts, confirm_n=confirm_n, future_prompts=future_prompts,
        group=group, baselines=baselines, way_prompt=way_prompt, temperature=temperature,
        temperatures=o.parse_numbers(temperatures, "--temperatures"),
        max_new_tokens=max_new_tokens, seed=seed, prompt_format=prompt_format, device=device,
        dtype=dtype, batch_rows=batch_rows, engine_args=tuple(engine_arg or ()),
    )  # fmt: skip
    with progress() as on_event:
        result = run_restore(out, config, on_event)
    for sentence in result.verdict:
        say(sentence)
    say(f"report: {result.report}")
    if result.source:
        say(f"restored policy: {result.source}")
