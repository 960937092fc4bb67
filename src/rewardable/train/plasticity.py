"""How well a checkpoint still learns: a few steps on a small new task, repeated by seed.

A checkpoint is trained for a handful of supervised steps on right answers of a task that no run
has seen, each seed on rows of its own, the same rows for every checkpoint. What counts is the loss
at the start, the loss at the end and both against the base: a faster fall from a higher start is no
plasticity. What a short GRPO run gains is measured beside it, by an ordinary run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from rewardable.errors import ConfigError
from rewardable.train.mix.likelihood import batch_of, cross_entropy_sum
from rewardable.train.models import adapter, end_ids, open_model, open_tokenizer
from rewardable.train.quiet import quiet
from rewardable.train.recipe import LoraRecipe
from rewardable.train.rows import TextRow
from rewardable.train.tokens import encoder

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


def _one(source: str, rows: Sequence[TextRow], recipe: PlasticityRecipe, seed: int) -> Probe:
    with quiet():
        model, tokenizer = open_model(source), open_tokenizer(source)
    if recipe.lora is not None:
        from peft import get_peft_model

        torch.manual_seed(seed)
        model = get_peft_model(model, adapter(recipe.lora))
    told = encoder(tokenizer, end_ids(model, tokenizer))
    ids = [(tuple(told.prompt(row.prompt)), tuple(told.completion(row.text))) for row in rows]
    order = random.Random(f"plasticity {seed}").sample(range(len(ids)), len(ids))
    held, trained = order[: recipe.held_out], order[recipe.held_out :]
    pad = int(tokenizer.pad_token_id)
    start = _loss(model, [ids[i] for i in held], pad)
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=recipe.learning_rate
    )
    for step in range(recipe.steps):
        picked = [trained[(step * recipe.batch + i) % len(trained)] for i in range(recipe.batch)]
        _learn(model, optimizer, [ids[i] for i in picked], pad)
    return Probe(seed=seed, start=start, end=_loss(model, [ids[i] for i in held], pad))


def _learn(model: Any, optimizer: Any, rows: Sequence[Any], pad: int) -> None:
    model.train()
    batch = batch_of(rows, pad, next(model.parameters()).device)
    loss = cross_entropy_sum(model, batch) / batch.n_tokens
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def _loss(model: Any, rows: Sequence[Any], pad: int) -> float:
    model.eval()
    batch = batch_of(rows, pad, next(model.parameters()).device)
    with torch.no_grad():
        return float(cross_entropy_sum(model, batch) / batch.n_tokens)
