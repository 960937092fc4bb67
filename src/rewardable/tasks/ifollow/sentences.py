"""Sentences of a text: one end mark, or several together, behind a word that is no abbreviation.

An end mark counts where white space or the end of the text follows it, closing quotes, brackets,
emphasis and emoji skipped. The full stop of a title (Dr.), of an initial (J. Smith), of a known
abbreviation (e.g.) and inside a number or a name (3.14, example.com) ends nothing. White space
and marks alone are no sentence. A list number (1.) in front of a capital letter counts as one, as
it does in the published counts.
"""

from __future__ import annotations

import re

from rewardable.tasks.ifollow.emoji import is_emoji

_END = re.compile(r"[.!?。！？…]+")
_CLOSERS = "\"'”’)]}*_`»"
_SHORT = (
    "jr sr inc ltd co corp etc al approx dept est fig no vol jan feb mar apr jun jul aug sep sept "
    "oct nov dec a.m p.m u.s u.k u.n ph.d m.d b.a m.a d.c"
)
_ABBREVIATIONS = frozenset(_SHORT.split())
_TITLES = "mr mrs ms dr prof st gen col lt sgt capt cpt rep sen gov rev hon vs e.g i.e cf"
_BEFORE_A_NAME = frozenset(_TITLES.split())
_LAST_WORD = re.compile(r"[\w.]+$")
_WINDOW = 64


def sentences(text: str) -> list[str]:
    """Return the sentences, stripped. A rest without an end mark is one too."""
    found: list[str] = []
    start = 0
    for mark in _END.finditer(text):
        if mark.start() < start:
            continue
        end = _behind(text, mark.end())
        if end < len(text) and not (text[end].isspace() or mark.group()[-1] in "。！？"):
            continue
        if mark.group() == "." and _inside(text, mark.start(), end):
            continue
        start = _add(found, text, start, end)
    _add(found, text, start, len(text))
    return found


def _behind(text: str, end: int) -> int:
    """Skip what closes a sentence, then emoji, also behind one space."""
    while end < len(text) and text[end] in _CLOSERS:
        end += 1
    at = end
    while at < len(text) and (is_emoji(text[at]) or text[at] in " \ufe0f\u200d"):
        at += 1
        end = at if text[at - 1] != " " else end
    return end


def _inside(text: str, dot: int, end: int) -> bool:
    """Tell whether the full stop at ``dot`` belongs to the word before it."""
    match = _LAST_WORD.search(text, max(0, dot - _WINDOW), dot)
    word = match.group() if match else ""
    after = text[end : end + _WINDOW].lstrip()
    if not after:
        return False
    if word.isdecimal():
        return after[0].islower()
    if len(word) == 1 and word.isalpha() and word.isupper() and word != "I":
        return True
    low = word.lower()
    if low in _BEFORE_A_NAME:
        return True
    return low in _ABBREVIATIONS and not after[0].isupper()


def _add(found: list[str], text: str, start: int, end: int) -> int:
    piece = text[start:end].strip()
    if any(map(str.isalnum, piece)) or any(map(is_emoji, piece)):
        found.append(piece)
    return end
