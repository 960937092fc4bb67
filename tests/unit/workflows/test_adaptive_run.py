"""A run under a stopping rule, from sampling to tables, on policies whose rates are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rewardable.errors import ConfigError, DataError, ResumeError
from rewardable.metrics import StoppingRule
from rewardable.records import Outcome
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.tasks.countdown import step_texts
from rewardable.workflows.adaptive import need_of, reopened
from rewardable.workflows.config import RunConfig, config_from_dict, stopping_rule
from rewardable.workflows.grade import grade
from rewardable.workflows.measure import measure
from rewardable.workflows.plan import plan
from rewardable.workflows.sample import open_run, sample

TASK = "countdown-steps:numbers=4,values=1-10,targets=10-50,min_solutions=4"
PROMPTS, CAP = 12, 96
RULE = StoppingRule(successes=4, cap=CAP, first=8, step=12, give_up=32)
RATES = (0.0, 0.0, 0.12, 0.12, 0.12, 0.12, 0.5, 0.5, 0.5, 0.9, 0.9, 1.0)
AFTER = (0.0, 0.5, 0.0, 0.0, 0.0, 0.12, 0.0, 0.5, 0.5, 0.9, 0.9, 1.0)


def write(path: Path, rates: tuple[float, ...]) -> str:
    table: dict[str, dict[str, float]] = {}
    for prompt, rate in zip(load_task(TASK).prompts(PROMPTS, 0), rates, strict=True):
        texts = [step.text for step in step_texts(prompt.facts["numbers"], prompt.facts["target"])]
        right = {text: rate / len(texts) for text in texts}
        table[prompt.text] = {**right, "1+1=3": 1 - rate}
    path.write_text(json.dumps({"name": path.stem, "table": table}))
    return f"fake:{path}"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> RunConfig:
    folder = tmp_path_factory.mktemp("policies")
    policies = write(folder / "before.json", RATES), write(folder / "after.json", AFTER)
    return RunConfig(policies=policies, task=TASK, prompts=PROMPTS, n=CAP, stopping=RULE)


@pytest.fixture(scope="module")
def run(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = open_run(tmp_path_factory.mktemp("runs") / "run", config)
    sample(run, config)
    return run


def test_the_rule_is_part_of_the_record(run: Run, config: RunConfig) -> None:
    assert config_from_dict(run.config) == config
    again = sample(open_run(run.path, config), config)
    assert (again.new, again.graded, again.rollouts) == (
        0,
        0,
        sum(g.n_rollouts for g in run.groups()),
    )
    with pytest.raises(ResumeError, match=r"stopping\.successes"):
        open_run(run.path, replace(config, stopping=replace(RULE, successes=5)))
    with pytest.raises(ResumeError, match=r"stopping\.cap: stored 96, asked '\(absent\)'"):
        open_run(run.path, replace(config, stopping=None))
    assert grade(run).graded == 0


def test_every_prompt_ends_where_the_rule_ends_it(run: Run) -> None:
    taken_up = 0
    task, (spec,) = load_task(TASK), run.specs()
    again = reopened(run, RULE, [policy.key for policy in run.policies()], spec, task)
    for policy in run.policies():
        samples = run.samples(policy_key=policy.key, spec_key=spec.key, task=task.name)
        for place, key in enumerate(samples.prompt_keys):
            outcomes = samples.outcome_R[samples.prompt_R == place] == 1
            rule = RULE.to_the_end if key in again[policy.key] else RULE
            assert rule.follow(outcomes) == (len(outcomes), outcomes.sum(), 0)
            taken_up += key in again[policy.key]
    assert taken_up > 0


def test_tables_take_the_rule_and_say_so(run: Run) -> None:
    tables = measure(run)
    note = next(text for text in tables["overview"].notes if "until 4 successes" in text)
    assert "first 8 graded rollouts" in note
    support = {row.labels["k"]: row.estimate for row in tables["curves"].select(
        metric="support@k", policy="before", band="pointwise")}  # fmt: skip
    truth = sum(1 - (1 - rate) ** 32 for rate in RATES)
    assert support[32].low <= truth <= support[32].high
    assert max(support) == 32
    coverage = tables["coverage"].select(kind="solution", policy="before", band="pointwise")
    assert {row.labels["k"] for row in coverage if row.estimate.value is not None} == {
        1, 2, 3, 4, 6, 8
    }  # fmt: skip
    calls = [row.labels["call"] for row in tables["transitions"].select(kind="prompt")]
    assert calls.count("lost") == 4
    assert calls.count("gained") == 1
    drawn = sum(row.estimate.value for row in tables["overview"].select(metric="rollouts"))
    assert drawn == sum(group.n_rollouts for group in run.groups())
    assert drawn < 0.5 * 2 * PROMPTS * CAP


def test_what_the_rule_cannot_give_is_refused(config: RunConfig, tmp_path: Path, run: Run) -> None:
    with pytest.raises(ConfigError, match="success_at"):
        measure(run, success_at=0.5)
    fewer = replace(config, policies=config.policies[:1], n=RULE.first, stopping=None)
    short = open_run(tmp_path / "short", fewer)
    sample(short, fewer)
    grade(short)
    short.config["stopping"], short.config["n"] = config.to_dict()["stopping"], CAP
    with pytest.raises(DataError, match="not sampled to the end"):
        measure(short)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 64}, "must be n"),
        ({"group": 16}, "look first at 16"),
    ],
)
def test_rules_that_do_not_fit_are_refused(
    config: RunConfig, change: dict[str, int], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(config, **change)


def test_rules_from_the_command_line() -> None:
    assert stopping_rule(0, 0, 0, 8, 0, n=64, group=8) is None
    made = stopping_rule(8, 0, 0, 8, 0, n=64, group=16)
    assert made == StoppingRule(successes=8, cap=64, first=16, step=8)
    with pytest.raises(ConfigError, match="--stop-at-successes"):
        stopping_rule(0, 256, 0, 8, 0, n=64, group=8)
    with pytest.raises(ConfigError, match="give_up"):
        stopping_rule(8, 256, 16, 8, 8, n=64, group=8)
    raw = RunConfig(policies=("a",), task="t", stopping=RULE, n=CAP).to_dict()
    with pytest.raises(ConfigError, match="'successes'"):
        config_from_dict({**raw, "stopping": {"succeses": 4, "cap": CAP}})


def test_ungraded_rollouts_are_replaced_up_to_twice_the_cap() -> None:
    need = need_of(RULE)
    right, wrong, none = Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED
    assert need("p", []) == 8
    assert need("p", [right] * 4 + [none] * 2 + [wrong] * 2) == 2
    assert need("p", [right] * 4 + [none] * 2 + [wrong] * 4) == 0
    assert need("p", [none] * (2 * CAP - 3)) == 3
    assert need("p", [none] * 2 * CAP) == 0


def test_the_plan_expects_what_a_run_takes(run: Run, config: RunConfig) -> None:
    made = plan(config, probe_rollouts=PROMPTS * 40)
    drawn = sum(group.n_rollouts for group in run.groups())
    assert made.likely == pytest.approx(drawn, rel=0.35)
    assert made.rollouts == 2 * PROMPTS * CAP
    assert dict(made.expected)[0.0] == 32
    assert made.powers[-1].power > 0.9
