"""What a response states: the last complete JSON object, or key-value lines.

The object rule: of the JSON objects in the response, read from the left and never inside one
another, the last one that has a wanted field counts. A wanted key that occurs twice in it is
refused. Time is linear in the response: a scan that keeps failing gives up.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

_EFFORT = 20
"""How many times the length of a response may be read before the scan gives up."""

_DECORATION = " \t*_`#>|\"'-+•,;"


_ERROR_SPEED = 64
"""An error of the decoder counts the lines before it, so much faster than it parses."""

_BEGIN = re.compile(r'\{(?=\s{0,64}["}])')


class DuplicateKeyError(Exception):
    """A wanted field is stated twice."""


class _Doubled(dict[str, Any]):
    """An object in which some key occurred twice; ``doubled`` names them."""

    doubled: frozenset[str] = frozenset()


def last_object(text: str, wanted: Collection[str]) -> Mapping[str, Any] | None:
    """Return the last JSON object with a wanted field; None without one.

    Raises DuplicateKeyError when a wanted key occurs twice in it.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse)
    found: _Doubled | None = None
    effort, place = _EFFORT * (len(text) + 100), _next(text, 0)
    while place >= 0 and effort > 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            effort -= error.pos - place + error.pos // _ERROR_SPEED + 1
            place = _next(text, place + 1)
        except (ValueError, RecursionError):
            effort -= len(text) - place
            place = _next(text, place + 1)
        else:
            effort -= end - place
            found = value if set(wanted) & set(value) else found
            place = _next(text, end)
    if found is not None and found.doubled & set(wanted):
        raise DuplicateKeyError(", ".join(sorted(found.doubled & set(wanted))))
    return found


def _next(text: str, start: int) -> int:
    """Return where the next object can begin, -1 when nowhere."""
    match = _BEGIN.search(text, start)
    return match.start() if match else -1


def stated_lines(text: str, wanted: Collection[str]) -> dict[str, str]:
    """Return the fields stated as ``key: value`` or ``key = value``, one a line.

    Case, underscores and decoration of keys do not matter. Raises DuplicateKeyError when a field
    is stated with two values.
    """
    names = {_plain(name): name for name in wanted}
    found: dict[str, str] = {}
    for line in text.split("\n"):
        cut = min((at for at in (line.find(":"), line.find("=")) if at >= 0), default=-1)
        name = names.get(_plain(line[:cut])) if 0 <= cut <= 80 else None
        if name is None:
            continue
        value = line[cut + 1 :].strip(_DECORATION)
        if found.get(name, value) != value:
            raise DuplicateKeyError(name)
        found[name] = value
    return found


def _plain(key: str) -> str:
    return " ".join(key.strip(_DECORATION).replace("_", " ").casefold().split())


def _object(pairs: list[tuple[str, Any]]) -> _Doubled:
    keys = [key for key, _ in pairs]
    made = _Doubled(pairs)
    if len(made) < len(keys):
        made.doubled = frozenset(key for key, count in Counter(keys).items() if count > 1)
    return made


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
