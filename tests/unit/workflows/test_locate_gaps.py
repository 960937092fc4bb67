"""``locate`` where something is missing: verdicts, entries, openings; and what it says then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardable.errors import ConfigError
from rewardable.locate.look import Look
from rewardable.locate.rules import Rule
from rewardable.tasks import load_task
from rewardable.workflows.config import RunConfig
from rewardable.workflows.locate import LocateResult, locate
from rewardable.workflows.locating.config import LocateConfig, look_of

TASK = "countdown-steps:numbers=3,min_families=2,values=1-10,targets=10-50"
PROMPTS = 24


def answers(right: float, missing: tuple[int, ...] = ()) -> dict[str, dict[str, float]]:
    """One right and one wrong way a prompt; the ``missing`` prompts get no row (no verdict)."""
    task = load_task(TASK)
    table: dict[str, dict[str, float]] = {}
    for i, prompt in enumerate(task.prompts(PROMPTS, 0)):
        steps = sorted(task._steps(prompt), key=lambda step: step.text)
        if i not in missing:
            table[prompt.text] = {steps[0].text: right, f"{steps[0].entry}1=0": 1 - right}
    return table


def run(folder: Path, look: Look, task: str = TASK, **tables: dict[str, object]) -> LocateResult:
    for name, content in tables.items():
        (folder / f"{name}.json").write_text(json.dumps({"name": name, **content}))
    sources = tuple(f"fake:{folder / name}.json" for name in tables)
    config = RunConfig(policies=sources, task=task, n=16, prompts=PROMPTS)
    return locate(folder / "out", LocateConfig(run=config, look=look))


def test_prompts_without_verdicts_are_left_out_and_are_no_failures(tmp_path: Path):
    missing = tuple(range(8))
    result = run(
        tmp_path,
        Look(methods=("entries",), forced_n=4, reference="first"),
        base={"table": answers(0.5)},
        later={"table": answers(0.5, missing), "failure_rate": 0.05},
    )
    entries = result.tables["entries"]
    for metric in ("change of pass@1", "access part", "execution part", "change of coverage"):
        estimate = entries.one(metric=metric)
        assert estimate.n_prompts == PROMPTS - len(missing), metric
        assert not estimate.excludes_zero, (metric, estimate)
        assert any("8 of 24 prompts left out" in one for one in estimate.warnings)
    coverage = next(row for row in entries.rows if row.labels["metric"] == "change of coverage")
    assert int(str(coverage.labels["k"])) >= 4
    assert any("could not be graded" in one for one in result.paragraph)


def test_success_without_an_entry_is_execution_when_only_its_success_changes(tmp_path: Path):
    look = Look(methods=("entries",), entry="re:(nowhere)", reference="first")
    result = run(tmp_path, look, base={"table": answers(0.8)}, later={"table": answers(0.3)})
    entries = result.tables["entries"]
    assert entries.one(metric="access part").value == pytest.approx(0)
    execution = entries.one(metric="execution part")
    assert execution.value == pytest.approx(-0.5, abs=0.1)
    assert not entries.select(metric="change of forced execution")


def test_a_fall_is_shown_family_by_family_along_the_checkpoints(tmp_path: Path):
    task = load_task(TASK)
    tables = []
    for share in (0.9, 0.9, 1e-6):
        rows: dict[str, dict[str, float]] = {}
        for prompt in task.prompts(PROMPTS, 0):
            by_entry = {step.entry: step.text for step in task._steps(prompt)}
            first, second = sorted(by_entry)[:2]
            row = {by_entry[first]: share, by_entry[second]: 1 - share}
            rows[prompt.text] = row
        tables.append(rows)
    # the middle one differs from the first by a hair, else it would be the same policy
    middle = {text: dict(row) for text, row in tables[1].items()}
    for row in middle.values():
        low, high = sorted(row.values())
        row.update({t: (low + 1e-6 if p == low else high - 1e-6) for t, p in row.items()})
    result = run(
        tmp_path,
        Look(methods=("series",), reference="first"),
        a={"table": tables[0]}, b={"table": middle}, c={"table": tables[2]},
    )  # fmt: skip
    shown = result.tables["series"].select(metric="access of a family that fell")
    assert {str(row.labels["last_seen"]) for row in shown} == {"b"}
    assert any("tables alone" in one for one in result.paragraph)
    by_policy = {
        name: [row.estimate for row in shown if row.labels["policy"] == name] for name in "abc"
    }
    assert len(by_policy["a"]) == len(by_policy["c"]) == 12
    assert all(one.value == 0 and (one.high or 0) > 0.1 for one in by_policy["c"])
    assert all((one.low or 0) > 0.4 for one in by_policy["a"])


def test_truncation_is_told(tmp_path: Path):
    table = answers(0.5)
    cut = [text for row in table.values() for text, p in row.items() if text.endswith("=0")]
    result = run(
        tmp_path,
        Look(methods=("openings",), reference="first"),
        base={"table": answers(0.6)},
        later={"table": table, "truncated": cut},
    )
    assert any("later were cut at the token limit" in one for one in result.paragraph)


def test_tokens_whose_text_nobody_knows_are_not_compared(tmp_path: Path):
    look = Look(methods=("openings",), reference="first")
    result = run(tmp_path, look, base={"table": answers(0.9)}, later={"table": answers(0.1)})
    assert {row.labels["kind"] for row in result.tables["openings"].rows} == {"class"}


def test_opening_rules_are_replaced(tmp_path: Path):
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"ends in nought": r".*=0\Z", "digit": "[0-9]"}))
    look = look_of(("openings",), str(file), reference="first")
    assert look.opening_rules[0] == Rule("ends in nought", r".*=0\Z")
    result = run(tmp_path, look, base={"table": answers(0.9)}, later={"table": answers(0.1)})
    movers = result.tables["openings"].select(metric="change of share")
    assert {row.labels["opening"] for row in movers} == {"ends in nought", "digit"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": ("plannning", "code")}, "planning"),
        ({"arms": ("code",)}, "two opening classes"),
    ],
)
def test_arms_that_do_not_exist_are_refused(options: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        Look(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", ["re:(", "nosuch:thing"])
def test_a_rule_that_cannot_be_read_is_refused_before_sampling(tmp_path: Path, entry: str):
    look = Look(methods=("entries",), entry=entry)
    with pytest.raises(ConfigError):
        run(tmp_path, look, base={"table": answers(0.9)}, later={"table": answers(0.1)})
    assert not (tmp_path / "out").exists()


def test_the_format_is_looked_at_on_prompts_that_are_not_located_on(tmp_path: Path):
    file = tmp_path / "few.jsonl"
    rows = [{"question": f"What is {i} + {i}?", "answer": f"#### {2 * i}"} for i in range(40)]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    task = f"gsm8k:path={file}"
    located = {prompt.key for prompt in load_task(task).prompts(PROMPTS, 0)}
    others = {prompt.key for prompt in load_task(task).prompts(PROMPTS, 1_000_003)}
    look = Look(methods=("openings",))
    result = run(
        tmp_path, look, task,
        base={"table": {"*": {"It is 4. \\boxed{4}": 0.5, "So: \\boxed{3}": 0.5}}},
        later={"table": {"*": {"It is 4. \\boxed{4}": 0.9, "So: \\boxed{3}": 0.1}}},
    )  # fmt: skip
    shares = [row.estimate.n_prompts for row in result.tables["format"].rows]
    assert 0 < len(others - located) < len(others)
    assert shares == [len(others - located)] * 2
