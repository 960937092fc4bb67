"""Arms under a stopping rule: final states, the part of fixed size, ungraded rollouts, pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rewardable.errors import DataError
from rewardable.measure.stopped import pair_states, stop
from rewardable.metrics import StoppingRule

RULE = StoppingRule(successes=2, cap=8, first=3, step=1, give_up=4)


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch) -> Any:
    from pathlib import Path

    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "support"))
    from fake_run import Given, hand_prompts, samples_given

    code = {"1": 1, "0": 0, "?": -1}

    def made(*rows: str) -> Any:
        given = [Given(prompt=p, outcome=code[x], text=f"{p}{i}")
                 for p, row in enumerate(rows) for i, x in enumerate(row)]  # fmt: skip
        return samples_given(hand_prompts(len(rows)), given)

    return made


def test_states_follow_the_graded_rollouts_in_order(samples: Any) -> None:
    fixed, found = stop(samples("110", "0000", "1?00?1", "01000101"), RULE, "here")
    assert found.counts.n_P.tolist() == [3, 4, 4, 6]
    assert found.counts.c_P.tolist() == [2, 0, 2, 2]
    assert found.counts.u_P.tolist() == [0, 0, 2, 0]
    assert found.rollouts_P.tolist() == [3, 4, 6, 8]
    assert fixed.n_P.tolist() == [3] * 4
    assert fixed.c_P.tolist() == [2, 0, 1, 1]
    assert not found.open_P.any()


def test_ungraded_rollouts_give_the_states_of_both_extremes(samples: Any) -> None:
    _, found = stop(samples("1?00?1"), RULE, "here")
    assert (found.low.n_P[0], found.low.c_P[0]) == (6, 2)
    assert (found.high.n_P[0], found.high.c_P[0]) == (3, 2)


def test_prompts_that_stay_ungraded_are_open_and_unfinished_ones_refused(samples: Any) -> None:
    fixed, found = stop(samples("?" * 15 + "1", "110"), RULE, "here")
    assert found.open_P.tolist() == [True, False]
    assert fixed.n_P.tolist() == [0, 3]
    with pytest.raises(DataError, match="1 of 2 prompts were not sampled to the end"):
        stop(samples("10", "110"), RULE, "here")


def test_a_pair_takes_up_what_one_side_gave_up_and_the_other_solves_late(samples: Any) -> None:
    rule = StoppingRule(successes=2, cap=8, first=2, step=1, give_up=4)

    def arm(*rows: str) -> Any:
        return stop(samples(*rows), rule, "here")[1]

    before, after = arm("0000", "11", "00000011"), arm("11", "0000", "00101")
    assert before.counts.n_P.tolist() == [4, 2, 4]
    states = pair_states(before, after)
    assert [side.n_P.tolist() for side in states] == [[4, 2, 8], [2, 4, 5]]
    late = arm("0101", "0101", "0101")
    with pytest.raises(DataError, match="1 prompts that one policy gave up"):
        pair_states(after, late)
    first, second = pair_states(arm("00000011", "00000001", "11"), late)
    assert np.stack([first.n_P, first.c_P]).tolist() == [[8, 8, 2], [2, 1, 2]]
    assert second.n_P.tolist() == [4, 4, 4]
