"""Checkpoint sampling over policies with known behaviour."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rewardable.engines import EngineOptions, open_engine
from rewardable.engines.mixing.checkpoints import mixed_logprobs
from rewardable.engines.mixing.schedule import one_period, part_of
from rewardable.errors import ConfigError, DataError
from rewardable.protocols import SampleRequest, Scorer
from rewardable.records import SamplingSpec, user_prompt

PROMPTS = [user_prompt("t", "1", str(number)) for number in range(40)]
SPEC = SamplingSpec(seed=5)
TABLES = {"a": {"x": 0.5, "y": 0.5}, "b": {"y": 0.2, "z": 0.8}, "c": {"w": 1.0}}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    for name, row in TABLES.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"name": name, "table": {"*": row}}))
    return {name: f"fake:{tmp_path / name}.json" for name in TABLES}


def rows(engine, n: int) -> dict:
    wanted = [SampleRequest(prompt=p, indices=tuple(range(n))) for p in PROMPTS]
    return {(r.id.prompt_key, r.id.index): r for r in engine.sample(wanted, SPEC)}


@pytest.mark.parametrize("weights", [(1, 1), (7, 3), (2, 1, 1), (97, 2, 1), (5, 3, 3, 1)])
def test_every_stretch_holds_the_shares(weights: tuple[int, ...]) -> None:
    order = one_period(weights)
    period = sum(weights)
    assert Counter(order) == dict(enumerate(weights))
    bound = 1 - 1 / (2 * len(weights) - 2)
    long = np.array(order * 3)
    for part, weight in enumerate(weights):
        ahead = np.cumsum(long == part) - np.arange(1, len(long) + 1) * weight / period
        assert np.abs(ahead).max() <= bound + 1e-9
        assert ahead.max() - min(0, ahead.min()) <= 2 * bound + 1e-9  # any stretch's deviation


def test_the_first_row_of_a_random_prompt_has_the_weights() -> None:
    parts = [part_of((7, 3), 0, f"prompt {i}", 0) for i in range(4000)]
    assert np.mean(parts) == pytest.approx(0.3, abs=0.03)
    assert parts != [part_of((7, 3), 1, f"prompt {i}", 0) for i in range(4000)]


def test_rows_are_those_of_the_checkpoints(files: dict[str, str]) -> None:
    mixed = open_engine(f"mix:checkpoints,weights=0.7/0.3,{files['a']},{files['b']}")
    found = rows(mixed, 20)
    assert len(found) == 20 * len(PROMPTS)
    own = {name: rows(open_engine(files[name]), 20) for name in "ab"}
    for prompt in PROMPTS:
        drawn = [found[prompt.key, i] for i in range(20)]
        names = ["ab"["mixing of b" in row.provenance] for row in drawn]
        assert Counter(names) == {"a": 14, "b": 6}
        for i, (row, name) in enumerate(zip(drawn, names, strict=True)):
            assert row.completion == own[name][prompt.key, i].completion
            assert row.id.policy_key == mixed.policy.key
    again = rows(mixed, 7)
    assert all(found[key] == row for key, row in again.items())


def test_the_key_is_made_of_parts_and_weights(files: dict[str, str], tmp_path: Path) -> None:
    def key(text: str) -> str:
        return open_engine(f"mix:checkpoints,{text}").policy.key

    a, b, c = files.values()
    assert key(f"weights=2/1,{a},{b}") == key(f"weights=4/2,{a},{b}")
    moved = tmp_path / "moved.json"
    moved.write_text((tmp_path / "a.json").read_text())
    assert key(f"weights=2/1,{a},{b}") == key(f"weights=2/1,fake:{moved},{b}")
    others = {key(f"weights=1/2,{a},{b}"), key(f"weights=2/1,{a},{c}"), key(f"{a},{b},{c}")}
    assert len({key(f"weights=2/1,{a},{b}"), *others}) == 4


def test_a_part_comes_once_and_fakes_do_not_score(files: dict[str, str]) -> None:
    with pytest.raises(DataError, match="twice"):
        open_engine(f"mix:checkpoints,{files['a']},{files['a']}")
    engine = open_engine(f"mix:checkpoints,{files['a']},{files['b']}")
    assert not isinstance(engine, Scorer)  # a fake's ids are places in its own table
    with pytest.raises(ConfigError, match="both models in this process"):
        open_engine(f"mix:logits,alpha=0.5,{files['a']},{files['b']}")
    with pytest.raises(ConfigError, match="cannot be put on"):
        open_engine(f"mix:checkpoints,{files['a']},{files['b']}", EngineOptions(adapter="x"))


def test_mixed_log_probs_are_those_of_a_part_drawn_unseen() -> None:
    shares = np.array([0.7, 0.3])
    p = np.array([[0.5, 0.1, 0.9], [0.2, 0.8, 0.0]])
    got = mixed_logprobs(np.log(shares), np.log(p, where=p > 0, out=np.full(p.shape, -np.inf)))
    first = 0.7 * 0.5 + 0.3 * 0.2
    second = (0.7 * 0.5 * 0.1 + 0.3 * 0.2 * 0.8) / first
    third = 0.7 * 0.5 * 0.1 * 0.9 / (first * second)
    assert np.exp(got) == pytest.approx([first, second, third])
    never = mixed_logprobs(np.log(shares), np.full((2, 3), -np.inf))
    assert np.isneginf(never).all()
