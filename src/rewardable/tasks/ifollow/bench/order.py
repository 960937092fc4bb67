"""What every sentence of a response must be like, and how sentences follow one another."""

from __future__ import annotations

from itertools import pairwise

from rewardable.tasks.ifollow.sentences import sentences
from rewardable.tasks.ifollow.words import PUNCTUATION, bare, stripped, worded


def increment(text: str, small_n: int) -> bool:
    """Tell whether every sentence has exactly so many words more than the one before."""
    counts = [len(bare(sentence)) for sentence in sentences(text)]
    return len(counts) > 1 and all(after - before == small_n for before, after in pairwise(counts))


def alliteration_increment(text: str) -> bool:
    """Tell whether every sentence has more words in alliteration than the one before."""
    counts = [_alliterating(sentence) for sentence in sentences(text)]
    return len(counts) > 1 and all(before < after for before, after in pairwise(counts))


def _alliterating(sentence: str) -> int:
    """Count the words that share their first letter with a neighbour."""
    firsts = [word[0] for part in sentence.lower().split() if (word := part.lstrip(PUNCTUATION))]
    same = [a == b for a, b in pairwise(firsts)]
    return sum(a or b for a, b in zip([False, *same], [*same, False], strict=True))


def keyword(text: str, word: str, N: int) -> bool:
    """Tell whether the N-th sentence holds the keyword, in any case, also inside a longer word."""
    found = sentences(text)
    return len(found) >= N and word.lower() in found[N - 1].lower()


def keywords_specific_position(text: str, keyword: str, n: int, m: int) -> bool:
    """Tell whether the keyword is the m-th word of the n-th sentence, in any case."""
    found = sentences(text)
    words = worded(found[n - 1]) if len(found) >= n else []
    return len(words) >= m and words[m - 1].lower() == keyword.lower()


def last_first(text: str) -> bool:
    """Tell whether every sentence begins with the last word of the one before; one alone does."""
    found = [stripped(sentence.lower()) for sentence in sentences(text)]
    return all(a and b and a[-1] == b[0] for a, b in pairwise(found))


def sentence_alphabet(text: str) -> bool:
    """Tell whether there are 26 sentences that begin with the letters from A to Z."""
    firsts = [sentence.lstrip(f"{PUNCTUATION} ")[:1].lower() for sentence in sentences(text)]
    return "".join(firsts) == "abcdefghijklmnopqrstuvwxyz"
