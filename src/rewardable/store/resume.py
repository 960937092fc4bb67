"""Compare a stored configuration with the one asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rewardable.errors import ResumeError

_ABSENT = "(absent)"


def require_same(
    stored: Mapping[str, Any],
    asked: Mapping[str, Any],
    *,
    may_differ: Collection[str],
    where: str,
) -> None:
    """Raise ResumeError naming every key that differs, with both values.

    ``may_differ`` holds dotted keys ("engine.device"); a table's name covers all below it.
    """
    old, new = flatten(stored), flatten(asked)
    lines = [
        f"  {key}: stored {old.get(key, _ABSENT)!r}, asked {new.get(key, _ABSENT)!r}"
        for key in sorted(old.keys() | new.keys())
        if old.get(key, _ABSENT) != new.get(key, _ABSENT) and not _covered(key, may_differ)
    ]
    if lines:
        raise ResumeError(
            f"{where} was made with another configuration:\n"
            + "\n".join(lines)
            + "\nUse the stored values to go on, or another folder to start afresh."
        )


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return dotted key -> value; tuples as lists, keys that hold None left out."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        elif value is not None:
            flat[f"{prefix}{key}"] = _plain(value)
    return flat


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _covered(key: str, may_differ: Collection[str]) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in may_differ)
