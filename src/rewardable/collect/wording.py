"""Figures of wording: read every text once, at grading, and keep what measuring needs of it.

A prompt's texts are counted together, since distinct n-grams are those of all of them. Figures
say which rows they were made from; when rows are added or drawn again they are made anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from rewardable.collect.progress import Buffer, Meter, OnProgress
from rewardable.records import WORDING_VERSION, Texts, Wording

OPENING_WORDS = 8
FLUSH_PROMPTS = 2000
FLUSH_S = 5.0

_WORD = re.compile(r"\w+|[^\w\s]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SPACED = re.compile(r"[ \t$]*([-+*/=])[ \t$]*")
_VALUE = r"(\(?-?\d{1,15}(?:\.\d{1,15})?\)?)"
_STEP = re.compile(rf"(?<![\w.)+*/=-]){_VALUE}([-+*/]){_VALUE}={_VALUE}(?![\d(]|[-+*/])")
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})
_LATEX = (("\\times", "*"), ("\\cdot", "*"), ("\\div", "/"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Grams:
    """Counts of the n-grams of a prompt's texts, as in :class:`~rewardable.records.Wording`."""

    repetition: tuple[float, ...]
    orders: tuple[int, ...]
    seen: tuple[int, ...]
    numbers: tuple[int, ...]
    totals: tuple[int, ...]


CountGrams = Callable[[Sequence[Sequence[int]]], Grams]
"""Counts the n-grams of texts whose words are numbered, equal words alike."""


class WordingStore(Protocol):
    """Knows whose figures are missing or out of date."""

    def n_stale(self, prompt_keys: Collection[str], version: int, first: int) -> int:
        """Return for how many (policy, spec, prompt) there are no current figures."""
        ...

    def stale(self, prompt_keys: Collection[str], version: int, first: int) -> Iterator[Texts]:
        """Yield their texts, those of rollouts below the index ``first`` (0: all)."""
        ...

    def add(self, wordings: Sequence[Wording]) -> None:
        """Append figures atomically."""
        ...


def count_wording(
    store: WordingStore,
    prompt_keys: Collection[str],
    count_grams: CountGrams,
    *,
    first: int = 0,
    flush_prompts: int = FLUSH_PROMPTS,
    flush_s: float = FLUSH_S,
    on_progress: OnProgress | None = None,
) -> int:
    """Store the figures that are missing or out of date; return for how many prompts.

    ``first``: count only rollouts with an index below it, 0 for all.
    """
    total = store.n_stale(prompt_keys, WORDING_VERSION, first)
    if not total:
        return 0
    meter = Meter(on_progress, done=0, total=total)
    with Buffer(store.add, max_rows=flush_prompts, max_s=flush_s) as buffer:
        for texts in store.stale(prompt_keys, WORDING_VERSION, first):
            buffer.add(wording_of(texts, count_grams, first), size=60 * len(texts.texts))
            meter.add()
    meter.finish()
    return meter.done


def wording_of(texts: Texts, count_grams: CountGrams, first: int) -> Wording:
    """Count the texts of one prompt."""
    masked = [mask(text) for text in texts.texts]
    grams = count_grams(_numbered([words(text) for text in texts.texts]))
    return Wording(
        policy_key=texts.policy_key,
        spec_key=texts.spec_key,
        prompt_key=texts.prompt_key,
        version=WORDING_VERSION,
        first=first,
        n_rows=texts.n_rows,
        n_attempts=texts.n_attempts,
        indices=texts.indices,
        repetition=grams.repetition,
        steps=tuple(written_steps(text) for text in texts.texts),
        form=tuple(_digest(text) for text in masked),
        opening=tuple(_digest(opening(text)) for text in masked),
        orders=grams.orders,
        seen=grams.seen,
        numbers=grams.numbers,
        totals=grams.totals,
    )


def words(text: str) -> list[str]:
    """Split into runs of letters and digits, and single signs.

    >>> words("So 4*7=28.")
    ['So', '4', '*', '7', '=', '28', '.']
    """
    return _WORD.findall(text)


def mask(text: str) -> str:
    """Put ``#`` for every number and one blank for every gap: the text's form.

    >>> mask("First,  12 + 3.5 = 15.5")
    'First, # + # = #'
    """
    return " ".join(_NUMBER.sub("#", text).split())


def opening(masked: str) -> str:
    """Return the first words of a masked text."""
    found = _WORD.finditer(masked)
    ends = [match.end() for match, _ in zip(found, range(OPENING_WORDS), strict=False)]
    return masked[: ends[-1]] if ends else ""


def written_steps(text: str) -> int:
    """Count the different right calculations of two values that are written out.

    >>> written_steps("4*7=28, 28 - 9 = 19, and 4*7=28 again; 2+2=5; 4*7-9=19")
    2
    """
    if "=" not in text:
        return 0
    for name, sign in _LATEX:
        text = text.replace(name, sign)
    plain = _SPACED.sub(r"\1", text.translate(_SIGNS))
    return len({found[:3] for found in _STEP.findall(plain) if _right(*found)})


def _right(left: str, sign: str, right: str, result: str) -> bool:
    a, b, c = (float(value.strip("()")) for value in (left, right, result))
    if sign == "/":
        return b != 0 and abs(a / b - c) <= 1e-6 * max(1.0, abs(c))
    exact = {"+": a + b, "-": a - b, "*": a * b}[sign]
    return abs(exact - c) <= 1e-9 * max(1.0, abs(c))


def _numbered(rows: Sequence[Sequence[str]]) -> list[list[int]]:
    """Give equal words of some texts equal numbers."""
    known: dict[str, int] = {}
    return [[known.setdefault(word, len(known)) for word in row] for row in rows]


def _digest(text: str) -> int:
    raw = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big", signed=True)
