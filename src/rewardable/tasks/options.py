"""Task specs: ``"countdown:style=steps,numbers=4"`` and the configuration that they mean."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from rewardable.errors import ConfigError, unknown_name

C = TypeVar("C")
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Span:
    """Integers from ``low`` to ``high``, both included; written ``3-5`` or ``4``."""

    low: int
    high: int

    def __post_init__(self) -> None:
        """Refuse an empty or negative span."""
        if not 0 <= self.low <= self.high:
            raise ConfigError(f"a span must be LOW-HIGH with 0 <= LOW <= HIGH, got {self}.")

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


def split_spec(spec: str, known: Collection[str] = ()) -> tuple[str, dict[str, str]]:
    """Split ``"name:key=value,..."`` into the name and its options.

    A name that is not ``known`` may be a user's own: ``"package.module:attr:key=value,..."``.

    Raises
    ------
    ConfigError: an option without ``=``, or given twice.
    """
    head, *rest = spec.strip().split(":")
    if head not in known and rest and rest[0] and "=" not in rest[0]:
        head, rest = f"{head}:{rest[0]}", rest[1:]
    options: dict[str, str] = {}
    for item in filter(None, ":".join(rest).split(",")):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not key:
            raise ConfigError(f"task option {item!r} in {spec!r} must be KEY=VALUE.")
        if key in options:
            raise ConfigError(f"task option {key!r} is given twice in {spec!r}.")
        options[key] = value
    return head, options


def configure(config: type[C], options: dict[str, str], *, task: str) -> C:
    """Build a configuration dataclass from option texts, each read by its field's type.

    Raises
    ------
    ConfigError: an unknown option (nearest names suggested) or a value that cannot be read.
    """
    hints = get_type_hints(config)
    names = [field.name for field in fields(cast(Any, config))]
    values: dict[str, Any] = {}
    for key, text in options.items():
        if key not in names:
            raise unknown_name(f"option of task {task}:", key, names)
        values[key] = _read(hints[key], text, key)
    return config(**values)


def spec_of(name: str, config: object, *, leave_out: Collection[str] = ()) -> str:
    """Return a task's name: the catalog's, and the options that are not the default.

    ``leave_out`` are options that change neither prompts nor their facts; a name without them
    lets another verifier judge what is stored.
    """
    changed = [
        f"{field.name}={_written(getattr(config, field.name))}"
        for field in fields(cast(Any, config))
        if field.name not in leave_out and getattr(config, field.name) != field.default
    ]
    return f"{name}:{','.join(changed)}" if changed else name


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(kind: Any, text: str, key: str) -> Any:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            raise unknown_name(f"value of {key}:", text, get_args(kind))
        return text
    try:
        if kind is bool:
            return _TRUTH[text.lower()]
        if kind is Span:
            low, _, high = text.partition("-")
            return Span(int(low), int(high or low))
        return kind(text)
    except (KeyError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        expected = {bool: "true or false", Span: "LOW-HIGH or one integer"}.get(kind, kind.__name__)
        raise ConfigError(f"task option {key}={text!r} must be {expected}.") from error
