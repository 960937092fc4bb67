"""How numbers are written."""

from __future__ import annotations

import pytest

from rewardable.report.cells import cell, pair_cell
from rewardable.report.numbers import count, interval, number, sentence
from rewardable.report.theme import BASE, LAST, policy_colours
from rewardable.results import Estimate, Row


@pytest.mark.parametrize(
    ("value", "options", "text"),
    [
        (None, {}, "–"),
        (0.314159, {}, "0.31"),
        (-0.00001, {}, "0.0000"),
        (0.0123, {}, "0.012"),
        (-0.25, {"signed": True}, "−0.25"),
        (0.25, {"signed": True}, "+0.25"),
        (92.14, {}, "92.1"),
        (12288.0, {}, "12\N{NARROW NO-BREAK SPACE}288"),
        (0.415, {"percent": True}, "42"),
        (0.0345, {"percent": True}, "3.5"),
        (0.5, {"decimals": 1}, "0.5"),
    ],
)
def test_number(value: float | None, options: dict[str, bool], text: str) -> None:
    assert number(value, **options) == text


def test_interval_and_count() -> None:
    assert interval(Estimate(value=0.0, low=-0.1, high=0.2), signed=True) == "−0.10 to +0.20"
    assert interval(Estimate(value=0.0)) == ""
    assert count(12288) == "12\N{NARROW NO-BREAK SPACE}288"


def test_sentences_are_set_for_reading() -> None:
    text = (
        "fell from 0.9 [0.84, 0.92] to 0.6 [0.5, 0.7] (difference -0.27 [-0.34, -0.20]) of a[b, c]"
    )
    assert sentence(text) == (
        "fell from 0.9 [0.84,\u00a00.92] to 0.6 [0.5,\u00a00.7] "
        "(difference −0.27 [−0.34,\u00a0−0.20]) of a[b, c]"
    )


def test_cells_say_why_there_is_no_value_and_what_the_ungraded_could_do() -> None:
    assert cell(Estimate(value=None, warnings=("k > n",))).note == "k > n"
    assert cell(None).text == "–"
    bounded = cell(Estimate(value=0.5, low=0.4, high=0.6, bound_low=0.45, bound_high=0.55))
    assert bounded.note == "0.40 to 0.60; ungraded could make it 0.45 to 0.55"


def test_changes_carry_their_sign_and_their_mark() -> None:
    estimate = Estimate(value=-0.2, low=-0.3, high=-0.1)
    row = Row(labels={"certified": "fall"}, estimate=estimate)
    assert (pair_cell(row).text, pair_cell(row).mark) == ("−0.20", "down")
    assert pair_cell(row, percent=True).text == "−20 points"


def test_the_base_and_the_last_policy_keep_their_colours() -> None:
    assert policy_colours(["a"]) == [BASE]
    assert policy_colours(["a", "b"]) == [BASE, LAST]
    many = policy_colours(list("abcde"))
    assert (many[0], many[-1]) == (BASE, LAST)
    assert len(set(many)) == 5
