from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardable.errors import DataError
from rewardable.records import (
    Completion,
    FinishReason,
    Graded,
    Message,
    Outcome,
    Policy,
    Prompt,
    Rollout,
    SamplingSpec,
    Verdict,
    failed_completion,
)
from rewardable.results import Estimate, Row, Table
from rewardable.store import Run

texts = st.text(st.characters(codec=None))  # half surrogate pairs included
clean = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.floats(allow_nan=False, max_value=0.0)


@st.composite
def completions(draw: st.DrawFn) -> Completion:
    tokens = draw(st.lists(st.integers(0, 2**31 - 1), max_size=5))

    def field(values: st.SearchStrategy[float]) -> tuple[float, ...]:
        given = draw(st.booleans())
        size = len(tokens) if given else 0
        return tuple(draw(st.lists(values, min_size=size, max_size=size)))

    return Completion(
        text=draw(texts),
        token_ids=tuple(tokens),
        logprobs=field(numbers),
        sampling_logprobs=field(numbers),
        entropies=field(st.floats(0, 12)),
        finish_reason=draw(st.sampled_from(FinishReason)),
        failure=draw(clean),
    )


@st.composite
def verdicts(draw: st.DrawFn) -> Verdict:
    outcome = draw(st.sampled_from(Outcome))
    return Verdict(
        outcome=outcome,
        verifier=draw(clean),
        version=draw(clean),
        reason=draw(clean) or "because",
        score=draw(st.none() | st.floats(0, 1)),
        parts=draw(st.dictionaries(clean, st.none() | st.floats(0, 1), max_size=3)),
        labels=draw(st.dictionaries(clean, clean, max_size=3)),
    )


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(rows=st.lists(st.tuples(completions(), st.none() | verdicts()), min_size=1, max_size=4))
def test_round_trip_without_loss(
    build_world: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory, rows: Any
) -> None:
    world = build_world(tmp_path_factory.mktemp("round") / "run")
    rollouts = [
        Rollout(id=world.id(0, index), completion=completion, provenance="test")
        for index, (completion, _) in enumerate(rows)
    ]
    world.run.add_rollouts(rollouts)
    world.run.add_verdicts(
        [Graded(id=r.id, verdict=v) for r, (_, v) in zip(rollouts, rows, strict=True) if v]
    )
    back = list(Run.open(world.run.path).rollouts(**world.place))
    assert back == [(r, v) for r, (_, v) in zip(rollouts, rows, strict=True)]


@given(
    st.lists(st.tuples(texts, texts), max_size=3),
    st.dictionaries(texts, st.lists(st.integers() | texts | st.none()), max_size=3),
    st.none() | clean,
)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_prompts_round_trip(
    tmp_path_factory: pytest.TempPathFactory, turns: Any, facts: Any, key: str | None
) -> None:
    run = Run.create(tmp_path_factory.mktemp("prompts") / "run", {})
    messages = tuple(Message(role=role, content=text) for role, text in turns)
    prompt = Prompt(task="t", task_version="1", messages=messages, facts=facts, explicit_key=key)
    run.add_prompts([prompt])
    assert Run.open(run.path).prompts("t") == [prompt]


def test_policies_and_specs_round_trip_and_keep_their_first_name(world: Any) -> None:
    twin = replace(world.policy, name="step-0")
    other = Policy(name="\ud835", weights="w1", template="raw", adapter="a", source="s")
    spec = SamplingSpec(temperature=0.6, stop=("\n", "\u2028"), seed=7)
    world.run.add_policies([twin, other])
    world.run.add_specs([spec, world.spec])
    fresh = Run.open(world.run.path)
    assert fresh.policies() == [world.policy, other]
    assert fresh.specs() == [world.spec, spec]


def test_a_stored_rollout_is_refused_and_nothing_of_its_batch_is_written(
    world: Any, stored: Any
) -> None:
    world.run.add_rollouts([world.rollout(0, 0)])
    with pytest.raises(DataError, match=r"rollout 0 of prompt .* is already stored"):
        world.run.add_rollouts([world.rollout(0, 1), world.rollout(0, 0)])
    with pytest.raises(DataError, match="given twice"):
        world.run.add_rollouts([world.rollout(0, 1), world.rollout(0, 1)])
    assert [rollout.id.index for rollout in stored()] == [0]


