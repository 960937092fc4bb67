"""The steps style: ``4*7=28,28-9=19``.

A step joins two available values; its result replaces them. The *pocket* grammar allows results
that are non-negative integers, every literal in its shortest form, no spaces. With ``rationals``
any exact result is legal; a negative one or a fraction is written in parentheses, ``(7/3)``.

A text names values, not where they come from. When an operand equals several available values,
the latest result is meant, then any of the equal numbers (which are merged anyway); the left
operand chooses first. So each text has one solution. A few solutions have no text of their own
((2+2)/4 and 4/(2+2) are both ``2+2=4,4/4=1``, read as the first); totals count those of texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rewardable.errors import ConfigError
from rewardable.tasks.countdown.normal import Form, combine, leaf, write

MAX_NUMBERS = 5
Value = int | Fraction
Item = tuple[Value, Form]


@dataclass(frozen=True, kw_only=True, slots=True)
class StepText:
    """A valid step text, the solution it means and its family, for example ``"4*"``."""

    text: str
    solution: str
    entry: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """``left operator right = result`` as written."""

    left: Value
    operator: str
    right: Value
    result: Value

    @property
    def text(self) -> str:
        """The literal text of the step."""
        left, right, result = map(literal, (self.left, self.right, self.result))
        return f"{left}{self.operator}{right}={result}"


def literal(value: Value) -> str:
    """Write a value: ``28``, ``(-4)``, ``(7/3)``."""
    return str(value) if value.denominator == 1 and value >= 0 else f"({value})"


def apply(operator: str, left: Value, right: Value) -> Value | None:
    """Return the exact result, an int where it is whole; None for a division by zero."""
    if operator == "/":
        if right == 0:
            return None
        result: Value = Fraction(left) / right
    else:
        result = {"+": left + right, "-": left - right, "*": left * right}[operator]
    return int(result) if result.denominator == 1 else result


def allowed(value: Value, *, rationals: bool) -> bool:
    """Tell whether a step of the grammar may have this result."""
    return rationals or (value.denominator == 1 and value >= 0)


def takes(items: tuple[Item, ...]) -> Iterator[tuple[Item, tuple[Item, ...]]]:
    """Yield (item, the others) for the latest item of each distinct value.

    ``items`` are the given numbers, then results in the order of their steps.
    """
    latest = {value: i for i, (value, _) in enumerate(items)}
    for i in latest.values():
        yield items[i], (*items[:i], *items[i + 1 :])


def take(items: tuple[Item, ...], value: Value) -> tuple[Item, tuple[Item, ...]] | None:
    """Take the latest item with this value; None when there is none."""
    return next((taken for taken in takes(items) if taken[0][0] == value), None)


def replay(numbers: Sequence[int], steps: Sequence[Step]) -> Form | str:
    """Follow steps; return the form of the last value, or why it is no derivation."""
    items: tuple[Item, ...] = tuple((number, leaf(number)) for number in numbers)
    for step in steps:
        first = take(items, step.left)
        second = take(first[1], step.right) if first else None
        if first is None or second is None:
            return "number not available"
        form = combine(step.operator, first[0][1], second[0][1])
        items = (*second[1], (step.result, form))
    return items[0][1] if len(items) == 1 else "number missing"


def step_texts(
    numbers: Sequence[int], target: int, *, rationals: bool = False
) -> tuple[StepText, ...]:
    """Return every valid step text of an instance, sorted by text.

    Raises
    ------
    ConfigError: more than 5 numbers (the texts of 6 numbers may be millions), or fewer than 2.

    Examples
    --------
    >>> [step.text for step in step_texts([4, 7, 9], 19)]
    ['4*7=28,28-9=19', '7*4=28,28-9=19']
    """
    if not 2 <= len(numbers) <= MAX_NUMBERS or min(numbers) < 0:
        raise ConfigError(
            f"step texts are listed for 2 to {MAX_NUMBERS} non-negative integers, "
            f"got {list(numbers)!r}."
        )
    search = _Search(target, rationals)
    items = tuple((number, leaf(number)) for number in numbers)
    found = [
        StepText(text=text, solution=write(form), entry=entry)
        for text, form, entry in search.texts(items)
    ]
    return tuple(sorted(found, key=lambda step: step.text))


class _Search:
    """Depth-first over step texts, cut where no way on can reach the target."""

    def __init__(self, target: int, rationals: bool) -> None:
        self._target = target
        self._rationals = rationals
        self._reachable: dict[tuple[Value, ...], bool] = {}

    def texts(self, items: tuple[Item, ...]) -> Iterator[tuple[str, Form, str]]:
        """Yield (text, form, entry) of each way to the target; ``items`` has two or more."""
        for step, first, second, rest in self._steps(items):
            form = combine(step.operator, first[1], second[1])
            after = (*rest, (step.result, form))
            entry = literal(step.left) + step.operator
            if len(after) == 1:
                yield step.text, form, entry
                continue
            for text, final, _ in self.texts(after):
                yield f"{step.text},{text}", final, entry

    def _steps(
        self, items: tuple[Item, ...]
    ) -> Iterator[tuple[Step, Item, Item, tuple[Item, ...]]]:
        for first, others in takes(items):
            for second, rest in takes(others):
                for operator, result in self._results(first[0], second[0]):
                    if self._can_reach((*(value for value, _ in rest), result)):
                        step = Step(
                            left=first[0], operator=operator, right=second[0], result=result
                        )
                        yield step, first, second, rest

    def _results(self, left: Value, right: Value) -> Iterator[tuple[str, Value]]:
        for operator in "+-*/":
            result = apply(operator, left, right)
            if result is not None and allowed(result, rationals=self._rationals):
                yield operator, result

    def _can_reach(self, values: tuple[Value, ...]) -> bool:
        if len(values) == 1:
            return values[0] == self._target
        key = tuple(sorted(values))
        known = self._reachable.get(key)
        if known is None:
            known = self._reachable[key] = any(
                self._can_reach((*key[:i], *key[i + 1 : j], *key[j + 1 :], result))
                for j in range(len(key))
                for i in range(j)
                for pair in ((key[i], key[j]), (key[j], key[i]))
                for _, result in self._results(*pair)
            )
        return known
