"""Diversity, richness, rarefaction, mixtures, useful groups."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.metrics import (
    LabelCounts,
    adjusted_distinct_n,
    answer_entropy,
    chao1,
    collision_probability,
    count_labels,
    coverage,
    distinct_n,
    distinct_outputs,
    extrapolate,
    fit_mixture,
    graded_trainability,
    ngram_repetition,
    pass_at_k,
    rarefied_coverage,
    template_reuse,
    trainability,
    unseen_mass,
    useful_groups,
)
from rewardable.metrics.diversity import ngrams


def labels(prompt, count):
    return LabelCounts(prompt_L=np.array(prompt), count_L=np.array(count))


def test_ngrams_do_not_cross_rows_and_equal_ones_share_a_code():
    code, row = ngrams([7, 8, 7, 8, 9, 7, 8], [0, 0, 0, 0, 1, 1, 1], 2)
    assert row.tolist() == [0, 0, 0, 1, 1]
    assert code[0] == code[2] == code[4]
    assert len(set(code.tolist())) == 3
    empty = ngrams(np.zeros(0, dtype=int), np.zeros(0, dtype=int), 3)
    assert empty[0].size == 0
    assert ngrams([1, 2], [0, 0], 5)[0].size == 0


def test_ngram_figures_equal_plain_counting():
    rng = np.random.default_rng(0)
    rows = [rng.integers(0, 5, size).tolist() for size in (9, 3, 1, 12, 7)]
    tokens, row = np.concatenate(rows), np.repeat(np.arange(5), [len(r) for r in rows])
    prompt = [0, 0, 1, 1, 1]
    for order in (1, 2, 3):
        grams = [[tuple(r[i : i + order]) for i in range(len(r) - order + 1)] for r in rows]
        repeated = ngram_repetition(tokens, row, 5, order)
        for i, own in enumerate(grams):
            expected = 1 - len(set(own)) / len(own) if own else np.nan
            assert repeated[i] == pytest.approx(expected, nan_ok=True)
        shares = distinct_n(tokens, row, prompt, 2, order)
        adjusted = adjusted_distinct_n(tokens, row, prompt, 2, vocabulary=50, order=order)
        for p in (0, 1):
            pooled = [gram for i, own in enumerate(grams) if prompt[i] == p for gram in own]
            assert shares[p] == pytest.approx(len(set(pooled)) / len(pooled))
            expected = 50 * (1 - (49 / 50) ** len(pooled))
            assert adjusted[p] == pytest.approx(len(set(pooled)) / expected)


def test_distinct_outputs_is_the_collapse_test():
    prompt, text = np.repeat(np.arange(3), 10), np.concatenate([[5] * 10, range(10), [1, 2] * 5])
    assert distinct_outputs(text, prompt, 3).tolist() == [1, 10, 2]


def test_answer_entropy_is_less_biased_than_the_plug_in():
    rng = np.random.default_rng(1)
    share = np.array([0.4, 0.3, 0.2, 0.05, 0.05])
    truth = -(share * np.log(share)).sum()
    counts = rng.multinomial(16, share, 4000)
    prompt, column = np.nonzero(counts)
    found = answer_entropy(labels(prompt, counts[prompt, column]), 4000).mean()
    safe = np.where(counts > 0, counts, 1) / 16
    plug_in = -(counts / 16 * np.log(safe)).sum(1).mean()
    assert plug_in < truth - 0.08
    assert truth - 0.03 < found < truth + 0.01


def test_template_reuse_equals_all_pairs():
    prompt = np.array([0, 0, 0, 1, 1, 2, 3, 3])
    template = np.array([4, 4, 9, 4, 7, 9, 4, 2])
    pairs = [
        np.mean([a == b for a in template[prompt == i] for b in template[prompt == j]])
        for i, j in combinations(range(4), 2)
    ]
    assert template_reuse(template, prompt, 4).mean == pytest.approx(np.mean(pairs))
    with pytest.raises(DataError, match="at least 2 prompts"):
        template_reuse([1, 1], [0, 0], 1)


def test_template_reuse_interval_covers():
    rng = np.random.default_rng(2)
    hits = tries = 0
    for _ in range(300):
        own = rng.random(60) < 0.5
        template = np.where(rng.random((60, 4)) < np.where(own, 0.8, 0.1)[:, None], 0, 1)
        found = template_reuse(template.reshape(-1), np.repeat(np.arange(60), 4), 60)
        if np.isfinite(found.low):
            tries += 1
            truth = 0.45**2 + 0.55**2
            hits += found.low <= truth <= found.high
    assert tries > 250
    assert hits / tries > 0.91


def test_rarefaction_equals_enumeration_and_counts_the_dropped():
    codes = [0, 0, 0, 1, 2]
    seen = count_labels([0] * 5 + [1], [*codes, 0], 2)
    found = rarefied_coverage([seen], [[5, 1]], [4, 4], 3)
    expected = np.mean([len(set(s)) for s in combinations(codes, 3)]) / 4
    assert found.value_AP[0, 0] == pytest.approx(expected)
    assert (found.kept, found.dropped) == (1, 1)
    assert np.isnan(found.value_AP[0, 1])
    unknown = rarefied_coverage([seen], [[5, 1]], [np.nan, 4], 1)
    assert unknown.kept == 1


def test_coverage_without_totals_is_undefined_and_without_success_is_zero():
    seen = labels([0], [2])
    found = coverage(seen, [4, 4, np.nan, 0], [4, 4, 4, 4], [1, 4])
    np.testing.assert_allclose(found[0], [0.125, 0.25])
    assert found[1].tolist() == [0.0, 0.0]
    assert np.isnan(found[2:]).all()


def test_chao1_is_a_lower_bound_on_average_and_exact_when_all_is_seen():
    rng = np.random.default_rng(3)
    counts = rng.multinomial(60, np.full(40, 1 / 40), 300)
    prompt, column = np.nonzero(counts)
    found = chao1(labels(prompt, counts[prompt, column]), np.full(300, 60))
    assert found.seen_P.mean() < 33
    assert 36 < found.least_P.mean() < 42
    assert (found.low_P <= found.least_P).all()
    assert (found.low_P >= found.seen_P - 1e-12).all()
    done = chao1(labels([0, 0], [5, 7]), [12, 0])
    assert done.least_P.tolist() == [2.0, 0.0]


def test_unseen_mass_is_unbiased_for_one_row_less():
    share = np.array([0.5, 0.3, 0.15, 0.05])
    rng = np.random.default_rng(4)
    counts = rng.multinomial(9, share, 20_000)
    prompt, column = np.nonzero(counts)
    found = unseen_mass(labels(prompt, counts[prompt, column]), np.full(20_000, 9))
    assert found.mean() == pytest.approx((share * (1 - share) ** 8).sum(), abs=0.003)
    assert np.isnan(unseen_mass(labels([0], [1]), [1, 0])[1])


def test_binary_scores_make_graded_trainability_the_plain_one():
    c = np.array([0, 1, 3, 6])
    scores = np.concatenate([[1.0] * x + [0.0] * (6 - x) for x in c])
    found = graded_trainability(scores, np.repeat(np.arange(4), 6), 4, 4)
    np.testing.assert_allclose(found, trainability(np.full(4, 6), c, 4), atol=1e-12)


def test_trainability_never_comes_from_the_mean_p():
    value = trainability([64] * 40, [0, 64] * 20, 8)
    assert value.mean() == 0.0
    groups = useful_groups(value, 32)
    assert (groups.mean, groups.low) == (0.0, 0.0)
    assert 0 < groups.high < 4


def test_mixture_recovers_the_curve_inside_the_data_and_labels_itself_beyond():
    rng = np.random.default_rng(5)
    n, c = np.full(300, 64), rng.binomial(64, rng.beta(0.6, 1.5, 300))
    ks = np.array([1, 8, 64])
    truth = pass_at_k(n, c, ks).mean(0)
    for model in ("npmle", "beta"):
        fit = fit_mixture(n, c, model)
        np.testing.assert_allclose(fit.curve(ks), truth, atol=0.03)
        assert fit.weight_G.sum() == pytest.approx(1.0)
    band = extrapolate(n, c, [64, 256, 1024], draws=40)
    assert band.method.startswith("MODEL")
    assert "a model, not a measurement" in band.warnings[0]
    assert (np.diff(band.mean_K) >= 0).all()
    again = extrapolate(n, c, [64, 256, 1024], draws=40)
    np.testing.assert_array_equal(band.low_K, again.low_K)
    with pytest.raises(ConfigError, match="npmle"):
        fit_mixture(n, c, "gauss")


def test_collision_probability_needs_two_rows():
    found = collision_probability(labels([0, 1], [1, 3]), 3)
    assert np.isnan(found[[0, 2]]).all()
    assert found[1] == 1.0
