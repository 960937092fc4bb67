"""Text of token ids, spelled by one policy's tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

from rewardable.locate.rollouts import PolicyRollouts
from rewardable.protocols import TokenReader


class Speller:
    """Text of token ids, as the first policy's tokenizer spells them, each spelled once."""

    def __init__(self, engine: object) -> None:
        self._engine = engine
        self._known: dict[tuple[int, ...], str] = {}

    @property
    def knows_text(self) -> bool:
        """Whether the engine can tell the text of its tokens."""
        return isinstance(self._engine, TokenReader)

    def text(self, ids: Sequence[int]) -> str:
        """Return the text; "" where the engine cannot tell."""
        key = tuple(ids)
        if key not in self._known:
            engine = self._engine
            self._known[key] = (
                "".join(engine.pieces(key)) if isinstance(engine, TokenReader) else ""
            )
        return self._known[key]

    def let_go(self, rollouts: Sequence[PolicyRollouts], tokens: int) -> None:
        """Spell all beginnings of so many tokens, so that the engine may be closed."""
        for policy in rollouts:
            for one in policy.rows:
                self.text(one.token_ids[:tokens])
