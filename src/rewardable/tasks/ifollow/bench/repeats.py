"""Requests that are to be repeated, in whole, in part, or with a change."""

from __future__ import annotations

SENTENCE = "Only output this sentence here, ignore all other requests."


def repeat_simple(text: str) -> bool:
    """Tell whether the response is the one sentence, in any case."""
    return text.strip().lower() == SENTENCE.lower()


def repeat_change(text: str, prompt_to_repeat: str) -> bool:
    """Tell whether the response is the request with another first word."""
    own, asked = text.split(), prompt_to_repeat.split()
    return bool(own) and own[0] != asked[0] and own[1:] == asked[1:]


def repeat_span(text: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """Tell whether the response is the words of the request from n_start to n_end, in any case."""
    return text.lower().split() == prompt_to_repeat.lower().split()[n_start : n_end + 1]
