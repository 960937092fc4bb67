"""Small random policies that differ, and micro-batches made by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from rewardable.train.core import Forward

VOCABULARY = 11


def small_model(seed: int) -> Any:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        eos_token_id=1,
        pad_token_id=0,
        initializer_range=0.8,
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="session")
def base_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    small_model(1).save_pretrained(folder)
    return folder


@pytest.fixture
def policy() -> Any:
    return small_model(2)


@pytest.fixture
def base(base_folder: Path) -> Any:
    return LlamaForCausalLM.from_pretrained(base_folder).eval()


def padded(rows: Sequence[Sequence[int]], *, left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(len(row) for row in rows)
    ids, mask = (torch.zeros((len(rows), width), dtype=torch.long) for _ in range(2))
    for i, row in enumerate(rows):
        at = slice(width - len(row), width) if left else slice(0, len(row))
        ids[i, at] = torch.tensor(row, dtype=torch.long)
        mask[i, at] = 1
    return ids, mask


@pytest.fixture
def seen() -> Callable[..., Forward]:
    def make(
        model: Any,
        prompts: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        step: int = 0,
    ) -> Forward:
        prompt_ids, prompt_mask = padded(prompts, left=True)
        answer_ids, answer_mask = padded(answers, left=False)
        nothing = torch.zeros(answer_ids.shape)
        return Forward(
            step=step,
            model=model,
            accelerator=SimpleNamespace(unwrap_model=lambda one: one, process_index=0),
            prompt_ids_BP=prompt_ids,
            prompt_mask_BP=prompt_mask,
            completion_ids_BT=answer_ids,
            completion_mask_BT=answer_mask,
            advantages_B=nothing[:, 0],
            logp_BT=nothing,
            entropy_BT=nothing,
        )

    return make


def said(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """Log-probs of what follows ``ids``, from one row without any padding."""
    return model(input_ids=torch.tensor([list(ids)])).logits[0, -1].float().log_softmax(-1)


def same_gradient(model: Any, first: torch.Tensor, second: torch.Tensor) -> None:
    """Both scalars have one gradient in every weight, and not only zeros."""
    weights = [w for w in model.parameters() if w.requires_grad]
    a = torch.autograd.grad(first, weights, allow_unused=True)
    b = torch.autograd.grad(second, weights, allow_unused=True)
    assert sum(float(g.abs().sum()) for g in a if g is not None) > 1e-3
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None and y is not None:
            torch.testing.assert_close(x, y, rtol=2e-3, atol=1e-5)
