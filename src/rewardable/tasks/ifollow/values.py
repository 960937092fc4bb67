"""Readers of an instruction's parameters: a value that can be meant, or a ConfigError."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rewardable.errors import ConfigError, unknown_name
from rewardable.tasks.ifollow.language import CODES

Reader = Callable[[str, Any], Any]

LESS, LEAST = "less than", "at least"
RELATIONS = (LESS, LEAST, "at most", "more than", "exactly")


def compare(count: int, relation: str, limit: int) -> bool:
    """Tell whether ``count`` stands in ``relation`` to ``limit``."""
    if relation == LESS:
        return count < limit
    if relation == LEAST:
        return count >= limit
    if relation == "at most":
        return count <= limit
    return count > limit if relation == "more than" else count == limit


def relation(name: str, value: Any) -> str:
    """Read one of RELATIONS."""
    if value not in RELATIONS:
        raise unknown_name(f"{name}:", str(value), RELATIONS)
    return value


def whole(name: str, value: Any) -> int:
    """Read a whole number that is not negative; 5.0 is one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise _refused(name, value, "a whole number")
    if value < 0:
        raise _refused(name, value, "a whole number >= 0")
    return int(value)


def positive(name: str, value: Any) -> int:
    """Read a whole number of at least 1."""
    number = whole(name, value)
    if not number:
        raise _refused(name, value, "a whole number >= 1")
    return number


def percent(name: str, value: Any) -> float:
    """Read a number from 0 to 100."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise _refused(name, value, "a number from 0 to 100")
    return float(value)


def phrase(name: str, value: Any) -> str:
    """Read a text that is not blank, stripped."""
    if not isinstance(value, str) or not value.strip():
        raise _refused(name, value, "a text")
    return value.strip()


def verbatim(name: str, value: Any) -> str:
    """Read a text that is not blank, as it is."""
    phrase(name, value)
    return value


def phrases(name: str, value: Any) -> tuple[str, ...]:
    """Read a list of texts that is not empty."""
    if not isinstance(value, list | tuple) or not value:
        raise _refused(name, value, "a list of texts")
    items: list[Any] = list(value)  # pyright: ignore[reportUnknownVariableType]
    return tuple(phrase(name, item) for item in items)


def character(name: str, value: Any) -> str:
    """Read one character; it need not be a letter."""
    if not isinstance(value, str) or len(value.strip()) != 1:
        raise _refused(name, value, "one character")
    return value.strip().lower()


def language(name: str, value: Any) -> str:
    """Read a language code."""
    if value not in CODES:
        raise unknown_name(f"{name}:", str(value), sorted(CODES))
    return value


def read_values(
    kind: str, readers: Mapping[str, Reader], given: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Read all parameters of a kind; None counts as not given.

    Raises
    ------
    ConfigError: a missing or unknown parameter, or a value that cannot be meant.
    """
    told = {key: value for key, value in (given or {}).items() if value is not None}
    for key in told:
        if key not in readers:
            raise unknown_name(f"parameter of {kind}:", key, readers)
    missing = [key for key in readers if key not in told]
    if missing:
        raise ConfigError(f"{kind} needs {', '.join(missing)}, got {told}.")
    return {key: reader(f"{kind} {key}", told[key]) for key, reader in readers.items()}


def _refused(name: str, value: Any, expected: str) -> ConfigError:
    return ConfigError(f"{name} must be {expected}, got {value!r}.")
