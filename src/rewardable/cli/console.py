"""Progress bars, sentences and errors on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable

from rewardable.workflows.events import Event, OnEvent

LINE_EVERY_S = 30.0

out = Console(soft_wrap=True, highlight=False)


def say(text: str) -> None:
    """Print one line of plain text; brackets in it are not markup."""
    out.print(text, markup=False)


def fail(message: str, *, code: int) -> NoReturn:
    """Print an error without traceback and exit."""
    sys.stderr.write(f"error: {message}\n")
    sys.exit(code)


def print_rows(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print a small table."""
    table = RichTable(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    out.print(table)


@contextmanager
def progress() -> Generator[OnEvent]:
    """Show a workflow's events on standard error: bars on a terminal, else a line now and then."""
    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield _Lines()
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
    )
    with Progress(*columns, console=screen, refresh_per_second=4) as bars:
        yield _Teller(bars)


class _Lines:
    """Writes a line when a stage ends, and every half minute while it runs."""

    def __init__(self) -> None:
        self._told = time.monotonic()

    def __call__(self, event: Event) -> None:
        now = time.monotonic()
        if event.done < event.total and now - self._told < LINE_EVERY_S:
            return
        self._told = now
        detail = f" {event.detail}" if event.detail else ""
        sys.stderr.write(f"{event.stage}: {event.done:,}/{event.total:,}{detail}\n")
        sys.stderr.flush()


class _Teller:
    """Keeps one bar for each stage it hears of."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self._bars.add_task(event.stage, total=None, detail="")
        self._bars.update(
            self._tasks[event.stage],
            completed=event.done,
            total=event.total,
            detail=event.detail,
        )
