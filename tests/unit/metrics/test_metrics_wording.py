"""Distinct n-grams at any number of outputs, and template reuse, against enumeration."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import ConfigError, DataError
from rewardable.metrics import (
    GramCounts,
    adjusted_distinct_n,
    adjusted_distinct_n_at_k,
    count_grams,
    distinct_n,
    distinct_n_at_k,
    row_quantiles,
    template_reuse,
    template_reuse_change,
)

ROWS = st.lists(st.lists(st.integers(0, 4), max_size=7), min_size=1, max_size=5)


def grams_of(rows, order):
    """The n-grams of every row as tuples: an independent program."""
    return [[tuple(r[i : i + order]) for i in range(len(r) - order + 1)] for r in rows]


def flat(rows):
    tokens = np.array([t for r in rows for t in r], dtype=np.int64)
    return tokens, np.repeat(np.arange(len(rows)), [len(r) for r in rows])


def counted(rows, order):
    seen, number, total = count_grams(*flat(rows), order)
    return GramCounts(prompt_S=np.zeros(len(seen), int), seen_S=seen, number_S=number,
                      total_P=np.array([total]))  # fmt: skip


def enumerated(rows, order, k):
    """Mean distinct and mean total n-grams over all k-subsets of the rows."""
    own = grams_of(rows, order)
    subsets = list(combinations(own, k))
    distinct = np.mean([len({g for row in subset for g in row}) for subset in subsets])
    return distinct, np.mean([sum(map(len, subset)) for subset in subsets])


@settings(max_examples=60, deadline=None)
@given(rows=ROWS, order=st.integers(1, 3), data=st.data())
def test_any_number_of_outputs_equals_all_subsets(rows, order, data):
    k = data.draw(st.integers(1, len(rows)))
    distinct, total = enumerated(rows, order, k)
    grams = counted(rows, order)
    found = distinct_n_at_k(grams, [len(rows)], k)[0]
    adjusted = adjusted_distinct_n_at_k(grams, [len(rows)], k, vocabulary=7)[0]
    if total == 0:
        assert np.isnan(found)
        assert np.isnan(adjusted)
    else:
        assert found == pytest.approx(distinct / total)
        assert adjusted == pytest.approx(distinct / (7 * (1 - (6 / 7) ** total)))


@settings(max_examples=40, deadline=None)
@given(rows=ROWS, order=st.integers(1, 3))
def test_all_outputs_equal_the_plain_figures_and_fewer_repeat_less(rows, order):
    grams, n, owner = counted(rows, order), len(rows), [0] * len(rows)
    plain = distinct_n(*flat(rows), owner, 1, order)
    np.testing.assert_allclose(distinct_n_at_k(grams, [n], n), plain)
    told = {"vocabulary": 9}
    adjusted = adjusted_distinct_n(*flat(rows), owner, 1, order=order, **told)
    np.testing.assert_allclose(adjusted_distinct_n_at_k(grams, [n], n, **told), adjusted)
    curve = [distinct_n_at_k(grams, [n], k)[0] for k in range(1, n + 1)]
    assert np.isnan(curve).all() or (np.diff(curve) <= 1e-12).all()
    if grams.total_P[0]:
        assert 0 < curve[-1] <= curve[0] + 1e-12 <= 1 + 2e-12


@pytest.mark.parametrize(("vocabulary", "count"), [(2, 3), (3, 4), (5, 2)])
def test_uniform_draws_have_an_adjusted_share_of_one(vocabulary, count):
    """Every sequence of ``count`` words is drawn once: the mean distinct is what is expected."""
    distinct = np.mean([len(set(words)) for words in product(range(vocabulary), repeat=count)])
    grams = counted([list(range(min(vocabulary, count)))], 1)
    known = len(grams.seen_S) and int(grams.number_S.sum())
    expected = vocabulary * (1 - ((vocabulary - 1) / vocabulary) ** count)
    assert distinct == pytest.approx(expected)
    alike = GramCounts(prompt_S=np.zeros(1, int), seen_S=np.array([1]), number_S=np.array([known]),
                       total_P=np.array([count]))  # fmt: skip
    found = adjusted_distinct_n_at_k(alike, [1], 1, vocabulary=vocabulary)[0]
    assert found == pytest.approx(known / distinct)


def test_counts_that_cannot_be_are_refused_by_row():
    held = {"prompt_S": np.array([0, 0]), "number_S": np.array([1, 1]), "total_P": np.array([4])}
    with pytest.raises(DataError, match="row 1"):
        GramCounts(seen_S=np.array([1, 0]), **held)
    with pytest.raises(DataError, match="total_P"):
        GramCounts(seen_S=np.array([3, 2]), **held)
    grams = GramCounts(seen_S=np.array([1, 3]), **held)
    with pytest.raises(DataError, match="outputs of the prompt"):
        distinct_n_at_k(grams, [2], 1)
    assert np.isnan(distinct_n_at_k(grams, [3], 4)).all()
    with pytest.raises(ConfigError, match="vocabulary"):
        adjusted_distinct_n_at_k(grams, [3], 1, vocabulary=1)


def pairs_that_match(template, prompt):
    groups = [template[prompt == p] for p in np.unique(prompt)]
    return np.mean([np.mean([x == y for x in a for y in b]) for a, b in combinations(groups, 2)])


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=12))
def test_template_reuse_and_its_change_equal_all_pairs(rows):
    prompt, template = np.array(rows).T
    if len(np.unique(prompt)) < 2:
        return
    plain = pairs_that_match(template, prompt)
    assert template_reuse(template, prompt, 5).mean == pytest.approx(plain)
    other = (template * 7 + prompt) % 3
    change = template_reuse_change((template, prompt), (other, prompt), 5)
    assert change.mean == pytest.approx(pairs_that_match(other, prompt) - plain, abs=1e-12)
    same = template_reuse_change((template, prompt), (template + 50, prompt), 5)
    assert same.mean == 0


def test_template_change_takes_only_prompts_of_both_sides():
    before = np.array([1, 1, 2]), np.array([0, 1, 2])
    after = np.array([1, 1]), np.array([0, 1])
    assert template_reuse_change(before, after, 3).mean == 0
    with pytest.raises(DataError, match="at least 2 prompts"):
        template_reuse_change(before, ([1], [0]), 3)


def test_the_interval_of_a_change_covers_and_calls_nothing_where_nothing_changed():
    rng = np.random.default_rng(3)
    prompt = np.repeat(np.arange(60), 4)
    held = called = tries = 0
    for _ in range(250):
        own = rng.random(60)[:, None]
        before, same = (np.where(rng.random((60, 4)) < own, 0, 1).ravel() for _ in range(2))
        after = np.where(rng.random((60, 4)) < np.sqrt(own), 0, 1).ravel()
        none = template_reuse_change((before, prompt), (same, prompt), 60)
        real = template_reuse_change((before, prompt), (after, prompt), 60)
        truth = (4 / 9 + 1 / 9) - 1 / 2  # E[sqrt u] = 2/3, E[u] = 1/2
        if np.isfinite(none.low):
            tries += 1
            called += not none.low <= 0 <= none.high
            held += real.low <= truth <= real.high
    assert tries > 200
    assert called / tries < 0.07
    assert held / tries > 0.91


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=20),
    q=st.sampled_from([0.1, 0.25, 0.5, 0.9]),
)
def test_quantiles_of_rows_equal_numpy(rows, q):
    prompt, values = np.array(rows).T
    found = row_quantiles(values, prompt, 4, q)
    for p in range(4):
        mine = values[prompt == p]
        if len(mine):
            assert found[p] == np.quantile(mine, q, method="inverted_cdf")
        else:
            assert np.isnan(found[p])
