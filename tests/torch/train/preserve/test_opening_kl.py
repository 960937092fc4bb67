"""Opening KL: values and gradients against a plain sum over the vocabulary, row by row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model

from rewardable.train.core import Forward
from rewardable.train.preserve import OpeningKLConfig
from rewardable.train.preserve.opening_kl import OpeningKL
from rewardable.train.preserve.reference import Reference

from .conftest import said, same_gradient, small_model

PROMPTS = [[5], [5], [3, 4, 6], [3, 4, 6]]
ANSWERS = [[7, 8, 9, 2], [7, 8, 9, 3], [2, 1], [10, 4, 5, 6]]
"""Rows 0 and 1 share their first three tokens; row 2 ends before them."""


def by_hand(model: Any, base: Any, tokens: int, direction: str) -> torch.Tensor:
    rows = []
    for prompt, answer in zip(PROMPTS, ANSWERS, strict=True):
        places = []
        for t in range(min(tokens, len(answer))):
            now, then = said(model, prompt + answer[:t]), said(base, prompt + answer[:t]).detach()
            p, q = (now, then) if direction == "policy" else (then, now)
            places.append(sum(p[v].exp() * (p[v] - q[v]) for v in range(len(p))))
        rows.append(sum(places) / len(places))
    return sum(rows) / len(rows)


@pytest.mark.parametrize("direction", ["policy", "base"])
@pytest.mark.parametrize("tokens", [1, 3])
def test_value_and_gradient_are_those_of_the_plain_sum(
    seen: Callable[..., Forward], policy: Any, base: Any, base_folder: Path,
    direction: Any, tokens: int,
) -> None:  # fmt: skip
    config = OpeningKLConfig(weight=0.5, tokens=tokens, direction=direction)
    term = OpeningKL(config, Reference(str(base_folder)))
    got = term(seen(policy, PROMPTS, ANSWERS))
    expected = 0.5 * by_hand(policy, base, tokens, direction)
    assert float(got.detach()) > 0.01
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-6)
    same_gradient(policy, got, expected)


def test_the_base_itself_costs_nothing(
    seen: Callable[..., Forward], base: Any, base_folder: Path
) -> None:
    term = OpeningKL(OpeningKLConfig(), Reference(str(base_folder)))
    assert float(term(seen(base, PROMPTS, ANSWERS))) == pytest.approx(0.0, abs=1e-6)


def test_the_base_is_read_once_an_opening(
    seen: Callable[..., Forward], policy: Any, base_folder: Path
) -> None:
    reference = Reference(str(base_folder))
    term = OpeningKL(OpeningKLConfig(tokens=3), reference)
    first = term(seen(policy, PROMPTS, ANSWERS))
    with reference.opened(seen(policy, PROMPTS, ANSWERS)) as model:
        reads: list[int] = []
        model.register_forward_hook(lambda *_: reads.append(1))
    again = term(seen(policy, PROMPTS, ANSWERS))
    assert reads == []
    assert float(again) == pytest.approx(float(first))
    uncached = OpeningKL(OpeningKLConfig(tokens=3, cache_mb=0.0), reference)
    assert float(uncached(seen(policy, PROMPTS, ANSWERS))) == pytest.approx(float(first))
    assert float(uncached(seen(policy, PROMPTS, ANSWERS))) == pytest.approx(float(first))
    assert reads == [1, 1]


def test_masked_rows_have_no_share_and_a_wholly_masked_batch_gives_zero(
    seen: Callable[..., Forward], policy: Any, base_folder: Path
) -> None:
    term = OpeningKL(OpeningKLConfig(tokens=2), Reference(str(base_folder)))
    alone = term(seen(policy, PROMPTS[:1], ANSWERS[:1]))
    both = seen(policy, [PROMPTS[0], PROMPTS[3]], [ANSWERS[0], ANSWERS[3]])
    both.completion_mask_BT[1] = 0
    assert float(term(both)) == pytest.approx(float(alone), rel=1e-4)
    both.completion_mask_BT[0] = 0
    nothing = term(both)
    assert float(nothing) == 0.0
    nothing.backward()


def test_an_adapter_is_compared_with_the_weights_below_it(
    seen: Callable[..., Forward], base_folder: Path, base: Any
) -> None:
    adapted: Any = get_peft_model(
        base, LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    ).train()
    reference = Reference(str(base_folder))
    term = OpeningKL(OpeningKLConfig(weight=1.0, tokens=2), reference)
    got = term(seen(adapted, PROMPTS, ANSWERS))
    assert reference._model is None
    assert adapted.training
    untouched = small_model(1)
    expected = by_hand(adapted.eval(), untouched, 2, "policy")
    torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-5)
    assert float(got) > 1e-3


@pytest.mark.parametrize("same", [True, False])
def test_the_trainers_reference_is_used_only_where_it_is_the_base(
    seen: Callable[..., Forward], policy: Any, base: Any, base_folder: Path, same: bool
) -> None:
    trainer = SimpleNamespace(
        model=SimpleNamespace(name_or_path=str(base_folder) if same else "a later checkpoint"),
        ref_model=base,
        args=SimpleNamespace(sync_ref_model=False),
    )
    reference = Reference(str(base_folder))
    reference.bind(trainer)
    with reference.opened(seen(policy, PROMPTS, ANSWERS)) as model:
        assert (model is base) == same
        assert not torch.is_grad_enabled()
