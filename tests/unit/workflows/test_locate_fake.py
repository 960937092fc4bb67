"""``locate`` on policies whose access and execution are known."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from rewardable.cli.app import main
from rewardable.errors import ConfigError
from rewardable.locate.look import Look
from rewardable.tasks import load_task
from rewardable.workflows.config import RunConfig
from rewardable.workflows.locate import LocateResult, locate
from rewardable.workflows.locating.config import LocateConfig
from rewardable.workflows.locating.reference import OTHER_PROMPTS

TASK = "countdown-steps:numbers=3,min_families=3,values=1-10,targets=10-50"
PROMPTS, N = 48, 48


def table(access: list[float], execution: list[float]) -> dict[str, dict[str, float]]:
    """Three families a prompt: started with ``access``, finished right with ``execution``."""
    task = load_task(TASK)
    rows: dict[str, dict[str, float]] = {}
    for prompt in (*task.prompts(PROMPTS, 0), *task.prompts(PROMPTS, OTHER_PROMPTS)):
        right = {step.entry: step.text for step in task._steps(prompt)}
        chosen = sorted(right)[:3]
        row: dict[str, float] = {}
        for entry, a, e in zip(chosen, access, execution, strict=True):
            row[right[entry]] = a * e
            row[f"{entry}1=0"] = a * (1 - e)
        rows[prompt.text] = {text: p for text, p in row.items() if p > 0}
    return rows


def policies(folder: Path, **told: tuple[list[float], list[float]]) -> tuple[str, ...]:
    for name, (access, execution) in told.items():
        content = {"name": name, "table": table(access, execution)}
        (folder / f"{name}.json").write_text(json.dumps(content))
    return tuple(f"fake:{folder / name}.json" for name in told)


def run(folder: Path, sources: tuple[str, ...], **look: object) -> LocateResult:
    config = RunConfig(policies=sources, task=TASK, n=N, prompts=PROMPTS)
    methods = ("entries", "openings", "likelihood", "series")
    chosen = Look(methods=methods, forced_n=32, **look)  # type: ignore[arg-type]
    return locate(folder, LocateConfig(run=config, look=chosen))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> LocateResult:
    folder = tmp_path_factory.mktemp("fake")
    sources = policies(
        folder,
        base=([0.4, 0.3, 0.3], [0.5, 0.5, 0.5]),
        trained=([0.96, 0.02, 0.02], [0.7, 0.5, 0.5]),
    )
    return run(folder / "out", sources)


def test_the_split_finds_the_known_parts(found: LocateResult):
    entries = found.tables["entries"]
    truth = {
        "change of pass@1": 0.96 * 0.7 + 0.02 - 0.5,
        "access part": 0.56 * 0.6 - 0.56 * 0.5,
        "execution part": 0.2 * 0.68,
    }
    for metric, value in truth.items():
        estimate = entries.one(metric=metric)
        assert estimate.low is not None
        assert estimate.high is not None
        error = (estimate.high - estimate.low) / 3.92
        assert abs(estimate.value - value) < 3.5 * error, (metric, value, estimate)
        assert error < 0.02


def test_families_that_are_hardly_started_are_finished_as_before_once_given(found: LocateResult):
    entries = found.tables["entries"]
    low = entries.one(metric="change of forced execution", access="low")
    assert low.low is not None
    assert low.high is not None
    assert low.low <= 0 <= low.high
    after = entries.one(metric="forced execution, after", access="low")
    assert after.value == pytest.approx(0.5, abs=0.05)
    high = entries.one(metric="forced execution, after", access="high")
    assert high.value == pytest.approx(0.7, abs=0.05)
    for side in ("before", "after"):
        gap = entries.one(metric=f"forced minus spontaneous execution, {side}")
        assert gap.value == pytest.approx(0, abs=0.06)


def test_the_loss_of_coverage_lies_at_the_door(found: LocateResult):
    access = found.tables["entries"].one(metric="access part of coverage")
    execution = found.tables["entries"].one(metric="execution part of coverage")
    assert access.high is not None
    assert access.high < 0
    assert execution.value is not None
    assert execution.value > -0.02
    assert any("lost at the door" in sentence for sentence in found.paragraph)
    assert re.match(
        rf"{PROMPTS} prompts: {PROMPTS * N} free and [0-9]+ forced rollouts of base, ",
        found.paragraph[-1],
    )
    assert found.report.read_text(encoding="utf-8").count("<section") >= 4


def test_the_same_command_draws_nothing_again(
    found: LocateResult, tmp_path_factory: pytest.TempPathFactory
):
    folder = found.path.parent
    sources = tuple(f"fake:{folder / name}.json" for name in ("base", "trained"))
    before = {path: path.stat().st_mtime_ns for path in found.path.rglob("*.parquet")}
    again = run(found.path, sources)
    assert {p: p.stat().st_mtime_ns for p in found.path.rglob("*.parquet")} == before
    assert again.tables["entries"] == found.tables["entries"]


def test_a_policy_against_its_twin_shows_no_loss(tmp_path: Path):
    rows = ([0.4, 0.3, 0.3], [0.5, 0.5, 0.5])
    twin = ([0.4, 0.3, 0.3], [0.5, 0.5, 0.5001])
    result = run(tmp_path / "out", policies(tmp_path, base=rows, twin=twin))
    for metric in ("access part", "execution part", "access part of coverage"):
        estimate = result.tables["entries"].one(metric=metric)
        assert not estimate.excludes_zero, metric
    assert not any("lost at the door (" in one for one in result.paragraph)


def test_the_reference_is_the_earliest_policy_with_the_format(tmp_path: Path):
    sources = policies(
        tmp_path,
        first=([0.4, 0.3, 0.3], [0.5, 0.5, 0.5]),
        last=([0.8, 0.1, 0.1], [0.5, 0.5, 0.5]),
    )
    raw = {"name": "raw", "table": {"*": {"I do not know": 1.0}}}
    (tmp_path / "raw.json").write_text(json.dumps(raw))
    config = RunConfig(
        policies=(f"fake:{tmp_path / 'raw.json'}", *sources), task=TASK, n=16, prompts=PROMPTS
    )
    look = Look(methods=("openings",))
    result = locate(tmp_path / "out", LocateConfig(run=config, look=look))
    assert {row.labels["before"] for row in result.tables["openings"].rows} == {"first"}
    shares = [row.estimate.value for row in result.tables["format"].rows]
    assert shares == [0.0, 1.0, 1.0]
    kept = replace(look, reference="first")
    all_of_them = locate(tmp_path / "kept", LocateConfig(run=config, look=kept))
    assert {row.labels["before"] for row in all_of_them.tables["openings"].rows} == {"raw"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ("entrys",)}, "entries"),
        ({"reference": "best"}, "formatted"),
        ({"doses": ()}, "doses"),
        ({"low_access": 1.5}, "low_access"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(options: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        Look(**options)  # type: ignore[arg-type]


def test_a_mistake_ends_with_code_2_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("sys.argv", ["rewardable", "locate", "pocket", "--task", "countdown-steps",
                                     "--methods", "entrys"])  # fmt: skip
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "entries" in capsys.readouterr().err
