"""The shape of an answer: numbers and words masked, so that flips of one kind fall together."""

from __future__ import annotations

import re

from rewardable.records import Verdict
from rewardable.tasks.answers import last_box, last_line, last_marked, last_tag

ANSWER = "answer"
MOST = 60
_READ = 4000
_PIECE = re.compile(r"\\[A-Za-z]+|[0-9]+|[^\W\d_]+|\s+")


def shape_of(old: Verdict, new: Verdict, text: str) -> str:
    """Return the shape of what was judged: a box, a tag, a ``####`` line, or the answer of a label.

    Without any of them the last line. Numbers become 0, words a, white space one blank; commands
    of LaTeX stay.
    """
    tail = text[-_READ:]
    label = new.labels.get(ANSWER) or old.labels.get(ANSWER)
    stated = _marked(tail) or label or last_line(tail) or ""
    masked = _PIECE.sub(_mask, stated[:_READ].strip())
    masked = re.sub(r"a(?: a)+", "a a", masked)
    return masked if len(masked) <= MOST else f"{masked[:MOST]}..."


def label_change(old: Verdict, new: Verdict) -> str:
    """Return which kinds of label changed, and how: ``answer: other, solution: gone``."""
    kinds = sorted(set(old.labels) | set(new.labels))
    return ", ".join(
        f"{kind}: {_how(old.labels.get(kind), new.labels.get(kind))}"
        for kind in kinds
        if old.labels.get(kind) != new.labels.get(kind)
    )


def _how(old: str | None, new: str | None) -> str:
    if old is None:
        return "new"
    return "gone" if new is None else "other"


def _marked(text: str) -> str:
    box = last_box(text)
    if box is not None:
        return f"\\boxed{{{box}}}"
    line = last_marked(text)
    return last_tag(text) or (f"#### {line}" if line else "")


def _mask(match: re.Match[str]) -> str:
    piece = match.group()
    if piece.startswith("\\"):
        return piece
    if piece.isspace():
        return " "
    return "0" if piece[0].isdigit() else "a"
