"""Numbers of words, sentences and paragraphs, and the first word of one."""

from __future__ import annotations

import re

from rewardable.tasks.ifollow.sentences import sentences
from rewardable.tasks.ifollow.values import compare
from rewardable.tasks.ifollow.words import runs

_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_ENDS_WORD = ".,?!'\""


def number_words(text: str, relation: str, num_words: int) -> bool:
    """Tell whether there are so many words; ``don't`` counts as two."""
    return compare(len(runs(text)), relation, num_words)


def number_sentences(text: str, relation: str, num_sentences: int) -> bool:
    """Tell whether there are so many sentences."""
    return compare(len(sentences(text)), relation, num_sentences)


def number_paragraphs(text: str, num_paragraphs: int) -> bool:
    """Tell whether there are exactly so many paragraphs between ``***``, none empty."""
    parts = _DIVIDER.split(text)
    inner = parts[bool(not parts[0].strip()) : len(parts) - bool(not parts[-1].strip())]
    return len(inner) == num_paragraphs and all(part.strip() for part in inner)


def nth_paragraph_first_word(
    text: str, num_paragraphs: int, nth_paragraph: int, first_word: str
) -> bool:
    """Tell whether there are exactly so many paragraphs and the n-th begins with the word."""
    found = [part.split() for part in text.split("\n\n") if part.strip()]
    if len(found) != num_paragraphs or nth_paragraph > len(found):
        return False
    word = found[nth_paragraph - 1][0].lstrip("'").lstrip('"').lower()
    end = next((i for i, letter in enumerate(word) if letter in _ENDS_WORD), len(word))
    return word[:end] == first_word.lower()
