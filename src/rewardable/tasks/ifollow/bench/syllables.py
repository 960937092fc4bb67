"""Syllables of an English word, by the word list and rules of ``syllapy``."""

from __future__ import annotations


def syllables(word: str) -> int:
    """Return the number of syllables; 0 for what is no word."""
    from syllapy import count

    return int(count(word))
