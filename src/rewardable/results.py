"""What we claim: estimates with their doubt, tables of them. Standard library only.

Tables are versioned JSON. Reports are drawn from tables alone, so whatever a reader should see
must be in a table: numbers as :class:`Estimate`, quoted rollouts as :class:`Example`, sentences
as ``notes``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rewardable.errors import DataError

TABLE_VERSION = 1

Label = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number with its doubt.

    value: None where it is undefined; then ``warnings`` says why.
    low, high: the interval at ``level``; None where none can be given.
    n_prompts, n_graded, n_ungraded: what it rests on (the last two count rollouts).
    bound_low, bound_high: the value if all ungraded rows were wrong, and if all were right.
    method: how the interval was made, in words.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    method: str = ""
    n_prompts: int = 0
    n_graded: int = 0
    n_ungraded: int = 0
    bound_low: float | None = None
    bound_high: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def excludes_zero(self) -> bool:
        """True when the interval is known and lies wholly on one side of zero."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a table: labels that say what it is about, and the claim."""

    labels: Mapping[str, Label]
    estimate: Estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A quoted rollout. ``labels`` name policy, prompt, verdict and why it is shown."""

    labels: Mapping[str, Label]
    prompt: str
    completion: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of estimates with their provenance; the only input of a report."""

    name: str
    title: str
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    version: int = TABLE_VERSION

    def select(self, **labels: Label) -> tuple[Row, ...]:
        """Return the rows whose labels equal all of the given ones."""
        wanted = labels.items()
        return tuple(row for row in self.rows if all(row.labels.get(k) == v for k, v in wanted))

    def one(self, **labels: Label) -> Estimate:
        """Return the estimate of the only row with these labels; DataError otherwise."""
        found = self.select(**labels)
        if len(found) != 1:
            raise DataError(f"table {self.name!r}: expected one row for {labels}, got {len(found)}")
        return found[0].estimate


def table_to_json(table: Table) -> str:
    """Write a table as JSON. Not-a-number and infinities become null."""
    return json.dumps(_finite(asdict(table)), indent=1, sort_keys=True, allow_nan=False)


def table_from_json(text: str) -> Table:
    """Read what :func:`table_to_json` wrote; DataError on another version or shape."""
    try:
        raw = json.loads(text)
        if raw["version"] != TABLE_VERSION:
            raise DataError(f"table version {raw['version']} is not {TABLE_VERSION}; measure again")
        rows = tuple(
            Row(labels=row["labels"], estimate=_estimate(row["estimate"])) for row in raw["rows"]
        )
        examples = tuple(Example(**example) for example in raw["examples"])
        rest = {key: raw[key] for key in ("name", "title", "provenance", "version")}
        return Table(rows=rows, examples=examples, notes=tuple(raw["notes"]), **rest)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise DataError(f"this is no table that rewardable wrote: {error!r}") from error


def _estimate(raw: dict[str, Any]) -> Estimate:
    values: dict[str, Any] = {**raw, "warnings": tuple(raw["warnings"])}
    return Estimate(**values)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
