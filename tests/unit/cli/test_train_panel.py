"""The live panel: figures, time left, curves, and lines where there is no terminal."""

from __future__ import annotations

import pytest
from rich.console import Console

from rewardable.cli.train_panel import Course, line, panel, sparkline, train_panel
from rewardable.workflows.events import Event

NUMBERS = {
    "reward/raw": 0.25,
    "reward/shaped": 0.2,
    "entropy/first_token": 1.5,
    "entropy/mean": 0.75,
    "kl": 0.0123,
    "groups/constant": 0.5,
}


def event(step: int, total: int = 100, **numbers: float) -> Event:
    return Event(
        stage="GRPO", done=step, total=total, detail="guard: hold", numbers={**NUMBERS, **numbers}
    )


def course(*events: Event, seconds: float = 2.0) -> Course:
    ticks = iter(range(len(events)))
    found = Course(clock=lambda: next(ticks) * seconds)
    for one in events:
        found.take(one)
    return found


def drawn(found: Course) -> str:
    console = Console(width=100, record=True, force_terminal=False, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(panel(found))
    return console.export_text()


def test_the_panel_shows_figures_time_and_the_guard() -> None:
    text = drawn(course(event(40), event(41), event(42)))
    for part in ("step 42 of 100", "1:56 left", "2.0 s a step", "0.250", "1.500", "0.0123", "50%"):
        assert part in text
    assert "guard: hold" in text
    assert "distinct solutions a group" in text


def test_what_was_not_logged_is_a_dash_and_trl_s_names_do() -> None:
    bare = Event(stage="s", done=1, total=2, numbers={"reward": 0.5, "entropy": 0.125})
    text = drawn(course(bare))
    assert "0.500" in text
    assert "0.125" in text
    assert "–" in text


def test_time_left_starts_from_the_first_step_of_this_session() -> None:
    found = course(event(90), event(91), seconds=3.0)
    assert found.left == "0:27"
    assert course(event(90)).left == ""


@pytest.mark.parametrize(
    ("values", "bars"),
    [([], ""), ([1.0, 1.0], "▁▁"), ([0, 7], "▁█"), ([0, 1, 6, 7], "▁▂▇█")],
)
def test_sparklines(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_long_courses_are_averaged_into_the_width() -> None:
    assert sparkline([float(i) for i in range(1000)], 4) == "▁▃▆█"


def test_without_a_terminal_it_writes_lines(capsys: pytest.CaptureFixture[str]) -> None:
    passed: list[Event] = []
    with train_panel(passed.append) as show:
        for step in (1, 2, 3):
            show(event(step, total=3))
        show(Event(stage="measuring", done=1, total=1))
    told = capsys.readouterr().err.splitlines()
    assert [text.split(";")[0] for text in told] == ["GRPO: step 1/3", "GRPO: step 3/3"]
    assert "reward, raw 0.250" in told[0]
    assert [one.stage for one in passed] == ["measuring"]
    assert line(Course()) == ""
