"""Seeded passes over rows, and a token budget that comes out right."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from rewardable.errors import DataError
from rewardable.train.mix.draws import Budget, Draws, RowDraws

LENGTHS = [3, 30, 7, 11, 19]


def test_every_row_once_a_pass_and_each_pass_in_another_order() -> None:
    drawn = list(islice(RowDraws(5, "0"), 15))
    passes = [drawn[:5], drawn[5:10], drawn[10:]]
    assert all(sorted(one) == list(range(5)) for one in passes)
    assert len({tuple(one) for one in passes}) > 1
    assert list(islice(RowDraws(5, "0"), 15)) == drawn
    assert list(islice(RowDraws(5, "1"), 15)) != drawn


def test_tokens_taken_follow_tokens_granted_within_one_row() -> None:
    draws, granted, taken = Draws(LENGTHS, "0"), 0.0, 0
    for step in range(200):
        budget = 4.5 + step % 7
        granted += budget
        taken += sum(LENGTHS[row] for row in draws.tokens(budget))
        assert granted <= taken < granted + max(LENGTHS)


def test_a_source_that_runs_dry_owes_nothing() -> None:
    budget = Budget()
    assert budget.take(100.0, [0, 1], lambda _: 10) == [0, 1]
    assert budget.left == 0.0
    assert budget.take(5.0, [], lambda _: 10) == []
    assert budget.left == 0.0


def test_a_resumed_source_goes_on_where_it_was() -> None:
    one = Draws(LENGTHS, "0")
    for _ in range(9):
        one.tokens(17.3)
    other = Draws(LENGTHS, "0")
    other.restore(json.loads(json.dumps(one.state())))
    assert [one.tokens(17.3) for _ in range(9)] == [other.tokens(17.3) for _ in range(9)]
    assert one.rows(4) == other.rows(4)


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        RowDraws(0, "0")
