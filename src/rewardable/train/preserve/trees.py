"""A finite, prefix-free list of token openings as a tree, and what must be read to weigh it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardable.errors import DataError

Ids = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpeningTree:
    """Openings of one prompt. Every answer begins with exactly one of them, or leaves the tree.

    classes: names, in order. paths: per opening the (node, token) on its way. class_of: per
    opening its class. children: per node the tokens that stay in the tree. above: per node the
    (node, token) on the way to it. rows: token prefixes that, read once, show what follows every
    node. at: per node its (row, place): place t is what follows the row's first t tokens.
    """

    classes: tuple[str, ...]
    openings: tuple[Ids, ...]
    class_of: tuple[int, ...]
    paths: tuple[tuple[tuple[int, int], ...], ...]
    children: tuple[Ids, ...]
    above: tuple[tuple[tuple[int, int], ...], ...]
    rows: tuple[Ids, ...]
    at: tuple[tuple[int, int], ...]

    @property
    def depth(self) -> int:
        """Places that must be read behind the prompt: tokens of the longest row, and one."""
        return max(len(row) for row in self.rows) + 1


def opening_tree(openings: Mapping[str, Sequence[Ids]]) -> OpeningTree:
    """Build the tree of class -> openings.

    Of two openings of one class where one begins the other, the shorter stands for both.

    Raises
    ------
    DataError: no opening, an empty one, or an opening of one class that begins one of another:
    such an answer would belong to both.
    """
    leaves: dict[Ids, int] = {}
    for number, (name, listed) in enumerate(openings.items()):
        for opening in _shortest(listed, name):
            if leaves.setdefault(opening, number) != number:
                raise DataError(f"opening {list(opening)} belongs to two classes, one of {name!r}.")
    if not leaves:
        raise DataError("a routing prior needs at least one opening a prompt, got none.")
    nodes = list(dict.fromkeys(leaf[:end] for leaf in leaves for end in range(len(leaf))))
    clash = next((node for node in nodes if node in leaves), None)
    if clash is not None:
        raise DataError(
            f"opening {list(clash)} of class {list(openings)[leaves[clash]]!r} begins one of "
            "another class; classes must exclude each other. Lengthen it."
        )
    return _laid_out(tuple(openings), leaves, nodes)


def _shortest(listed: Sequence[Ids], name: str) -> list[Ids]:
    """Return the openings of one class without those that another of them begins."""
    distinct = {tuple(opening) for opening in listed}
    if () in distinct:
        raise DataError(f"an opening of class {name!r} has no token.")
    return [
        opening
        for opening in sorted(distinct, key=lambda ids: (len(ids), ids))
        if not any(opening[:end] in distinct for end in range(1, len(opening)))
    ]


def _laid_out(classes: tuple[str, ...], leaves: Mapping[Ids, int], nodes: list[Ids]) -> OpeningTree:
    number = {node: i for i, node in enumerate(nodes)}
    inner = {node[:end] for node in nodes for end in range(len(node))}
    rows = [node for node in nodes if node not in inner]
    children: list[set[int]] = [set() for _ in nodes]
    for way in leaves:
        for end, token in enumerate(way):
            children[number[way[:end]]].add(token)

    def path(ids: Ids) -> tuple[tuple[int, int], ...]:
        return tuple((number[ids[:end]], token) for end, token in enumerate(ids))

    def place(node: Ids) -> tuple[int, int]:
        return next(i for i, row in enumerate(rows) if row[: len(node)] == node), len(node)

    return OpeningTree(
        classes=classes,
        openings=tuple(leaves),
        class_of=tuple(leaves.values()),
        paths=tuple(path(leaf) for leaf in leaves),
        children=tuple(tuple(sorted(tokens)) for tokens in children),
        above=tuple(path(node) for node in nodes),
        rows=tuple(rows),
        at=tuple(place(node) for node in nodes),
    )
