"""Numbers of words, names, numbers, marks and keywords."""

from __future__ import annotations

import re

from rewardable.tasks.ifollow.words import PUNCTUATION, bare, runs, stripped

CONJUNCTIONS = frozenset({"and", "but", "for", "nor", "or", "so", "yet"})
_PRONOUNS = (
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his "
    "himself she her hers herself it its itself they them their theirs themselves"
)
PRONOUNS = frozenset(_PRONOUNS.split())
_NAMES = (
    "Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander "
    "Amelia Benjamin Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel "
    "Ella Jacob Scarlett Nathan Victoria Elijah Layla Nicholas Audrey David Hannah Christopher "
    "Penelope Thomas Nora Andrew Aria Joseph Claire Ryan Stella Jonathan"
)
NAMES = tuple(_NAMES.split())
"""The fifty names that the instruction lists."""

MARKS = ".,!?;:"
_INTERROBANGS = ("?!", "!?", "‽")
_TIMES = (1, 2, 3, 5, 7)
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


def word_count_range(text: str, min_words: int, max_words: int) -> bool:
    """Tell whether there are from so many to so many words."""
    return min_words <= len(runs(text)) <= max_words


def unique_word_count(text: str, N: int) -> bool:
    """Tell whether there are at least so many different words."""
    return len(set(stripped(text.lower()))) >= N


def conjunctions(text: str, small_n: int) -> bool:
    """Tell whether there are at least so many different coordinating conjunctions."""
    return len(CONJUNCTIONS.intersection(stripped(text.lower()))) >= small_n


def person_names(text: str, N: int) -> bool:
    """Tell whether there are at least so many of the fifty names."""
    return sum(name in text for name in NAMES) >= N


def numbers(text: str, N: int) -> bool:
    """Tell whether there are exactly so many numbers in digits; 3.14 and 100,000 are one each."""
    joined = text.translate(str.maketrans("", "", PUNCTUATION))
    return len(re.findall(r"\d+", joined)) == N


def pronouns(text: str, N: int) -> bool:
    """Tell whether there are at least so many pronouns; ``she/her`` are two."""
    return sum(word in PRONOUNS for word in bare(text.lower().replace("/", " "))) >= N


def punctuation(text: str) -> bool:
    """Tell whether the text has each of . , ! ? ; : and, apart from them, an interrobang."""
    bang = next((bang for bang in _INTERROBANGS if bang in text), None)
    if bang is None:
        return False
    rest = text if bang == "‽" else text.replace(bang, "", 1)
    return all(mark in rest for mark in MARKS)


def keywords_multiple(
    text: str, keyword1: str, keyword2: str, keyword3: str, keyword4: str, keyword5: str
) -> bool:
    """Tell whether the keywords occur once, twice, three, five and seven times, in any case."""
    low = text.lower()
    keywords = (keyword1, keyword2, keyword3, keyword4, keyword5)
    counts = [low.count(keyword.lower()) for keyword in keywords]
    return counts == list(_TIMES)


def words_japanese(text: str, N: int) -> bool:
    """Tell whether every N-th word is Japanese; numbers and lone marks are passed over."""
    words = [word.strip(PUNCTUATION) for word in text.split()][N - 1 :: N]
    return bool(words) and all(
        _JAPANESE.search(word) for word in words if word and not word.isdigit()
    )
