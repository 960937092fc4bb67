"""Probes of plasticity with the real pocket policy: seeded, paired, telling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rewardable.errors import ConfigError
from rewardable.tasks import load_task
from rewardable.train import GRPORecipe, LoraRecipe
from rewardable.train.models import open_model, open_tokenizer
from rewardable.train.plasticity import PlasticityRecipe, Probe, probe, reward_gain
from rewardable.train.rows import TextRow, gold_rows
from rewardable.workflows.sources import resolve_source

TASK = "countdown-steps:numbers=3,values=1-10,targets=10-30,min_solutions=1"
RECIPE = PlasticityRecipe(steps=4, batch=4, seeds=2, held_out=8, learning_rate=1e-3)


@pytest.fixture(scope="module")
def rows() -> Sequence[TextRow]:
    """Something new in the policy's own alphabet: the answer backwards."""
    task = load_task(TASK)
    return [replace(row, text=row.text[::-1]) for row in gold_rows(task, task.prompts(24, 0), 1, 0)]


@pytest.fixture(scope="module")
def base() -> str:
    return resolve_source("pocket")


@pytest.fixture(scope="module")
def known(base: str, rows: Sequence[TextRow]) -> tuple[Probe, ...]:
    return probe(base, rows, RECIPE)


def test_ten_steps_teach_the_new_task_and_the_draws_are_the_seeds(
    base: str, rows: Sequence[TextRow], known: tuple[Probe, ...]
) -> None:
    state = torch.get_rng_state()
    told: list[tuple[int, int]] = []
    assert probe(base, rows, RECIPE, lambda *done: told.append(done)) == known
    assert told == [(1, 2), (2, 2)]
    assert torch.equal(torch.get_rng_state(), state)
    assert [one.seed for one in known] == [0, 1]
    assert all(one.fall > 0.01 for one in known)
    assert known[0].start != known[1].start


def test_a_faster_fall_from_a_higher_start_is_no_plasticity(
    base: str, rows: Sequence[TextRow], known: tuple[Probe, ...], tmp_path: Path
) -> None:
    model = open_model(base)
    with torch.no_grad():
        model.model.norm.weight.mul_(3.0)  # a sharpened policy: the same order, thrice the logits
    model.save_pretrained(tmp_path)
    open_tokenizer(base).save_pretrained(tmp_path)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    sharp = probe(str(tmp_path), rows, RECIPE)
    for one, before in zip(sharp, known, strict=True):
        assert one.seed == before.seed
        assert one.fall > before.fall
        assert one.end > before.end + 0.1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_an_adapter_learns_too(base: str, rows: Sequence[TextRow], known: Sequence[Probe]) -> None:
    recipe = replace(RECIPE, lora=LoraRecipe(rank=4, alpha=8), seeds=1, learning_rate=1e-2)
    (found,) = probe(base, rows, recipe)
    assert found.start == pytest.approx(known[0].start, abs=1e-6)
    assert found.fall > 0
    assert found.end != pytest.approx(known[0].end, abs=1e-6)


def test_too_few_rows_are_refused(base: str, rows: Sequence[TextRow]) -> None:
    with pytest.raises(ConfigError, match=r"needs 40 rows .* got 24"):
        probe(base, rows, replace(RECIPE, held_out=36))


def test_the_gain_of_a_short_run_of_grpo(base: str) -> None:
    recipe = GRPORecipe(
        steps=4, prompts_per_step=2, group_size=4, train_prompts=8, max_new_tokens=24, seed=3
    )
    task = load_task(TASK)
    found = reward_gain(base, task, recipe, window=2)
    assert found.seed == 3
    assert 0.0 <= found.first <= 1.0
    assert found.gain == pytest.approx(found.last - found.first)
    assert reward_gain(base, task, recipe, window=2) == found
    with pytest.raises(ConfigError, match="needs 10 steps"):
        reward_gain(base, task, recipe)
