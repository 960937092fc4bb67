"""The policy with known behaviour."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from scipy.stats import chisquare

from rewardable.engines import EngineOptions, FakePolicy, open_engine
from rewardable.errors import ConfigError, DataError
from rewardable.protocols import Sampler, SampleRequest, Scorer, ScoreRequest
from rewardable.records import FinishReason, SamplingSpec, user_prompt

PROMPT = user_prompt("t", "1", "two and two")
TABLE = {"two and two": {"4": 0.5, "5": 0.3, "22": 0.2}, "*": {"?": 1.0}}


def texts(policy: FakePolicy, n: int, spec: SamplingSpec, opening: str = "") -> list[str]:
    request = SampleRequest(prompt=PROMPT, indices=tuple(range(n)), opening=opening)
    rows = sorted(policy.sample([request], spec), key=lambda row: row.id)
    assert [row.id.index for row in rows] == list(range(n))
    return [row.completion.text for row in rows]


def test_it_offers_what_engines_offer() -> None:
    policy = FakePolicy("fake", TABLE)
    assert isinstance(policy, Sampler)
    assert isinstance(policy, Scorer)


def test_frequencies_are_the_known_probabilities() -> None:
    counts = Counter(texts(FakePolicy("fake", TABLE), 4000, SamplingSpec(seed=5)))
    observed = [counts["4"], counts["5"], counts["22"]]
    assert chisquare(observed, [2000, 1200, 800]).pvalue > 1e-3


def test_a_row_depends_on_seed_prompt_and_index_alone() -> None:
    policy = FakePolicy("fake", TABLE)
    all_rows = texts(policy, 50, SamplingSpec(seed=1))
    request = SampleRequest(prompt=PROMPT, indices=(49, 7))
    some = {r.id.index: r.completion.text for r in policy.sample([request], SamplingSpec(seed=1))}
    assert some == {49: all_rows[49], 7: all_rows[7]}
    assert texts(policy, 50, SamplingSpec(seed=2)) != all_rows


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (SamplingSpec(temperature=0), {"4": 1.0}),
        (SamplingSpec(top_k=2), {"4": 0.625, "5": 0.375}),
        (SamplingSpec(top_p=0.8), {"4": 0.625, "5": 0.375}),
        (SamplingSpec(temperature=0.5), {"4": 25 / 38, "5": 9 / 38, "22": 4 / 38}),
    ],
)
def test_sampling_logprobs_follow_the_processed_distribution(spec, expected) -> None:
    request = SampleRequest(prompt=PROMPT, indices=tuple(range(400)))
    completions = [r.completion for r in FakePolicy("fake", TABLE).sample([request], spec)]
    assert {c.text for c in completions} == set(expected)
    for c in completions:
        assert math.exp(c.sampling_logprobs[0]) == pytest.approx(expected[c.text])
        assert math.exp(c.logprobs[0]) == pytest.approx(TABLE["two and two"][c.text])


def test_the_opening_conditions_the_draw() -> None:
    policy = FakePolicy("fake", TABLE)
    assert set(texts(policy, 40, SamplingSpec(), opening="2")) == {"22"}
    request = SampleRequest(prompt=PROMPT, indices=(0,), opening="9")
    (row,) = policy.sample([request], SamplingSpec())
    assert row.completion.finish_reason is FinishReason.FAILED
    assert "9" in row.completion.failure


def test_true_probability_entropy_and_scores() -> None:
    policy = FakePolicy("fake", TABLE)
    assert policy.probability(PROMPT, lambda text: "2" in text) == pytest.approx(0.2)
    (row,) = policy.sample([SampleRequest(prompt=PROMPT, indices=(3,))], SamplingSpec())
    (scores,) = policy.score(
        [ScoreRequest(id="a", prompt=PROMPT, token_ids=row.completion.token_ids)]
    )
    assert scores.logprobs == pytest.approx(row.completion.logprobs)
    entropy = -sum(p * math.log(p) for p in (0.5, 0.3, 0.2))
    assert scores.entropies == pytest.approx((entropy,))
    with pytest.raises(DataError, match="one id below 3"):
        list(policy.score([ScoreRequest(id="a", prompt=PROMPT, token_ids=(7,))]))


def test_failures_are_rows_with_a_reason() -> None:
    policy = FakePolicy("fake", TABLE, failure=lambda _, index: "gone" if index == 1 else "")
    request = SampleRequest(prompt=PROMPT, indices=(0, 1, 2))
    rows = list(policy.sample([request], SamplingSpec()))
    assert [row.completion.failure for row in rows] == ["", "gone", ""]
    half = FakePolicy("fake", TABLE, failure_rate=0.5)
    many = list(
        half.sample([SampleRequest(prompt=PROMPT, indices=tuple(range(400)))], SamplingSpec())
    )
    failed = sum(row.completion.finish_reason is FinishReason.FAILED for row in many)
    assert 150 < failed < 250


def test_a_prompt_without_row_fails_and_a_wild_row_catches_all() -> None:
    other = SampleRequest(prompt=user_prompt("t", "1", "else"), indices=(0,))
    (row,) = FakePolicy("fake", {"two and two": {"4": 1.0}}).sample([other], SamplingSpec())
    assert row.completion.finish_reason is FinishReason.FAILED
    (row,) = FakePolicy("fake", TABLE).sample([other], SamplingSpec())
    assert row.completion.text == "?"


def test_a_file_opens_and_its_content_names_the_policy(tmp_path) -> None:
    path = tmp_path / "base.json"
    path.write_text(json.dumps({"table": TABLE, "truncated": ["22"]}))
    engine = open_engine(f"fake:{path}", EngineOptions())
    same = FakePolicy("another name", TABLE, truncated=frozenset({"22"}))
    assert engine.policy.name == "base"
    assert engine.policy.key == same.policy.key != FakePolicy("base", TABLE).policy.key
    request = SampleRequest(prompt=PROMPT, indices=tuple(range(60)))
    ends = {
        r.completion.text: r.completion.finish_reason
        for r in engine.sample([request], SamplingSpec())
    }
    assert ends["22"] is FinishReason.LENGTH
    assert ends["4"] is FinishReason.STOP


@pytest.mark.parametrize("row", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}])
def test_probabilities_that_do_not_sum_to_one_are_refused(row) -> None:
    with pytest.raises(DataError, match="sum to 1"):
        FakePolicy("fake", {"p": row})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"p": {"a": "0.5", "b": 0.5}}, "'p' must map completion texts to numbers.*'a': '0.5'"),
        ({"p": {"a": True}}, "'a': True"),
        ({"p": {"a": None}}, "'a': None"),
        ({"p": {"a": math.nan}}, "'a': nan"),
        ({"p": {"a": math.inf, "b": -math.inf}}, "'a': inf"),
        ({"p": ["a"]}, "'p' must be a text with .*got a list"),
        ({"p": 1.0}, "'p' must be a text with .*got a float"),
        ([{"p": {"a": 1.0}}], "table must map prompts .*got a list"),
        (None, "table must map prompts .*got a NoneType"),
    ],
)
def test_tables_of_another_form_are_refused(tmp_path, table, message) -> None:
    with pytest.raises(DataError, match=message):
        FakePolicy("fake", table)
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"table": table}))
    with pytest.raises(DataError, match=rf"odd\.json: .*{message.split('.*')[-1]}"):
        FakePolicy.from_file(path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": 3}, "'name' must be a text, got 3"),
        ({"truncated": "22"}, "'truncated' must be a list of texts, got '22'"),
        ({"truncated": [22]}, r"'truncated' must be a list of texts, got \[22\]"),
        ({"failure_rate": "half"}, r"failure_rate must be a number in \[0, 1\], got 'half'"),
        ({"failure_rate": 1.5}, r"failure_rate must be a number in \[0, 1\], got 1\.5"),
    ],
)
def test_odd_fields_of_a_file_are_refused(tmp_path, fields, message) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"table": TABLE, **fields}))
    with pytest.raises(ConfigError, match=rf"odd\.json: {message}"):
        FakePolicy.from_file(path)


def test_a_missing_or_foreign_file_is_a_readable_error(tmp_path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        open_engine(f"fake:{tmp_path / 'none.json'}")
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(ConfigError, match="'table'"):
        open_engine(f"fake:{tmp_path / 'list.json'}")
