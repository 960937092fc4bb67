"""One way to put a prompt, and edits that touch neither numbers, code nor quotations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rewardable.records import Json, Prompt

TEMPLATE, ORDER, NUMBER_WORDS = "template", "operand order", "number words"
WHITESPACE, LANGUAGE = "whitespace", "second language"
KINDS = (TEMPLATE, ORDER, NUMBER_WORDS, WHITESPACE, LANGUAGE)

PROTECTED = re.compile(
    r"```.*?```|\[asy\].*?\[/asy\]|\\begin\{.*?\\end\{[^}]*\}|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$|\\\[.*?\\\]|\\\(.*?\\\)|\\[a-z]+\{[^}]*\}"
    r"|<<.*?>>|<(?P<tag>\w+)>.*?</(?P=tag)>|</?[A-Za-z][^<>\n]*>|\"[^\"]*\"|“[^”]*”|‘[^’]*’|«[^»]*»"
    r"|(?<!\w)'[^'\n]*'(?!\w)|https?://\S+|[0-9](?:[0-9.,:/%]*[0-9%])?",
    re.DOTALL,
)
"""Spans that no edit of whitespace may touch."""

_FIXED_LINE = re.compile(r"\s|[-*+|#>]|[0-9]+[.):]")


@dataclass(frozen=True, slots=True)
class Wording:
    """A text for a prompt. ``facts`` are those that the wording changes; the gold is not one."""

    kind: str
    text: str
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])


Writer = Callable[[Prompt], Iterator[Wording]]
"""Yields wordings of a prompt in a fixed order, the most telling first; repeats are dropped."""


def whitespace(text: str, *, inner: bool = True) -> Iterator[Wording]:
    """Yield the text with other line breaks and spaces; without ``inner`` only around it."""
    found = [wrapped(text, 40), spaced(text), wrapped(text, 64)] if inner else []
    found += [f"\n{text}", f"{text}\n", f"\n\n{text}\n\n", f"  {text}", f"{text}\n\n", f"{text}  "]
    yield from (Wording(WHITESPACE, each) for each in found)


def spaced(text: str) -> str:
    """Put two spaces behind each sentence that another follows on its line."""
    free = _breakable(text)
    parts = [" " if i in free and text[i - 1] in ".!?" else "" for i in range(len(text))]
    return "".join(char + more for char, more in zip(text, parts, strict=True))


def wrapped(text: str, width: int) -> str:
    """Break lines at spaces before ``width`` characters; lists and indented lines stay."""
    free = _breakable(text)
    out, start, last = list(text), 0, -1
    for i, char in enumerate(text):
        if char == "\n":
            start, last = i + 1, -1
        elif i in free:
            last = i
        if i - start >= width and last >= 0:
            out[last] = "\n"
            start, last = last + 1, -1
    return "".join(out)


def _breakable(text: str) -> set[int]:
    """Return the places of single spaces between words of prose, outside protected spans."""
    held = {i for match in PROTECTED.finditer(text) for i in range(match.start(), match.end())}
    found: set[int] = set()
    for line in re.finditer(r"[^\n]+", text):
        if not _FIXED_LINE.match(line.group()):
            spaces = re.finditer(r"(?<=\S) (?=\S)", line.group())
            found |= {line.start() + space.start() for space in spaces}
    return found - held


_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_UNITS = tuple(f"zero one two three four five six seven eight nine {_TEENS}".split())
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_words(number: int) -> str:
    """Write a number from 0 to 999 999 in words; others in digits.

    >>> in_words(342), in_words(20)
    ('three hundred and forty-two', 'twenty')
    """
    if not 0 <= number < 1_000_000:
        return str(number)
    if number < 20:
        return _UNITS[number]
    if number < 100:
        tens, rest = divmod(number, 10)
        return _TENS[tens - 2] + (f"-{_UNITS[rest]}" if rest else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    head, rest = divmod(number, size)
    tail = f"{' ' if rest >= 100 else ' and '}{in_words(rest)}" if rest else ""
    return f"{in_words(head)} {name}{tail}"


def numbers_in_words(text: str) -> str:
    """Write every whole number of a text in words."""
    return re.sub(r"[0-9]+", lambda match: in_words(int(match.group())), text)
