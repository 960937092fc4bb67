"""Wordings of one source: the truth of a policy whose pass rate of each wording is known."""

import numpy as np
import pytest

from rewardable.engines.fake import FakePolicy
from rewardable.measure import MeasureConfig, measure_run
from rewardable.measure.robustness import robustness_table
from rewardable.measure.study import load_study
from rewardable.measure.wordings import (
    WordingCounts,
    agreement,
    agreement_bounds,
    chosen_rate,
    lowest_rate,
    mean_rate,
    same_agreement,
    same_bounds,
)
from rewardable.protocols import SampleRequest
from rewardable.records import Graded, Outcome, SamplingSpec, Verdict, user_prompt
from rewardable.report.render import report_html
from rewardable.store import Run

RATES = np.random.default_rng(3).uniform(0.05, 0.95, size=(60, 4))
KINDS = ("original", "template", "whitespace", "template")


def drawn(rates_SW, n, rng, held_SW=None, ungraded=0.0):
    half = n // 2
    held_SW = np.ones_like(rates_SW, dtype=bool) if held_SW is None else held_SW
    c = rng.binomial(half, np.where(held_SW, rates_SW, 0)[:, :, None], (*rates_SW.shape, 2))
    lost = rng.binomial(c, ungraded)
    whole = np.where(held_SW[:, :, None], half, 0)
    return WordingCounts(held_SW=held_SW, n_SWH=(whole - lost).astype(float),
                         c_SWH=(c - lost).astype(float), u_SWH=lost.astype(float))  # fmt: skip


def pairs_truth(p):
    i, j = np.triu_indices(len(p), 1)
    return float((p[i] * p[j] + (1 - p[i]) * (1 - p[j])).mean())


def test_figures_are_unbiased_and_the_two_worst_ones_bracket_the_truth():
    rng = np.random.default_rng(1)
    held = rng.random(RATES.shape) < 0.8
    held[:, :2] = True
    p = [rates[row] for rates, row in zip(RATES, held, strict=True)]
    got = {f: np.mean([f(drawn(RATES, 8, rng, held)).mean() for _ in range(400)])
           for f in (mean_rate, agreement, same_agreement, lowest_rate, chosen_rate)}  # fmt: skip
    assert got[mean_rate] == pytest.approx(np.mean([q.mean() for q in p]), abs=0.005)
    assert got[agreement] == pytest.approx(np.mean([pairs_truth(q) for q in p]), abs=0.005)
    same = np.mean([(q * q + (1 - q) ** 2).mean() for q in p])
    assert got[same_agreement] == pytest.approx(same, abs=0.005)
    worst = np.mean([q.min() for q in p])
    assert got[lowest_rate] < worst - 0.01
    assert got[chosen_rate] > worst + 0.01


def test_the_two_worst_ones_close_in_with_more_rollouts():
    counts = drawn(RATES, 20_000, np.random.default_rng(2))
    worst = RATES.min(1).mean()
    assert lowest_rate(counts).mean() == pytest.approx(worst, abs=0.002)
    assert chosen_rate(counts).mean() == pytest.approx(worst, abs=0.002)


def test_bounds_hold_whatever_the_ungraded_were():
    rng = np.random.default_rng(4)
    for _ in range(30):
        counts = drawn(RATES[:5], 6, rng, ungraded=0.4)
        for metric, bounds in ((agreement, agreement_bounds), (same_agreement, same_bounds)):
            low, high = bounds(counts)
            right = rng.integers(0, counts.u_SWH.astype(int) + 1)
            zero = np.zeros_like(counts.u_SWH)
            done = WordingCounts(held_SW=counts.held_SW, n_SWH=counts.n_SWH + counts.u_SWH,
                                 c_SWH=counts.c_SWH + right, u_SWH=zero)  # fmt: skip
            value = metric(done)
            assert (low - 1e-12 <= value).all()
            assert (value <= high + 1e-12).all()


