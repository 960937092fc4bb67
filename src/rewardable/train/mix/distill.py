"""On-policy distillation on another task's prompts as a part of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from trl.models.utils import unwrap_model_for_generation

from rewardable.records import Prompt
from rewardable.train.core import Forward
from rewardable.train.distill import check_same_tokens, check_same_width
from rewardable.train.mix.config import DistillMix
from rewardable.train.mix.draws import RowDraws
from rewardable.train.mix.likelihood import answer_logits, batch_of, reverse_kl
from rewardable.train.models import end_ids, open_tokenizer
from rewardable.train.tokens import encoder


class DistillTerm:
    """Mean reverse KL a token from a frozen teacher, on answers that the policy gives itself."""

    name = "distill"

    def __init__(self, prompts: Sequence[Prompt], config: DistillMix, seed: int) -> None:
        self._prompts, self._config, self._seed = tuple(prompts), config, seed
        self._teacher: Any = None
        self._ids: list[tuple[int, ...]] = []
        self._draws = RowDraws(len(prompts), str(seed))
        self._ends, self._pad = [0], 0
        self._sampled, self._rows = -1, list[tuple[tuple[int, ...], tuple[int, ...]]]()

    def bind(self, trainer: Any) -> None:
        """Open the teacher and tokenise the prompts; ConfigError where the tokens differ."""
        teacher, tokenizer = self._config.teacher, trainer.processing_class
        check_same_tokens(tokenizer, open_tokenizer(teacher), "the policy", teacher)
        model = AutoModelForCausalLM.from_pretrained(teacher, dtype=torch.float32)
        check_same_width(trainer.model, model, "the policy", teacher)
        self._teacher = model.eval().requires_grad_(False).to(trainer.accelerator.device)
        ends = end_ids(trainer.model, tokenizer)
        told = encoder(tokenizer, ends)
        self._ids = [tuple(told.prompt(prompt)) for prompt in self._prompts]
        self._ends, self._pad = list(ends), int(tokenizer.pad_token_id)
        self._draws = RowDraws(len(self._ids), f"{self._seed} {trainer.accelerator.process_index}")

    def __call__(self, seen: Forward) -> torch.Tensor:
        """Return its part of the loss."""
        if self._sampled < 0 or seen.step >= self._sampled + self._config.every:
            self._rows, self._sampled = self._answers(seen), seen.step
        batch = batch_of(self._rows, self._pad, seen.completion_ids_BT.device)
        with torch.no_grad():
            aim_BTV = answer_logits(self._teacher, batch)
        said_BTV = answer_logits(seen.model, batch)
        return self._config.weight * reverse_kl(said_BTV, aim_BTV, batch.answer_mask_BT)

    def state(self) -> dict[str, Any]:
        """Return where the prompts stand and the answers in use."""
        return {"place": self._draws.place, "sampled": self._sampled, "rows": self._rows}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from ``state``."""
        self._draws.place, self._sampled = int(state["place"]), int(state["sampled"])
        self._rows = [(tuple(prompt), tuple(answer)) for prompt, answer in state["rows"]]

    def _answers(self, seen: Forward) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        prompts = [self._ids[next(self._draws)] for _ in range(self._config.rows)]
        asked = batch_of([(ids, ()) for ids in prompts], self._pad, seen.completion_ids_BT.device)
        with unwrap_model_for_generation(seen.model, seen.accelerator) as model, torch.no_grad():
            training = model.training
            model.eval()
            ids_BL = model.generate(
                input_ids=asked.ids_BL,
                attention_mask=asked.mask_BL,
                do_sample=True,
                temperature=self._config.temperature,
                top_k=0,
                max_new_tokens=self._config.max_new_tokens,
                pad_token_id=self._pad,
                eos_token_id=self._ends,
            )
            model.train(training)
        answers = ids_BL[:, asked.ids_BL.size(1) :].tolist()
        return [
            (prompt, self._until_end(answer))
            for prompt, answer in zip(prompts, answers, strict=True)
        ]

    def _until_end(self, ids: Sequence[int]) -> tuple[int, ...]:
        found = next((at for at, token in enumerate(ids) if token in self._ends), len(ids) - 1)
        return tuple(ids[: found + 1])
