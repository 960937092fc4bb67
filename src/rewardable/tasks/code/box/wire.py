"""Plain data between the solution and the referee: JSON lines with a tag for every type.

Whatever the solution returns arrives as exact built-in values, so that comparisons are made by
the referee's own types. A subclass of a plain type travels as its plain value; a generator as an
iterator over its items; anything else as :class:`Opaque`, which equals nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

LONGEST = 4_000_000
"""Bytes of one message."""

_DEEPEST = 60
_MOST_ITEMS = 100_000

Tagged = list[Any]


class NotPlainError(Exception):
    """A value that cannot travel: too deep, or not what the wire allows."""


class Opaque:
    """Stands for an object that is not plain data; equal to nothing but itself."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<not plain data: {self.kind}>"


def encode(value: Any, depth: int = 0) -> Tagged:
    """Return the tagged form; NotPlainError for a structure that is too deep."""
    if depth > _DEEPEST:
        raise NotPlainError("nested too deep")
    if value is None or value is True or value is False:
        return ["c", value]
    kind = type(value)
    for plain, tag, write in _SCALARS:
        if issubclass(kind, plain):
            return [tag, write(value)]
    return _encode_many(value, kind, depth + 1)


def _encode_many(value: Any, kind: type, depth: int) -> Tagged:
    for plain, tag in _SEQUENCES:
        if issubclass(kind, plain):
            return [tag, [encode(item, depth) for item in plain.__iter__(value)]]
    if issubclass(kind, dict):
        return ["d", [[encode(k, depth), encode(v, depth)] for k, v in dict.items(value)]]
    if kind.__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        return encode(value.item(), depth)
    if hasattr(kind, "__next__") or kind in _VIEWS:
        return ["g", [encode(item, depth) for item in islice(value, _MOST_ITEMS)]]
    return ["o", str(kind.__name__)[:80]]


def decode(tagged: Any) -> Any:
    """Return the value of a tagged form; NotPlainError for anything that ``encode`` never writes.

    Safe for hostile input: it builds built-in values alone.
    """
    if type(tagged) is not list or len(tagged) != 2 or type(tagged[0]) is not str:
        raise NotPlainError("not a tagged value")
    tag, payload = tagged
    try:
        return _READ[tag](payload)
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise NotPlainError(f"bad {tag[:10]!r} value") from error


def _constant(payload: Any) -> Any:
    if payload is None or type(payload) is bool:
        return payload
    raise ValueError("not a constant")


def _items(payload: Any) -> Iterator[Any]:
    if type(payload) is not list:
        raise ValueError("not a list")
    return map(decode, payload)


_SCALARS: tuple[tuple[Any, str, Callable[[Any], Any]], ...] = (
    (int, "i", lambda v: hex(int.__add__(v, 0))),
    (float, "f", float.hex),
    (str, "s", lambda v: str.encode(v, "utf-8", "surrogatepass").hex()),
    (bytes, "b", bytes.hex),
    (bytearray, "B", bytearray.hex),
    (complex, "x", lambda v: [float.hex(v.real), float.hex(v.imag)]),
    (range, "r", lambda v: [hex(v.start), hex(v.stop), hex(v.step)]),
    (Fraction, "q", lambda v: [hex(v.numerator), hex(v.denominator)]),
    (Decimal, "D", Decimal.__str__),
)
_SEQUENCES: tuple[tuple[Any, str], ...] = (
    (list, "l"),
    (tuple, "t"),
    (set, "S"),
    (frozenset, "z"),
)
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_READ: dict[str, Callable[[Any], Any]] = {
    "c": _constant,
    "i": lambda p: int(p, 16),
    "f": float.fromhex,
    "s": lambda p: bytes.fromhex(p).decode("utf-8", "surrogatepass"),
    "b": bytes.fromhex,
    "B": bytearray.fromhex,
    "x": lambda p: complex(float.fromhex(p[0]), float.fromhex(p[1])),
    "r": lambda p: range(*(int(n, 16) for n in p)),
    "q": lambda p: Fraction(int(p[0], 16), int(p[1], 16)),
    "D": Decimal,
    "l": lambda p: list(_items(p)),
    "t": lambda p: tuple(_items(p)),
    "S": lambda p: set(_items(p)),
    "z": lambda p: frozenset(_items(p)),
    "d": lambda p: {decode(k): decode(v) for k, v in p},
    "g": lambda p: iter(list(_items(p))),
    "o": lambda p: Opaque(str(p)[:80]),
}
