"""Sampled looks at future tasks with the model that is being trained."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from accelerate.utils import gather_object
from trl.models.utils import unwrap_model_for_generation

from rewardable.guard import Audit, PromptAudit
from rewardable.protocols import Task
from rewardable.records import Outcome, Prompt, Verdict
from rewardable.train.guarding.config import WatchConfig
from rewardable.train.models import end_ids
from rewardable.train.rewards import judged
from rewardable.train.tokens import encoder

ROWS = 512
"""Completions sampled at once."""

Judged = tuple[str, Verdict, int]
"""Prompt key, verdict, tokens of the completion."""


@dataclass(frozen=True, kw_only=True)
class FutureTask:
    """A task and the held-out prompts of it that are looked at."""

    task: Task
    prompts: tuple[Prompt, ...]


class Looker:
    """Samples every future task; each process takes its share of the prompts.

    The random stream of training is left as it was: a look changes nothing of the run.
    """

    def __init__(self, tasks: Sequence[FutureTask], config: WatchConfig) -> None:
        self._tasks, self._config = tuple(tasks), config

    def look(self, model: Any, tokenizer: Any, accelerator: Any, number: int) -> tuple[Audit, ...]:
        """Return one audit a task. number: of the look, which keys its draws.

        All processes must call it; all get the whole.
        """
        with _aside(accelerator.device, self._config.seed, number):
            return tuple(self._one(each, model, tokenizer, accelerator) for each in self._tasks)

    def _one(self, each: FutureTask, model: Any, tokenizer: Any, accelerator: Any) -> Audit:
        rank, world = accelerator.process_index, accelerator.num_processes
        mine = each.prompts[rank::world]
        rows = list(self._judged(each.task, mine, model, tokenizer, accelerator))
        everywhere: list[Judged] = gather_object(rows) if world > 1 else rows
        return audit_of(each.task.name, [prompt.key for prompt in each.prompts], everywhere)

    def _judged(
        self, task: Task, prompts: Sequence[Prompt], model: Any, tokenizer: Any, accelerator: Any
    ) -> Iterator[Judged]:
        at_once = max(1, ROWS // self._config.n)
        for first in range(0, len(prompts), at_once):
            some = prompts[first : first + at_once]
            for prompt, ids in self._sampled(some, model, tokenizer, accelerator):
                text = tokenizer.decode(ids, skip_special_tokens=True)
                yield prompt.key, judged(task.verifier, prompt, text), len(ids)

    def _sampled(
        self, prompts: Sequence[Prompt], model: Any, tokenizer: Any, accelerator: Any
    ) -> Iterator[tuple[Prompt, list[int]]]:
        config = self._config
        with torch.no_grad(), unwrap_model_for_generation(model, accelerator) as plain:
            ends = end_ids(plain, tokenizer)
            told = encoder(tokenizer, ends)
            ids_BP, mask_BP = left_padded([told.prompt(p) for p in prompts], tokenizer.pad_token_id)
            grown = plain.generate(
                input_ids=ids_BP.to(accelerator.device),
                attention_mask=mask_BP.to(accelerator.device),
                do_sample=True,
                temperature=config.temperature,
                top_k=0,
                top_p=1.0,
                max_new_tokens=config.max_new_tokens,
                num_return_sequences=config.n,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=list(ends),
            )
        for row, ids in enumerate(grown[:, ids_BP.shape[1] :].tolist()):
            yield prompts[row // config.n], until_end(ids, ends)


def audit_of(task: str, keys: Sequence[str], rows: Sequence[Judged]) -> Audit:
    """Count the verdicts of each prompt; UNGRADED ones are in none.

    Distinct solutions are told apart by the label ``solution``; None where no success has one.
    """
    graded: dict[str, int] = dict.fromkeys(keys, 0)
    right: dict[str, list[str | None]] = {key: [] for key in keys}
    ungraded = 0
    for key, verdict, _ in rows:
        if verdict.outcome is Outcome.UNGRADED:
            ungraded += 1
            continue
        graded[key] += 1
        if verdict.outcome is Outcome.CORRECT:
            right[key].append(verdict.labels.get("solution"))
    named = any(label is not None for labels in right.values() for label in labels)
    return Audit(
        task=task,
        prompts={
            key: PromptAudit(
                n=graded[key],
                c=len(right[key]),
                distinct=len(set(right[key])) if named else None,
            )
            for key in keys
        },
        ungraded=ungraded,
        tokens=sum(tokens for _, _, tokens in rows),
    )


def left_padded(rows: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and mask, [B, P]."""
    width = max(map(len, rows))
    ids = [[pad] * (width - len(row)) + list(row) for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    return torch.tensor(ids), torch.tensor(mask)


def until_end(ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Return the ids up to and with the first end token.

    >>> until_end([5, 6, 0, 0], [0])
    [5, 6, 0]
    """
    stop = next((place for place, token in enumerate(ids) if token in ends), len(ids))
    return list(ids[: stop + 1])


@contextmanager
def _aside(device: Any, seed: int, number: int) -> Generator[None]:
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed((seed * 1_000_003 + number) % (1 << 63))
        yield
