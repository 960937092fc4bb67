"""What a merge is told: parents, coefficients, and which tensors they apply to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from rewardable.errors import ConfigError, suggest, unknown_name
from rewardable.records import Json
from rewardable.restore.places import PARTS

METHODS = ("linear", "slerp", "task")
VOCABULARIES = ("refuse", "trained", "union")
DTYPES = ("source", "float32", "float16", "bfloat16")
TUPLES = ("earlier", "weights", "window", "schedule", "parts")


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeRecipe:
    """A merge of one trained checkpoint with earlier ones. Paths are local folders.

    ``alpha`` is the share of the earlier side: 0 is the trained checkpoint, 1 the earlier one.

    method: ``linear``: trained + alpha * (mean of earlier - trained), the mean by ``weights``.
        ``slerp``: the same along the arc between the two flattened tensors; one earlier
        checkpoint; tensors nearly parallel (|cos| > 0.9995) or zero are mixed linearly.
        ``task``: base + (1 - alpha) * (trained - base) + sum of weights_i * (earlier_i - base);
        needs ``base``, and one weight for each checkpoint in ``earlier`` (which may be empty).
    weights: for ``linear`` the shares within ``earlier``, summing to 1; empty means equal shares.
    window: layers (first, stop), stop excluded, counted from 0. None means all layers.
    schedule: one alpha for each layer of the window, in place of ``alpha``.
    parts: what is mixed, of ``attention``, ``mlp``, ``norm``, ``other`` (these four inside the
        layers of the window) and ``embedding``, ``head``, ``final_norm``, ``outside`` (all else,
        at ``alpha``). Empty: everything, or with a window or schedule all of those layers and
        nothing outside. What is not mixed is the trained checkpoint's.
    vocabulary: where the parents' tokens differ: ``refuse``; ``trained``: its tokens, rows that
        others lack kept from it; ``union``: the tokens of the largest parent, which must have the
        trained one's under the same ids, rows kept from who has them.
    dtype: ``source`` stores each tensor in the trained checkpoint's type.
    adapter_base: folder of the base of parents that are adapters, in place of the one they name.
    """

    trained: str
    earlier: tuple[str, ...] = ()
    method: str = "linear"
    alpha: float = 0.5
    weights: tuple[float, ...] = ()
    base: str = ""
    window: tuple[int, int] | None = None
    schedule: tuple[float, ...] = ()
    parts: tuple[str, ...] = ()
    vocabulary: str = "refuse"
    dtype: str = "source"
    adapter_base: str = ""

    def __post_init__(self) -> None:
        """Refuse recipes that cannot be meant with a ConfigError."""
        _one_of("method", self.method, METHODS)
        _one_of("vocabulary", self.vocabulary, VOCABULARIES)
        _one_of("dtype", self.dtype, DTYPES)
        for part in self.parts:
            _one_of("part", part, PARTS)
        if not self.trained or not all(self.earlier):
            raise ConfigError("a merge needs the folder of the trained checkpoint; one is empty.")
        self._check_numbers()
        self._check_window()
        (self._check_task if self.method == "task" else self._check_shares)()

    @property
    def shares(self) -> tuple[float, ...]:
        """Return one weight for each earlier checkpoint."""
        return self.weights or (1.0 / len(self.earlier),) * len(self.earlier)

    @property
    def bounded(self) -> bool:
        """Whether tensors outside the layers are left alone unless ``parts`` names them."""
        return self.window is not None or bool(self.schedule)

    def _check_numbers(self) -> None:
        for name in ("alpha", "weights", "schedule"):
            value: Any = getattr(self, name)
            for number in value if isinstance(value, tuple) else (value,):
                if not _is_number(number):
                    raise ConfigError(f"{name} must be finite numbers, got {number!r}.")
        for alpha in (self.alpha, *self.schedule):
            if self.method != "task" and not 0 <= alpha <= 1:
                raise ConfigError(
                    f"alpha must lie in [0, 1] for {self.method}, got {alpha}; "
                    "method 'task' also goes beyond its parents."
                )

    def _check_window(self) -> None:
        if self.window is None:
            return
        pair: Any = self.window
        whole = len(pair) == 2 and all(isinstance(i, int) and not isinstance(i, bool) for i in pair)
        if not whole or not 0 <= pair[0] < pair[1]:
            raise ConfigError(
                f"window must be (first, stop) with 0 <= first < stop, got {pair!r}; "
                "stop is not part of it."
            )
        if self.schedule and len(self.schedule) != pair[1] - pair[0]:
            raise ConfigError(
                f"schedule has {len(self.schedule)} values for {pair[1] - pair[0]} layers in the "
                f"window {pair!r}; give one a layer."
            )

    def _check_shares(self) -> None:
        if self.base:
            raise ConfigError(f"base is for method 'task'; {self.method} takes it in earlier.")
        if not self.earlier:
            raise ConfigError(f"{self.method} needs at least one earlier checkpoint.")
        if self.method == "slerp" and len(self.earlier) != 1:
            raise ConfigError(f"slerp takes one earlier checkpoint, got {len(self.earlier)}.")
        if len(self.shares) != len(self.earlier):
            raise ConfigError(
                f"got {len(self.weights)} weights for {len(self.earlier)} earlier checkpoints."
            )
        if min(self.shares) < 0 or abs(math.fsum(self.shares) - 1) > 1e-9:
            raise ConfigError(
                f"weights are shares: not negative, with sum 1; got {self.weights}. "
                "Use alpha for how much of the earlier side there is."
            )

    def _check_task(self) -> None:
        if not self.base:
            raise ConfigError("method 'task' needs base, the checkpoint the differences start at.")
        if len(self.weights) != len(self.earlier):
            raise ConfigError(
                f"method 'task' needs a weight for each earlier checkpoint: got "
                f"{len(self.weights)} for {len(self.earlier)} (the trained one's is 1 - alpha)."
            )

    @classmethod
    def from_mapping(cls, raw: Mapping[str, Any]) -> MergeRecipe:
        """Build a recipe from parsed TOML or JSON; unknown keys are errors with a suggestion."""
        known = {field.name for field in fields(cls)}
        values: dict[str, Any] = {}
        for key, value in raw.items():
            if key not in known:
                raise unknown_name("merge option", key, known)
            values[key] = _parsed(key, value)
        if "trained" not in values:
            raise ConfigError("a merge recipe needs 'trained', the folder of the checkpoint.")
        return cls(**values)

    def to_mapping(self) -> dict[str, Json]:
        """Return all fields, lists for tuples."""
        raw = asdict(self)
        return {key: list(raw[key]) if isinstance(raw[key], tuple) else raw[key] for key in raw}

    def to_json(self) -> str:
        """Return the recipe as JSON text."""
        return json.dumps(self.to_mapping(), indent=2)

    @classmethod
    def from_json(cls, text: str) -> MergeRecipe:
        """Read what ``to_json`` wrote."""
        try:
            raw = json.loads(text)
        except json.JSONDecodeError as error:
            raise ConfigError(f"the merge recipe is not JSON: {error}.") from error
        if not isinstance(raw, dict):
            raise ConfigError(f"a merge recipe is a JSON object, got {type(raw).__name__}.")
        return cls.from_mapping(raw)


def _parsed(key: str, value: Any) -> Any:
    if key not in TUPLES:
        kind, expected = ((int, float), "a number") if key == "alpha" else (str, "text")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ConfigError(f"{key} must be {expected}, got {value!r}.")
        return value
    if value is None and key == "window":
        return None
    if isinstance(value, str) and key in ("earlier", "parts"):
        return (value,)
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{key} must be a list, got {value!r}.")
    if key in ("earlier", "parts") and not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{key} must be a list of texts, got {value!r}.")
    return tuple(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _one_of(kind: str, got: str, known: tuple[str, ...]) -> None:
    if got not in known:
        near = suggest(str(got), known)
        raise ConfigError(f"unknown {kind} {got!r}.{near} Known: {', '.join(known)}.")
