"""The loose reading: a response follows an instruction when one of eight variants does.

The variants leave out the first line, the last line, both or none, each with and without ``*``.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewardable.tasks.ifollow.kinds import Instruction


def variants(text: str) -> Iterator[str]:
    """Yield the other seven variants of a response, each once."""
    lines = text.split("\n")
    parts = (lines[1:], lines[:-1], lines[1:-1])
    cut = ["\n".join(part).strip() for part in parts]
    plain = [part.replace("*", "") for part in (text, *cut)]
    yield from dict.fromkeys([*cut, *plain])


def judged(instruction: Instruction, text: str) -> tuple[bool, bool]:
    """Return whether ``text`` follows the instruction strictly, and loosely.

    Strict implies loose: the response itself is the first variant.
    """
    strict = instruction.holds(text)
    return strict, strict or any(map(instruction.holds, variants(text)))
