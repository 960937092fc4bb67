r"""Reads a stated answer as a whole: numbers, words, tuples, intervals, lists, ``\pm``, unions.

Commas separate values, except a comma inside a thousands-grouped number. Nothing is searched for
inside the text: what is not understood is a ``Formula``, which goes to Math-Verify as it stands.
"""

from __future__ import annotations

import re

from rewardable.tasks.math.latex import split_top, squeeze, tidy, trim
from rewardable.tasks.math.numerals import read_number, ungroup
from rewardable.tasks.math.values import Formula, Group, Num, Several, Union, Value, Words

MAX_LENGTH = 2000
MAX_DEPTH = 6

_WORD_AND = r"\\text\s*\{\s*,?\s*(?:and|or)\s*\}|(?<=[\s0-9)}\]])(?:and|or)(?=[\s(\[\\$0-9-])"
_LIST = re.compile(rf"[,;]|{_WORD_AND}")
_ROWS = re.compile(r";")
_INSIDE = re.compile(r"[,;]")
_CUP = re.compile(r"\\cup(?![a-zA-Z])|\\bigcup(?![a-zA-Z])")
_EITHER = re.compile(r"^(?:either|both)\s+", re.IGNORECASE)
_MEMBER = re.compile(r"^[A-Za-z](?:_[0-9A-Za-z])?(?:\([A-Za-z]\))?\s*\\in(?![a-zA-Z])\s*")
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_WORDS = re.compile(r"[A-Za-z][A-Za-z'\u2019-]*(?:[ -][A-Za-z'\u2019-]+){0,11}")
_SIGN = re.compile(r"\\(pm|mp)(?![a-zA-Z])")
_BRACKETS = {"(": ")", "[": "]"}


def read(text: str, *, grouped: bool = True) -> Value:
    """Read a stated answer. ``grouped=False``: every comma separates, as in ``64,125``."""
    plain = tidy(text[:MAX_LENGTH])
    return _read(_EITHER.sub("", ungroup(plain) if grouped else plain), 0)


def _read(text: str, depth: int) -> Value:
    text = trim(text)
    if depth > MAX_DEPTH:
        return Formula(text=squeeze(text))
    rows = split_top(text, _ROWS)
    items = split_top(text, _LIST)
    if len(rows) > 1 and len(items) > len(rows):
        return _several(text, [_row(row, depth + 1) for row in rows])
    if len(items) > 1:
        return _several(text, [_read(item, depth + 1) for item in items])
    return _item(items[0] if items else text, depth)


def _row(text: str, depth: int) -> Value:
    items = split_top(text, _LIST)
    if len(items) == 1:
        return _read(items[0], depth)
    read_items = tuple(_read(_right_side(item), depth + 1) for item in items)
    return Group(text=squeeze(text), opening="(", closing=")", items=read_items)


def _item(text: str, depth: int) -> Value:
    """Read what is no list."""
    text = _MEMBER.sub("", text)
    number = read_number(_unwrapped(text))
    if number is not None:
        return number
    parts = split_top(text, _CUP)
    if len(parts) > 1:
        return Union(text=squeeze(text), items=tuple(_read(part, depth + 1) for part in parts))
    return _bracketed(text, depth) or _plus_minus(text, depth) or _words(text) or _formula(text)


def _bracketed(text: str, depth: int) -> Value | None:
    if text.startswith("\\{") and text.endswith("\\}") and _is_one(text[2:-2] + " ", "{"):
        items = [_read(item, depth + 1) for item in split_top(text[2:-2], _INSIDE)]
        return _several(text, items, braced=True)
    if text[:1] == "{" and text[-1:] == "}" and _is_one(text, "{"):
        return _read(text[1:-1], depth + 1)
    named = re.match(r"\([A-Za-z,_0-9 ]+\)\s*=\s*(?=\()", text)
    text = text[named.end() :] if named else text
    if text[:1] not in _BRACKETS or text[-1:] not in (")", "]") or not _is_one(text):
        return None
    parts = split_top(text[1:-1], _INSIDE)
    if len(parts) < 2:
        inner = text[:1] == "(" and text[-1:] == ")" and parts
        return _read(parts[0], depth + 1) if inner else None
    items = tuple(_item(part, depth + 1) for part in parts)
    return Group(text=squeeze(text), opening=text[0], closing=text[-1], items=items)


def _is_one(text: str, opening: str = "") -> bool:
    """Tell whether the first bracket closes at the very end."""
    depth = 1 if opening == "{" and text[:1] != "{" else 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth <= 0:
            return at == len(text) - 1
    return depth == 1


def _plus_minus(text: str, depth: int) -> Value | None:
    if not _SIGN.search(text):
        return None
    signs = {"pm": "+", "mp": "-"}, {"pm": "-", "mp": "+"}
    both = [trim(_SIGN.sub(lambda found, s=s: s[found[1]], text)).lstrip("+ ") for s in signs]
    return _several(text, [_read(one, depth + 1) for one in both])


def _several(text: str, items: list[Value], *, braced: bool = False) -> Value:
    """Collect values, nested plain lists taken in, each spelling once."""
    flat: dict[str, Value] = {}
    for item in items:
        inner = item.items if isinstance(item, Several) and not item.braced else (item,)
        flat.update({one.text: one for one in inner})
    if len(flat) == 1 and not braced:
        return next(iter(flat.values()))
    return Several(text=squeeze(text), items=tuple(flat.values()), braced=braced)


def _words(text: str) -> Value | None:
    bare = _unwrapped(text).strip(" ().")
    wrapped = _TEXT.search(text) is not None
    if not _WORDS.fullmatch(bare) or not (wrapped or len(bare) > 3 or "(" in text):
        return None
    return Words(text=bare if len(bare) == 1 else re.sub(r"[ -]+", " ", bare).casefold())


def _unwrapped(text: str) -> str:
    r"""Return the content of a text that is one ``\text{...}``, else the text."""
    match = _TEXT.fullmatch(text)
    return match[1].strip() if match else text


def _formula(text: str) -> Formula:
    """Drop a unit in words at the end; words anywhere else close the formula."""
    unit = re.search(r"\\text\s*\{[^{}]*\}\s*(?:\^\s*[0-9])?$", text)
    body = trim(text[: unit.start()]) if unit and unit.start() and read_unit(unit.group()) else text
    outside = re.sub(r"[_^]\s*\{?\s*\\text\s*\{[^{}]*\}\s*\}?", "", body)
    closed = bool(_TEXT.search(outside) or re.search(r"(?<![_^0-9.])[0-9.]+\s+[0-9]|\?", body))
    return Formula(text=squeeze(body), closed=closed)


def read_unit(text: str) -> bool:
    """Tell whether words may follow a value as its unit."""
    number = read_number(f"1 {text}")
    return isinstance(number, Num)


def _right_side(text: str) -> str:
    return text.rpartition("=")[2]
