"""From logits to tokens and their log-probs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from rewardable.engines.hf.draw import Raw, draw, invert, processed
from rewardable.records import SamplingSpec


def free(rows: int) -> torch.Tensor:
    return torch.full((rows,), -1)


def uniform(rows: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random(rows))


def test_case_l03_both_log_probs_under_their_own_distribution(cases) -> None:
    case = cases["L03"]
    logits_BV = torch.tensor([[2.0, 0.0]])
    for row, expected in zip(case["input"]["rows"], case["expected"]["rows"], strict=True):
        spec = SamplingSpec(temperature=row["temperature"])
        drawn = draw(logits_BV, uniform(1), torch.tensor([0]), spec)
        assert drawn.sampling_logprobs_B.item() == pytest.approx(expected, abs=2e-6)
        assert drawn.logprobs_B.item() == pytest.approx(case["expected"]["rows"][0], abs=2e-6)


@pytest.mark.parametrize("vocabulary", [7, 512, 1000, 1024, 5003])
def test_frequencies_are_the_probabilities(vocabulary: int) -> None:
    generator = torch.Generator().manual_seed(vocabulary)
    logits_V = torch.randn(vocabulary, generator=generator) * 2
    rows = 20_000
    drawn = draw(logits_V.expand(rows, -1), uniform(rows), free(rows), SamplingSpec())
    expected_V = logits_V.double().softmax(-1).numpy() * rows
    counts_V = np.bincount(drawn.ids_B.numpy(), minlength=vocabulary)
    big_V = expected_V >= 8
    observed = [*counts_V[big_V], counts_V[~big_V].sum()]
    wanted = [*expected_V[big_V], expected_V[~big_V].sum()]
    if wanted[-1] == 0:
        observed, wanted = observed[:-1], wanted[:-1]
    assert chisquare(observed, np.array(wanted) * sum(observed) / sum(wanted)).pvalue > 1e-3


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 900), st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.999, 1 - 2**-53]))
def test_the_draw_is_the_inverse_of_the_cdf(vocabulary: int, seed: int, u: float) -> None:
    rng = np.random.default_rng(seed)
    weights_V = rng.random(vocabulary) * (rng.random(vocabulary) < 0.5)
    weights_V[rng.integers(vocabulary)] = 1.0
    weights_BV = torch.from_numpy(weights_V).float()[None]
    got = int(invert(weights_BV, torch.tensor([u], dtype=torch.float64)))
    exact_V = weights_BV[0].double().numpy().cumsum()
    below = exact_V[got - 1] if got else 0.0
    assert weights_BV[0, got] > 0
    assert below / exact_V[-1] - 1e-6 <= u <= exact_V[got] / exact_V[-1] + 1e-6


def test_entropy_and_log_probs_with_masked_vocabulary() -> None:
    logits_BV = torch.tensor([[0.0, 0.0, -math.inf, -math.inf], [50.0, 0.0, -math.inf, 0.0]])
    raw = Raw.of(logits_BV)
    assert raw.entropies().tolist() == pytest.approx([math.log(2), 0.0], abs=1e-6)
    assert raw.logprobs(torch.tensor([0, 0])).tolist() == pytest.approx([-math.log(2), 0.0])
    drawn = draw(logits_BV, torch.tensor([0.99999, 0.99999]).double(), free(2), SamplingSpec())
    assert drawn.ids_B.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_raw_values_agree_with_float64(dtype: torch.dtype) -> None:
    logits_BV = (torch.randn(5, 3001, generator=torch.Generator().manual_seed(1)) * 4).to(dtype)
    raw, ids_B = Raw.of(logits_BV), torch.arange(5) * 600
    exact_BV = logits_BV.double().log_softmax(-1)
    entropy_B = -(exact_BV.exp() * exact_BV).sum(-1)
    assert torch.allclose(raw.entropies().double(), entropy_B, atol=1e-5)
    chosen_B = exact_BV[torch.arange(5), ids_B]
    assert torch.allclose(raw.logprobs(ids_B).double(), chosen_B, atol=1e-5)


def reference(logits_V: np.ndarray, spec: SamplingSpec) -> np.ndarray:
    """Temperature, top-k, top-p written out one id after the other."""
    p_V = np.exp(logits_V / spec.temperature - (logits_V / spec.temperature).max())
    order = sorted(range(len(p_V)), key=lambda i: -p_V[i])
    if spec.top_k:
        for i in order[spec.top_k :]:
            p_V[i] = 0.0
    p_V /= p_V.sum()
    total = 0.0
    for i in order:
        keep = total < spec.top_p
        total += p_V[i]
        if not keep:
            p_V[i] = 0.0
    return p_V / p_V.sum()


@pytest.mark.parametrize(
    "spec",
    [
        SamplingSpec(temperature=0.7),
        SamplingSpec(top_k=5),
        SamplingSpec(top_p=0.6),
        SamplingSpec(top_p=0.05),
        SamplingSpec(temperature=1.4, top_k=40, top_p=0.9),
        SamplingSpec(top_k=10_000),
        SamplingSpec(temperature=8.0, top_p=0.99),
    ],
)
def test_processed_distribution(spec: SamplingSpec) -> None:
    logits_BV = torch.randn(4, 2500, generator=torch.Generator().manual_seed(2)) * 3
    weights_BV = processed(Raw.of(logits_BV), spec).double()
    got_BV = (weights_BV / weights_BV.sum(-1, keepdim=True)).numpy()
    for got_V, logits_V in zip(got_BV, logits_BV.double().numpy(), strict=True):
        assert got_V == pytest.approx(reference(logits_V, spec), abs=1e-6)


def test_greedy_takes_the_largest_and_gives_it_all_the_mass() -> None:
    logits_BV = torch.tensor([[0.0, 3.0, 3.0, 1.0]])
    drawn = draw(logits_BV, uniform(1), free(1), SamplingSpec(temperature=0))
    assert drawn.ids_B.tolist() == [1]
    assert drawn.sampling_logprobs_B.tolist() == [0.0]
    assert drawn.logprobs_B.item() == pytest.approx(float(logits_BV.log_softmax(-1)[0, 1]))
    forced = draw(logits_BV, uniform(1), torch.tensor([3]), SamplingSpec(temperature=0))
    assert forced.sampling_logprobs_B.tolist() == [-math.inf]


def test_logits_that_are_not_numbers_are_told() -> None:
    logits_BV = torch.tensor([[0.0, math.nan], [0.0, 1.0]])
    drawn = draw(logits_BV, uniform(2), free(2), SamplingSpec())
    assert drawn.finite_B.tolist() == [False, True]
