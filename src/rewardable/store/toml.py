"""Write a run's configuration as TOML; ``tomllib`` reads it back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from rewardable.errors import ConfigError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(config: Mapping[str, Any]) -> str:
    """Write nested mappings of strings, numbers, booleans and lists.

    ``tomllib.loads`` gives an equal dict back, tuples as lists. A key whose value is None is left
    out: TOML has no null, so None means absent. Raises ConfigError for any other value.
    """
    lines: list[str] = []
    _table(config, (), lines)
    return "\n".join(lines) + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    here = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    below = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    if path and (here or not below):
        lines.extend(["", f"[{'.'.join(map(_key, path))}]"])
    for key, value in here.items():
        if value is not None:
            lines.append(f"{_key(key)} = {_value(value, (*path, key))}")
    for key, value in below.items():
        _table(value, (*path, key), lines)


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ConfigError(f"configuration keys must be strings, got {key!r}.")
    return key if _BARE.fullmatch(key) else _string(key)


def _value(value: Any, path: tuple[str, ...]) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float) and not math.isnan(value):
        return float.__repr__(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item, path) for item in value)}]"
    if isinstance(value, Mapping):
        items = (
            f"{_key(key)} = {_value(item, (*path, key))}"
            for key, item in value.items()
            if item is not None
        )
        return f"{{{', '.join(items)}}}"
    raise ConfigError(
        f"configuration key {'.'.join(map(str, path))} holds {value!r}; use a string, a number, "
        "a boolean, or lists and tables of them."
    )


def _string(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError(f"configuration text {text!r} is not valid Unicode.") from error
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
