"""Training rollouts in a real run folder: marked, once, by step; what measuring says of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rewardable.measure.config import MeasureConfig
from rewardable.measure.run import measure_run
from rewardable.records import (
    TRAINING,
    FinishReason,
    Outcome,
    SamplingSpec,
    Verdict,
    user_prompt,
)
from rewardable.store import Run
from rewardable.train.logs import RolloutRecorder
from rewardable.train.shaping import ShapedReward
from rewardable.train.taps import RolloutBatch

PROMPTS = {p.key: p for p in (user_prompt("echo", "1", f"say {word}") for word in "abc")}
KEYS = tuple(PROMPTS)
SPEC = SamplingSpec(max_new_tokens=3)


def batch_of(step: int, keys: Sequence[str], cut: bool = False) -> RolloutBatch:
    outcomes = [Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED, Outcome.CORRECT]
    said = [
        Verdict(outcome=one, verifier="echo", version="1", reason="no")
        for one, _ in zip(outcomes * len(keys), keys, strict=False)
    ]
    return RolloutBatch(
        step=step,
        group_size=2,
        prompt_keys=tuple(keys),
        texts=tuple(f"{step}.{row}" for row in range(len(keys))),
        token_ids=((4, 5, 0),) * len(keys),
        truncated=(cut,) * len(keys),
        shaped=tuple(
            ShapedReward(prompt_key=k, verdict=v, base=None)
            for k, v in zip(keys, said, strict=True)
        ),
    )


def recorder(run: Run, **more: int) -> RolloutRecorder:
    return RolloutRecorder(run, PROMPTS, SPEC, run="r1", template="raw", **more)


def texts(run: Run, taken: RolloutRecorder, step: int) -> list[str]:
    rows = run.rollouts(policy_key=taken.policy(step).key, spec_key=SPEC.key)
    return [rollout.completion.text for rollout, _ in rows]


def pair(key: str) -> tuple[str, str]:
    return key, key


def test_every_step_is_a_policy_and_every_row_is_marked(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {"kind": "training"})
    taken = recorder(run)
    for step in (0, 1):
        assert taken(batch_of(step, [*pair(KEYS[0]), *pair(KEYS[1])], cut=step == 1)) == {}
    assert taken.flush() == 8
    assert taken.flush() == 0
    assert [policy.name for policy in run.policies()] == ["training step 0", "training step 1"]
    assert all(origin.startswith(TRAINING) for _, origin in run.provenances())
    (first, verdict), *_ = run.rollouts(policy_key=taken.policy(1).key, spec_key=SPEC.key)
    assert first.completion.finish_reason is FinishReason.LENGTH
    assert first.completion.token_ids == (4, 5, 0)
    assert verdict is not None
    assert sorted(texts(run, taken, 1)) == ["1.0", "1.1", "1.2", "1.3"]


def test_a_prompt_that_comes_twice_in_a_step_is_counted_on(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    taken = recorder(run)
    taken(batch_of(0, pair(KEYS[0])))
    taken(batch_of(0, pair(KEYS[0])))
    taken(batch_of(1, pair(KEYS[0])))
    taken.flush()
    ids = run.rollout_ids(taken.policy(0).key, SPEC.key)
    assert sorted(one.index for one in ids) == [0, 1, 2, 3]


def test_a_run_that_goes_on_doubles_nothing(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    first = recorder(run, flush_rows=4)
    for step in (0, 1, 2):
        first(batch_of(step, pair(KEYS[step])))
    again = recorder(Run.open(run.path))
    for step in (1, 2, 3):
        again(batch_of(step, pair(KEYS[step % 3])))
    assert again.flush() == 4
    assert [len(texts(run, again, step)) for step in range(4)] == [2, 2, 2, 2]
    assert run.n_pending("echo", "1", KEYS) == 0


def test_measuring_says_loudly_what_these_rows_are(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    taken = recorder(run)
    for step in (0, 1):
        taken(batch_of(step, [key for name in KEYS for key in pair(name)]))
    taken.flush()
    keys = [policy.key for policy in run.policies()]
    tables = measure_run(run, MeasureConfig(base=keys[0], trained=(keys[1],)))
    for name in ("overview", "verdict"):
        (note,) = [note for note in tables[name].notes if note.startswith("Drawn while training")]
        assert "training step 0, training step 1" in note


def test_rows_of_unknown_length_end_unknown(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    taken = recorder(run)
    batch = batch_of(0, pair(KEYS[0]))
    taken(
        RolloutBatch(
            step=0,
            group_size=2,
            prompt_keys=batch.prompt_keys,
            texts=batch.texts,
            token_ids=((), ()),
            truncated=(False, False),
            shaped=batch.shaped,
        )
    )
    taken.flush()
    (rollout, _), *_ = run.rollouts(policy_key=taken.policy(0).key, spec_key=SPEC.key)
    assert rollout.completion.finish_reason is FinishReason.UNKNOWN


@pytest.mark.parametrize("step", [0, 7])
def test_the_policy_of_a_step_is_no_other_run_s(tmp_path: Path, step: int) -> None:
    run = Run.create(tmp_path / "run", {})
    other = RolloutRecorder(run, PROMPTS, SPEC, run="r2", template="raw")
    assert recorder(run).policy(step).key != other.policy(step).key
    assert recorder(run).policy(step).key == recorder(run).policy(step).key
