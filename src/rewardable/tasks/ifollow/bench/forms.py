"""What every word of a response must be like, and how words follow one another."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from string import ascii_lowercase

from rewardable.tasks.ifollow.bench.syllables import syllables
from rewardable.tasks.ifollow.words import bare, stripped, worded

_VOWELS = "aeiou"
_CONSONANTS = frozenset(ascii_lowercase) - frozenset(_VOWELS)


def alphabet(text: str) -> bool:
    """Tell whether every word begins with the next letter of the alphabet, A behind Z."""
    firsts = [word[0].lower() for word in bare(text)]
    if not firsts or not all(first in ascii_lowercase for first in firsts):
        return False
    places = [ascii_lowercase.index(first) for first in firsts]
    return all(after == (before + 1) % 26 for before, after in pairwise(places))


def vowel(text: str) -> bool:
    """Tell whether the text is one paragraph with at most three different vowels."""
    body = text.strip().lower()
    return "\n" not in body and sum(vowel in body for vowel in _VOWELS) <= 3


def consonants(text: str) -> bool:
    """Tell whether every word holds two consonants side by side; y is one."""
    return all(
        any(a in _CONSONANTS and b in _CONSONANTS for a, b in pairwise(word))
        for word in text.lower().split()
    )


def palindrome(text: str) -> bool:
    """Tell whether at least ten words of five letters or more read the same backwards."""
    return sum(len(word) >= 5 and word == word[::-1] for word in bare(text.lower())) >= 10


def prime_lengths(text: str) -> bool:
    """Tell whether every word has a prime number of letters."""
    words = bare(text)
    return bool(words) and all(_prime(length) for length in set(map(len, words)))


def _prime(number: int) -> bool:
    if number < 2:
        return False
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def repeats(text: str, small_n: int) -> bool:
    """Tell whether no word occurs more than so many times."""
    return max(Counter(bare(text.lower())).values(), default=0) <= small_n


def no_consecutive(text: str) -> bool:
    """Tell whether no two words in a row begin with the same letter."""
    return all(a[0] != b[0] for a, b in pairwise(bare(text.lower())))


def odd_even_syllables(text: str) -> bool:
    """Tell whether words with odd and even numbers of syllables take turns."""
    parity = [syllables(word) % 2 for word in bare(text.lower())]
    return all(a != b for a, b in pairwise(parity))


def words_position(text: str, keyword: str) -> bool:
    """Tell whether the second word and the last but one are the keyword, in any case."""
    words = worded(text)
    return len(words) > 1 and words[1].lower() == words[-2].lower() == keyword.lower()


def paragraph_last_first(text: str) -> bool:
    """Tell whether every paragraph (a line) ends with the word it begins with."""
    lines = [stripped(line) for line in text.lower().split("\n") if line.strip()]
    return all(words and words[0] == words[-1] for words in lines)
