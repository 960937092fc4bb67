"""Shares: stop words, kinds of sentences, overlap with a reference."""

from __future__ import annotations

from rewardable.tasks.ifollow.bench.stopwords import STOP_WORDS
from rewardable.tasks.ifollow.sentences import sentences
from rewardable.tasks.ifollow.words import runs, stripped

TOLERANCE = 2.0
_CLOSERS = "\"'”’)]}*_ "


def stop_words(text: str, percentage: float) -> bool:
    """Tell whether at most such a share of the words are stop words."""
    words = [word.lower() for word in runs(text)]
    if not words:
        return False
    return 100 * sum(word in STOP_WORDS for word in words) / len(words) <= percentage


def overlap(text: str, reference_text: str, percentage: float) -> bool:
    """Tell whether such a share of the text's different trigrams is the reference's, +-2 %."""
    own, other = _trigrams(text), _trigrams(reference_text)
    if not own:
        return False
    return abs(100 * len(own & other) / len(own) - percentage) <= TOLERANCE


def _trigrams(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(len(text) - 2)}


def sentence_type(text: str) -> bool:
    """Tell whether twice as many sentences end with a full stop as with a question mark."""
    found = _ends(text)
    return found.count(".") == 2 * found.count("?") > 0


def sentence_balance(text: str) -> bool:
    """Tell whether as many sentences are statements as questions and exclamations."""
    found = _ends(text)
    return found.count(".") == found.count("?") == found.count("!") > 0


def _ends(text: str) -> list[str]:
    return [sentence.rstrip(_CLOSERS)[-1:] for sentence in sentences(text)]


def sentence_words(text: str) -> bool:
    """Tell whether there are three sentences as long as each other, without a repeated word."""
    found = sentences(text)
    words = [word for sentence in found for word in stripped(sentence.lower())]
    return len(found) == 3 and len(set(map(len, found))) == 1 and len(set(words)) == len(words)
