"""Phases of a completion: which part of the text each token belongs to.

A phase function takes a text and returns its phases as character spans, in order and without
gaps. Tokens are assigned by the text they add; see :func:`token_phases`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

OPERANDS, OPERATOR, REST = "operands", "operator", "rest"
PREAMBLE, COMPUTATION, REASONING, ANSWER = "preamble", "first computation", "reasoning", "answer"


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` (included) to ``stop`` (not included) of a text, and their phase."""

    phase: str
    start: int
    stop: int


PhaseFunction = Callable[[str], tuple[Span, ...]]

_OPERATOR = re.compile(r"[0-9)\]}]\s*([-+*/\u00d7\u00f7\u2212])(?=\s*[0-9($\\{])")
_COMPUTATION = re.compile(r"[0-9][0-9.,]*\s*%?\s*[-+*/\u00d7\u00f7\u2212x]\s*\$?[0-9][0-9.,]*")
_ANSWER = re.compile(r"\\boxed|####|<answer>|[Tt]he (?:final )?answer is|[Aa]nswer:")


def operator_phases(text: str) -> tuple[Span, ...]:
    """Split at the first arithmetic operator: strictly before it, the operator, the rest.

    A text without an operator is all operands.

    >>> [(s.phase, text[s.start:s.stop]) for text in ["4*7=28"] for s in operator_phases(text)]
    [('operands', '4'), ('operator', '*'), ('rest', '7=28')]
    """
    match = _OPERATOR.search(text)
    if match is None:
        return _spans(text, (OPERANDS, len(text)))
    at = match.start(1)
    return _spans(text, (OPERANDS, at), (OPERATOR, at + 1), (REST, len(text)))


def solution_phases(text: str) -> tuple[Span, ...]:
    r"""Split a worded solution: preamble, first computation, reasoning, answer.

    The first computation is the first ``a op b``; the answer begins at its marker (``\boxed``,
    ``####``, ``<answer>``, "the answer is"), after the first computation.
    """
    first = _COMPUTATION.search(text)
    if first is None:
        return _spans(text, (PREAMBLE, len(text)))
    mark = _ANSWER.search(text, first.end())
    at = mark.start() if mark else len(text)
    ends = (PREAMBLE, first.start()), (COMPUTATION, first.end()), (REASONING, at)
    return _spans(text, *ends, (ANSWER, len(text)))


PHASES: Mapping[str, PhaseFunction] = {
    "operator": operator_phases,
    "solution": solution_phases,
}
"""Name -> phase function; a user's own is any function of a text."""


def _spans(text: str, *ends: tuple[str, int]) -> tuple[Span, ...]:
    found: list[Span] = []
    start = 0
    for phase, stop in ends:
        if stop > start:
            found.append(Span(phase, start, stop))
        start = max(start, stop)
    return tuple(found)


def token_phases(pieces: Sequence[str], spans: Sequence[Span]) -> tuple[str, ...]:
    """Return the phase of each token, by the text it adds; "" for a token behind the last span.

    A token across a border belongs to the shortest phase that it touches, so that a token which
    holds the operator counts as operator, whatever else it holds. A token without text (the end
    token, part of a character) has the phase of the character before it.
    """
    found: list[str] = []
    start = 0
    for piece in pieces:
        stop = start + len(piece)
        touched = [s for s in spans if s.start < stop and s.stop > start]
        if touched:
            found.append(min(touched, key=lambda s: s.stop - s.start).phase)
        else:
            found.append(found[-1] if found else (spans[0].phase if spans else ""))
        start = stop
    return tuple(found)
