"""How well a checkpoint still learns: a few steps on a small new task, repeated by seed.

A checkpoint is trained for a handful of supervised steps on right answers of a task that no run
has seen, each seed on rows of its own, the same rows for every checkpoint. What counts is the loss
at the start, the loss at the end and both against the base: a faster fall from a higher start is no
plasticity. Beside it, what a short run of GRPO gains on that task.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from rewardable.errors import ConfigError, DataError
from rewardable.protocols import Task
from rewardable.train.grpo import run_grpo
from rewardable.train.mix.likelihood import batch_of, cross_entropy_sum
from rewardable.train.models import adapter, end_ids, open_model, open_tokenizer
from rewardable.train.quiet import quiet
from rewardable.train.recipe import GRPORecipe, LoraRecipe, StepReport
from rewardable.train.rows import TextRow
from rewardable.train.tokens import encoder

Ids = tuple[tuple[int, ...], tuple[int, ...]]
"""Prompt and answer."""

OnSeed = Callable[[int, int], None]
"""Is told how many seeds are done, of how many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlasticityRecipe:
    """How a probe is trained. steps, batch: supervised steps and rows of each.

    seeds: repetitions, each with rows of its own. held_out: rows that the loss is read on, never
    trained. lora: train an adapter in place of all weights.
    """

    steps: int = 10
    batch: int = 16
    learning_rate: float = 1e-4
    seeds: int = 5
    held_out: int = 64
    seed: int = 0
    lora: LoraRecipe | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        for name in ("steps", "batch", "seeds", "held_out"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One seed's mean loss a token (nats) on held-out rows, before and after the steps."""

    seed: int
    start: float
    end: float

    @property
    def fall(self) -> float:
        """How far the loss fell."""
        return self.start - self.end


def probe(
    source: str,
    rows: Sequence[TextRow],
    recipe: PlasticityRecipe,
    on_seed: OnSeed | None = None,
) -> tuple[Probe, ...]:
    """Return one probe a seed of the checkpoint ``source``; its files are left as they are.

    rows: right answers of the new task; the first ``held_out`` of a seeded order are kept for the
    loss.

    Raises
    ------
    ConfigError: too few rows for one batch beside the held-out ones.
    """
    if len(rows) < recipe.held_out + recipe.batch:
        raise ConfigError(
            f"the probe needs {recipe.held_out + recipe.batch} rows (held_out + batch), got "
            f"{len(rows)}: give more prompts or answers, or lower held_out."
        )
    found: list[Probe] = []
    for number in range(recipe.seeds):
        found.append(_one(source, rows, recipe, recipe.seed + number))
        if on_seed is not None:
            on_seed(number + 1, recipe.seeds)
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """One seed's mean reward of the first and the last steps of a short run of GRPO."""

    seed: int
    first: float
    last: float

    @property
    def gain(self) -> float:
        """How far the reward rose."""
        return self.last - self.first


def reward_gain(source: str, task: Task, recipe: GRPORecipe, window: int = 5) -> Gain:
    """Train a copy of ``source`` by GRPO on ``task`` and return what it gained; keeps no file.

    window: steps averaged at either end; their rewards are those of the policy as it learns.

    Raises
    ------
    ConfigError: fewer than 2 * window steps.
    DataError: no step of a window had a graded answer.
    """
    if recipe.steps < 2 * window:
        raise ConfigError(
            f"a gain needs {2 * window} steps, {window} at either end; got {recipe.steps}."
        )
    told: list[StepReport] = []
    bare = replace(recipe, trl={**recipe.trl, "save_strategy": "no"})
    with TemporaryDirectory(prefix="rewardable-gain-") as folder:
        run_grpo(source, task, bare, Path(folder), told.append)
    ends = [_mean_reward(part) for part in (told[:window], told[-window:])]
    return Gain(seed=recipe.seed, first=ends[0], last=ends[1])


def _mean_reward(reports: Sequence[StepReport]) -> float:
    rewards = [report.reward for report in reports if report.reward is not None]
    if not rewards:
        raise DataError("no step had a graded answer, so there is no reward to compare.")
    return sum(rewards) / len(rewards)


def _one(source: str, rows: Sequence[TextRow], recipe: PlasticityRecipe, seed: int) -> Probe:
    with _drawn_by(seed):
        model, ids, pad = _opened(source, rows, recipe.lora)
        order = random.Random(f"plasticity {seed}").sample(range(len(ids)), len(ids))
        held = [ids[i] for i in order[: recipe.held_out]]
        trained = [ids[i] for i in order[recipe.held_out :]]
        start = _loss(model, held, recipe.batch, pad)
        optimizer = torch.optim.AdamW(
            [p for p in model.parameters() if p.requires_grad], lr=recipe.learning_rate
        )
        for step in range(recipe.steps):
            places = range(step * recipe.batch, (step + 1) * recipe.batch)
            _learn(model, optimizer, [trained[i % len(trained)] for i in places], pad)
        return Probe(seed=seed, start=start, end=_loss(model, held, recipe.batch, pad))


@contextmanager
def _drawn_by(seed: int) -> Generator[None]:
    """Seed what is drawn inside (adapters, dropout); the caller's stream stays as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def _opened(
    source: str, rows: Sequence[TextRow], lora: LoraRecipe | None
) -> tuple[Any, list[Ids], int]:
    with quiet():
        model, tokenizer = open_model(source), open_tokenizer(source)
    told = encoder(tokenizer, end_ids(model, tokenizer))
    if lora is not None:
        from peft import get_peft_model

        model = get_peft_model(model, adapter(lora))
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    ids = [(tuple(told.prompt(row.prompt)), tuple(told.completion(row.text))) for row in rows]
    return model, ids, int(tokenizer.pad_token_id)


def _learn(model: Any, optimizer: Any, rows: Sequence[Ids], pad: int) -> None:
    model.train()
    batch = batch_of(rows, pad, next(model.parameters()).device)
    loss = cross_entropy_sum(model, batch) / batch.n_tokens
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def _loss(model: Any, rows: Sequence[Ids], at_once: int, pad: int) -> float:
    model.eval()
    device = next(model.parameters()).device
    total, tokens = 0.0, 0
    with torch.no_grad():
        for first in range(0, len(rows), at_once):
            batch = batch_of(rows[first : first + at_once], pad, device)
            total += float(cross_entropy_sum(model, batch))
            tokens += int(batch.n_tokens)
    return total / tokens
