"""Mixed logits and openings against mixtures computed by plain passes of transformers."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardable.engines import EngineOptions, open_engine
from rewardable.engines.mixing.blend import Blend
from rewardable.errors import DataError
from rewardable.protocols import HiddenReader, SampleRequest, Scorer, ScoreRequest, TokenReader
from rewardable.records import SamplingSpec, user_prompt

PROMPTS = [user_prompt("t", "1", text) for text in ("4,7,9=19:", "a", "one two three four", "12=")]
SPEC = SamplingSpec(max_new_tokens=12, seed=3)


def requests(n: int, opening: str = "") -> list[SampleRequest]:
    indices = tuple(range(n))
    return [SampleRequest(prompt=p, indices=indices, opening=opening) for p in PROMPTS]


def drawn(engine, n: int = 6, spec=SPEC, opening: str = "") -> dict:
    rows = list(engine.sample(requests(n, opening), spec))
    assert all(row.id.policy_key == engine.policy.key for row in rows)
    return {(row.id.prompt_key, row.id.index): row.completion for row in rows}


@lru_cache
def loaded(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    return AutoTokenizer.from_pretrained(folder), model


def log_probs(folder, text: str, ids) -> torch.Tensor:
    """Float64 log-probs that predict ``ids`` behind ``text``, [T, V]."""
    tokenizer, model = loaded(folder)
    prompt = tokenizer(text)["input_ids"]
    with torch.inference_mode():
        logits_TV = model(torch.tensor([[*prompt, *ids]])).logits[0]
    return logits_TV[len(prompt) - 1 : -1].log_softmax(-1)


def mixture(kind: str, alpha: float, first: int, parents, text: str, ids) -> torch.Tensor:
    trained_TV, earlier_TV = (log_probs(folder, text, ids) for folder in parents)
    if kind == "probabilities":
        mixed_TV = ((1 - alpha) * trained_TV.exp() + alpha * earlier_TV.exp()).log()
    else:
        mixed_TV = ((1 - alpha) * trained_TV + alpha * earlier_TV).log_softmax(-1)
    if first:
        mixed_TV = torch.cat([mixed_TV[:first], trained_TV[first:]])
    return mixed_TV


def chosen(mixed_TV: torch.Tensor, ids) -> list[float]:
    return mixed_TV[torch.arange(len(ids)), torch.tensor(ids)].tolist()


@pytest.fixture(scope="module")
def parents(make_model):
    return make_model("llama", seed=0), make_model("llama", seed=1)


CASES = [
    ("logits", 0.3, 0, True),
    ("logits", 0.3, 3, True),
    ("logits", 0.6, 3, False),
    ("probabilities", 0.3, 0, True),
    ("probabilities", 0.5, 2, False),
    ("opening", 1.0, 4, True),
]


@pytest.mark.parametrize(("kind", "alpha", "first", "share"), CASES)
def test_rows_are_drawn_from_the_mixture(parents, kind, alpha, first, share) -> None:
    """Ids by inverting the hand-made mixture at the row's own numbers; log-probs, entropies."""
    from rewardable.engines.keyed import uniforms

    head = f"tokens={first}" if kind == "opening" else f"alpha={alpha},first={first or 99}"
    options = EngineOptions(shared_prefix=share, batch_rows=7)
    engine = open_engine(f"mix:{kind},{head},{parents[0]},{parents[1]}", options)
    got = drawn(engine)
    assert len(got) == 24
    text_of = {p.key: p.text for p in PROMPTS}
    for (key, index), row in got.items():
        ids = row.token_ids
        mixed_TV = mixture(kind, alpha, first, parents, text_of[key], ids)
        assert row.logprobs == pytest.approx(chosen(mixed_TV, ids), abs=3e-5)
        entropy_T = -(mixed_TV.exp() * mixed_TV).sum(-1)
        assert row.entropies == pytest.approx(entropy_T.tolist(), abs=3e-5)
        below_T = mixed_TV.exp().cumsum(-1).numpy()
        numbers = uniforms(SPEC.seed, key, index, len(ids))
        for place, (i, number) in enumerate(zip(ids, numbers, strict=True)):
            lower = below_T[place, i - 1] if i else 0.0
            assert lower - 1e-5 <= number <= below_T[place, i] + 1e-5


@pytest.mark.parametrize("share", [True, False], ids=["shared", "plain"])
def test_the_ends_are_the_parents_token_for_token(parents, share: bool) -> None:
    options = EngineOptions(shared_prefix=share, batch_rows=5)
    own = [drawn(open_engine(str(folder), options)) for folder in parents]
    assert {k: c.token_ids for k, c in own[0].items()} != {
        k: c.token_ids for k, c in own[1].items()
    }
    for kind in ("logits", "probabilities"):
        for alpha, parent in zip((0, 1), own, strict=True):
            mix = f"mix:{kind},alpha={alpha},{parents[0]},{parents[1]}"
            assert drawn(open_engine(mix, options)) == parent
    whole = f"mix:opening,tokens=12,{parents[0]},{parents[1]}"
    assert drawn(open_engine(whole, options)) == own[1]


def test_an_opening_is_the_earlier_ones_and_the_rest_follows_from_it(parents) -> None:
    engine = open_engine(f"mix:opening,tokens=3,{parents[0]},{parents[1]}")
    earlier = drawn(open_engine(str(parents[1])))
    got = drawn(engine)
    assert {k: c.token_ids[:3] for k, c in got.items()} == {
        k: c.token_ids[:3] for k, c in earlier.items()
    }
    assert any(c.token_ids != earlier[k].token_ids for k, c in got.items())


