"""The joint table: cells, their bounds where a part is open, and their changes."""

import pytest

from rewardable.measure import MeasureConfig, measure_run
from rewardable.records import (
    Completion,
    Graded,
    Outcome,
    Policy,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
    user_prompt,
)
from rewardable.report.render import report_html
from rewardable.store import Run

SPEC = SamplingSpec()
POLICIES = [Policy(name=name, weights=name, template="raw") for name in ("base", "rl")]
MARKS = {"R": (1.0, 1.0), "a": (1.0, 0.0), "c": (0.0, 1.0), "n": (0.0, 0.0), "?": (None, 1.0),
         "!": (None, 0.0)}  # fmt: skip


def outcome(parts):
    if 0.0 in parts:
        return Outcome.WRONG
    return Outcome.UNGRADED if None in parts else Outcome.CORRECT


def run_of(path, texts, names=("answer", "constraint")):
    """``texts``: for each policy one string a prompt, a mark a rollout."""
    run = Run.create(path / "run", {})
    run.add_policies(POLICIES)
    run.add_specs([SPEC])
    prompts = [user_prompt("t", "1", f"q{i}") for i in range(len(texts[0]))]
    run.add_prompts(prompts)
    for policy, marks in zip(POLICIES, texts, strict=True):
        rows = [
            (RolloutId(policy_key=policy.key, spec_key=SPEC.key, prompt_key=prompt.key, index=i),
             MARKS[mark])
            for prompt, text in zip(prompts, marks, strict=True)
            for i, mark in enumerate(text)
        ]  # fmt: skip
        run.add_rollouts([Rollout(id=key, completion=Completion(text="x")) for key, _ in rows])
        run.add_verdicts(
            [
                Graded(id=key, verdict=Verdict(
                    outcome=outcome(parts), verifier="v", version="1", reason="why",
                    parts=dict(zip(names, parts, strict=True)),
                ))
                for key, parts in rows
            ]
        )  # fmt: skip
    return run


def measured(run):
    base, trained = (policy.key for policy in POLICIES)
    return measure_run(run, MeasureConfig(base=base, trained=(trained,), draws=100))


def value(table, cell, **labels):
    return table.one(cell=cell, metric="share", **labels).value


def test_cells_and_changes(tmp_path):
    tables = measured(run_of(tmp_path, (["Racn", "RRnn"], ["aaaa", "RRRR"])))
    table = tables["joint"]
    cells = ("answer", "constraint", "both", "answer only", "constraint only", "neither")
    assert [value(table, cell, policy="base") for cell in cells] == [
        0.5, 0.5, 0.375, 0.125, 0.125, 0.375,
    ]  # fmt: skip
    assert [value(table, cell, policy="rl") for cell in cells] == [1, 0.5, 0.5, 0.5, 0, 0]
    assert [value(table, cell, before="base") for cell in cells] == [
        0.5, 0.0, 0.125, 0.375, -0.125, -0.375,
    ]  # fmt: skip
    assert "t, base to rl: answer +50.0 points" in table.notes[1]
    assert "Both at once" in report_html(tables, title="x")


def test_an_open_part_leaves_open_only_what_it_decides(tmp_path):
    table = measured(run_of(tmp_path, (["RR?!", "RRRR"], ["RRRR", "RRRR"])))["joint"]
    answer = table.one(cell="answer", policy="base")
    assert (answer.value, answer.n_graded, answer.n_ungraded) == (1.0, 6, 2)
    assert (answer.bound_low, answer.bound_high) == (0.75, 1.0)
    both = table.one(cell="both", policy="base")
    assert (both.n_graded, both.n_ungraded) == (7, 1)
    assert both.value == pytest.approx((2 / 3 + 1) / 2)
    assert (both.bound_low, both.bound_high) == (0.75, 0.875)
    constraint = table.one(cell="constraint", policy="base")
    assert (constraint.value, constraint.n_ungraded, constraint.bound_low) == (0.875, 0, None)


def test_other_names_and_no_parts(tmp_path):
    table = measured(run_of(tmp_path, (["Rn"], ["RR"]), names=("right", "compliant")))["joint"]
    assert value(table, "right only", policy="rl") == 0.0
    plain = run_of(tmp_path / "b", (["Rn"], ["RR"]), names=("format", "length"))
    assert measured(plain)["joint"].rows == ()


def test_parts_are_laid_out_by_rollout(tmp_path):
    run = run_of(tmp_path, (["R?", "nc"], ["R", "R"]))
    samples = run.samples(policy_key=POLICIES[0].key, spec_key=SPEC.key, task="t")
    assert sorted(samples.parts) == ["answer", "constraint"]
    places = {key: place for place, key in enumerate(samples.prompt_keys)}
    first = places[user_prompt("t", "1", "q0").key]
    mine = samples.parts["answer"][samples.prompt_R == first].tolist()
    assert mine[0] == 1.0
    assert mine[1] != mine[1]
    other = samples.parts["constraint"][samples.prompt_R != first].tolist()
    assert other == [0.0, 1.0]
    with pytest.raises(KeyError):
        samples.parts["nothing"]
