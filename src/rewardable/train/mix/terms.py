"""Supervised and replayed rows as parts of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from rewardable.records import Outcome, Prompt
from rewardable.train.core import Forward
from rewardable.train.mix.config import Unit
from rewardable.train.mix.draws import Budget, Draws
from rewardable.train.mix.likelihood import batch_of, cross_entropy_sum
from rewardable.train.mix.replay import ReplayBuffer, ReplayConfig, Success, rare_rows
from rewardable.train.models import end_ids
from rewardable.train.rows import TextRow
from rewardable.train.taps import RolloutBatch
from rewardable.train.tokens import encoder

Ids = tuple[tuple[int, ...], tuple[int, ...]]
"""A row's prompt ids and answer ids."""


class Mixed:
    """The cross-entropy of rows at a ratio to the rollouts (see ``mix.config``).

    tokens: answer tokens of the latest pass.
    """

    name: str

    def __init__(self, ratio: float, unit: Unit, rows: int) -> None:
        self._ratio, self._unit, self._count = ratio, unit, rows
        self._pad, self.tokens = 0, 0

    def _granted(self, seen: Forward) -> float:
        return self._ratio * float(seen.completion_mask_BT.sum())

    def _loss(self, seen: Forward, rows: Sequence[Ids]) -> torch.Tensor:
        batch = batch_of(rows or _nothing(seen), self._pad, seen.completion_ids_BT.device)
        self.tokens = int(batch.n_tokens)
        total = cross_entropy_sum(seen.model, batch)
        if self._unit == "tokens":
            return total / seen.completion_mask_BT.sum().clamp(min=1)
        return self._ratio * total / batch.n_tokens.clamp(min=1)


def _nothing(seen: Forward) -> list[Ids]:
    """Return a row without an answer: every process passes forward, also one that drew nothing."""
    first = seen.prompt_ids_BP[0, -1:].tolist()
    return [(tuple(first), ())]


class Shares:
    """A watch: which share of a pass's completion tokens each source had."""

    def __init__(self, terms: Sequence[Mixed]) -> None:
        self._terms = tuple(terms)

    def __call__(self, seen: Forward) -> dict[str, float]:
        """Return ``mix/<source>_tokens`` of every source."""
        total = int(seen.completion_mask_BT.sum()) + sum(term.tokens for term in self._terms)
        return {f"mix/{term.name}_tokens": term.tokens / max(total, 1) for term in self._terms}


