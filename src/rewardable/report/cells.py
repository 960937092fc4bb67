"""Cells of HTML tables: a number, its interval below it, a mark where a change is certified."""

from __future__ import annotations

from dataclasses import dataclass

from rewardable.report.numbers import interval, number
from rewardable.results import Estimate, Label, Row

MARKS = {"rise": "up", "fall": "down"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What one cell shows. ``note`` is the interval or a remark; ``mark`` is up, down or empty."""

    text: str
    note: str = ""
    mark: str = ""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row: its heading and its cells."""

    head: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table. ``folded`` grids are shown on demand; in ``neutral`` ones no change is a loss."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    caption: str = ""
    folded: bool = False
    neutral: bool = False


EMPTY = Cell(text="–")


def cell(estimate: Estimate | None, *, percent: bool = False, signed: bool = False,
         certified: Label = None) -> Cell:  # fmt: skip
    """Write an estimate; where it has no value the note says why."""
    if estimate is None:
        return EMPTY
    if estimate.value is None:
        return Cell(text="–", note=estimate.warnings[-1] if estimate.warnings else "no value")
    note = interval(estimate, percent=percent, signed=signed)
    if estimate.bound_low is not None and estimate.bound_high is not None:
        low, high = (number(end, percent=percent, signed=signed)
                     for end in (estimate.bound_low, estimate.bound_high))  # fmt: skip
        note += f"; ungraded could make it {low} to {high}"
    return Cell(
        text=number(estimate.value, percent=percent, signed=signed) + _unit(percent, signed),
        note=note,
        mark=MARKS.get(str(certified), ""),
    )


def _unit(percent: bool, signed: bool) -> str:
    if not percent:
        return ""
    return " points" if signed else " %"


def pair_cell(row: Row | None, *, percent: bool = False) -> Cell:
    """Write a difference with its sign and its call."""
    if row is None:
        return EMPTY
    call = row.labels.get("certified")
    return cell(row.estimate, percent=percent, signed=True, certified=call)
