"""The adaptive KL coefficient and the early stop on sequences made by hand."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.train.preserve import AdaptiveKLConfig, EarlyStopConfig
from rewardable.train.preserve.kl import KLState, advance, start
from rewardable.train.preserve.smooth import Level, observe
from rewardable.train.preserve.staged import StopState, stopped_early, watch_entropy

CONFIG = AdaptiveKLConfig(baseline=3, window=1, cooldown=4, patience=5)


def run(config: AdaptiveKLConfig, lines: list[tuple[float, float, float]]) -> list[KLState]:
    state, seen = start(config), []
    for entropy, support, reward in lines:
        state = advance(config, state, entropy=entropy, support=support, reward=reward)
        seen.append(state)
    return seen


def test_a_steady_run_keeps_the_coefficient() -> None:
    states = run(CONFIG, [(2.0, 0.9, 0.1 + 0.02 * i) for i in range(40)])
    assert {state.beta for state in states} == {0.05}


@pytest.mark.parametrize("which", [0, 1])
def test_falling_entropy_or_support_raises_it_to_the_top_and_no_further(which: int) -> None:
    lines = [(2.0, 0.9, 0.02 * i) for i in range(5)]
    for i in range(30):
        row = [2.0, 0.9, 0.1 + 0.02 * i]
        row[which] *= 0.9 ** (i + 1)
        lines.append((row[0], row[1], row[2]))
    states = run(CONFIG, lines)
    assert states[4].beta == 0.05
    assert states[-1].beta == pytest.approx(0.1)
    moves = [state for state in states if state.why]
    assert moves[0].why == ["entropy fell", "support fell"][which]
    assert moves[0].lines == 8  # 0.9 ** 3 is the first below 0.8
    gaps = [b.lines - a.lines for a, b in itertools.pairwise(moves)]
    assert min(gaps) > CONFIG.cooldown


def test_nothing_moves_before_the_run_has_shown_its_own_start() -> None:
    states = run(CONFIG, [(2.0, 0.9, 0.1), (0.1, 0.1, 0.1), (0.1, 0.1, 0.1)])
    assert states[-1].beta == 0.05
    assert states[-1].entropy.start == pytest.approx(2.2 / 3)


def test_a_stalled_reward_lowers_it_never_to_zero() -> None:
    states = run(CONFIG, [(2.0, 0.9, 0.3)] * 60)
    assert states[5].beta == pytest.approx(0.02)
    assert states[5].why == "reward stalled"
    assert {state.beta for state in states[5:]} == {0.02}


def test_a_reward_at_its_ceiling_is_not_stalled() -> None:
    assert run(CONFIG, [(2.0, 0.9, 0.99)] * 40)[-1].beta == 0.05


def test_a_fall_outweighs_a_stall_and_the_first_move_goes_back_up() -> None:
    lines = [(2.0, 0.9, 0.3)] * 10 + [(1.0, 0.9, 0.3)] * 30
    betas = [state.beta for state in run(CONFIG, lines)]
    assert betas[9] == pytest.approx(0.02)
    assert max(betas[10:]) == pytest.approx(0.04)


def test_a_state_that_was_stored_goes_on_as_if_never_stopped() -> None:
    lines = [(2.0 * 0.97**i, 0.9, 0.3) for i in range(30)]
    whole = run(CONFIG, lines)
    stored = json.loads(json.dumps(whole[12].to_dict()))
    state = KLState.from_dict(stored)
    assert state == whole[12]
    for entropy, support, reward in lines[13:]:
        state = advance(CONFIG, state, entropy=entropy, support=support, reward=reward)
    assert state == whole[-1]
    with pytest.raises(DataError, match="adaptive KL"):
        KLState.from_dict({"beta": 0.05})


def test_missing_numbers_change_nothing() -> None:
    state = run(CONFIG, [(2.0, 0.9, 0.3)] * 5)[-1]
    after = advance(CONFIG, state, entropy=None, support=float("nan"), reward=None)
    assert (after.entropy, after.support, after.rewards) == (
        state.entropy, state.support, state.rewards,
    )  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"low": 0.0}, {"start": 0.2}, {"up": 1.0}, {"fall": 1.0}, {"patience": 0}]
)
def test_settings_that_cannot_be_meant_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(change))):
        AdaptiveKLConfig(**change)  # type: ignore[arg-type]


def test_the_smoothed_level_is_the_weighted_mean_it_says() -> None:
    level = Level()
    for value in (1.0, 3.0, 5.0, 9.0):
        level = observe(level, value, baseline=2, window=3)
    assert level.start == 2.0
    assert level.smooth == pytest.approx(2.0 * 0.25 + 5.0 * 0.25 + 9.0 * 0.5)


def test_early_stop_needs_a_lasting_fall(tmp_path: Path) -> None:
    config = EarlyStopConfig(ratio=0.5, baseline=2, window=1, patience=3)
    state = StopState()
    for entropy in (2.0, 2.0, 0.5, 0.5, 1.5, 0.5, 0.5):
        state = watch_entropy(config, state, entropy)
    assert (state.below, state.stop) == (2, False)
    state = watch_entropy(config, StopState.from_dict(json.loads(json.dumps(state.to_dict()))), 0.5)
    assert state.stop
    kept = {"EarlyStop": {"args": {}, "attributes": {"now": state.to_dict()}}}
    (tmp_path / "trainer_state.json").write_text(json.dumps({"stateful_callbacks": kept}))
    assert stopped_early(tmp_path)