class SupervisedTerm(Mixed):
    """Right answers and general rows, in seeded passes over all of them."""

    name = "supervised"

    def __init__(
        self, rows: Sequence[TextRow], *, ratio: float, unit: Unit, count: int, seed: int
    ) -> None:
        super().__init__(ratio, unit, count)
        self._texts, self._seed = tuple(rows), seed
        self._rows: list[Ids] = []
        self._draws: Draws | None = None

    def bind(self, trainer: Any) -> None:
        """Tokenise the rows; each process draws in an order of its own."""
        tokenizer = trainer.processing_class
        told = encoder(tokenizer, end_ids(trainer.model, tokenizer))
        self._pad = int(tokenizer.pad_token_id)
        self._rows = [
            (tuple(told.prompt(row.prompt)), tuple(told.completion(row.text)))
            for row in self._texts
        ]
        rank = trainer.accelerator.process_index
        self._draws = Draws([len(row[1]) for row in self._rows], f"{self._seed} {rank}")

    def __call__(self, seen: Forward) -> torch.Tensor:
        """Return its part of the loss."""
        assert self._draws is not None, "bind(trainer) comes first"
        by_tokens = self._unit == "tokens"
        drawn = (
            self._draws.tokens(self._granted(seen)) if by_tokens else self._draws.rows(self._count)
        )
        return self._loss(seen, [self._rows[row] for row in drawn])

    def state(self) -> dict[str, Any]:
        """Return where the passes stand."""
        return {} if self._draws is None else self._draws.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from ``state``."""
        if self._draws is not None and state:
            self._draws.restore(state)


class ReplayTerm(Mixed):
    """Rare and high-entropy successes of earlier steps. It is a tap and a loss term in one.

    As a tap it notes the successes of a generation batch; in the loss, where their entropies are
    known, it offers them to the buffer. A truncated success is never kept.
    """

    name = "replay"

    def __init__(
        self,
        prompts: Sequence[Prompt],
        config: ReplayConfig,
        *,
        ratio: float,
        unit: Unit,
        count: int,
        seed: int,
    ) -> None:
        super().__init__(ratio, unit, count)
        self._prompts, self._config, self._seed = tuple(prompts), config, seed
        self.buffer = ReplayBuffer(config, str(seed))
        self._budget = Budget()
        self._keys: dict[tuple[int, ...], str] = {}
        self._noted: dict[tuple[str, tuple[int, ...]], tuple[str, bool, int]] = {}
        self._last, self._nth = -1, 0

    def bind(self, trainer: Any) -> None:
        """Learn the ids of the prompts; each process keeps successes of its own."""
        tokenizer = trainer.processing_class
        told = encoder(tokenizer, end_ids(trainer.model, tokenizer))
        self._pad = int(tokenizer.pad_token_id)
        self._keys = {tuple(told.prompt(prompt)): prompt.key for prompt in self._prompts}
        rank = trainer.accelerator.process_index
        self.buffer = ReplayBuffer(self._config, f"{self._seed} {rank}")

    def tap(self, batch: RolloutBatch) -> dict[str, float]:
        """Note the successes of a generation batch."""
        self._noted = {}
        for rows in batch.groups:
            verdicts = [batch.shaped[row].verdict for row in rows]
            families = [
                v.labels.get(self._config.label, "") if v.outcome is Outcome.CORRECT else None
                for v in verdicts
            ]
            graded = [v.outcome is not Outcome.UNGRADED for v in verdicts]
            rare = rare_rows(families, graded, self._config.rare_share)
            for row, family, is_rare in zip(rows, families, rare, strict=True):
                if family is not None and not batch.truncated[row]:
                    place = (batch.prompt_keys[row], batch.token_ids[row])
                    self._noted[place] = (family, is_rare, batch.step)
        return {"replay/kept": float(len(self.buffer))}

    def __call__(self, seen: Forward) -> torch.Tensor:
        """Return its part of the loss, of successes of earlier passes; then offer this pass's."""
        self._nth = self._nth + 1 if seen.step == self._last else 0
        self._last = seen.step
        waiting = self.buffer.draw(seen.step, self._nth)
        lengths = [len(row.token_ids) for row in waiting]
        drawn = range(min(self._count, len(waiting)))
        if self._unit == "tokens":
            granted = self._granted(seen)
            drawn = self._budget.take(granted, range(len(waiting)), lengths.__getitem__)
        loss = self._loss(seen, [(waiting[i].prompt_ids, waiting[i].token_ids) for i in drawn])
        self._offer(seen)
        return loss

    def state(self) -> dict[str, Any]:
        """Return the buffer and the budget."""
        return {"buffer": self.buffer.state(), "left": self._budget.left}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from ``state``."""
        self.buffer.restore(state["buffer"])
        self._budget.left = float(state["left"])

    def _offer(self, seen: Forward) -> None:
        entropy_B = (seen.entropy_BT.detach() * seen.completion_mask_BT).sum(1)
        entropy_B = entropy_B / seen.completion_mask_BT.sum(1).clamp(min=1)
        prompts = _unpadded(seen.prompt_ids_BP, seen.prompt_mask_BP)
        answers = _unpadded(seen.completion_ids_BT, seen.completion_mask_BT)
        for prompt, answer, entropy in zip(prompts, answers, entropy_B.tolist(), strict=True):
            key = self._keys.get(prompt)
            noted = None if key is None else self._noted.pop((key, answer), None)
            if key is None or noted is None:
                continue
            family, rare, step = noted
            self.buffer.add(
                Success(
                    prompt_key=key,
                    prompt_ids=prompt,
                    token_ids=answer,
                    family=family,
                    entropy=entropy,
                    rare=rare,
                    step=step,
                )
            )


def _unpadded(ids: torch.Tensor, mask: torch.Tensor) -> list[tuple[int, ...]]:
    rows = zip(ids.tolist(), mask.tolist(), strict=True)
    return [tuple(i for i, kept in zip(row, keep, strict=True) if kept) for row, keep in rows]
