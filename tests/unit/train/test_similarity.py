"""Similarity within a group against a plain double loop."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rewardable.train import similarity as module
from rewardable.train.similarity import Unit, similarity


def plain(texts: list[str], n: int, unit: Unit) -> list[list[float]]:
    """Jaccard of sets of n-grams, two texts at a time."""

    def grams(text: str) -> set[tuple[str, ...]]:
        items = list(text) if unit == "characters" else text.split()
        items += [""] * (n - len(items))
        return {tuple(items[i : i + n]) for i in range(len(items) - n + 1)}

    return [[len(grams(a) & grams(b)) / len(grams(a) | grams(b)) for b in texts] for a in texts]


def drawn(rng: random.Random, size: int, longest: int) -> list[str]:
    return ["".join(rng.choices("ab c1\u00e9\U0001f600", k=rng.randint(0, longest)))
            for _ in range(size)]  # fmt: skip


@pytest.mark.parametrize("unit", ["characters", "words"])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_equals_the_double_loop(unit: Unit, n: int) -> None:
    rng = random.Random(7 * n)
    for longest in (0, 2, 6, 60):
        texts = drawn(rng, 9, longest)
        np.testing.assert_allclose(similarity(texts, n=n, unit=unit), plain(texts, n, unit))


def test_blocks_of_columns_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = drawn(random.Random(1), 8, 80)
    whole = similarity(texts)
    monkeypatch.setattr(module, "_COLUMNS", 5)
    np.testing.assert_array_equal(similarity(texts), whole)


def test_ends_of_the_scale() -> None:
    found = similarity(["same text", "same text", "QRSTUV", "", ""])
    assert found[0, 1] == found[3, 4] == 1.0
    assert found[0, 2] == found[0, 3] == 0.0
    assert (found == found.T).all()
    assert similarity([]).shape == (0, 0)
    assert similarity(["alone"]).tolist() == [[1.0]]