@pytest.mark.parametrize("rows", [1, 3, 24])
def test_rows_do_not_depend_on_the_batch(parents, rows: int) -> None:
    mix = f"mix:logits,alpha=0.4,first=2,{parents[0]},{parents[1]}"
    spec = SamplingSpec(max_new_tokens=12, seed=8, temperature=0.8, top_p=0.9)
    one = drawn(open_engine(mix, EngineOptions(batch_rows=rows)), spec=spec)
    other = drawn(open_engine(mix, EngineOptions(batch_rows=10)), spec=spec)
    assert {k: c.token_ids for k, c in one.items()} == {k: c.token_ids for k, c in other.items()}


def test_forced_openings_count_as_tokens_of_the_completion(parents) -> None:
    engine = open_engine(f"mix:logits,alpha=0.5,first=5,{parents[0]},{parents[1]}")
    text_of = {p.key: p.text for p in PROMPTS}
    for (key, _), row in drawn(engine, 2, opening="7*3").items():
        assert row.text.startswith("7*3")
        mixed_TV = mixture("logits", 0.5, 5, parents, text_of[key], row.token_ids)
        assert row.logprobs == pytest.approx(chosen(mixed_TV, row.token_ids), abs=3e-5)


@pytest.mark.parametrize("share", [True, False], ids=["shared", "plain"])
@pytest.mark.parametrize("kind", ["logits", "probabilities"])
def test_the_scorer_gives_the_mixtures_log_probs(parents, kind: str, share: bool) -> None:
    options = EngineOptions(shared_prefix=share)
    engine = open_engine(f"mix:{kind},alpha=0.3,first=3,{parents[0]},{parents[1]}", options)
    assert isinstance(engine, Scorer)
    assert isinstance(engine, TokenReader)
    assert not isinstance(engine, HiddenReader)  # two models have two sets of states
    given = [(8, 9, 10, 1), (20,), (30, 31, 32, 33, 34, 35, 36), ()]
    asked = [
        ScoreRequest(id=f"{p.text}/{i}", prompt=p, token_ids=ids)
        for p in PROMPTS
        for i, ids in enumerate(given)
    ]
    found = {one.id: one for one in engine.score(asked)}
    for request in asked:
        if request.token_ids:
            mixed_TV = mixture(kind, 0.3, 3, parents, request.prompt.text, request.token_ids)
            got = found[request.id]
            assert got.logprobs == pytest.approx(chosen(mixed_TV, request.token_ids), abs=3e-5)
            assert len(got.entropies) == len(request.token_ids)


def test_checkpoints_score_completions_of_a_part_drawn_unseen(parents) -> None:
    engine = open_engine(f"mix:checkpoints,weights=3/1,{parents[0]},{parents[1]}")
    assert isinstance(engine, Scorer)
    ids = (8, 9, 10, 1)
    (got,) = engine.score([ScoreRequest(id="x", prompt=PROMPTS[0], token_ids=ids)])
    whole = [sum(chosen(log_probs(f, PROMPTS[0].text, ids), ids)) for f in parents]
    expected = math.log(0.75 * math.exp(whole[0]) + 0.25 * math.exp(whole[1]))
    assert sum(got.logprobs) == pytest.approx(expected, abs=1e-4)
    assert got.entropies == ()


def test_unlike_vocabularies_are_refused(make_model, parents) -> None:
    other = make_model("llama", seed=2, additional_special_tokens=("<extra>",))
    with pytest.raises(DataError, match="different vocabularies"):
        open_engine(f"mix:logits,alpha=0.5,{parents[0]},{other}")


def test_architectures_may_differ(make_model, parents) -> None:
    other = make_model("gpt2", seed=4)
    engine = open_engine(f"mix:logits,alpha=0.5,{parents[0]},{other}")
    text_of = {p.key: p.text for p in PROMPTS}
    for (key, _), row in drawn(engine, 2).items():
        mixed_TV = mixture("logits", 0.5, 0, (parents[0], other), text_of[key], row.token_ids)
        assert row.logprobs == pytest.approx(chosen(mixed_TV, row.token_ids), abs=3e-5)


def test_keys_tell_mixes_apart(parents) -> None:
    texts = [
        f"mix:{head},{parents[0]},{parents[1]}"
        for head in ("logits,alpha=0.3", "logits,alpha=0.4", "logits,alpha=0.3,first=2",
                     "probabilities,alpha=0.3", "opening,tokens=2", "checkpoints")
    ]  # fmt: skip
    texts.append(f"mix:logits,alpha=0.3,{parents[1]},{parents[0]}")
    engines = [open_engine(text) for text in texts]
    assert len({engine.policy.key for engine in engines}) == len(texts)
    again = open_engine(f"mix:logits,alpha=0.30,{parents[0]},{parents[1]}")
    assert again.policy.key == engines[0].policy.key


def test_a_distribution_without_a_token_stays_without_it() -> None:
    """Minus infinity in one parent: no NaN, and none of its mass by logits."""
    trained = torch.tensor([[0.0, -torch.inf, 1.0]])
    earlier = torch.tensor([[1.0, 2.0, -torch.inf]])
    at = torch.zeros(1)
    logits = Blend(alpha=0.5)(trained, earlier, at).softmax(-1)
    assert logits.tolist() == [[1.0, 0.0, 0.0]]
    mean = Blend(alpha=0.5, of="probabilities")(trained, earlier, at).softmax(-1)
    expected = (trained.softmax(-1) + earlier.softmax(-1)) / 2
    assert np.allclose(mean, expected)
