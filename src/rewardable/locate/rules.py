"""What a text begins with: entries for grouping, and classes of openings by replaceable rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rewardable.errors import ConfigError

EntryFunction = Callable[[str], str | None]
"""Text of a completion -> its entry, None where it has none."""

_SIGN = {"\u00d7": "*", "\u00f7": "/", "\u2212": "-", "x": "*"}
_FIRST = re.compile(r"([0-9][0-9.,]*)\s*%?\s*([-+*/\u00d7\u00f7\u2212x])\s*\$?([0-9][0-9.,]*)")
_SENTENCE = re.compile(r"[.!?:](?:\s|$)|\n")
_WORD = re.compile(r"[A-Za-z0-9]+")
_THINK = re.compile(r"\A\s*<think>\s*")


def first_computation(text: str) -> str | None:
    """Return the first ``a op b`` of a text, without spaces: ``16-3``.

    >>> first_computation("She has 16 - 3 = 13 eggs"), first_computation("None.")
    ('16-3', None)
    """
    match = _FIRST.search(text)
    if match is None:
        return None
    left, sign, right = match.groups()
    return f"{left.rstrip('.,')}{_SIGN.get(sign, sign)}{right.rstrip('.,')}"


def first_operand_operator(text: str) -> str | None:
    """Return the first operand and operator: ``16-``."""
    found = first_computation(text)
    return None if found is None else re.sub(r"([-+*/]).*", r"\1", found, count=1, flags=re.S)


def first_sentence(text: str) -> str | None:
    """Return the first sentence in small letters, numbers replaced by ``#``."""
    start = _THINK.sub("", text).lstrip()
    end = _SENTENCE.search(start)
    sentence = start[: end.start()] if end else start
    return re.sub(r"[0-9][0-9.,]*", "#", sentence.strip().lower()) or None


def by_pattern(pattern: str) -> EntryFunction:
    """Return the entry function of a regular expression: its first group, else the whole match."""
    compiled = _compiled(pattern)

    def entry(text: str) -> str | None:
        match = compiled.search(text)
        return None if match is None else match.group(1 if compiled.groups else 0)

    return entry


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{pattern!r} is no regular expression: {error}.") from error


ENTRIES: Mapping[str, EntryFunction] = {
    "first-computation": first_computation,
    "first-operand-operator": first_operand_operator,
    "first-sentence": first_sentence,
}
"""Name -> entry function; ``re:PATTERN`` and ``module:attr`` are others."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Class ``name`` for texts whose beginning the pattern matches; ConfigError if it is none."""

    name: str
    pattern: str

    def __post_init__(self) -> None:
        """Refuse a pattern that cannot be read."""
        _compiled(self.pattern)


RESTATING, OTHER = "restating", "other"
OPENING_RULES: tuple[Rule, ...] = (
    Rule("empty", r"\Z"),
    Rule("refusal", r"(i'?m sorry|i am sorry|sorry,|i can(?:no|')t|i won't|i am unable|as an ai)"),
    Rule("code", r"(```|def |import |class |#include)"),
    Rule("planning", r"(let'?s (?:think|plan|break)|plan:|first, (?:i|we|let)|we need to|i need to"
         r"|to (?:solve|find|determine|calculate)|step-by-step)"),
    Rule("step-by-step", r"(step ?1|1[.)]\s|first,|first step|[0-9.]+\s*[-+*/\u00d7x]\s*[0-9.]+)"),
    Rule("direct answer", r"(the (?:final )?answer is|answer:|\\boxed|#### "
         r"|-?\$?[0-9][0-9.,%]*\s*\Z"
         r"|(?:yes|no)\b|-?[0-9][0-9.]*(?:,-?[0-9][0-9.]*)*\s*\Z)"),
)  # fmt: skip
"""Tried in order on the text in small letters, a leading <think> removed; then restating."""


def opening_class(text: str, prompt: str = "", rules: Sequence[Rule] = OPENING_RULES) -> str:
    """Return the class of a completion's opening.

    ``restating`` is for openings of which most words stand in the prompt; what no rule catches is
    ``other``.

    >>> opening_class("Step 1: add."), opening_class("42"), opening_class("Sorry, no.")
    ('step-by-step', 'direct answer', 'refusal')
    """
    start = _THINK.sub("", text).lstrip().lower()
    for rule in rules:
        if re.match(rule.pattern, start):
            return rule.name
    words = _WORD.findall(first_sentence(text) or "")[:12]
    known = set(_WORD.findall(prompt.lower()))
    if len(words) >= 4 and sum(word in known for word in words) >= 0.7 * len(words):
        return RESTATING
    return OTHER
