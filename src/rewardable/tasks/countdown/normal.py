"""The solution of an expression: a normal form that two texts share iff they are one solution.

Two expressions are one solution iff they are equal as rational functions of the labelled numbers,
after merging solutions that differ only by swapping equal-valued numbers.

Every number occurs once, so such a function has one factorisation into signed sums of products of
signed sums (reduced numerator and denominator have no common factor, since their parts have
disjoint variables). The form below is that factorisation with the sign of every sum pulled out.
Atoms are values, not labels: forms are equal iff some exchange of equal-valued numbers makes the
labelled functions equal. A sum that such an exchange maps to its own negative (``4-4``) carries
no sign; anything that contains it as a factor neither.

Form = (sign, core); core is one of

    (0, value)                             a number
    (1, numerator cores, denominator cores)  a product; its factors are numbers or sums
    (2, ((core, flag), ...))               a sum; flag 1 means subtracted; terms are no sums
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

Core = tuple[Any, ...]
Form = tuple[int, Core]

NUMBER, PRODUCT, SUM = 0, 1, 2


def leaf(value: int) -> Form:
    """Return the form of one given number."""
    return (1, (NUMBER, value))


@lru_cache(maxsize=1 << 16)
def combine(operator: str, left: Form, right: Form) -> Form:
    """Return the form of ``left operator right``; ``operator`` is one of ``+ - * /``."""
    if operator in "+-":
        return _sum(left, (right[0] if operator == "+" else -right[0], right[1]))
    return _product(left, right, operator == "/")


def _sum(left: Form, right: Form) -> Form:
    terms = sorted([*_terms(left), *_terms(right)])
    negated = sorted((core, _flag(core, 1 - flag)) for core, flag in terms)
    if negated < terms:
        return (-1, (SUM, tuple(negated)))
    return (1, (SUM, tuple(terms)))


def _terms(form: Form) -> list[tuple[Core, int]]:
    """Signed terms; flag 1 means subtracted. The first of a sum's sorted terms is added."""
    sign, core = form
    flip = int(sign < 0)
    if core[0] == SUM:
        return [(term, _flag(term, flag ^ flip)) for term, flag in core[1]]
    return [(core, _flag(core, flip))]


def _flag(core: Core, flag: int) -> int:
    return 0 if self_negating(core) else flag


def _product(left: Form, right: Form, divide: bool) -> Form:
    left_up, left_down = _factors(left[1])
    right_up, right_down = _factors(right[1])
    if divide:
        right_up, right_down = right_down, right_up
    up, down = sorted(left_up + right_up), sorted(left_down + right_down)
    core = (PRODUCT, tuple(up), tuple(down))
    return (1 if self_negating(core) else left[0] * right[0], core)


def _factors(core: Core) -> tuple[tuple[Core, ...], tuple[Core, ...]]:
    return (core[1], core[2]) if core[0] == PRODUCT else ((core,), ())


@lru_cache(maxsize=1 << 16)
def self_negating(core: Core) -> bool:
    """Tell whether exchanging equal-valued numbers turns the core into its negative."""
    if core[0] == NUMBER:
        return False
    if core[0] == PRODUCT:
        return any(self_negating(factor) for factor in (*core[1], *core[2]))
    terms = list(core[1])
    return terms == sorted((term, _flag(term, 1 - flag)) for term, flag in terms)


@lru_cache(maxsize=1 << 16)
def negatable(core: Core) -> bool:
    """Tell whether the negative of the core can be written without a unary minus."""
    if core[0] == NUMBER:
        return False
    if core[0] == PRODUCT:
        return any(negatable(factor) for factor in (*core[1], *core[2]))
    return any(flag or negatable(term) for term, flag in core[1])


@lru_cache(maxsize=1 << 16)
def write(form: Form) -> str:
    """Return the canonical text of a form: a legal expression, without a unary minus.

    Its divisions are the fewest possible to be undefined: if any expression of the solution has
    a value on the numbers, this one has.
    """
    sign, core = form
    if core[0] == NUMBER:
        return str(core[1])
    return _write_sum(sign, core) if core[0] == SUM else _write_product(sign, core)


def _write_product(sign: int, core: Core) -> str:
    texts: list[str] = []
    for part, symbol in ((core[1], "*"), (core[2], "/")):
        for factor in part:
            flipped = sign < 0 and negatable(factor)
            texts.append(symbol + _bracket((-1 if flipped else 1, factor)))
            sign = -sign if flipped else sign
    return "".join(texts)[1:]


def _bracket(form: Form) -> str:
    return f"({write(form)})" if form[1][0] == SUM else write(form)


def _write_sum(sign: int, core: Core) -> str:
    terms = [(term, -sign if flag else sign) for term, flag in core[1]]
    plus = [i for i, (_, s) in enumerate(terms) if s > 0]
    first = plus[0] if plus else next(i for i, (term, _) in enumerate(terms) if negatable(term))
    rest = "".join(
        f"{'+' if s > 0 else '-'}{write((1, term))}"
        for i, (term, s) in enumerate(terms)
        if i != first
    )
    return write(terms[first][::-1]) + rest
