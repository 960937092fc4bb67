"""Openings, their distance, movers, doses, lives of families and drift, against known truth."""

from __future__ import annotations

import numpy as np
import pytest

from rewardable.errors import DataError
from rewardable.locate.drift import layer_drift, one_state_each
from rewardable.locate.interventions import Arm, arm_rows, carrying_dose, dose_curve
from rewardable.locate.openings import Openings, code_openings, opening_distance, top_movers
from rewardable.locate.rules import by_pattern, first_computation, first_sentence, opening_class
from rewardable.locate.series import alive_share, family_lives, pair_difference


def drawn(p: list[float], prompts: int, n: int, seed: int) -> Openings:
    rng = np.random.default_rng(seed)
    prompt_R = np.repeat(np.arange(prompts), n)
    opening_R = rng.choice(len(p), size=prompts * n, p=p)
    return Openings(prompt_R=prompt_R, opening_R=opening_R, success_R=rng.random(prompts * n) < 0.5)


def test_equal_policies_show_no_distance_although_their_samples_differ():
    p = [0.2] * 5
    values = []
    for seed in range(20):
        found = opening_distance(drawn(p, 40, 16, 2 * seed), drawn(p, 40, 16, 2 * seed + 1), 40)
        values.append((found.value.mean, found.value.low <= 0))
        assert found.plug_in > 0.15
    assert abs(np.mean([mean for mean, _ in values])) < 0.01
    assert np.mean([covers for _, covers in values]) >= 0.85


def test_a_distance_is_found_and_split_into_known_and_new_openings():
    """Truth: total variation 0.5, half of the gain on opening 1, half on one the base lacks."""
    before, after = drawn([0.75, 0.25, 0.0], 60, 64, 1), drawn([0.25, 0.5, 0.25], 60, 64, 2)
    found = opening_distance(before, after, 60)
    assert found.value.low < 0.5
    assert found.value.mean == pytest.approx(0.5, abs=0.02)
    assert found.reranked.mean == pytest.approx(0.5, abs=0.04)
    assert found.reranked.low < 0.5 < found.reranked.high
    told = opening_distance(before, after, 60, had=lambda prompt, code: True)
    assert told.reranked.mean == pytest.approx(1)


def test_movers_come_with_their_success_rates():
    before, after = drawn([0.9, 0.1], 30, 20, 1), drawn([0.2, 0.8], 30, 20, 2)
    first = top_movers(before, after, 30)[0]
    assert abs(first.change.mean) == pytest.approx(0.7, abs=0.08)
    assert first.n_before == int((before.opening_R == first.opening).sum())
    assert first.pass_before == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Step 1: add the numbers.", "step-by-step"),
        ("12*3=36,36+7=43", "step-by-step"),
        ("43", "direct answer"),
        ("14,14", "direct answer"),
        ("The answer is 43.", "direct answer"),
        ("NO", "direct answer"),
        ("Let's think about it.", "planning"),
        ("```python\nprint(1)", "code"),
        ("I'm sorry, I cannot help.", "refusal"),
        ("<think>\nLet's plan", "planning"),
        ("Janet has 16 eggs and sells them", "restating"),
        ("", "empty"),
        ("Blue is nice", "other"),
    ],
)
def test_classes_of_openings(text: str, kind: str):
    assert opening_class(text, "Janet has 16 eggs, sells them at the market") == kind


def test_entries_of_free_text():
    assert first_computation("First, 3 x 4 = 12.") == "3*4"
    assert first_computation("It costs $1,200 / 4 each") == "1,200/4"
    assert first_sentence("<think>\nWe have 12 pears. Then") == "we have # pears"
    assert by_pattern(r"Plan ([A-C])")("My Plan B is") == "B"
    assert by_pattern(r"Plan ([A-C])")("none") is None


def test_openings_are_numbered_alike():
    codes, names = code_openings([["b", "a"], ["a", "c"]])
    assert names == ("a", "b", "c")
    assert [one.tolist() for one in codes] == [[1, 0], [0, 2]]


