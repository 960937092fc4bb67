"""Words and letters that must occur, must not, or so many times."""

from __future__ import annotations

import re

from rewardable.tasks.ifollow.values import compare


def existence(text: str, keywords: tuple[str, ...]) -> bool:
    """Tell whether every keyword occurs, in any case, also inside a longer word."""
    return all(_occurrences(text, keyword) for keyword in keywords)


def frequency(text: str, relation: str, keyword: str, frequency: int) -> bool:
    """Tell whether the keyword occurs so often, in any case, also inside longer words."""
    return compare(_occurrences(text, keyword), relation, frequency)


def forbidden_words(text: str, forbidden_words: tuple[str, ...]) -> bool:
    """Tell whether no such word occurs, in any case, as a whole word."""
    return not any(
        re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in forbidden_words
    )


def letter_frequency(text: str, letter: str, let_relation: str, let_frequency: int) -> bool:
    """Tell whether the character occurs so often, capital or small."""
    return compare(text.lower().count(letter), let_relation, let_frequency)


def _occurrences(text: str, keyword: str) -> int:
    return sum(1 for _ in re.finditer(re.escape(keyword), text, re.IGNORECASE))
