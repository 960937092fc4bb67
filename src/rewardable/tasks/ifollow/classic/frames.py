"""How a response begins and ends, what it repeats, and responses of two parts."""

from __future__ import annotations

import re

_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}


def end_checker(text: str, end_phrase: str) -> bool:
    """Tell whether the response ends with the phrase, in any case, closing double quotes aside."""
    return text.strip().strip('"').lower().endswith(end_phrase.lower())


def quotation(text: str) -> bool:
    """Tell whether the response begins and ends with a double quotation mark."""
    body = text.strip()
    return len(body) > 1 and body[0] == body[-1] == '"'


def postscript(text: str, postscript_marker: str) -> bool:
    """Tell whether the marker occurs, in any case; one space may stand inside it."""
    pattern = _POSTSCRIPTS.get(postscript_marker, re.escape(postscript_marker.lower()))
    return re.search(pattern, text.lower()) is not None


def repeat_prompt(text: str, prompt_to_repeat: str) -> bool:
    """Tell whether the response begins with the request, in any case."""
    return text.strip().lower().startswith(prompt_to_repeat.lower())


def two_responses(text: str) -> bool:
    """Tell whether there are two different responses with ``******`` between them."""
    parts = [part.strip() for part in text.split("******")]
    if not all(parts[1:-1]):
        return False
    found = list(filter(None, parts))
    return len(found) == 2 and found[0] != found[1]
