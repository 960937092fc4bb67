"""Plain enumeration of Countdown expressions, written without the package's solver."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import SimpleNamespace

import pytest

Tree = int | tuple[str, "Tree", "Tree"]


def trees(labels: tuple[int, ...]) -> Iterator[Tree]:
    """All binary trees over the labels, each used once, in every order."""
    if len(labels) == 1:
        yield labels[0]
        return
    for size in range(1, len(labels)):
        for left in itertools.combinations(labels, size):
            right = tuple(label for label in labels if label not in left)
            for a, b in itertools.product(trees(left), trees(right)):
                for operator in "+-*/":
                    yield (operator, a, b)


def value(tree: Tree, leaf: Callable[[int], Fraction], seen: list[Fraction] | None = None):
    """Exact value, None for a division by zero; ``seen`` collects the results."""
    if isinstance(tree, int):
        return leaf(tree)
    a, b = value(tree[1], leaf, seen), value(tree[2], leaf, seen)
    if a is None or b is None or (tree[0] == "/" and b == 0):
        return None
    result = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
    }[tree[0]]()
    if seen is not None:
        seen.append(result)
    return result


def text(tree: Tree, numbers: list[int], parent: str = "", side: str = "") -> str:
    """Write a tree with the fewest brackets."""
    if isinstance(tree, int):
        return str(numbers[tree])
    operator = tree[0]
    inner = (
        f"{text(tree[1], numbers, operator, 'l')}{operator}{text(tree[2], numbers, operator, 'r')}"
    )
    tight = {"": 0, "+": 1, "-": 1, "*": 2, "/": 2}
    bare = tight[operator] > tight[parent] or (tight[operator] == tight[parent] and side != "r")
    return inner if bare else f"({inner})"


def first(tree: Tree, numbers: list[int]) -> str:
    """Family of a tree's text: the leftmost leaf and its operator."""
    operator = "?"
    while not isinstance(tree, int):
        operator, tree = tree[0], tree[1]
    return f"{numbers[tree]}{operator}"


_RNG = random.Random(5)
_POINTS = [[Fraction(_RNG.randint(10**6, 10**9), 7919) for _ in range(6)] for _ in range(2)]


def orbit(tree: Tree, numbers: list[int]) -> frozenset[tuple[Fraction | None, ...]]:
    """Values at random points under all exchanges of equal-valued numbers."""
    indices = range(len(numbers))
    exchanges = [
        p
        for p in itertools.permutations(indices)
        if all(numbers[p[i]] == numbers[i] for i in indices)
    ]
    return frozenset(
        tuple(value(tree, lambda i, q=p, at=point: at[q[i]]) for point in _POINTS)
        for p in exchanges
    )


@pytest.fixture(scope="session")
def brute() -> SimpleNamespace:
    """The functions above."""
    return SimpleNamespace(trees=trees, value=value, text=text, first=first, orbit=orbit)
