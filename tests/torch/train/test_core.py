"""TRL's trainers with terms: scaled alike, and unchanged where nothing is added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from rewardable.tasks import load_task
from rewardable.train import GRPORecipe
from rewardable.train.core import Forward
from rewardable.train.extras import Extras
from rewardable.train.grpo import run_grpo
from rewardable.workflows.sources import resolve_source

TASK = "countdown-steps:numbers=4,values=1-10,targets=10-50,min_solutions=4,split=train"
RECIPE: dict[str, Any] = {
    "steps": 2, "prompts_per_step": 2, "group_size": 4, "train_prompts": 16,
    "max_new_tokens": 24, "save_every": 2, "learning_rate": 1e-4,
}  # fmt: skip


def trained(out: Path, extras: Extras | None = None, **change: Any) -> tuple[dict[str, Any], list]:
    """Weights after the run, and the numbers of each step."""
    told: list[Any] = []
    recipe = GRPORecipe(**{**RECIPE, **change})
    found = run_grpo(resolve_source("pocket"), load_task(TASK), recipe, out, told.append, extras)
    return load_file(found[-1] / "model.safetensors"), told


class Pull:
    """A term with a known gradient: weight x mean log-prob of the sampled tokens."""

    name = "pull"

    def __init__(self) -> None:
        self.seen: list[Forward] = []

    def __call__(self, seen: Forward) -> torch.Tensor:
        self.seen.append(seen)
        return (seen.logp_BT * seen.completion_mask_BT).sum() / seen.completion_mask_BT.sum() * 0.5


def test_no_extras_is_plain_grpo(tmp_path: Path) -> None:
    plain, _ = trained(tmp_path / "plain")
    watched, _ = trained(
        tmp_path / "watched",
        Extras(watches=(lambda s: {"e": float(s.entropy_BT.mean().detach())},)),
    )
    assert all(torch.equal(plain[name], watched[name]) for name in plain)


@pytest.mark.parametrize("algorithm", ["grpo", "rloo"])
def test_a_term_weighs_the_same_however_the_batch_is_split(tmp_path: Path, algorithm: str) -> None:
    one, numbers = trained(
        tmp_path / "one", Extras(terms=(Pull(),)), algorithm=algorithm, steps=1, save_every=1
    )
    two, split = trained(
        tmp_path / "two", Extras(terms=(Pull(),)), algorithm=algorithm, steps=1, save_every=1,
        micro_batch=4,
    )  # fmt: skip
    start = load_file(Path(resolve_source("pocket")) / "model.safetensors")
    moved = max(float((one[n] - start[n]).abs().max()) for n in one if n in start)
    apart = max(float((one[n] - two[n]).abs().max()) for n in one)
    assert moved > 0
    # Adam's first step is the sign of the gradient: a wrong scale would not show in it alone
    assert numbers[0].numbers["loss/pull"] == pytest.approx(split[0].numbers["loss/pull"], rel=0.1)
    assert numbers[0].numbers["grad_norm"] == pytest.approx(split[0].numbers["grad_norm"], rel=0.1)
    assert apart <= 2.1e-4


def test_forward_holds_what_was_sampled(tmp_path: Path) -> None:
    term = Pull()
    trained(tmp_path, Extras(terms=(term,)), steps=1, save_every=1)
    (seen,) = term.seen
    rows, width = seen.completion_ids_BT.shape
    assert seen.logp_BT.shape == seen.entropy_BT.shape == (rows, width)
    assert rows == 8
    assert bool((seen.logp_BT.detach() <= 0).all())


def test_advantages_reach_the_loss_as_they_are(tmp_path: Path) -> None:
    wanted = [1.5, -0.5, -0.5, -0.5, 0.0, 2.0, -1.0, -1.0]
    term = Pull()
    trained(tmp_path, Extras(terms=(term,), advantage=lambda batch: wanted), steps=1, save_every=1)
    (seen,) = term.seen
    assert sorted(seen.advantages_B.tolist()) == pytest.approx(sorted(wanted), abs=1e-6)


def test_ungraded_rows_have_no_advantage(tmp_path: Path) -> None:
    term = Pull()
    paid = [1.0, None, None, -1.0, None, None, None, None]
    trained(tmp_path, Extras(terms=(term,), advantage=lambda batch: paid), steps=1, save_every=1)
    (seen,) = term.seen
    assert sorted(seen.advantages_B.tolist()) == pytest.approx([-1.0, *[0.0] * 6, 1.0], abs=1e-6)


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    whole, _ = trained(tmp_path / "whole", steps=4)
    trained(tmp_path / "parts", steps=2)
    parts, told = trained(tmp_path / "parts", steps=4)
    assert [report.step for report in told] == [3, 4]
    start = load_file(Path(resolve_source("pocket")) / "model.safetensors")
    assert any(not torch.equal(start[name], whole[name]) for name in start)
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
