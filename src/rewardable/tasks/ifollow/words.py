"""Words of a text, in the three readings that instructions need."""

from __future__ import annotations

import re
import string

PUNCTUATION = string.punctuation
"""The ASCII marks that do not belong to a word."""

_QUOTES = "'’‘"
_DROP = str.maketrans("", "", PUNCTUATION)
_RUN = re.compile(r"\w+")
_OUTSIDE = re.compile(r"[\[\](){}<>!?,;:@#$%&*\"“”`«»]|\.{2,}|-{2,}|…")
_CLITIC = re.compile(r"(?i)(?<=\w)(n['’]t|['’](?:s|m|d|ll|re|ve))$")
_CANNOT = re.compile(r"(?i)^(can)(not)$")


def runs(text: str) -> list[str]:
    """Return the maximal runs of letters, digits and underscores: ``don't`` is two."""
    return _RUN.findall(text)


def bare(text: str) -> list[str]:
    """Return what white space separates, with the ASCII marks taken out: ``don't`` is ``dont``."""
    return text.translate(_DROP).split()


def stripped(text: str) -> list[str]:
    """Return what white space separates, marks taken off both ends; marks alone are no word."""
    return [word for part in text.split() if (word := part.strip(PUNCTUATION))]


def tokens(text: str) -> list[str]:
    """Return words and marks as grammars count them: marks apart, ``can't`` as ``ca`` ``n't``.

    A hyphen, a slash and a full stop inside a word belong to it; so does the full stop behind an
    abbreviation such as ``U.S.``
    """
    found: list[str] = []
    for part in _OUTSIDE.sub(lambda mark: f" {mark.group()} ", text).split():
        found += _token(part)
    return found


def _token(part: str) -> list[str]:
    if part.isalnum() and len(part) != len("cannot"):
        return [part]
    body = part.lstrip(_QUOTES)
    core = body.rstrip(f"{_QUOTES}.")
    if "." in core and body[len(core) :].startswith("."):
        core = f"{core}."
    head, tail = part[: len(part) - len(body)], body[len(core) :]
    return [*filter(None, (head, *_clitic(core), *tail))]


def _clitic(word: str) -> tuple[str, str]:
    """Split ``can't``, ``it's`` and ``cannot`` in two; the second is empty for other words."""
    match = _CLITIC.search(word) or _CANNOT.search(word)
    cut = match.start(match.lastindex or 0) if match else len(word)
    return word[:cut], word[cut:]


def worded(text: str) -> list[str]:
    """Return the tokens that hold a letter or a digit."""
    return [token for token in tokens(text) if any(map(str.isalnum, token))]
