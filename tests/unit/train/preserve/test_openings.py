"""Opening trees and classes: exclusive, complete, at the tokenizer's own borders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rewardable.errors import DataError
from rewardable.records import Prompt, user_prompt
from rewardable.train.preserve.classes import (
    continuation_ids,
    covering,
    listed_openings,
    sampled_openings,
)
from rewardable.train.preserve.trees import opening_tree


def test_the_tree_reads_shared_beginnings_once() -> None:
    tree = opening_tree({"4*": [(4, 90)], "4+": [(4, 91)], "12+": [(1, 2, 91)]})
    assert tree.rows == ((4,), (1, 2))
    assert tree.depth == 3
    nodes = [tuple(token for _, token in way) for way in tree.above]
    assert nodes == [(), (4,), (1,), (1, 2)]
    assert tree.children == ((1, 4), (90, 91), (2,), (91,))
    assert tree.at == ((0, 0), (0, 1), (1, 1), (1, 2))
    assert [tree.classes[c] for c in tree.class_of] == ["4*", "4+", "12+"]


def test_of_one_class_the_shorter_opening_stands_for_both() -> None:
    tree = opening_tree({"a": [(1, 2, 3), (1, 2), (5,)]})
    assert sorted(tree.openings) == [(1, 2), (5,)]


@pytest.mark.parametrize(
    ("openings", "message"),
    [
        ({"a": [(1,)], "b": [(1, 2)]}, "begins one of"),
        ({"a": [(1, 2)], "b": [(1,)]}, "begins one of"),
        ({"a": [(1,)], "b": [(1,)]}, "belongs to two classes"),
        ({"a": [()]}, "no token"),
        ({}, "at least one"),
    ],
)
def test_classes_that_do_not_exclude_each_other_are_refused(
    openings: dict[str, list[tuple[int, ...]]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        opening_tree(openings)


class Joining:
    """A tokenizer whose tokens are numbers, and an operator joined with the digit behind it."""

    chat_template = None

    def __init__(self) -> None:
        self.known: list[str] = []

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        parts = re.findall(r"[-+*/]\d|\d+|.", text)
        self.known += [part for part in dict.fromkeys(parts) if part not in self.known]
        return {"input_ids": [self.known.index(part) for part in parts]}

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.known[i] for i in ids)


class Lister:
    def entry_openings(self, prompt: Prompt) -> Mapping[str, Sequence[str]]:
        return {"4*": ("4*",), "7+": ("7+",)}

    def solution_texts(self, prompt: Prompt, count: int, seed: int) -> Sequence[str]:
        return ("4*7=28,28+1=29", "4*1=4", "7+4=11")[:count]


def test_a_token_across_the_border_of_an_opening_belongs_to_it() -> None:
    """``4*`` alone is two tokens, but in ``4*7`` the operator is joined with the 7."""
    tokenizer: Any = Joining()
    prompt = user_prompt("t", "1", "1,4,7=29:")
    found = listed_openings(tokenizer, Lister(), prompt, texts=8, seed=0)
    texts = {name: {tokenizer.decode(ids) for ids in rows} for name, rows in found.items()}
    assert texts == {"4*": {"4*", "4*7", "4*1"}, "7+": {"7+", "7+4"}}
    pieces = {tuple(tokenizer.known[i] for i in ids) for ids in found["4*"]}
    assert pieces == {("4", "*"), ("4", "*7"), ("4", "*1")}
    tree = opening_tree(found)
    assert len(tree.openings) == 5
    assert covering(tokenizer, found["4*"][0], "9") is None


def test_a_text_that_would_join_the_prompt_is_tokenised_alone() -> None:
    tokenizer: Any = Joining()
    ids = continuation_ids(tokenizer, "x+", "4*7")
    assert tokenizer.decode(ids) == "4*7"
    assert [tokenizer.known[i] for i in ids] == ["4", "*7"]


def test_sampled_openings_are_the_most_frequent_in_a_fixed_order() -> None:
    rows = [(1, 2), (3, 4), (1, 2), (9,), (3, 4), (5, 6)]
    assert list(sampled_openings(rows, 3).values()) == [[(1, 2)], [(3, 4)], [(5, 6)]]
