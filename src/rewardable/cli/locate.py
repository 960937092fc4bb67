"""``rewardable locate BASE TRAINED... --task NAME``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import progress, say

Methods = Annotated[
    str,
    typer.Option(
        help="Comma-separated: entries, likelihood, entropy, openings, interventions, drift, "
        "series; or all."
    ),
]

Arms = Annotated[
    str, typer.Option(help="Opening classes to force [default: the two most frequent].")
]
OpeningRules = Annotated[
    str, typer.Option(help="JSON file, opening class -> regular expression, tried in order.")
]
Entry = Annotated[str, typer.Option(help="auto, a rule's name, re:PATTERN or module:attr.")]
Phases = Annotated[str, typer.Option(help="auto, operator, solution or module:attr.")]
Reference = Annotated[
    str, typer.Option(help="formatted (earliest policy with the format) or first.")
]


def locate(
    policies: o.Policies,
    task: o.TaskName,
    n: o.Samples = 64,
    prompts: o.Prompts = 64,
    out: o.Out = None,
    methods: Methods = "all",
    forced_n: Annotated[int, typer.Option(help="Samples a forced entry.")] = 16,
    families: Annotated[int, typer.Option(help="Forced entries a prompt, at most.")] = 12,
    sequences: Annotated[int, typer.Option(help="Scored texts a prompt and source.")] = 8,
    opening_tokens: Annotated[int, typer.Option(help="Tokens that count as the opening.")] = 4,
    doses: Annotated[str, typer.Option(help="Opening tokens that are given.")] = "1,2,4,8",
    dose_n: Annotated[int, typer.Option(help="Samples a prompt and dose.")] = 8,
    arms: Arms = "",
    opening_rules: OpeningRules = "",
    entry: Entry = "auto",
    phases: Phases = "auto",
    reference: Reference = "formatted",
    preamble: Annotated[str, typer.Option(help="Text before a forced entry.")] = "",
    max_new_tokens: o.MaxNewTokens = 256,
    seed: o.Seed = 0,
    prompt_format: o.PromptFormat = "auto",
    template_from: o.TemplateFrom = "",
    own_templates: o.OwnTemplates = False,
    device: o.Device = "auto",
    dtype: o.Dtype = "auto",
    device_map: o.DeviceMap = "",
    batch_rows: o.BatchRows = 0,
    engine_arg: o.EngineArgs = None,
) -> None:
    """Say where support was lost: not started any more, or not finished any more."""
    from rewardable.workflows.locate import locate as run_locate
    from rewardable.workflows.locating.config import LocateConfig, look_of

    run = o.run_config(
        policies, task, None, "1.0", template_from, n=n, prompts=prompts,
        max_new_tokens=max_new_tokens, seed=seed, prompt_format=prompt_format,
        own_templates=own_templates, device=device, dtype=dtype, device_map=device_map,
        batch_rows=batch_rows,
        engine_args=tuple(engine_arg or ()),
    )  # fmt: skip
    look = look_of(
        tuple(o.words(methods)) if methods != "all" else (), opening_rules,
        forced_n=forced_n, families=families, sequences=sequences, opening_tokens=opening_tokens,
        doses=o.whole_numbers(doses, "--doses"), dose_n=dose_n, arms=tuple(o.words(arms)),
        entry=entry, phases=phases, preamble=preamble, reference=reference, seed=seed,
    )  # fmt: skip
    config = LocateConfig(run=run, look=look)
    with progress() as on_event:
        result = run_locate(o.default_out(out, f"locate-{task}"), config, on_event)
    for sentence in result.paragraph:
        say(sentence)
    say(f"report: {result.report}")