def run_of(path, rates_of, n=40, marked=True, ungraded=()):
    """``rates_of``: name of a policy -> its pass rates [S, W]."""
    run = Run.create(path / "run", {})
    spec = SamplingSpec()
    run.add_specs([spec])
    prompts = {}
    shape = next(iter(rates_of.values())).shape
    for s in range(shape[0]):
        source = user_prompt("t", "1", f"q{s} 0").key
        for w in range(shape[1]):
            facts = {"paraphrase_of": source, "paraphrase": KINDS[w], "cluster": source}
            prompts[s, w] = user_prompt("t", "1", f"q{s} {w}", facts if marked else {})
    run.add_prompts(prompts.values())
    for name, rates in rates_of.items():
        table = {prompts[place].text: {"yes": p, "no": 1 - p} for place, p in np.ndenumerate(rates)}
        fake = FakePolicy(name, table)
        run.add_policies([fake.policy])
        requests = [SampleRequest(prompt=p, indices=tuple(range(n))) for p in prompts.values()]
        rollouts = list(fake.sample(requests, spec))
        run.add_rollouts(rollouts)
        run.add_verdicts([Graded(id=r.id, verdict=judged(r, ungraded)) for r in rollouts])
    keys = [policy.key for policy in run.policies()]
    return run, MeasureConfig(base=keys[0], trained=tuple(keys[1:]), draws=100)


def judged(rollout, ungraded):
    if rollout.id.index in ungraded:
        return Verdict(outcome=Outcome.UNGRADED, verifier="v", version="1", reason="timeout")
    right = rollout.completion.text == "yes"
    return Verdict(outcome=Outcome.CORRECT if right else Outcome.WRONG, verifier="v",
                   version="1", reason="" if right else "no")  # fmt: skip


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


def test_the_table_tells_the_truth_of_both_policies_and_of_their_change(tmp_path):
    before = RATES[:30]
    after = before.copy()
    after[:, 2] *= 0.1
    run, config = run_of(tmp_path, {"base": before, "rl": after}, n=32)
    table = robustness_table(load_study(run, config))
    for name, rates in (("base", before), ("rl", after)):
        mine = {r.labels["metric"]: r.estimate for r in table.rows
                if r.labels.get("policy") == name and "wording" not in r.labels}  # fmt: skip
        assert mine["pass rate"].n_prompts == 30
        assert covers(mine["pass rate"], rates.mean())
        assert covers(mine["agreement"], np.mean([pairs_truth(p) for p in rates]))
        assert covers(mine["lost to wording"], 2 * rates.var(axis=1, ddof=1).mean())
        assert covers(mine["worst wording"], rates.min(1).mean())
        assert mine["lowest rate"].value < mine["chosen on one half"].value
        spaces = table.one(metric="against the original", wording="whitespace", policy=name)
        assert covers(spaces, (rates[:, 2] - rates[:, 0]).mean())
    change = table.one(metric="worst wording", after="rl")
    assert covers(change, (after.min(1) - before.min(1)).mean())
    assert table.select(metric="worst wording", after="rl")[0].labels["certified"] == "fall"
    assert table.one(metric="pass rate", after="rl").value == pytest.approx(
        (after - before).mean(), abs=0.03
    )
    assert "30 sources with 4 wordings each" in table.notes[1]


def test_ungraded_rollouts_carry_bounds_and_the_report_shows_the_table(tmp_path):
    run, config = run_of(tmp_path, {"base": RATES[:6], "rl": RATES[:6] ** 2}, n=8, ungraded=(1,))
    tables = measure_run(run, config)
    for found in tables["robustness"].rows:
        one = found.estimate
        assert one.n_ungraded > 0
        assert one.bound_low <= one.bound_high
        if "policy" in found.labels and found.labels["metric"] in ("agreement", "pass rate"):
            assert one.bound_low <= one.value <= one.bound_high
    html = report_html(tables, title="t")
    assert 'id="robustness"' in html
    assert "whitespace minus original" in html


def test_prompts_without_paraphrases_have_no_table(tmp_path):
    run, config = run_of(tmp_path, {"base": RATES[:3]}, n=4, marked=False)
    assert robustness_table(load_study(run, config)).rows == ()


def test_one_rollout_a_wording_leaves_the_halves_unknown_and_says_so(tmp_path):
    run, config = run_of(tmp_path, {"base": RATES[:5]}, n=1)
    table = robustness_table(load_study(run, config))
    assert table.one(metric="chosen on one half", policy="base").value is None
    assert table.one(metric="worst wording", policy="base").low is None
    lost = table.one(metric="lost to wording", policy="base")
    assert lost.value is None
    assert "too few graded rollouts" in lost.warnings[-1]
    assert table.one(metric="agreement", policy="base").value is not None
