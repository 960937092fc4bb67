"""``rewardable merge TRAINED --with EARLIER --alpha 0.5 --out DIR``: one merge by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rewardable.cli import options as o
from rewardable.cli.console import say
from rewardable.errors import ConfigError


def merge(
    out: Annotated[Path, typer.Option(help="The new folder.")],
    trained: Annotated[str, typer.Argument(help="The trained checkpoint; not with --recipe.")] = "",
    earlier: Annotated[
        list[str] | None,
        typer.Option("--with", help="An earlier checkpoint; may be given several times."),
    ] = None,
    recipe: Annotated[
        Path | None, typer.Option(help="TOML or JSON file with the whole recipe.")
    ] = None,
    method: Annotated[str, typer.Option(help="linear, slerp or task.")] = "linear",
    alpha: Annotated[float, typer.Option(help="Share of the earlier side.")] = 0.5,
    weights: Annotated[str, typer.Option(help="Shares within the earlier ones, commas.")] = "",
    base: Annotated[str, typer.Option(help="Of method task: where differences start.")] = "",
    window: Annotated[str, typer.Option(help="FIRST,STOP: layers; STOP is not in it.")] = "",
    parts: Annotated[str, typer.Option(help="attention,mlp,norm,embedding,head...")] = "",
    vocabulary: Annotated[str, typer.Option(help="refuse, trained or union.")] = "refuse",
    dtype: Annotated[str, typer.Option(help="source, float32, float16, bfloat16.")] = "source",
) -> None:
    """Write one merge of checkpoints as an ordinary folder."""
    from rewardable.workflows.merging import read_recipe, write_merge

    if recipe is not None:
        if trained or earlier:
            raise ConfigError("--recipe names the checkpoints itself; leave the others out.")
        raw = read_recipe(recipe)
    else:
        raw = {"trained": trained, "earlier": earlier or [], "method": method, "alpha": alpha,
               "base": base, "vocabulary": vocabulary, "dtype": dtype,
               "weights": list(o.parse_numbers(weights, "--weights")),
               "parts": o.words(parts)}  # fmt: skip
        if window:
            raw["window"] = list(o.whole_numbers(window, "--window"))
    report: Any = write_merge(raw, out)
    say(f"{report.mixed} tensors computed, {report.copied} copied; weights {report.weights}")
    for note in report.notes:
        say(note)
    say(f"written: {report.folder}")
