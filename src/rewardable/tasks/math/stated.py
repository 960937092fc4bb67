r"""Where a response states its answer, and what it states there.

- In the required form: the last complete ``\boxed{}``, or the line after the last ``####``.
  Boxes side by side ("\boxed{2} and \boxed{3}") are one list; boxes apart are not, the last counts.
- Leniently also: the formula, number or words after the last "answer is" or "answer:", else the
  last formula or number of the response.
"""

from __future__ import annotations

import re
from typing import Literal

from rewardable.tasks.answers import last_marked
from rewardable.tasks.math.numerals import ungroup
from rewardable.tasks.numbers import last_number

Form = Literal["box", "hash"]

_OPENING = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{|\\[{}]|[{}]")
_BETWEEN = re.compile(
    r"\s*(?:(?:\w+\s+){0,5}?(?:,|;|&|\band\b|\bor\b)\s*(?:\b(?:and|or)\b)?\s*(?:\w+\s*=\s*)?)?"
)
_DECORATION = re.compile(r"\\[()\[\]]|\\(?:text|quad|qquad|,|;| )|[${}*~()]")
_PHRASE = re.compile(r"answer(?:\s+is|\s*:)", re.IGNORECASE)
_FINAL = re.compile(r"final answer(?:\s+is|\s*:)(?!.{0,200}\\boxed)", re.IGNORECASE | re.DOTALL)
_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n\s*\n|(?<=\S)\n")
_MATH = re.compile(
    r"\$\$(?P<a>[^$]{1,600})\$\$|(?<!\\)\$(?P<b>(?:\\\$|[^$\n]){1,400})(?<!\\)\$|\\\((?P<c>(?:(?!\\\)).){1,600})\\\)"
    r"|\\\[(?P<d>(?:(?!\\\]).){1,600})\\\]",
    re.DOTALL,
)
_NUM = r"[-\u2212]?(?:[0-9]+\s[0-9]+/[0-9]+|\\?[$\u20ac\u00a3]?[0-9][0-9.,]*(?:/[0-9]+)?%?)"
_NUMS = re.compile(rf"{_NUM}(?:\s*(?:,|,?\s*\b(?:and|or)\b)\s*{_NUM})*")
_OFFERED = re.compile(rf"\bor\b[^0-9\n]{{0,40}}?({_NUM})")
_PROSE = re.compile(r"(?<![\\A-Za-z{])[^\W\d_]{2,}")
_MATH_COMMAND = re.compile(
    r"\\[A-Za-z]+(?:\s*\{[A-Za-z* ]*\})?|(?<![A-Za-z])(?:sin|cos|tan|log|ln|or|and)(?![a-z])"
)
_LEAD = re.compile(r"^[A-Za-z].*\s(?:is|equals|=)\s+(?=\S*[0-9$\\])", re.DOTALL)
MAX_BARE = 200
MAX_GAP = 60
MAX_TAIL = 600
MAX_WORDS = 8


def gold_texts(answer: str, form: Form) -> tuple[str, ...]:
    """Return responses that state ``answer`` in the required form."""
    boxed = f"The answer is \\boxed{{{answer}}}."
    return (boxed,) if form == "box" else (f"That makes {answer}.\n#### {answer}", boxed)


def required(text: str, form: Form) -> str | None:
    """Return what stands in the required form; ``hash`` tasks take a box as well."""
    boxed, marked = last_boxes(text), last_marked(text)
    return boxed if form == "box" else marked or boxed


def anywhere(text: str, form: Form, found: str | None) -> str | None:
    """Return what the response states, wherever it does; ``found`` is what ``required`` gave.

    A "final answer is" after the last box counts before it.
    """
    final = list(_FINAL.finditer(text, max(0, text.rfind("\\boxed"))))
    after = _after_phrase(text[final[-1].end() :][:MAX_TAIL]) if final else None
    found = after if after and re.search(r"[0-9\\$]", after) else found
    return found or last_marked(text) or _unmarked(text, form)


def _unmarked(text: str, form: Form) -> str | None:
    if len(text) <= MAX_BARE and not _PROSE.search(_MATH_COMMAND.sub("", text)):
        return text.strip() or None
    phrases = list(_PHRASE.finditer(text))
    after = _after_phrase(text[phrases[-1].end() :][:MAX_TAIL]) if phrases else None
    if after:
        return after
    number = last_number(text)
    if form == "box":
        formulas = list(_MATH.finditer(text[-4 * MAX_TAIL :]))
        if formulas and _is_formula(formulas[-1]):
            tail = text[-4 * MAX_TAIL :][formulas[-1].end() :]
            return _content(formulas[-1]) if last_number(tail) is None else number and number.text
    return number.text if number else None


def last_boxes(text: str) -> str | None:
    """Return the last complete box, joined by commas with the boxes that stand beside it.

    None when no box is complete, or when the last complete one is empty.
    """
    boxes = _boxes(text)
    if not boxes or not text[slice(*boxes[-1])].strip():
        return None
    run = [boxes[-1]]
    for start, end in reversed(boxes[:-1]):
        gap = text[end + 1 : run[0][0]]
        if len(gap) > MAX_GAP or not _BETWEEN.fullmatch(_undecorated(gap)):
            break
        run.insert(0, (start, end))
    contents = [text[start:end].strip() for start, end in run]
    return ", ".join(dict.fromkeys(filter(None, contents)))


def _boxes(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the content of every complete box that lies in no other."""
    opened: list[tuple[int, bool]] = []
    found: list[tuple[int, int]] = []
    first = _OPENING.search(text)
    for match in _BOX.finditer(text, first.start()) if first else ():
        token = match.group()
        if token == "}":
            start, is_box = opened.pop() if opened else (0, False)
            if is_box:
                found = [*_outside(found, start), (start, match.start())]
        elif token not in ("\\{", "\\}"):
            opened.append((match.end(), token.startswith("\\")))
    return found


def _outside(boxes: list[tuple[int, int]], start: int) -> list[tuple[int, int]]:
    while boxes and boxes[-1][0] > start:
        boxes.pop()
    return boxes


def _undecorated(gap: str) -> str:
    bare = re.sub(r"\\(?:boxed|fbox)\s*\{$", "", gap)
    return re.sub(r"\s+", " ", _DECORATION.sub(" ", bare))


def _after_phrase(tail: str) -> str | None:
    tail = tail.lstrip(" \t\n*_:")
    formula = _MATH.match(tail)
    if formula:
        return _joined_formulas(tail)
    sentence = _first_sentence(tail)
    if not sentence:
        return None
    sentence = _LEAD.sub("", sentence)
    inside = _MATH.search(sentence)
    if inside and _is_formula(inside):
        return _joined_formulas(sentence[inside.start() :])
    if not _PROSE.search(_MATH_COMMAND.sub("", sentence)):
        return sentence
    numbers = _NUMS.search(sentence)
    if numbers:
        return _with_value(sentence, numbers)
    return sentence if len(sentence.split()) <= MAX_WORDS else None


def _first_sentence(tail: str) -> str:
    end = _SENTENCE.search(tail)
    return (tail[: end.start()] if end else tail).strip(" \t*_`").rstrip(".! *_`")


def _with_value(sentence: str, numbers: re.Match[str]) -> str:
    """Return the number that a sentence in words states first, with those it offers after "or"."""
    offered = [numbers.group(), *_OFFERED.findall(sentence, numbers.end())]
    plain = (re.sub(r"\\?[$\u20ac\u00a3]", "", ungroup(one.rstrip(",. "))) for one in offered)
    return " or ".join(plain)


def _joined_formulas(text: str) -> str:
    """Return the formula that begins a text, with those that follow it after a comma or "or"."""
    found: list[str] = []
    at = 0
    for match in _MATH.finditer(text):
        gap = text[at : match.start()]
        if found and not re.fullmatch(r"\s*(?:,|,?\s*(?:and|or))\s*", gap):
            break
        found.append(_content(match))
        at = match.end()
    return ", ".join(found)


def _content(match: re.Match[str]) -> str:
    return next(part for part in match.groups() if part is not None).strip()


def _is_formula(match: re.Match[str]) -> bool:
    """Refuse what stands between two dollar amounts."""
    content = _content(match)
    words = _PROSE.findall(re.sub(r"\\[A-Za-z]+(?:\s*\{[^{}]*\})?", "", content))
    return content.isalpha() or not any(len(word) > 3 for word in words)
