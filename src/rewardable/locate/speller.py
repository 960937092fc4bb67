"""Text of token ids, spelled by one policy's tokenizer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from rewardable.locate.rollouts import PolicyRollouts
from rewardable.protocols import TokenReader


@dataclass(frozen=True, kw_only=True)
class Speller:
    """Text of the beginnings that :func:`spell` read; it keeps no engine.

    knows_text: whether the engine could tell the text of its tokens.
    """

    known: Mapping[tuple[int, ...], str]
    knows_text: bool

    def text(self, ids: Sequence[int]) -> str:
        """Return the text; "" where the engine could not tell."""
        return self.known[tuple(ids)] if self.knows_text else ""


def spell(engine: object, rollouts: Sequence[PolicyRollouts], lengths: Collection[int]) -> Speller:
    """Spell all beginnings of these lengths, each once."""
    known: dict[tuple[int, ...], str] = {}
    if not isinstance(engine, TokenReader):
        return Speller(known=known, knows_text=False)
    for policy in rollouts:
        for one in policy.rows:
            for ids in {one.token_ids[:length] for length in lengths}:
                if ids not in known:
                    known[ids] = "".join(engine.pieces(ids))
    return Speller(known=known, knows_text=True)
