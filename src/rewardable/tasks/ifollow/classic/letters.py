"""Language, capitals and commas."""

from __future__ import annotations

from rewardable.tasks.ifollow.language import language_of
from rewardable.tasks.ifollow.values import compare
from rewardable.tasks.ifollow.words import tokens


def response_language(text: str, language: str) -> bool:
    """Tell whether the text is in the language; a text without words is in none."""
    found = language_of(text) or ""
    return language in (found, found.partition("-")[0])


def english_capital(text: str) -> bool:
    """Tell whether the text is English without a small letter.

    The detector passes over words in capitals, so the text in small letters may show it too.
    """
    return text.isupper() and "en" in map(language_of, (text, text.lower()))


def english_lowercase(text: str) -> bool:
    """Tell whether the text is English without a capital letter."""
    return text.islower() and language_of(text) == "en"


def capital_word_frequency(text: str, capital_frequency: int, capital_relation: str) -> bool:
    """Tell whether there are so many words all in capitals; a hyphenated word is one."""
    words = sum(token.isupper() for token in tokens(text))
    return compare(words, capital_relation, capital_frequency)


def no_comma(text: str) -> bool:
    """Tell whether there is no comma."""
    return "," not in text