def test_two_writers_see_each_other(world: Any, stored: Any) -> None:
    other = Run.open(world.run.path)
    world.run.add_rollouts([world.rollout(0, 0)])
    other.add_rollouts([world.rollout(0, 1)])
    with pytest.raises(DataError, match="already stored"):
        world.run.add_rollouts([world.rollout(0, 1)])
    assert world.run.rollout_ids(**world.place) == {world.id(0, 0), world.id(0, 1)}
    assert len(stored()) == 2


def test_strangers_are_refused(world: Any) -> None:
    good = world.rollout(0, 0)
    for field, add in (("policy_key", "add_policies"), ("spec_key", "add_specs"),
                       ("prompt_key", "add_prompts")):  # fmt: skip
        with pytest.raises(DataError, match=add):
            world.run.add_rollouts([replace(good, id=replace(good.id, **{field: "nobody"}))])
    with pytest.raises(DataError, match="is not stored"):
        world.run.add_verdicts([world.verdict(0, 0)])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"token_ids": (1, 2), "logprobs": (-1.0,)}, "1 logprobs for 2 token ids"),
        ({"token_ids": (1,), "entropies": (math.nan,)}, "entropies hold nan"),
        ({"token_ids": (1,), "logprobs": (math.inf,)}, "logprobs hold inf"),
        ({"token_ids": (2**40,)}, "int32"),
    ],
)
def test_token_fields_that_cannot_be_meant_are_refused(
    world: Any, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        world.run.add_rollouts([world.rollout(0, 0), world.rollout(1, 3, **fields)])


def test_a_forced_token_may_have_no_sampling_probability(world: Any, stored: Any) -> None:
    row = world.rollout(0, 0, token_ids=(1,), sampling_logprobs=(-math.inf,))
    world.run.add_rollouts([row])
    assert stored() == [row]


def test_index_must_fit(world: Any) -> None:
    for index in (-1, 2**31):
        with pytest.raises(DataError, match="must lie in"):
            world.run.add_rollouts([world.rollout(0, index)])


def test_nan_part_is_refused(world: Any) -> None:
    world.run.add_rollouts([world.rollout(0, 0)])
    with pytest.raises(DataError, match="part 'format' of v is nan"):
        world.run.add_verdicts([world.verdict(0, 0, parts={"format": math.nan})])


def test_d01_half_surrogates_are_kept_and_counted(world: Any, stored: Any) -> None:
    rows = [world.rollout(0, 0, "half \ud835 sign"), world.rollout(0, 1, "half \\ud835 sign")]
    world.run.add_rollouts(rows)
    world.run.add_verdicts([world.verdict(0, 0, labels={"answer": "\ud835"}, reason="\udfff")])
    assert stored() == rows
    assert world.run.broken_texts() == 1
    assert len(set(world.run.samples(**world.place).text_R)) == 2
    said = next(verdict for _, verdict in world.run.rollouts(**world.place))
    assert said.labels == {"answer": "\\ud835"}
    assert world.run.write_report("<p>\ud835</p>").read_bytes() == b"<p>\\ud835</p>"


def test_the_same_prompt_with_other_facts_is_a_clash(world: Any) -> None:
    changed = replace(world.prompts[0], facts={"totals": {"solution": 99}})
    with pytest.raises(DataError, match=r"another facts: stored facts .*3.*, got .*99"):
        world.run.add_prompts([changed])
    with pytest.raises(DataError, match="must be JSON"):
        world.run.add_prompts([replace(world.prompts[0], facts={"x": math.nan})])


def test_pending_yields_what_this_version_has_not_judged(world: Any) -> None:
    run = world.run
    run.add_rollouts([world.rollout(p, i) for p in range(2) for i in range(2)])
    run.add_verdicts([world.verdict(0, 0), world.verdict(0, 1, Outcome.UNGRADED)])
    first, second = world.keys[:2]

    def ids(verifier: str, version: str, keys: list[str], **more: Any) -> set[tuple[str, int]]:
        found = list(run.pending(verifier, version, keys, **more))
        return {(rollout.id.prompt_key, rollout.id.index) for rollout in found}

    assert ids("v", "1", [first, second]) == {(second, 0), (second, 1)}
    assert run.n_pending("v", "1", [first, second]) == 2
    assert ids("v", "1", [first]) == set()
    assert ids("v", "1", [first], retry_ungraded=True) == {(first, 1)}
    assert len(ids("v", "2", [first, second])) == 4
    assert len(ids("w", "1", [first])) == 2


def test_pending_may_be_written_to_while_it_is_read(world: Any) -> None:
    world.run.add_rollouts([world.rollout(0, i) for i in range(20)])
    for rollout in world.run.pending("v", "1", world.keys):
        verdict = Verdict(outcome=Outcome.WRONG, verifier="v", version="1")
        world.run.add_verdicts([Graded(id=rollout.id, verdict=verdict)])
    assert world.run.n_pending("v", "1", world.keys) == 0


def test_failed_rows_are_replaced_and_judged_again(world: Any, stored: Any) -> None:
    run = world.run
    failed = Rollout(id=world.id(0, 0), completion=failed_completion("out of memory"))
    run.add_rollouts([failed, world.rollout(0, 1)])
    run.add_verdicts([world.verdict(0, 0, Outcome.UNGRADED), world.verdict(0, 1)])
    assert run.failed_ids(**world.place) == {world.id(0, 0)}
    with pytest.raises(DataError, match="did not fail"):
        run.replace_failed([world.rollout(0, 1, "better")])
    still = Rollout(id=world.id(0, 0), completion=failed_completion("again"))
    run.replace_failed([still])
    assert stored()[0] == still
    good = world.rollout(0, 0, "good")
    Run.open(run.path).replace_failed([good])
    assert stored() == [good, world.rollout(0, 1)]
    assert run.failed_ids(**world.place) == set()
    assert run.samples(**world.place).outcome_R.tolist() == [-1, 1]
    assert [rollout.id for rollout in run.pending("v", "1", world.keys)] == [good.id]
    Run.open(run.path).add_verdicts([world.verdict(0, 0)])
    assert run.samples(**world.place).outcome_R.tolist() == [1, 1]
    with pytest.raises(DataError, match="already stored"):
        run.add_rollouts([good])


def test_tables_and_report(world: Any) -> None:
    rows = (Row(labels={"k": 1}, estimate=Estimate(value=math.nan, n_prompts=3)),)
    table = Table(name="pass@k / base", title="\ud835", rows=rows)
    path = world.run.write_table(table)
    world.run.write_table(Table(name="other", title="x"))
    assert path.parent == world.run.path / "tables"
    back = Run.open(world.run.path).tables()
    assert sorted(back) == ["other", "pass@k / base"]
    assert back["pass@k / base"].one(k=1) == Estimate(value=None, n_prompts=3)
    with pytest.raises(DataError, match="needs a name"):
        world.run.write_table(Table(name="", title=""))


def test_bulk_is_stored_whole_or_not_at_all(world: Any, stored: Any) -> None:
    run = world.run

    def double() -> None:
        with run.bulk() as bulk:
            bulk.add([world.rollout(0, 0)], [world.verdict(0, 0)])
            bulk.add([world.rollout(0, 0)], [])

    with pytest.raises(DataError, match="already stored"):
        double()
    assert stored() == []
    with run.bulk() as bulk:
        assert bulk.next_index(*world.place.values(), world.keys[0]) == 0
        bulk.add([world.rollout(0, i) for i in range(3)], [world.verdict(0, 1)])
        assert bulk.next_index(*world.place.values(), world.keys[0]) == 3
        bulk.add([world.rollout(0, 3)], [world.verdict(0, 0), world.verdict(0, 3)])
    assert run.samples(**world.place).outcome_R.tolist() == [1, 1, -1, 1]
    run.add_rollouts([world.rollout(0, 4)])
    assert len(stored()) == 5


def test_counts(world: Any) -> None:
    run, policy = world.run, world.policy.key
    run.add_counts([policy] * 2, world.keys[:2], [10, 70_000], [0, 3])
    with pytest.raises(DataError, match="has counts of policy"):
        run.add_counts([policy], world.keys[:1], [5], [5])
    with pytest.raises(DataError, match="0 <= c <= n"):
        run.add_counts([policy], world.keys[2:], [5], [6])
    counts = Run.open(run.path).counts(policy_key=policy, task="t")
    assert counts.prompt_keys == tuple(world.keys[:2])
    assert counts.n_P.tolist() == [10, 70_000]
    assert counts.c_P.tolist() == [0, 3]
    assert set(counts.totals["solution"]) <= {3.0, 4.0, 5.0}
    assert len(run.counts(policy_key=policy, task="other").prompt_keys) == 0


def test_groups(world: Any) -> None:
    world.run.add_rollouts([world.rollout(0, i) for i in range(3)])
    world.run.add_counts([world.policy.key], world.keys[:1], [10], [0])
    groups = world.run.groups()
    assert [(g.spec_key, g.n_prompts, g.n_rollouts, g.n_counts) for g in groups] == sorted(
        [(world.spec.key, 1, 3, 0), ("unknown", 1, 0, 1)]
    )
