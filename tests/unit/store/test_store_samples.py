from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewardable.records import FinishReason, Outcome, Policy, Rollout, failed_completion
from rewardable.store import NOT_GRADED, Run

CODES = {Outcome.CORRECT: 1, Outcome.WRONG: 0, Outcome.UNGRADED: -1}


def test_arrays_say_what_was_stored(world: Any) -> None:
    run = world.run
    run.add_rollouts(
        [
            world.rollout(1, 1, "b", token_ids=(1, 2, 3), entropies=(0.5, 0.25, 0.0)),
            world.rollout(1, 0, "a", finish_reason=FinishReason.LENGTH),
            Rollout(id=world.id(0, 0), completion=failed_completion("oom")),
            world.rollout(0, 1, "a"),
        ]
    )
    run.add_verdicts(
        [
            world.verdict(1, 1, score=0.5, labels={"solution": "4*7-9", "entry": "4*"}),
            world.verdict(1, 0, Outcome.WRONG, labels={"entry": "7-"}),
            world.verdict(0, 0, Outcome.UNGRADED, reason="engine: oom"),
        ]
    )
    samples = run.samples(**world.place, task="t")
    assert samples.prompt_keys == tuple(world.keys[:2])
    assert samples.prompt_R.tolist() == [0, 0, 1, 1]
    assert samples.index_R.tolist() == [0, 1, 0, 1]
    assert samples.outcome_R.tolist() == [-1, -1, 0, 1]
    assert samples.finish_R.tolist() == [2, 0, 1, 0]
    assert samples.length_R.tolist() == [-1, -1, -1, 3]
    np.testing.assert_equal(samples.score_R, [np.nan, np.nan, np.nan, 0.5])
    np.testing.assert_equal(samples.first_entropy_R, [np.nan] * 3 + [0.5])
    np.testing.assert_equal(samples.mean_entropy_R, [np.nan] * 3 + [0.25])
    text_R = samples.text_R
    assert text_R[1] == text_R[2] != text_R[3]
    assert samples.labels["solution"].tolist() == [-1, -1, -1, 0]
    assert samples.label_names == {"entry": ("7-", "4*"), "solution": ("4*7-9",)}
    assert samples.labels["entry"].tolist() == [-1, -1, 0, 1]
    assert samples.totals["solution"].tolist() == [
        float(prompt.facts["totals"]["solution"]) for prompt in world.prompts[:2]
    ]
    assert samples.reasons == {"engine: oom": 1, NOT_GRADED: 1}
    assert (samples.n_P.tolist(), samples.c_P.tolist()) == ([0, 2], [0, 1])
    dtypes = {name: getattr(samples, name).dtype.name for name in ("prompt_R", "outcome_R")}
    assert dtypes == {"prompt_R": "int32", "outcome_R": "int8"}


def test_nothing_stored_gives_empty_arrays(world: Any) -> None:
    samples = world.run.samples(**world.place)
    assert samples.prompt_keys == ()
    assert samples.outcome_R.shape == samples.text_R.shape == (0,)
    assert (samples.labels, samples.totals, samples.reasons) == ({}, {}, {})


def test_only_the_asked_policy_spec_and_task_are_read(world: Any) -> None:
    other = Policy(name="rl", weights="w1", template="raw")
    world.run.add_policies([other])
    world.run.add_rollouts([world.rollout(0, 0)])
    assert len(world.run.samples(**world.place, task="t").outcome_R) == 1
    assert len(world.run.samples(**world.place, task="other").outcome_R) == 0
    rest = {**world.place, "policy_key": other.key}
    assert len(world.run.samples(**rest).outcome_R) == 0


def test_regrading_never_touches_rollouts_and_the_newest_verdict_counts(world: Any) -> None:
    run = world.run
    run.add_rollouts([world.rollout(0, 0), world.rollout(0, 1)])
    before = sorted((run.path / "rollouts").iterdir())
    run.add_verdicts([world.verdict(0, i, version="2") for i in range(2)])
    run.add_verdicts([world.verdict(0, 0, Outcome.WRONG, version="1")])
    run.add_verdicts([world.verdict(0, 1, Outcome.UNGRADED, verifier="w", version="9")])

    def outcomes(**asked: str) -> list[int]:
        return run.samples(**world.place, **asked).outcome_R.tolist()

    assert outcomes() == [0, -1]
    assert outcomes(verifier="v") == [0, 1]
    assert outcomes(verifier="v", version="2") == [1, 1]
    assert outcomes(verifier="v", version="1") == [0, -1]
    assert outcomes(verifier="w") == [-1, -1]
    assert sorted((run.path / "rollouts").iterdir()) == before


def test_a_verdict_without_labels_beside_one_with(world: Any) -> None:
    world.run.add_rollouts([world.rollout(0, i) for i in range(4)])
    world.run.add_verdicts(
        [world.verdict(0, 0), world.verdict(0, 3, labels={"a": "x"}), world.verdict(0, 1)]
    )
    assert world.run.samples(**world.place).labels["a"].tolist() == [-1, -1, -1, 0]


rows = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["", "a", "b", "ä"]),
    st.none() | st.sampled_from(Outcome),
    st.dictionaries(st.sampled_from(["solution", "entry"]), st.sampled_from("xyz"), max_size=2),
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(rows, min_size=1, max_size=25), st.integers(1, 4))
def test_samples_agree_with_a_plain_loop(
    build_world: Any, tmp_path_factory: pytest.TempPathFactory, drawn: Any, parts: int
) -> None:
    world = build_world(tmp_path_factory.mktemp("loop") / "run")
    counter: Counter[int] = Counter()
    truth: dict[tuple[int, int], Any] = {}
    for prompt, *rest in drawn:
        truth[prompt, counter[prompt]] = rest
        counter[prompt] += 1
    places = list(truth)
    for start in range(parts):
        mine = places[start::parts]
        world.run.add_rollouts([world.rollout(*place, truth[place][0]) for place in mine])
        said = [(place, truth[place]) for place in mine if truth[place][1] is not None]
        world.run.add_verdicts([world.verdict(*p, o, labels=labels) for p, (_, o, labels) in said])
    samples = Run.open(world.run.path).samples(**world.place)
    order = sorted(places)
    used = sorted({prompt for prompt, _ in places})
    assert samples.prompt_keys == tuple(world.keys[prompt] for prompt in used)
    assert [used[code] for code in samples.prompt_R] == [prompt for prompt, _ in order]
    assert samples.index_R.tolist() == [index for _, index in order]
    expected = [-1 if truth[p][1] is None else CODES[truth[p][1]] for p in order]
    assert samples.outcome_R.tolist() == expected
    pairs = set(zip((truth[place][0] for place in order), samples.text_R.tolist(), strict=True))
    assert len(pairs) == len({text for text, _ in pairs}) == len({code for _, code in pairs})
    for kind in ("solution", "entry"):
        names = [None if truth[p][1] is None else truth[p][2].get(kind) for p in order]
        codes = samples.labels.get(kind, np.full(len(order), -1))
        got = [None if code < 0 else samples.label_names[kind][code] for code in codes]
        assert got == names
