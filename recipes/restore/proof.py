r"""Restore several trained checkpoints (one a training seed) and put the proofs side by side.

    python recipes/restore/proof.py RUN_A/checkpoint-60 RUN_B/checkpoint-60 RUN_C/checkpoint-60 \
        --with pocket --earlier-step 30 --task NAME --out runs/restore-proof

Each is searched on 128 prompts and proved on 900 others, 64 samples each; the split that the task
names must have 1,028 instances. Run again it goes on.
``proof.md`` in the folder holds a line a checkpoint and policy: coverage@64 against the trained
checkpoint's, the change of pass@1 with its one-sided bound, and whether one point is certified.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from rewardable.results import Row
from rewardable.workflows.events import Event
from rewardable.workflows.restoring import (
    RestoreConfig,
    RestoreResult,
    parse_keep,
    parse_objective,
    restore,
)
from rewardable.workflows.sources import resolve_source

HEAD = "| trained | policy | role | ratio | pass@1, points | at least | certified |"


def main() -> None:
    told = _arguments().parse_args()
    lines = [HEAD, "|---|---|---|---|---|---|---|"]
    for place, trained in enumerate(told.trained):
        out = told.out / f"{place}-{Path(trained).parent.parent.name}"
        result = restore(out, _config(told, trained), _tell)
        lines += [f"| {trained} | {line}" for line in _lines(result, told.objective)]
        (told.out / "proof.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines) + "\n")


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trained", nargs="+")
    parser.add_argument("--with", dest="earlier", action="append", default=[])
    parser.add_argument("--earlier-step", type=int, default=0, help="beside each checkpoint")
    parser.add_argument("--task", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--objective", default="coverage@64")
    parser.add_argument("--keep", default="pass@1 within 1 point")
    parser.add_argument("--families", default="")
    parser.add_argument("--alphas", default="0.2,0.4,0.6,0.8")
    parser.add_argument("--prompts", type=int, default=128)
    parser.add_argument("--confirm-prompts", type=int, default=900)
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def _config(told: argparse.Namespace, trained: str) -> RestoreConfig:
    earlier = [resolve_source(source) for source in told.earlier]
    if told.earlier_step:
        earlier.append(str(Path(trained).parent / f"checkpoint-{told.earlier_step}"))
    return RestoreConfig(
        trained=resolve_source(trained),
        earlier=tuple(earlier),
        task=told.task,
        margin=parse_keep(told.keep),
        objective=parse_objective(told.objective),
        families=tuple(filter(None, told.families.split(","))),
        alphas=tuple(map(float, told.alphas.split(","))),
        prompts=told.prompts,
        confirm_prompts=told.confirm_prompts,
        max_new_tokens=told.max_new_tokens,
        seed=told.seed,
    )


def _lines(result: RestoreResult, objective: str) -> Iterator[str]:
    rows = result.table.select(split="confirmation", of="change", metric="pass@1, one-sided")
    if not rows:
        yield f"none | | {result.verdict[0]} | | | |"
    for row in rows:
        yield _line(result, row, objective)


def _line(result: RestoreResult, row: Row, objective: str) -> str:
    name, change = row.labels["policy"], row.estimate
    ratio = result.table.one(split="confirmation", policy=name, of="ratio", metric=objective)
    value, low, high = (end if end is not None else float("nan")
                        for end in (ratio.value, ratio.low, ratio.high))  # fmt: skip
    cells = (
        str(name), str(row.labels["role"]), f"{value:.2f} [{low:.2f}, {high:.2f}]",
        f"{100 * (change.value or 0):+.2f}", f"{100 * (change.low or 0):+.2f}",
        "yes" if row.labels["certified"] else "no",
    )  # fmt: skip
    return " | ".join(cells) + " |"


def _tell(event: Event) -> None:
    if event.done >= event.total:
        sys.stderr.write(f"{event.stage}: {event.done}/{event.total} {event.detail}\n")


if __name__ == "__main__":
    main()
