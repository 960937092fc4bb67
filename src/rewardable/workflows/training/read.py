"""Build frozen configurations from plain mappings; an unknown key is an error with a suggestion."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

from rewardable.errors import ConfigError, unknown_name

T = TypeVar("T")
_PLAIN = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def build(kind: type[T], raw: Any, where: str, **given: Any) -> T:
    """Return ``kind`` from a mapping; nested dataclasses from nested mappings, lists as tuples.

    where: the table's name, for messages. given: fields set by the caller; a file may not name
    them.

    Raises
    ------
    ConfigError: an unknown or missing key, a value of the wrong type, or what ``kind`` refuses.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{where} must be a table, got {raw!r}.")
    hints = typing.get_type_hints(kind)
    known = [entry for entry in fields(typing.cast(Any, kind)) if entry.name not in given]
    names = {entry.name for entry in known}
    for key in typing.cast(Mapping[str, Any], raw):
        if key not in names:
            raise unknown_name(f"key of {where}:", key, names)
    needed = [
        entry.name
        for entry in known
        if entry.default is MISSING and entry.default_factory is MISSING and entry.name not in raw
    ]
    if needed:
        raise ConfigError(f"{where} lacks {', '.join(needed)}.")
    values = {key: read(hints[key], value, f"{where}.{key}") for key, value in raw.items()}
    return kind(**values, **given)


def read(hint: Any, value: Any, where: str) -> Any:
    """Return ``value`` as the type ``hint``: the types that configurations use."""
    options = _options(hint)
    if len(options) > 1 and not any(_literal(option) for option in options):
        return _any_of(options, value, where)
    return _single(options[0], value, where)


def _single(kind: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return _one_of(typing.get_args(kind), value, where)
    if origin in (tuple, Sequence, list):
        return _rows(kind, value, where)
    if origin in (Mapping, dict):
        return _mapping(kind, value, where)
    if is_dataclass(kind) and isinstance(kind, type):
        return build(kind, value, where)
    return value if kind is Any else _plain(kind, value, where)


def _options(hint: Any) -> list[Any]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [option for option in typing.get_args(hint) if option is not type(None)]
    return [hint]


def _literal(option: Any) -> bool:
    return typing.get_origin(option) is typing.Literal


def _any_of(options: Sequence[Any], value: Any, where: str) -> Any:
    failed: list[str] = []
    for option in options:
        try:
            return read(option, value, where)
        except ConfigError as error:
            failed.append(str(error))
    raise ConfigError(failed[0])


def _one_of(known: Sequence[Any], value: Any, where: str) -> Any:
    if value not in known:
        raise unknown_name(f"value of {where}:", str(value), map(str, known))
    return value


def _rows(kind: Any, value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{where} must be a list, got {value!r}.")
    args = typing.get_args(kind)
    rows = list(typing.cast(Sequence[Any], value))
    if args and args[-1] is not Ellipsis and len(args) > 1:
        if len(rows) != len(args):
            raise ConfigError(f"{where} must have {len(args)} values, got {len(rows)}.")
        hints = list(args)
    else:
        hints = [args[0] if args else Any] * len(rows)
    pairs = zip(hints, rows, strict=True)
    return tuple(read(h, v, f"{where}[{i}]") for i, (h, v) in enumerate(pairs))


def _mapping(kind: Any, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} must be a table, got {value!r}.")
    inner = typing.get_args(kind)[1] if typing.get_args(kind) else Any
    table = typing.cast(Mapping[str, Any], value)
    return {key: read(inner, entry, f"{where}.{key}") for key, entry in table.items()}


def _plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wrong_bool = isinstance(value, bool) and kind is not bool
    if isinstance(kind, type) and (not isinstance(value, kind) or wrong_bool):
        raise ConfigError(f"{where} must be {_PLAIN.get(kind, kind.__name__)}, got {value!r}.")
    return value
