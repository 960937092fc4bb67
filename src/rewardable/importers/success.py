"""From a score to a verdict, by a rule that is written down."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.records import Outcome

_RULE = re.compile(r"\s*(>=|<=|==|=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": ge,
    "<=": le,
    "==": eq,
    "=": eq,
    ">": gt,
    "<": lt,
}
_WORDS = {"true": 1.0, "false": 0.0, "": math.nan, "nan": math.nan, "none": math.nan}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scored:
    """An outcome, the score in [0, 1] if it is one, the raw score, and why it is ungraded."""

    outcome: Outcome
    score: float | None = None
    raw: float | None = None
    reason: str = ""


class SuccessRule:
    """``">= 1"``, ``"== 1"``, ``"> 0"``; without a rule, scores must be true/false or 1/0."""

    def __init__(self, text: str | None) -> None:
        self._test: Callable[[float], bool] | None = None
        self.text = "true or 1 is a success, false or 0 is none, nothing else is accepted"
        if text is not None:
            match = _RULE.fullmatch(text)
            if match is None:
                raise ConfigError(f"success rule must read like '>= 1' or '> 0', got {text!r}.")
            sign, number = match.groups()
            threshold, compare = _number_of(number), _COMPARE[sign]
            self._test = lambda score: compare(score, threshold)
            self.text = f"score {'==' if sign == '=' else sign} {threshold:g}"

    def apply(self, value: Any, where: str) -> Scored:
        """Judge one score; ``where`` names it in a DataError for a score that is no number."""
        raw = _as_number(value, where)
        if raw is None or not math.isfinite(raw):
            said = "missing" if raw is None or value == "" else f"{raw:g}"
            return Scored(outcome=Outcome.UNGRADED, reason=f"no score: {said}")
        success = self._test(raw) if self._test else self._binary(raw, where)
        return Scored(
            outcome=Outcome.CORRECT if success else Outcome.WRONG,
            score=raw if 0 <= raw <= 1 else None,
            raw=raw,
        )

    def _binary(self, raw: float, where: str) -> bool:
        if raw not in (0.0, 1.0):
            raise DataError(
                f"{where} is {raw:g}, neither 0 nor 1, so it does not say what a success is; give "
                "a success rule such as '>= 1' or '> 0'."
            )
        return raw == 1.0


def _number_of(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"success rule: {text!r} is no number.") from error


def _as_number(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), value)
    try:
        if isinstance(value, bool | int | float | str):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise DataError(f"{where} is {str(value)[:80]!r}, expected a number or a boolean.")
