"""Preference pairs: who is in them, how often, and over which families."""

from __future__ import annotations

from collections import Counter

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.records import Outcome, Prompt, Verdict, user_prompt
from rewardable.train.pairs import pairs
from rewardable.train.rows import GradedRow, correct_rows

PROMPTS = [user_prompt("echo", "1", f"prompt {n}") for n in range(3)]
RIGHT, WRONG, NONE = Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED


def row(
    text: str, outcome: Outcome, *, of: Prompt = PROMPTS[0], family: str = "", cut: bool = False
) -> GradedRow:
    verdict = Verdict(
        outcome=outcome,
        verifier="echo",
        version="1",
        reason="timeout: 5 s" if outcome is NONE else "",
        labels={"solution": family} if family else {},
    )
    return GradedRow(prompt=of, text=text, verdict=verdict, truncated=cut)


def texts(rows: list[GradedRow], per_prompt: int, **more: str) -> list[tuple[str, str]]:
    return [(p.chosen.text, p.rejected.text) for p in pairs(rows, per_prompt, 0, **more)]


def test_chosen_are_correct_and_rejected_wrong_of_the_same_prompt() -> None:
    rows = [
        row(f"{prompt.text} {outcome} {n}", outcome, of=prompt)
        for prompt in PROMPTS
        for outcome in (RIGHT, WRONG, NONE)
        for n in range(3)
    ]
    found = pairs(rows, 3, 0)
    assert len(found) == 9
    for pair in found:
        assert pair.chosen.prompt.key == pair.rejected.prompt.key
        assert (pair.chosen.verdict.outcome, pair.rejected.verdict.outcome) == (RIGHT, WRONG)


def test_an_ungraded_row_makes_no_pair() -> None:
    assert pairs([row("a", RIGHT), row("b", NONE)], 4, 0) == ()
    assert pairs([row("a", NONE), row("b", WRONG)], 4, 0) == ()


def test_no_row_is_used_again_before_all_were_and_no_pair_twice() -> None:
    rows = [row(f"c{n}", RIGHT) for n in range(2)] + [row(f"r{n}", WRONG) for n in range(4)]
    for count in range(1, 9):
        found = texts(rows, count)
        assert len(found) == len(set(found)) == count
        for side in (0, 1):
            used = Counter(pair[side] for pair in found)
            everyone = [used[t] for t in {f"c{n}" for n in range(2)}] if side == 0 else None
            everyone = everyone or [used[f"r{n}"] for n in range(4)]
            assert max(everyone) - min(everyone) <= 1
    assert len(texts(rows, 99)) == 8  # every chosen with every rejected, and no more


def test_equal_texts_are_one_answer() -> None:
    rows = [row("a", RIGHT), row("a", RIGHT), row("b", WRONG), row("b", WRONG)]
    assert texts(rows, 9) == [("a", "b")]


def test_a_truncated_correct_answer_is_not_taught() -> None:
    assert pairs([row("a", RIGHT, cut=True), row("b", WRONG)], 1, 0) == ()
    assert len(pairs([row("a", RIGHT), row("b", WRONG, cut=True)], 1, 0)) == 1


def test_spread_takes_one_of_each_family_before_a_second() -> None:
    frequent = [row(f"a{n}", RIGHT, family="a") for n in range(20)]
    rare = [row("b0", RIGHT, family="b"), row("c0", RIGHT, family="c")]
    wrong = [row(f"r{n}", WRONG) for n in range(20)]
    found = texts(frequent + rare + wrong, 3, spread="solution")
    assert {chosen[0] for chosen, _ in found} == {"a", "b", "c"}
    plain = [texts(frequent + rare + wrong, 3)]
    assert {chosen[0] for chosen, _ in plain[0]} == {"a"}  # seed 0: the frequent family alone


def test_the_seed_alone_decides() -> None:
    rows = [row(f"c{n}", RIGHT) for n in range(9)] + [row(f"r{n}", WRONG) for n in range(9)]
    assert pairs(rows, 4, 7) == pairs(rows, 4, 7)
    assert pairs(rows, 4, 7) != pairs(rows, 4, 8)


def test_no_pairs_asked_for_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        pairs([], 0, 0)


def test_only_correct_finished_rollouts_are_imitated() -> None:
    rows = [row("a", RIGHT), row("b", WRONG), row("c", NONE), row("d", RIGHT, cut=True)]
    assert [kept.text for kept in correct_rows(rows)] == ["a"]
    with pytest.raises(DataError, match="none of 1 rollouts"):
        correct_rows([row("b", WRONG)])
