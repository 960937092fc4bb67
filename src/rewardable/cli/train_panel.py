"""A live panel of a training run: figures of the step, with their course as small curves."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rewardable.cli.console import LINE_EVERY_S
from rewardable.workflows.events import Event, OnEvent

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 32
COURSE = 512

Figure = tuple[str, tuple[str, ...], str]
"""Name, the logged names it may have (the first found counts), format."""

FIGURES: tuple[tuple[Figure, Figure], ...] = (
    (
        ("reward, raw", ("reward/raw", "reward"), ".3f"),
        ("entropy, first token", ("entropy/first_token",), ".3f"),
    ),
    (
        ("reward, shaped", ("reward/shaped",), ".3f"),
        ("entropy, mean", ("entropy/mean", "entropy"), ".3f"),
    ),
    (("groups without variation", ("groups/constant",), ".0%"), ("KL", ("kl",), ".4f")),
    (
        ("distinct outputs a group", ("distinct/outputs",), ".1f"),
        ("length, tokens", ("length/mean", "completions/mean_length"), ".1f"),
    ),
    (
        ("distinct solutions a group", ("distinct/solutions",), ".1f"),
        ("truncated", ("truncated", "completions/clipped_ratio"), ".0%"),
    ),
    (("ungraded", ("ungraded",), ".0%"), ("format kept", ("format",), ".0%")),
)
CURVES: tuple[Figure, ...] = (FIGURES[0][0], FIGURES[0][1], FIGURES[1][1])


class Course:
    """What a stage told so far: its latest event and the course of the figures that are drawn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: tuple[int, float] | None = None
        self.event: Event | None = None
        self.seconds_a_step: float | None = None
        self.values: dict[str, deque[float]] = {f[0]: deque(maxlen=COURSE) for f in CURVES}

    def take(self, event: Event) -> None:
        """Note an event."""
        now = self._clock()
        if self.event is None or self.event.stage != event.stage or self._first is None:
            self._first = (event.done, now)
        elif event.done > self._first[0]:
            self.seconds_a_step = (now - self._first[1]) / (event.done - self._first[0])
        self.event = event
        for figure in CURVES:
            value = logged(event, figure)
            if value is not None:
                self.values[figure[0]].append(value)

    @property
    def left(self) -> str:
        """The time left, from the steps seen in this session; empty before the second."""
        if self.event is None or self.seconds_a_step is None:
            return ""
        return clock_time(self.seconds_a_step * (self.event.total - self.event.done))


def logged(event: Event, figure: Figure) -> float | None:
    """Return a figure of an event, None where it was not logged."""
    return next((event.numbers[name] for name in figure[1] if name in event.numbers), None)


def clock_time(seconds: float) -> str:
    """Write a duration.

    >>> clock_time(75), clock_time(4000)
    ('1:15', '1:06:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """Draw values as bars from the least to the largest, neighbours averaged into ``width``.

    >>> sparkline([0, 1, 2, 3, 4, 5, 6, 7])
    '▁▂▃▄▅▆▇█'
    """
    if not values:
        return ""
    n, size = len(values), min(width, len(values))
    cuts = [place * n // size for place in range(size + 1)]
    means = [sum(values[i] for i in range(a, b)) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(means), max(means)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((mean - low) * scale)] for mean in means)


def panel(course: Course) -> Panel:
    """Draw the panel."""
    event = course.event
    if event is None:
        return Panel("waiting for the first step")
    head = Table.grid(padding=(0, 2))
    left = f"{course.left} left" if course.left else ""
    pace = f"{course.seconds_a_step:.1f} s a step" if course.seconds_a_step else ""
    bar = ProgressBar(total=max(event.total, 1), completed=event.done, width=WIDTH)
    head.add_row(f"step {event.done:,} of {event.total:,}", bar, left, pace)
    parts: list[Table | Text] = [head, _figures(event), _curves(course)]
    if event.detail:
        parts.append(Text(event.detail))
    return Panel(Group(*parts), title=Text(event.stage), title_align="left")


def _figures(event: Event) -> Table:
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left", "right"):
        table.add_column(justify=justify)
    for pair in FIGURES:
        table.add_row(*(cell for figure in pair for cell in (figure[0], _shown(event, figure))))
    return table


def _shown(event: Event, figure: Figure) -> str:
    value = logged(event, figure)
    return "–" if value is None else format(value, figure[2])


def _curves(course: Course) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, values in course.values.items():
        if values:
            first, last = values[0], values[-1]
            table.add_row(name, sparkline(values), f"{first:.3f} to {last:.3f}")
    return table


def line(course: Course) -> str:
    """Write the step as a line of plain text."""
    event = course.event
    if event is None:
        return ""
    told = [
        f"{figure[0]} {format(value, figure[2])}"
        for pair in FIGURES
        for figure in pair
        if (value := logged(event, figure)) is not None
    ]
    left = f"; {course.left} left" if course.left else ""
    detail = f"; {event.detail}" if event.detail else ""
    joined = "; ".join(told)
    return f"{event.stage}: step {event.done:,}/{event.total:,}; {joined}{left}{detail}"


@contextmanager
def train_panel(otherwise: OnEvent) -> Generator[OnEvent]:
    """Show events with numbers on a panel, or as a line now and then where there is no terminal.

    Events without numbers go to ``otherwise`` (those of the audit behind the training). The event's
    ``detail`` stands below the figures: what a guard says has its place there.
    """
    screen = Console(stderr=True)
    course = Course()
    if not screen.is_terminal:
        yield _Lines(course, otherwise)
        return
    with Live(panel(course), console=screen, refresh_per_second=4, transient=False) as live:

        def show(event: Event) -> None:
            if not event.numbers:
                live.stop()
                otherwise(event)
                return
            if not live.is_started:
                live.start()
            course.take(event)
            live.update(panel(course))

        yield show


class _Lines:
    def __init__(self, course: Course, otherwise: OnEvent) -> None:
        self._course = course
        self._otherwise = otherwise
        self._told = -LINE_EVERY_S

    def __call__(self, event: Event) -> None:
        if not event.numbers:
            self._otherwise(event)
            return
        self._course.take(event)
        now = time.monotonic()
        if event.done < event.total and now - self._told < LINE_EVERY_S:
            return
        self._told = now
        sys.stderr.write(line(self._course) + "\n")
        sys.stderr.flush()
