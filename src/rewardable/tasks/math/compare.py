r"""Whether a stated answer, taken as a whole, equals the reference, taken as a whole.

Numbers are compared exactly; a decimal equals a value when both round to the same six decimals
and differ by less than one part in ten thousand. Lists and sets match in any order, tuples in
theirs, intervals with their brackets. One value never equals a list. Formulas go to Math-Verify.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from rewardable.tasks.math.helper import Budget, same_formula
from rewardable.tasks.math.numerals import same_units
from rewardable.tasks.math.relations import interval_of, without_left_sides
from rewardable.tasks.math.size import is_oversized
from rewardable.tasks.math.values import Formula, Group, Num, Several, Union, Value, Words

Percent = Literal["value", "either"]

LIMIT_S = 5.0
MAX_ITEMS = 60
MAX_FORMULA = 400
_HALF_UNIT = Fraction(1, 2_000_000)
_CLOSE = Fraction(1, 10_000)


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Settings of one comparison.

    percent: with ``value`` 35% is 0.35; with ``either`` it is also 35.
    tolerance: absolute, between numbers. budget: for all that Math-Verify is asked.
    """

    percent: Percent = "value"
    tolerance: Fraction = Fraction(0)
    budget: Budget = field(default_factory=lambda: Budget(LIMIT_S))

    def same(self, gold: Value, answer: Value) -> bool:
        """Tell whether an answer equals the reference.

        Raises
        ------
        BoundaryError: Math-Verify failed, or took too long.
        """
        if _spelled_alike(gold, answer):
            return True
        match gold, answer:
            case Num(), Num():
                equal = self._same_numbers(gold, answer)
            case (Several(), Several()) | (Union(), Union()):
                equal = self._same_members(gold.items, answer.items)
            case Group(), Group():
                equal = _brackets_agree(gold, answer) and self._same_in_order(gold, answer)
            case (Group(), Several()) | (Several(), Group()):
                equal = self._same_as_list(gold, answer)
            case (Words(), _) | (_, Words()):
                equal = _as_words(gold) == _as_words(answer) is not None
            case (Several(), _) | (_, Several()):
                equal = False
            case (Formula(), _) | (_, Formula()):
                equal = self._same_formulas(gold, answer)
            case _:
                equal = False
        return equal

    def _same_numbers(self, gold: Num, answer: Num) -> bool:
        if not same_units(gold, answer):
            return False
        if gold.base and answer.base and gold.base != answer.base:
            return _in_ten(gold) == _in_ten(answer) is not None
        lefts, rights = ({n.value} | self._unscaled(n) for n in (gold, answer))
        rounded = gold.decimal or answer.decimal
        return any(self._near(a, b, rounded=rounded) for a in lefts for b in rights)

    def _unscaled(self, number: Num) -> set[Fraction]:
        return {number.unscaled} if number.percent and self.percent == "either" else set()

    def _near(self, a: Fraction, b: Fraction, *, rounded: bool) -> bool:
        off = abs(a - b)
        if off == 0 or off <= self.tolerance:
            return True
        alike = off < _CLOSE * max(abs(a), abs(b)) and off <= 2 * _HALF_UNIT
        return rounded and alike and round(a, 6) == round(b, 6)

    def _same_members(self, golds: Sequence[Value], answers: Sequence[Value]) -> bool:
        """Match two collections, each member once; a like spelling first."""
        if len(golds) != len(answers) or len(golds) > MAX_ITEMS:
            return False
        right = list(answers)
        for item in golds:
            alike = (one for one in right if _spelled_alike(item, one))
            found = next(alike, None) or next((o for o in right if self.same(item, o)), None)
            if found is None:
                return False
            right.remove(found)
        return not right

    def _same_in_order(self, gold: Group | Several, answer: Group | Several) -> bool:
        pairs = zip(gold.items, answer.items, strict=False)
        equal = len(gold.items) == len(answer.items) <= MAX_ITEMS
        return equal and all(self.same(a, b) for a, b in pairs)

    def _same_as_list(self, gold: Group | Several, answer: Group | Several) -> bool:
        """Compare a tuple with a bare list in order; a set in braces is no tuple."""
        group, several = (gold, answer) if isinstance(gold, Group) else (answer, gold)
        if not isinstance(group, Group) or not isinstance(several, Several) or several.braced:
            return False
        is_round = (group.opening, group.closing) == ("(", ")")
        return is_round and self._same_in_order(gold, answer)

    def _same_formulas(self, gold: Value, answer: Value) -> bool:
        """Compare where at least one side is a formula."""
        stated = interval_of(answer) if isinstance(gold, Group | Union) else None
        wanted = interval_of(gold) if isinstance(answer, Group | Union) else None
        if stated or wanted:
            return self.same(wanted or gold, stated or answer)
        if any(isinstance(side, Formula) and side.closed for side in (gold, answer)):
            return False
        left, right = without_left_sides(gold.text, answer.text)
        if left == right or not left or not right:
            return left == right != ""
        too_long = len(right) > max(MAX_FORMULA, 3 * len(left))
        if too_long or is_oversized(right) != is_oversized(left):
            return False
        return same_formula(left, right, self.budget)


def share(gold: Value, answer: Value, comparison: Comparison) -> float:
    """Return |both| / |either| of two lists, 1 or 0 for single values.

    Raises
    ------
    BoundaryError: Math-Verify failed, or took too long.
    """
    golds, answers = _members(gold), _members(answer)
    if len(answers) > MAX_ITEMS or (len(golds) == 1 and len(answers) == 1):
        return float(len(answers) <= MAX_ITEMS and comparison.same(gold, answer))
    hits = 0
    for item in golds:
        found = next((one for one in answers if comparison.same(item, one)), None)
        if found is not None:
            answers.remove(found)
            hits += 1
    return hits / (len(golds) + len(answers))


def _spelled_alike(gold: Value, answer: Value) -> bool:
    """Tell whether two values are written alike; numbers also have units."""
    same = type(gold) is type(answer) and gold.text == answer.text != ""
    return same and not isinstance(gold, Num)


def _members(value: Value) -> list[Value]:
    return list(value.items) if isinstance(value, Several) else [value]


def _brackets_agree(gold: Group, answer: Group) -> bool:
    """Two numbers in brackets may be an interval; longer groups are tuples or vectors."""
    same = (gold.opening, gold.closing) == (answer.opening, answer.closing)
    return same or len(gold.items) > 2


def _in_ten(number: Num) -> int | None:
    try:
        return int(str(number.unscaled), number.base)
    except ValueError:
        return None


def _as_words(value: Value) -> str | None:
    text = value.text if isinstance(value, Words | Formula) else None
    return text if text is None or len(text) == 1 else text.casefold()
