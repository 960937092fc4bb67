"""Arguments that one engine alone understands: ``ENGINE.KEY=VALUE`` texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rewardable.errors import ConfigError, unknown_name

ENGINES = ("http", "vllm")


def arguments_of(engine: str, texts: Sequence[str]) -> dict[str, Any]:
    """Return key -> value of one engine's arguments; a value is JSON where it is, else text.

    >>> arguments_of("vllm", ("vllm.tensor_parallel_size=2", "http.wait_s=60"))
    {'tensor_parallel_size': 2}
    """
    found: dict[str, Any] = {}
    for text in texts:
        whose, key, value = split_argument(text)
        if whose != engine:
            continue
        if key in found:
            raise ConfigError(f"the engine argument {whose}.{key} is given twice.")
        found[key] = _value(value)
    return found


def split_argument(text: str) -> tuple[str, str, str]:
    """Return (engine, key, value) of ``ENGINE.KEY=VALUE``; ConfigError for anything else."""
    name, equals, value = text.partition("=")
    engine, dot, key = name.strip().partition(".")
    if not (equals and dot and key):
        raise ConfigError(f"an engine argument is ENGINE.KEY=VALUE, got {text!r}.")
    if engine not in ENGINES:
        raise unknown_name("engine with arguments", engine, ENGINES)
    return engine, key, value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def check_names(given: Iterable[str], known: Iterable[str], engine: str) -> None:
    """Refuse an argument that the engine does not know, with a suggestion."""
    names = set(known)
    for name in given:
        if name not in names:
            raise unknown_name(f"argument of the {engine} engine", name, names)
