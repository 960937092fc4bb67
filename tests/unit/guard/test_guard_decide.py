"""What the guard says when."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rewardable.errors import DataError
from rewardable.guard import Audit, Decision, Guard, GuardConfig, Metric, Observation, PromptAudit

TASK = "future"
P, N = 24, 16
BASE = np.linspace(0.1, 0.7, P)


def audit(rng: np.random.Generator, p: np.ndarray, ways: int = 6, task: str = TASK) -> Audit:
    """Rollouts whose successes are spread evenly over ``ways`` solutions."""
    prompts = {}
    for i, one in enumerate(p):
        counts = rng.multinomial(N, [*([one / ways] * ways), 1 - one])[:-1]
        prompts[f"p{i}"] = PromptAudit(n=N, c=int(counts.sum()), distinct=int((counts > 0).sum()))
    return Audit(task=task, prompts=prompts)


def start(rng: np.random.Generator, replicates: int = 4) -> Observation:
    return Observation(step=0, audits=tuple(audit(rng, BASE) for _ in range(replicates)))


def play(
    guard: Guard, rng: np.random.Generator, path: list[tuple[float, int]], first: int = 10
) -> list[Decision]:
    """Look every ten steps at (factor on success rates, number of solutions)."""
    return [
        guard.observe(Observation(step=first + 10 * i, audits=(audit(rng, BASE * factor, ways),)))
        for i, (factor, ways) in enumerate(path)
    ]


def test_a_still_run_stays_silent() -> None:
    rng = np.random.default_rng(0)
    guard = Guard()
    assert guard.observe(start(rng)).state == "ok"
    decisions = play(guard, rng, [(1.0, 6)] * 12)
    assert {one.state for one in decisions} == {"ok"}
    assert not any(one.speaks or one.actions for one in decisions)


def test_gains_in_success_are_no_loss() -> None:
    rng = np.random.default_rng(1)
    guard = Guard()
    guard.observe(start(rng))
    decisions = play(guard, rng, [(1.0 + 0.03 * i, 6) for i in range(12)])
    assert {one.state for one in decisions} == {"ok"}


@pytest.mark.parametrize(
    ("factor", "ways", "signal"), [(0.15, 6, "support@8"), (1.2, 1, "distinct@16")]
)
def test_a_collapse_is_acted_on_with_evidence(factor: float, ways: int, signal: str) -> None:
    rng = np.random.default_rng(2)
    guard = Guard(GuardConfig(allowed=("raise_kl", "add_replay")))
    guard.observe(start(rng))
    decisions = play(guard, rng, [(1.0, 6)] * 3 + [(factor, ways)] * 3)
    assert [one.state for one in decisions[:3]] == ["ok"] * 3
    acted = next(one for one in decisions if one.state == "act")
    assert acted.speaks
    assert acted.actions == ("raise_kl", "add_replay")
    found = next(one for one in acted.evidence if one.signal == signal)
    assert found.fallen >= 2
    assert found.e_value is not None
    assert found.threshold is not None
    assert found.e_value >= found.threshold
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high < found.start_value
    assert (found.n_prompts, found.n_rollouts) == (P, P * N)
    assert "remedy" in acted.remedy


def test_success_that_hides_lost_solutions_is_named_so() -> None:
    rng = np.random.default_rng(3)
    guard = Guard()
    guard.observe(start(rng))
    last = play(guard, rng, [(1.3, 1)] * 3)[-1]
    fallen = {one.signal for one in last.evidence if one.fallen >= 2}
    assert fallen == {"distinct@16"}
    assert "ways to be right" in last.remedy


def test_variation_lost_to_success_only_warns() -> None:
    rng = np.random.default_rng(4)
    guard = Guard()
    guard.observe(Observation(step=0, audits=tuple(audit(rng, BASE) for _ in range(4))))
    solved = np.full(P, 0.995)
    decisions = [
        guard.observe(Observation(step=10 * i, audits=(audit(rng, solved, 6),)))
        for i in range(1, 5)
    ]
    found = next(one for one in decisions[-1].evidence if one.signal == "trainability@8")
    assert found.value < 0.3 * found.start_value
    assert found.fallen == 1
    assert "solved" in found.note
    assert {one.state for one in decisions} <= {"ok", "warn"}
    assert decisions[-1].last_good == 0 or decisions[-1].state == "warn"


def test_only_allowed_actions_and_each_once() -> None:
    rng = np.random.default_rng(5)
    guard = Guard(GuardConfig(allowed=("lower_learning_rate", "roll_back")))
    guard.observe(start(rng))
    decisions = play(guard, rng, [(1.0, 6)] * 3 + [(0.05, 6)] * 5)
    assert decisions[-1].state == "roll_back"
    assert decisions[-1].last_good in {10, 20, 30}
    spoken = [one for one in decisions if one.speaks]
    assert all(one.actions for one in spoken if one.state in {"act", "roll_back"})
    assert sum("roll_back" in one.actions for one in decisions) == 1
    assert not any(one.actions for one in decisions if not one.speaks)
    silent = Guard()
    silent.observe(start(rng))
    said = play(silent, rng, [(0.05, 6)] * 4)
    assert {one.state for one in said} <= {"ok", "warn", "act"}
    assert not any(one.actions for one in said)
    assert "stop now" in said[-1].remedy


def test_what_was_acted_on_in_vain_escalates() -> None:
    rng = np.random.default_rng(6)
    guard = Guard(GuardConfig(allowed=("raise_kl", "stop"), stop_at=0.9, patience=3))
    guard.observe(start(rng))
    states = [one.state for one in play(guard, rng, [(0.25, 3)] * 8)]
    first = states.index("act")
    assert "stop" not in states[: first + 3]
    assert states[first + 3] == "stop"


def test_a_recovery_is_said_once_and_not_at_the_first_good_look() -> None:
    rng = np.random.default_rng(7)
    guard = Guard()
    guard.observe(start(rng))
    decisions = play(guard, rng, [(0.3, 3)] * 3 + [(1.0, 6)] * 8)
    states = [one.state for one in decisions]
    assert states[2] == "act"
    assert states[3] == "act"  # one good look is not enough
    assert states[-1] == "ok"
    assert sum(one.speaks for one in decisions[3:]) <= 2


def test_after_a_roll_back_evidence_is_gathered_anew() -> None:
    rng = np.random.default_rng(8)
    guard = Guard(GuardConfig(allowed=("roll_back",)))
    guard.observe(start(rng))
    play(guard, rng, [(1.0, 6)] + [(0.05, 6)] * 3)
    with pytest.raises(DataError, match="rolled_back"):
        guard.observe(Observation(step=10))
    guard.rolled_back(10)
    assert guard.observe(Observation(step=11, metrics={"loss": 0.1})).state == "ok"
    again = play(guard, rng, [(1.0, 6)] * 2, first=20)
    assert [one.state for one in again] == ["ok", "ok"]
    assert "roll_back" in {one.state for one in play(guard, rng, [(0.05, 6)] * 4, first=40)}


def test_an_early_audit_is_asked_for_when_evidence_begins() -> None:
    rng = np.random.default_rng(9)
    guard = Guard(GuardConfig(alpha=0.001, warn_alpha=0.001))
    guard.observe(start(rng))
    decisions = play(guard, rng, [(1.0, 6)] * 2 + [(0.5, 4)] * 3)
    assert not any(one.audit_wanted for one in decisions[:2])
    assert any(one.audit_wanted for one in decisions[2:])
    none = Guard(GuardConfig(extra_audits=0, alpha=0.001, warn_alpha=0.001))
    none.observe(start(rng))
    assert not any(one.audit_wanted for one in play(none, rng, [(0.5, 4)] * 3))


def test_logged_metrics_alone_warn_and_ask_but_never_act() -> None:
    rng = np.random.default_rng(10)
    guard = Guard()
    guard.observe(start(rng))
    decisions = [
        guard.observe(
            Observation(
                step=step, metrics={"entropy": (0.5 if step < 15 else 0.05) + rng.normal(0, 0.01)}
            )
        )
        for step in range(1, 60)
    ]
    assert {one.state for one in decisions} == {"ok", "warn"}
    said = next(one for one in decisions if one.speaks)
    assert said.audit_wanted
    assert said.step >= 30  # three blocks in a row
    assert "entropy" in said.remedy
    assert decisions[-1].state == "warn"


def test_a_low_but_steady_entropy_is_no_alarm() -> None:
    rng = np.random.default_rng(11)
    guard = Guard()
    for step in range(200):
        seen = Observation(step=step, metrics={"entropy": 0.05 + rng.normal(0, 0.003)})
        assert guard.observe(seen).state == "ok"


def test_g01_groups_without_variation_alarm_whatever_the_batch_spread() -> None:
    guard = Guard()
    rows = [{"frac_reward_zero_std": 1.0, "reward_std": 0.5345}] * 30
    states = [guard.observe(Observation(step=i, metrics=row)).state for i, row in enumerate(rows)]
    assert states[-1] == "warn"
    healthy = Guard()
    for i in range(30):
        seen = Observation(step=i, metrics={"frac_reward_zero_std": 0.0, "reward_std": 0.02})
        assert healthy.observe(seen).state == "ok"


def test_g03_a_constant_format_score_is_noticed() -> None:
    guard = Guard()
    notices = [
        one
        for step in range(60)
        for one in guard.observe(Observation(step=step, metrics={"format_compliance": 0.0})).notices
    ]
    assert [one.name for one in notices].count("constant format") == 1


def test_unknown_and_missing_names_are_said_once() -> None:
    guard = Guard(GuardConfig(expected=("entropy", "opening_drift")))
    names = [
        notice.name
        for step in range(50)
        for notice in guard.observe(
            Observation(step=step, metrics={"entropie": 0.4, "loss": 0.1, "kl": float("nan")})
        ).notices
    ]
    assert sorted(set(names)) == sorted(names)
    assert "unknown metric entropie" in names
    assert "missing entropy" in names
    assert "missing opening_drift" in names
    assert "not finite kl" in names
    assert "no audits" in names
    assert not any("loss" in name for name in names)


def test_a_metric_that_stops_is_said() -> None:
    guard = Guard()
    names = []
    for step in range(80):
        row: dict[str, float | Metric] = {"kl": 0.01}
        if step < 30:
            row["actor/entropy"] = 0.4
        names += [one.name for one in guard.observe(Observation(step=step, metrics=row)).notices]
    assert "stopped entropy" in names


def test_one_signal_under_two_names() -> None:
    guard = Guard()
    seen = Observation(step=0, metrics={"actor/kl_loss": 3.0, "actor/ppo_kl": 0.01})
    text = next(one.text for one in guard.observe(seen).notices if one.name == "doubled kl")
    assert "actor/ppo_kl is used" in text


def test_own_aliases() -> None:
    guard = Guard(GuardConfig(aliases={"my/ent": "entropy"}))
    seen = Observation(step=0, metrics={"my/ent": 0.4})
    assert guard.observe(seen).notices == ()


def test_audits_that_cannot_be_judged_are_said() -> None:
    rng = np.random.default_rng(12)
    guard = Guard()
    guard.observe(start(rng, replicates=1))
    full = audit(rng, BASE)
    few = Audit(task=TASK, prompts={key: full.prompts[key] for key in ("p0", "p1")})
    other = audit(rng, BASE, task="late")
    stray = Audit(task=TASK, prompts={**full.prompts, "q": full.prompts["p0"]}, ungraded=200)
    seen = guard.observe(Observation(step=10, audits=(few, other, stray)))
    names = {one.name for one in seen.notices}
    assert {
        f"incomplete {TASK}",
        "late task late",
        f"new prompts {TASK}",
        f"ungraded {TASK}",
    } <= names
    assert {f"no distinct {TASK}", f"short start {TASK}"} <= names
    assert {one.signal for one in seen.evidence} == {"support@8", "trainability@8"}


def test_resumed_anywhere_it_says_the_same() -> None:
    rng = np.random.default_rng(13)
    rows = [start(rng)]
    for step in range(1, 60):
        looks = (audit(rng, BASE * max(0.2, 1 - step / 60), 4),) if step % 10 == 0 else ()
        metrics = {"entropy": 0.5 - 0.006 * step, "held_out_success": Metric(value=0.5, n=64)}
        rows.append(Observation(step=step, metrics=metrics, audits=looks))
    whole = Guard(GuardConfig(allowed=("raise_kl", "roll_back")))
    expected = [whole.observe(row).to_dict() for row in rows]
    broken = Guard(whole.config)
    got = []
    for row in rows:
        broken = Guard.from_state(json.loads(json.dumps(broken.state(), allow_nan=False)))
        got.append(broken.observe(row).to_dict())
    assert got == expected
    assert json.dumps(broken.state()) == json.dumps(whole.state())
    with pytest.raises(DataError, match="version"):
        Guard.from_state({**whole.state(), "version": 99})
    with pytest.raises(DataError, match="no guard state"):
        Guard.from_state({"version": 1, "config": {}})
