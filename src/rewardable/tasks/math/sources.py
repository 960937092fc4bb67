r"""Where the problems of each data set come from, and how a row of it is read.

A row is read alike from a local JSONL file and from the hub's copy; fields may differ between
them, and each reader takes both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from rewardable.records import Json
from rewardable.tasks.answers import last_box

Row = Mapping[str, Any]


class Problem(NamedTuple):
    """A question, its reference and what is known about it."""

    question: str
    answer: str
    facts: dict[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One data set: its name on the hub, and the reader of its rows."""

    hub: str
    reader: Callable[[Row], Problem]
    subset: str = ""
    splits: tuple[str, ...] = field(default=("test",))


def _first(row: Row, *names: str) -> str:
    """Return the first field with content, stripped; "" without one."""
    found = (row[name] for name in names if row.get(name) is not None)
    return next((str(value).strip() for value in found if str(value).strip()), "")


def _known(row: Row, **facts: str) -> dict[str, Json]:
    """Return facts from the fields that the row has."""
    return {fact: row[name] for fact, name in facts.items() if row.get(name) not in (None, "")}


def _gsm8k(row: Row) -> Problem:
    answer = str(row.get("answer") or "").rpartition("####")[2].strip().replace(",", "")
    return Problem(_first(row, "question"), answer, {})


def _math500(row: Row) -> Problem:
    facts = _known(row, level="level", subject="subject", id="unique_id")
    return Problem(_first(row, "problem"), _first(row, "answer"), facts)


def _minerva(row: Row) -> Problem:
    answer = _first(row, "answer") or last_box(str(row.get("solution") or "")) or ""
    question = _first(row, "problem", "question")
    return Problem(question, answer, _known(row, subject="type", id="idx"))


def _olympiadbench(row: Row) -> Problem:
    finals = row.get("final_answer") or []
    answer = ", ".join(map(str, finals)) if isinstance(finals, list | tuple) else str(finals)
    question = "\n\n".join(filter(None, (_first(row, "context"), _first(row, "question"))))
    facts = _known(row, subject="subfield", id="id", kind="answer_type", unit="unit")
    return Problem(question, answer, facts | _tolerance(_first(row, "error")))


def _tolerance(text: str) -> dict[str, Json]:
    """Return the stated absolute error as a fact, none where there is none or it is a list."""
    try:
        return {"tolerance": str(Fraction(text))} if text else {}
    except ValueError:
        return {}


def _competition(row: Row) -> Problem:
    question = _first(row, "problem", "question", "prompt").removesuffix(_ASKED).strip()
    answer = _first(row, "answer")
    whole = answer.removesuffix(".0")
    return Problem(question, whole, _known(row, id="id"))


_ASKED = "Please reason step by step, and put your final answer within \\boxed{}."
"""The request that one published file adds to its problems; the task adds its own."""

SOURCES: dict[str, Source] = {
    "gsm8k": Source(hub="openai/gsm8k", subset="main", reader=_gsm8k, splits=("test", "train")),
    "math500": Source(hub="HuggingFaceH4/MATH-500", reader=_math500),
    "minerva-math": Source(hub="math-ai/minervamath", reader=_minerva),
    "olympiadbench": Source(
        hub="Hothan/OlympiadBench",
        subset="OE_TO_maths_en_COMP",
        reader=_olympiadbench,
        splits=("train",),
    ),
    "amc23": Source(hub="math-ai/amc23", reader=_competition),
    "aime24": Source(hub="HuggingFaceH4/aime_2024", reader=_competition, splits=("train",)),
    "aime25": Source(hub="math-ai/aime25", reader=_competition),
}
