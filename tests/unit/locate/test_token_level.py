"""Phases, likelihood changes, entropies: on tokens whose values are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rewardable.errors import DataError
from rewardable.locate.entropy import entropy_bounds, entropy_by_phase, sampled_entropy
from rewardable.locate.likelihood import by_phase, by_position, join_tokens, phase_ratio
from rewardable.locate.phases import operator_phases, solution_phases, token_phases


def phases(pieces: list[str], text_phases=operator_phases) -> list[str]:
    return list(token_phases(pieces, text_phases("".join(pieces))))


def test_phases_are_strictly_before_the_operator_the_operator_and_the_rest():
    assert phases(list("12*3=36")) == ["operands"] * 2 + ["operator"] + ["rest"] * 4


def test_a_token_across_a_border_belongs_to_the_operator_if_it_holds_it():
    assert phases(["12*", "3=36"]) == ["operator", "rest"]
    assert phases(["1", "2*3=", "36"]) == ["operands", "operator", "rest"]


def test_end_tokens_and_parts_of_characters_belong_to_what_stands_before_them():
    assert phases(["4", "*", "7=28", ""]) == ["operands", "operator", "rest", "rest"]
    assert phases(["", "4", "*", "7"]) == ["operands", "operands", "operator", "rest"]


@pytest.mark.parametrize("text", ["- 3 apples and 4 pears", "well-known -5", "no number", ""])
def test_dashes_that_join_no_two_operands_are_no_operators(text: str):
    assert {span.phase for span in operator_phases(text)} <= {"operands"}


def test_phases_of_a_worded_solution():
    text = "She has 16 - 3 = 13 eggs, so she gets 26. The answer is 26."
    found = [(span.phase, text[span.start : span.stop]) for span in solution_phases(text)]
    assert found[0] == ("preamble", "She has ")
    assert found[1] == ("first computation", "16 - 3")
    assert found[3][0] == "answer"
    assert found[3][1].startswith("The answer is")
    assert "".join(part for _, part in found) == text


def tokens_of(prompts: int = 40, seed: int = 0):
    """Two sequences a prompt, 2 operands, 1 operator, 3 rest; the change is known by phase."""
    rng = np.random.default_rng(seed)
    names = ["operands", "operands", "operator", "rest", "rest", "rest"]
    base = [rng.normal(-1, 0.2, 6).tolist() for _ in range(2 * prompts)]
    shift = np.array([2.0, -2.0, 1.0, 0.2, -0.2, 0.2])
    after = [
        (np.array(one) + shift * np.repeat(rng.uniform(0.8, 1.2, 2), 3)).tolist() for one in base
    ]
    prompt_S = [i // 2 for i in range(2 * prompts)]
    entropies = [[0.5] * 6 for _ in base]
    return join_tokens(
        [names] * (2 * prompts), prompt_S, {"a": base, "b": after}, {"a": entropies, "b": entropies}
    )


def test_changes_by_phase_and_position():
    tokens = tokens_of()
    cells = {cell.label: cell for cell in by_phase(tokens, "a", "b")}
    assert cells["operands"].size.mean == pytest.approx(2, rel=0.05)
    assert abs(cells["operands"].change.mean) < 1e-9
    assert cells["rest"].size.mean == pytest.approx(0.2, rel=0.05)
    assert cells["rest"].n_tokens == 240
    places = by_position(tokens, "a", "b", most=3)
    assert [round(cell.change.mean) for cell in places] == [2, -2, 1]


def test_the_ratio_of_phases_has_an_interval_around_the_truth():
    found = phase_ratio(tokens_of(), "a", "b", ["operands"], ["rest"])
    assert found.low < 10 < found.high
    assert found.high < 11
    with pytest.raises(DataError, match="no token is in phase"):
        phase_ratio(tokens_of(), "a", "b", ["operands"], ["answer"])


def test_a_policy_against_itself_changes_nowhere():
    tokens = tokens_of()
    assert all(cell.size.mean == 0 for cell in by_phase(tokens, "a", "a"))
    assert math.isnan(phase_ratio(tokens, "a", "a", ["operands"], ["rest"]).mean)


def test_scores_of_other_tokens_are_refused():
    with pytest.raises(DataError, match="scored 1 of 2"):
        join_tokens([["x", "x"]], [0], {"a": [[0.0]]}, {"a": [[0.0, 0.0]]})


def test_entropy_by_phase_and_from_samples():
    tokens = tokens_of()
    found = {name: interval.mean for name, interval, _ in entropy_by_phase(tokens, "a")}
    assert found == {"operands": 0.5, "operator": 0.5, "rest": 0.5}
    assert sampled_entropy(tokens, "a", "operator").mean == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_entropy_bounds_hold_the_truth(seed: int):
    p = np.sort(np.random.default_rng(seed).dirichlet(np.full(30, 0.3)))[::-1]
    truth = float(-(p[p > 0] * np.log(p[p > 0])).sum())
    for shown in (1, 5, 29):
        low, high = entropy_bounds(np.log(p[:shown]).tolist(), vocabulary=30)
        assert low <= truth + 1e-9
        assert truth <= high + 1e-9
    low, high = entropy_bounds(np.log(np.maximum(p, 1e-300)).tolist(), vocabulary=30)
    assert low == pytest.approx(high) == pytest.approx(truth)
