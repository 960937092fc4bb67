r"""A safe reader of arithmetic written by a model: four operators, brackets, integer literals.

No evaluation of program text, no recursion; time and memory are linear in the length, and a
length limit bounds both. Typographic operators (``× ÷ − · ∗``), the letter x between operands and
the LaTeX commands ``\times \cdot \div \left \right \frac`` are read as what they mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewardable.errors import DataError
from rewardable.tasks.countdown.normal import Form, combine, leaf
from rewardable.tasks.countdown.steps import Value, apply

MAX_LENGTH = 1000
"""Characters of an answer that are read; a longer one is refused, not cut."""

MAX_DIGITS = 18

_TYPOGRAPHIC = str.maketrans(
    {
        **dict.fromkeys("×·⋅∙•∗✕✖⨯xX", "*"),
        **dict.fromkeys("÷∕⁄➗", "/"),
        **dict.fromkeys("−–—‒﹣－", "-"),
        **dict.fromkeys("＋➕", "+"),
        **dict.fromkeys("（[［", "("),
        **dict.fromkeys("）]］", ")"),
        "＝": "=",
    }
)
_FRACTION = "\ue000"
_LATEX = (
    (re.compile(r"\\(?:times|cdot|ast)(?![a-zA-Z])"), "*"),
    (re.compile(r"\\div(?![a-zA-Z])"), "/"),
    (re.compile(r"\\(?:left|right|,|;|!| )|\\[()\[\]]|\$"), " "),
    (re.compile(r"\\[dt]?frac(?![a-zA-Z])"), _FRACTION),
)
_TOKEN = re.compile(r"\s*(?:([0-9]+)|(\*\*|//|[-+*/(){}^%.,!\ue000])|(\S))")
_ODD = {
    "**": "power",
    "^": "power",
    "//": "integer division",
    "%": "remainder",
    ".": "decimal",
    "!": "not an expression",
    ",": "not an expression",
}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
_ENTRY = re.compile(r"[\s(]*([0-9]{1,18})[\s)]*(\*(?!\*)|/(?!/)|[-+])")


class UnreadableError(Exception):
    """A text is no expression of the grammar; ``reason`` is one of the stable phrases."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Expression:
    """An expression in postfix order: literals and operators."""

    postfix: tuple[int | str, ...]

    @property
    def literals(self) -> tuple[int, ...]:
        """The integer literals, in the order written."""
        return tuple(token for token in self.postfix if isinstance(token, int))

    def form(self) -> Form:
        """Return the normal form: equal for two expressions iff they are one solution."""
        stack: list[Form] = []
        for token in self.postfix:
            if isinstance(token, int):
                stack.append(leaf(token))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(combine(token, left, right))
        return stack[0]

    def results(self) -> tuple[Value, ...] | None:
        """Return the exact result of each operation, the value last; None if one divides by 0."""
        stack: list[Value] = []
        results: list[Value] = []
        for token in self.postfix:
            value: Value | None = token if isinstance(token, int) else None
            if isinstance(token, str):
                right, left = stack.pop(), stack.pop()
                value = apply(token, left, right)
                if value is None:
                    return None
                results.append(value)
            stack.append(value if value is not None else 0)
        return tuple(results) or (stack[0],)


def plain(text: str) -> str:
    """Replace typographic operators and LaTeX commands by plain ones."""
    for pattern, replacement in _LATEX:
        text = pattern.sub(lambda _, to=replacement: to, text)
    return text.translate(_TYPOGRAPHIC)


def parse(text: str) -> Expression:
    """Read an expression.

    Raises
    ------
    UnreadableError: with one of the reasons that ``verify.REASONS`` documents.
    """
    if len(text) > MAX_LENGTH:
        raise UnreadableError("too long")
    return Expression(postfix=_to_postfix(_unfold_fractions(_tokens(plain(text)))))


def entry(text: str) -> str | None:
    """Return the family of an answer text as written, such as ``"4*"``; None without one.

    It is the first operand and the first operator, read from the start; brackets are skipped. It
    does not ask whether the rest is valid, nor whether the operand is a given number.
    """
    match = _ENTRY.match(plain(text[:MAX_LENGTH]))
    return f"{int(match.group(1))}{match.group(2)}" if match else None


def canonical_form(text: str) -> Form:
    """Return the normal form of an expression text; DataError when it is none."""
    try:
        return parse(text).form()
    except UnreadableError as error:
        raise DataError(
            f"cannot read {text[:80]!r} as an expression ({error.reason}); "
            "expected integers, + - * / and brackets."
        ) from error


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        number, symbol, other = match.groups()
        if number and len(number) > MAX_DIGITS:
            raise UnreadableError("number not given")
        if other:
            raise UnreadableError("not an expression")
        if symbol in _ODD:
            raise UnreadableError(_ODD[symbol])
        tokens.append(number or symbol)
    return tokens


def _unfold_fractions(tokens: list[str]) -> list[str]:
    r"""Rewrite ``\frac{A}{B}`` as ``((A)/(B))``; other braces are brackets."""
    unfolded: list[str] = []
    closers: list[str] = []
    for i, token in enumerate(tokens):
        if token == _FRACTION:
            if tokens[i + 1 : i + 2] != ["{"]:
                raise UnreadableError("not an expression")
            unfolded.append("(")
        elif token == "{":
            first, second = tokens[i - 1 : i] == [_FRACTION], closers[-1:] == ["second"]
            if second:
                closers.pop()
            closers.append("first" if first else "last" if second else "plain")
            unfolded.append("(")
        elif token == "}":
            if not closers or closers[-1] == "second":
                raise UnreadableError("unbalanced brackets")
            unfolded += _close(closers, tokens[i + 1 : i + 2])
        else:
            unfolded.append(token)
    if closers:
        raise UnreadableError("unbalanced brackets")
    return unfolded


def _close(closers: list[str], following: list[str]) -> list[str]:
    kind = closers.pop()
    if kind == "first":
        if following != ["{"]:
            raise UnreadableError("not an expression")
        closers.append("second")
        return [")", "/"]
    return [")", ")"] if kind == "last" else [")"]


def _to_postfix(tokens: list[str]) -> tuple[int | str, ...]:
    """Shunting-yard; operators of one precedence are read from left to right."""
    output: list[int | str] = []
    waiting: list[str] = []
    expects_operand = True
    for token in tokens:
        if expects_operand != (token.isdigit() or token == "("):
            raise UnreadableError(_misplaced(token, expects_operand))
        if token.isdigit():
            output.append(int(token))
            expects_operand = False
        elif token == "(":
            waiting.append(token)
        elif token == ")":
            _close_bracket(waiting, output)
        else:
            while waiting and _PRECEDENCE.get(waiting[-1], 0) >= _PRECEDENCE[token]:
                output.append(waiting.pop())
            waiting.append(token)
            expects_operand = True
    if expects_operand:
        raise UnreadableError("not an expression")
    output.extend(reversed(waiting))
    if "(" in waiting:
        raise UnreadableError("unbalanced brackets")
    return tuple(output)


def _misplaced(token: str, expects_operand: bool) -> str:
    if expects_operand and token in "+-":
        return "unary sign"
    return "missing operator" if not expects_operand else "not an expression"


def _close_bracket(waiting: list[str], output: list[int | str]) -> None:
    while waiting and waiting[-1] != "(":
        output.append(waiting.pop())
    if not waiting:
        raise UnreadableError("unbalanced brackets")
    waiting.pop()