def test_a_dose_curve_gives_the_share_of_the_gap():
    low, high = np.full(30, 0.2), np.full(30, 0.8)
    low[::2] += 0.05
    doses = dose_curve(low, high, {1: low + 0.1, 2: low + 0.4, 4: high}, level=0.95)
    assert [round(dose.share.mean, 2) for dose in doses] == [0.17, 0.7, 1.0]
    assert carrying_dose(doses) == 2
    assert carrying_dose(doses[:1]) is None
    with pytest.raises(DataError, match="3 prompts"):
        dose_curve(low, high, {1: low[:3]}, level=0.95)


def test_arms_are_compared_on_the_prompts_that_have_both():
    n_P = np.full(40, 8)
    first = Arm(name="steps", n_P=n_P, c_P=np.tile([6, 7], 20))
    second = Arm(
        name="direct", n_P=np.append(n_P[:-1], 2), c_P=np.append(np.tile([2, 3], 20)[:-1], 1)
    )
    rows = arm_rows("base", [first, second], [1, 8], {}, level=0.95, seed=0)
    effect = [row for row in rows if row.labels["metric"] == "effect on best@k"]
    assert effect[0].estimate.n_prompts == 39
    assert effect[0].estimate.value == pytest.approx(-0.5)
    assert effect[0].estimate.high < 0


def test_families_live_until_they_are_last_seen():
    started = [{(0, 1): 30, (0, 2): 10, (1, 1): 40}, {(0, 1): 39, (1, 1): 40}, {(0, 1): 40}]
    n = [np.array([40, 40])] * 3
    lives = {(life.prompt, life.family): life for life in family_lives(started, n)}
    assert lives[0, 1].upper is None
    assert lives[0, 2].last_seen == 0
    assert lives[0, 2].upper == pytest.approx(1 - 0.025 ** (1 / 40))
    assert lives[1, 1].certified
    assert not lives[0, 1].certified
    shares = [one.mean for one in alive_share(started[0], started, 2)]
    assert shares == [1.0, 0.75, 0.25]


def test_the_chance_that_two_texts_differ_leaves_no_rollout_with_itself():
    same = np.zeros(4, dtype=int), np.array([7, 7, 7, 8])
    assert pair_difference(same, None, 1).mean == pytest.approx(0.5)
    other = np.zeros(2, dtype=int), np.array([7, 9])
    assert pair_difference(same, other, 1).mean == pytest.approx(1 - 3 / 8)


def test_drift_of_a_policy_against_itself_is_zero_and_far_from_chance():
    states = np.random.default_rng(0).normal(size=(24, 2, 16))
    for layer in layer_drift(states, states):
        assert layer.cosine.mean == pytest.approx(0, abs=1e-12)
        assert layer.norm_ratio.mean == pytest.approx(1)
        assert layer.cka == pytest.approx(1)
        assert layer.cka_noise < 0.9
        assert layer.cosine_noise > 0.5


def test_drift_grows_with_noise_and_a_rotation_leaves_the_geometry():
    rng = np.random.default_rng(1)
    states = rng.normal(size=(30, 1, 16))
    turned = states @ np.linalg.qr(rng.normal(size=(16, 16)))[0]
    noisy = states + rng.normal(size=states.shape)
    rotated, noised = layer_drift(states, turned)[0], layer_drift(states, noisy)[0]
    assert rotated.cka == pytest.approx(1)
    assert rotated.cosine.mean > 0.5
    assert noised.cka < 0.95
    assert 0.1 < noised.cosine.mean < 0.6
    with pytest.raises(DataError, match="cannot be compared"):
        layer_drift(states, states[:4])


def test_one_state_a_place():
    whole = np.arange(2 * 3 * 4, dtype=float).reshape(2, 3, 4)
    found = one_state_each({"10": whole, "9": whole + 1})
    assert found["end of prompt"].shape == (2, 2, 4)
    np.testing.assert_allclose(found["end of prompt"][0], whole[:, 0] + 1)
    np.testing.assert_allclose(found["response"][1], whole[:, 1:].mean(axis=1))
