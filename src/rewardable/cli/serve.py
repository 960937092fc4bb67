"""``rewardable serve SOURCE --port N``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import say


def serve(
    source: Annotated[
        str,
        typer.Argument(
            metavar="POLICY",
            help="As for audit: a folder, hub id, *.gguf, 'pocket', or a mix, for example "
            "mix:logits,alpha=0.3,first=4,TRAINED,EARLIER.",
            show_default=False,
        ),
    ],
    port: Annotated[int, typer.Option(help="0 finds a free one.")] = 8000,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this one let anybody in.")
    ] = "127.0.0.1",
    model: Annotated[str, typer.Option(help="Name for clients [default: the policy's].")] = "",
    prompt_format: o.PromptFormat = "auto",
    template_from: o.TemplateFrom = "",
    device: o.Device = "auto",
    dtype: o.Dtype = "auto",
    device_map: o.DeviceMap = "",
    batch_rows: o.BatchRows = 0,
) -> None:
    """Serve a policy in OpenAI's form, so that other tools can sample it."""
    from rewardable.workflows.serve import serving

    with serving(
        source, host=host, port=port, model=model, prompt_format=prompt_format,
        template_from=template_from, device=device, dtype=dtype, device_map=device_map,
        batch_rows=batch_rows,
    ) as server:  # fmt: skip
        say(f"{server.service.model} (policy {server.service.policy.key}) at {server.url}")
        say("stop with Ctrl-C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("stopped")
