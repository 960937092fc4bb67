"""Gradients of the loss against formulas written without automatic differentiation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from rewardable.train.ppo.losses import (
    chosen_logps,
    divergence,
    entropies,
    policy_loss,
    value_loss,
)

torch.manual_seed(0)
B, T, V, LOW, HIGH = 5, 4, 6, 0.2, 0.35
LOGITS = torch.randn(B, T, V, dtype=torch.float64)
IDS = torch.randint(V, (B, T))
MASK = torch.arange(T)[None, :] < torch.tensor([4, 1, 3, 2, 0])[:, None]
OLD = chosen_logps(LOGITS, IDS).double() + 0.4 * torch.randn(B, T, dtype=torch.float64)
ADVANTAGE = torch.randn(B, T, dtype=torch.float64)


def probabilities() -> np.ndarray:
    raw = np.exp(LOGITS.numpy())
    return raw / raw.sum(axis=-1, keepdims=True)


def test_policy_gradient_is_ratio_times_advantage_where_the_clip_leaves_it_free() -> None:
    logits = LOGITS.clone().requires_grad_()
    loss, held = policy_loss(chosen_logps(logits, IDS), OLD, ADVANTAGE, MASK, LOW, HIGH)
    loss.backward()

    p_BTV, expected, blocked, total = probabilities(), np.zeros((B, T, V)), 0, 0.0
    for b in range(B):
        for t in range(int(MASK[b].sum())):
            token, gain = int(IDS[b, t]), float(ADVANTAGE[b, t])
            ratio = float(p_BTV[b, t, token]) / math.exp(OLD[b, t])
            total -= min(ratio * gain, min(max(ratio, 1 - LOW), 1 + HIGH) * gain)
            if (gain > 0 and ratio > 1 + HIGH) or (gain < 0 and ratio < 1 - LOW):
                blocked += 1
                continue
            expected[b, t] = gain * ratio * p_BTV[b, t]
            expected[b, t, token] -= gain * ratio
    assert float(loss.detach()) == pytest.approx(total, rel=1e-5)
    assert logits.grad is not None
    assert logits.grad.numpy() == pytest.approx(expected, abs=1e-6)
    assert 0 < blocked < int(MASK.sum())
    assert int(held) == blocked


@pytest.mark.parametrize("clip", [0.0, 0.3])
def test_value_gradient_is_the_error_unless_the_clip_decides(clip: float) -> None:
    old, returned = torch.randn(2, B, T, dtype=torch.float64)
    value = (old + torch.randn(B, T, dtype=torch.float64)).requires_grad_()
    loss = value_loss(value, old, returned, MASK, clip)
    loss.backward()
    expected, total, stopped = np.zeros((B, T)), 0.0, 0
    for b in range(B):
        for t in range(int(MASK[b].sum())):
            now, was, goal = value[b, t].item(), float(old[b, t]), float(returned[b, t])
            near = min(max(now, was - clip), was + clip) if clip else now
            total += 0.5 * max((now - goal) ** 2, (near - goal) ** 2)
            if near != now and (near - goal) ** 2 > (now - goal) ** 2:
                stopped += 1
            else:
                expected[b, t] = now - goal
    assert float(loss.detach()) == pytest.approx(total)
    assert value.grad is not None
    assert value.grad.numpy() == pytest.approx(expected)
    assert (stopped > 0) == bool(clip)


def test_entropy_and_its_gradient() -> None:
    logits = LOGITS.float().clone().requires_grad_()
    found = entropies(logits)
    found.sum().backward()
    p_BTV = probabilities()
    entropy_BT = -(p_BTV * np.log(p_BTV)).sum(axis=-1)
    assert found.detach().numpy() == pytest.approx(entropy_BT, abs=1e-6)
    assert logits.grad is not None
    expected = -p_BTV * (np.log(p_BTV) + entropy_BT[..., None])
    assert logits.grad.numpy() == pytest.approx(expected, abs=1e-6)


def test_entropy_of_a_distribution_with_impossible_tokens_is_finite() -> None:
    logits = torch.tensor([[[0.0, 0.0, -torch.inf]]], requires_grad=True)
    found = entropies(logits)
    found.sum().backward()
    assert float(found.detach()) == pytest.approx(np.log(2))
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_divergence_is_unbiased_and_never_negative() -> None:
    p, q = torch.softmax(torch.randn(2, V, dtype=torch.float64), dim=-1)
    each = divergence(p.log(), q.log())
    assert (each >= 0).all()
    exact = float((p * (p / q).log()).sum())
    assert float((p * each).sum()) == pytest.approx(exact)


def test_what_lies_outside_the_mask_is_of_no_account() -> None:
    wild = torch.where(MASK, OLD, torch.full_like(OLD, -1e9))
    logits = LOGITS.clone().requires_grad_()
    loss, held = policy_loss(chosen_logps(logits, IDS), wild, ADVANTAGE, MASK, LOW, HIGH)
    loss.backward()
    plain, plainly = policy_loss(chosen_logps(LOGITS, IDS), OLD, ADVANTAGE, MASK, LOW, HIGH)
    assert float(loss.detach()) == float(plain)
    assert int(held) == int(plainly)
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert not logits.grad[~MASK].any()
