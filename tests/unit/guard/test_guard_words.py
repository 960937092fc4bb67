"""Options, recorded lines and the catalogue."""

from __future__ import annotations

import math

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.guard import (
    ACTIONS,
    REMEDIES,
    SIGNALS,
    Audit,
    GuardConfig,
    Metric,
    Observation,
    PromptAudit,
    RunMeta,
    line_of,
    parse_line,
)
from rewardable.guard.anchor import KINDS
from rewardable.guard.names import ALIASES, is_unused, signal_of
from rewardable.guard.remedies import remedy_for
from rewardable.guard.streams import RULES


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"alpha": 0.5},
        {"tolerated": 1.0},
        {"stop_at": 0.01},
        {"group": 1},
        {"looks": 0},
        {"ask_at": 1.0},
        {"extra_audits": -1},
    ],
)
def test_options_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        GuardConfig.from_dict(wrong)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ({"tolerate": 0.1}, "tolerated"),
        ({"allowed": ("rollback",)}, "roll_back"),
        ({"aliases": {"x": "entropi"}}, "entropy"),
    ],
)
def test_unknown_words_get_a_suggestion(wrong: dict[str, object], near: str) -> None:
    with pytest.raises(ConfigError, match=f"Did you mean .*{near}"):
        GuardConfig.from_dict(wrong)


def test_options_come_back() -> None:
    config = GuardConfig(alpha=0.01, allowed=("stop",), aliases={"a": "kl"}, expected=("kl",))
    assert GuardConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("entropy", "entropy"),
        ("train/entropy", "entropy"),
        ("actor/entropy", "entropy"),
        ("completions/mean_length", "length"),
        ("response_length/mean", "length"),
        ("actor/ppo_kl", "kl"),
        ("frac_reward_zero_std", "zero_variance_share"),
    ],
)
def test_names_of_trainers(name: str, signal: str) -> None:
    assert signal_of(name, {}) == signal


def test_a_held_out_metric_is_not_read_as_a_training_one() -> None:
    assert signal_of("eval_entropy", {}) is None
    assert signal_of("val-core/gsm8k/acc/mean@4", {}) is None
    assert not is_unused("val-core/gsm8k/acc/mean@4")
    assert is_unused("rewards/correct/mean")


def test_no_name_has_two_meanings_and_every_signal_a_rule() -> None:
    names = [name for group in ALIASES.values() for name in group]
    assert len(names) == len(set(names))
    assert set(RULES) == set(SIGNALS)


def test_every_signal_has_a_remedy() -> None:
    for signal in (*SIGNALS, *KINDS):
        entry = remedy_for([signal])
        assert entry is not None
        assert entry.remedy
    assert all(set(entry.actions) <= set(ACTIONS) for entry in REMEDIES)
    assert remedy_for([]) is None


def test_the_more_specific_remedy_is_taken() -> None:
    both = remedy_for(["support@8", "distinct@16"])
    assert both is not None
    assert "roll back" in both.remedy
    assert "format rule" in getattr(remedy_for(["distinct@16", "length"]), "remedy", "")


def test_a_recorded_run_comes_back() -> None:
    meta = RunMeta(
        run="a", label="collapsing", support=((0, 0.4), (50, 0.3), (100, 0.1)), measure="m",
        config={"lr": 1e-3},
    )  # fmt: skip
    counts = {"p": PromptAudit(n=16, c=3, distinct=2), "q": PromptAudit(n=15, c=0, distinct=None)}
    look = Audit(task="t", prompts=counts)
    row = Observation(
        step=5,
        metrics={
            "a": Metric(value=0.5),
            "b": Metric(value=0.5, n=8),
            "c": Metric(value=0.5, n=8, standard_error=0.1),
        },
        audits=(look, look),
    )
    assert parse_line(line_of(meta)) == meta
    assert parse_line(line_of(row)) == row
    assert parse_line(line_of(Observation(step=1))) == Observation(step=1)
    one = parse_line('{"kind":"row","step":0,"metrics":{"a":null},"audit":{"t":{"p":[4,1,1]}}}')
    assert isinstance(one, Observation)
    assert len(one.audits) == 1
    value = one.metrics["a"]
    assert isinstance(value, Metric)
    assert math.isnan(value.value)


def test_truth_of_a_recorded_run() -> None:
    meta = RunMeta(run="a", label="collapsing", support=((0, 0.4), (50, 0.3), (100, 0.1)))
    assert meta.retained == pytest.approx(0.25)
    assert meta.step_at(0.5) == pytest.approx(75.0)
    assert meta.step_at(0.2) is None


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"kind":"other"}',
        '{"kind":"row"}',
        '{"kind":"row","step":1,"audit":{"t":{"p":[4,5,1]}}}',
        '{"kind":"row","step":1,"audit":{"t":{"p":[4,1]}}}',
        '{"kind":"meta","version":2,"run":"a","truth":{"label":"healthy","support":[[0,1],[1,1]]}}',
        '{"kind":"meta","version":1,"run":"a","truth":{"label":"fine","support":[[0,1],[1,1]]}}',
        '{"kind":"meta","version":1,"run":"a","truth":{"label":"healthy","support":[[0,1]]}}',
    ],
)
def test_lines_that_are_none(line: str) -> None:
    with pytest.raises(DataError):
        parse_line(line)


def test_counts_that_cannot_be() -> None:
    for wrong in (
        {"n": 4, "c": 5},
        {"n": 4, "c": 2, "distinct": 3},
        {"n": 4, "c": 2, "distinct": 0},
    ):
        with pytest.raises(DataError):
            PromptAudit(**wrong)
    with pytest.raises(DataError):
        Audit(task="t", prompts={})
