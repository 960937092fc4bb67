"""Sampling and scoring against plain forward passes, on three architectures."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardable.engines import EngineOptions, open_engine
from rewardable.engines.hf.decoder import PlainDecoder
from rewardable.engines.hf.shared import SharedDecoder
from rewardable.protocols import Sampler, SampleRequest, Scorer, ScoreRequest
from rewardable.records import FinishReason, SamplingSpec, user_prompt

FAMILIES = ("llama", "gpt2", "qwen2")
PROMPTS = [user_prompt("t", "1", text) for text in ("4,7,9=19:", "a", "one two three four", "12=")]
SPEC = SamplingSpec(max_new_tokens=20, seed=3)
LONG = user_prompt("t", "1", "the quick brown fox jumps over the lazy dog, " * 2)


def requests(n: int, prompts=PROMPTS, opening: str = "") -> list[SampleRequest]:
    indices = tuple(range(n))
    return [SampleRequest(prompt=p, indices=indices, opening=opening) for p in prompts]


def drawn(engine, wanted, spec=SPEC) -> dict:
    rows = list(engine.sample(wanted, spec))
    assert len({row.id for row in rows}) == len(rows)
    return {(row.id.prompt_key, row.id.index): row.completion for row in rows}


@lru_cache
def loaded(folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    return AutoTokenizer.from_pretrained(folder), model


def exact(folder, prompt_text: str, ids) -> tuple[list[float], list[float]]:
    """Raw log-probs and entropies by one unpadded float64 pass of transformers' own model."""
    if not ids:
        return [], []
    tokenizer, model = loaded(folder)
    prompt = tokenizer(prompt_text)["input_ids"]
    with torch.inference_mode():
        logits_TV = model(torch.tensor([[*prompt, *ids]])).logits[0]
    log_TV = logits_TV[len(prompt) - 1 : -1].log_softmax(-1)
    entropy_T = -(log_TV.exp() * log_TV).sum(-1)
    return log_TV[torch.arange(len(ids)), torch.tensor(ids)].tolist(), entropy_T.tolist()


@pytest.mark.parametrize("share", [True, False], ids=["shared", "plain"])
@pytest.mark.parametrize("family", FAMILIES)
def test_log_probs_are_those_of_a_plain_pass(make_model, family: str, share: bool) -> None:
    folder = make_model(family)
    engine = open_engine(str(folder), EngineOptions(shared_prefix=share, batch_rows=9))
    assert isinstance(engine, Sampler)
    assert isinstance(engine, Scorer)
    assert engine.shares_prefixes is share
    prompts = [*PROMPTS, LONG]
    text_of = {p.key: p.text for p in prompts}
    got = drawn(engine, requests(6, prompts))
    assert len(got) == 30
    for (prompt_key, _), completion in got.items():
        logprobs, entropies = exact(folder, text_of[prompt_key], completion.token_ids)
        assert completion.logprobs == pytest.approx(logprobs, abs=2e-5)
        assert completion.entropies == pytest.approx(entropies, abs=2e-5)
        assert completion.sampling_logprobs == completion.logprobs


@pytest.mark.parametrize("share", [True, False], ids=["shared", "plain"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_scorer_agrees_with_a_plain_pass(make_model, family: str, share: bool) -> None:
    folder = make_model(family)
    engine = open_engine(str(folder), EngineOptions(shared_prefix=share))
    given = [(8, 9, 10, 1), (20,), (30, 31, 32, 33, 34, 35, 36), ()]
    wanted = [
        ScoreRequest(id=f"{i}.{j}", prompt=prompt, token_ids=ids)
        for i, prompt in enumerate([*PROMPTS, LONG])
        for j, ids in enumerate(given)
    ]
    scores = {s.id: s for s in engine.score(wanted)}
    assert len(scores) == len(wanted)
    for request in wanted:
        logprobs, entropies = exact(folder, request.prompt.text, request.token_ids)
        assert scores[request.id].logprobs == pytest.approx(logprobs, abs=2e-5)
        assert scores[request.id].entropies == pytest.approx(entropies, abs=2e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_rollouts_do_not_depend_on_the_batch(make_model, family: str) -> None:
    folder = str(make_model(family))
    prompts = [*PROMPTS, LONG]
    ids = [
        {
            key: completion.token_ids
            for key, completion in drawn(
                open_engine(folder, options), requests(40, prompts)
            ).items()
        }
        for options in (
            EngineOptions(batch_rows=200),
            EngineOptions(batch_rows=1),
            EngineOptions(batch_rows=13),
            EngineOptions(batch_rows=50, shared_prefix=False),
        )
    ]
    assert ids[0] == ids[1] == ids[2] == ids[3]
    assert len(set(ids[0].values())) > 100


def test_order_and_company_of_requests_change_nothing(make_model) -> None:
    engine = open_engine(str(make_model("llama")))
    together = drawn(engine, requests(10))
    alone = drawn(engine, [SampleRequest(prompt=PROMPTS[2], indices=(7, 3))])
    assert {k: c.token_ids for k, c in alone.items()} == {
        (PROMPTS[2].key, i): together[PROMPTS[2].key, i].token_ids for i in (3, 7)
    }
    other = drawn(engine, requests(10), SamplingSpec(max_new_tokens=20, seed=4))
    assert other.keys() == together.keys()
    assert other != together


@pytest.mark.parametrize("share_from", [0, 10**9], ids=["one copy", "copies"])
def test_rows_join_and_leave_in_any_order(make_model, monkeypatch, share_from: int) -> None:
    monkeypatch.setattr("rewardable.engines.hf.shared.SHARE_FROM", share_from)
    folder = make_model("llama")
    engine = open_engine(str(folder), EngineOptions(batch_rows=7))
    monkeypatch.setattr(
        type(engine), "new_decoder",
        lambda self, places: SharedDecoder(self.loaded.model, places, share_from),
    )  # fmt: skip
    prompts = [*PROMPTS, LONG]
    text_of = {p.key: p.text for p in prompts}
    for (prompt_key, _), completion in drawn(engine, requests(8, prompts)).items():
        logprobs, _ = exact(folder, text_of[prompt_key], completion.token_ids)
        assert completion.logprobs == pytest.approx(logprobs, abs=2e-5)


def next_probabilities(folder, text: str, ids: list[int]) -> np.ndarray:
    tokenizer, model = loaded(folder)
    with torch.inference_mode():
        logits_TV = model(torch.tensor([[*tokenizer(text)["input_ids"], *ids]])).logits[0]
    return logits_TV[-1].softmax(-1).numpy()


def test_first_two_tokens_have_their_exact_joint_frequencies(make_model) -> None:
    folder, n, text = make_model("llama"), 4000, PROMPTS[0].text
    p_V = next_probabilities(folder, text, [])
    expected = {(1,): n * p_V[1]}
    for first in np.argsort(-p_V)[:7].tolist():
        if first != 1:
            q_V = next_probabilities(folder, text, [first])
            expected |= {(first, i): n * p_V[first] * q_V[i] for i in np.argsort(-q_V)[:7].tolist()}
    spec = SamplingSpec(max_new_tokens=2, seed=11)
    got = drawn(open_engine(str(folder)), requests(n, PROMPTS[:1]), spec)
    counts = Counter(completion.token_ids for completion in got.values())
    cells = [ids for ids, wanted in expected.items() if wanted >= 5]
    assert len(cells) > 20
    observed, wanted = [counts[ids] for ids in cells], [expected[ids] for ids in cells]
    assert chisquare([*observed, n - sum(observed)], [*wanted, n - sum(wanted)]).pvalue > 1e-3


def test_end_token_in_ids_but_not_in_text_and_truncation(make_model) -> None:
    folder = make_model("llama")
    got = drawn(open_engine(str(folder)), requests(60))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ends = {c.finish_reason for c in got.values()}
    assert ends == {FinishReason.STOP, FinishReason.LENGTH}
    for completion in got.values():
        stopped = completion.finish_reason is FinishReason.STOP
        assert (completion.token_ids[-1] == tokenizer.eos_token_id) is stopped
        assert tokenizer.eos_token_id not in completion.token_ids[:-1]
        assert stopped or len(completion.token_ids) == SPEC.max_new_tokens
        assert "<eos>" not in completion.text
        fields = (completion.logprobs, completion.sampling_logprobs, completion.entropies)
        assert {len(f) for f in fields} == {len(completion.token_ids)}


def test_the_opening_is_forced_and_scored(make_model) -> None:
    folder = make_model("llama")
    engine = open_engine(str(folder))
    got = drawn(engine, requests(12, opening="4*7"))
    text_of = {p.key: p.text for p in PROMPTS}
    assert len({c.text for c in got.values()}) > 20
    for (prompt_key, _), completion in got.items():
        assert completion.text.startswith("4*7")
        logprobs, _ = exact(folder, text_of[prompt_key], completion.token_ids)
        assert completion.logprobs == pytest.approx(logprobs, abs=2e-5)


def test_stop_strings_end_the_text(make_model) -> None:
    engine = open_engine(str(make_model("llama")))
    plain = drawn(engine, requests(40))
    spec = SamplingSpec(max_new_tokens=20, seed=3, stop=("a", "7"))
    got = drawn(engine, requests(40), spec)
    stopped = 0
    for key, completion in got.items():
        full = plain[key].text
        cut = min((full.find(s) for s in spec.stop if s in full), default=-1)
        assert completion.text == (full if cut < 0 else full[:cut])
        if cut >= 0:
            stopped += 1
            assert completion.finish_reason is FinishReason.STOP
            assert completion.token_ids == plain[key].token_ids[: len(completion.token_ids)]
    assert stopped > 10


def test_what_does_not_fit_the_context_fails_or_is_cut(make_model) -> None:
    engine = open_engine(str(make_model("gpt2")))
    too_long, tight = (user_prompt("t", "1", "ab" * k) for k in (64, 60))
    got = drawn(engine, requests(3, [too_long, tight]))
    for index in range(3):
        failed = got[too_long.key, index]
        assert failed.finish_reason is FinishReason.FAILED
        assert "128" in failed.failure
        assert len(got[tight.key, index].token_ids) <= 8
    empty = drawn(engine, requests(1, [user_prompt("t", "1", "")]))
    assert "no tokens" in next(iter(empty.values())).failure


@pytest.mark.parametrize("share", [True, False], ids=["shared", "plain"])
def test_out_of_memory_halves_the_batch_and_loses_nothing(make_model, monkeypatch, share) -> None:
    engine = open_engine(
        str(make_model("llama")), EngineOptions(shared_prefix=share, batch_rows=64)
    )
    whole = drawn(engine, requests(30))
    decoder = SharedDecoder if share else PlainDecoder
    step, widths = decoder.step, []

    def scarce(self, ids_B):
        widths.append(self.rows)
        if self.rows > 20 and len(widths) > 3:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")
        return step(self, ids_B)

    monkeypatch.setattr(decoder, "step", scarce)
    again = drawn(engine, requests(30))
    assert {k: c.token_ids for k, c in again.items()} == {k: c.token_ids for k, c in whole.items()}
    assert max(widths) > 20 >= widths[-1]


def test_a_row_that_never_fits_fails_alone(make_model, monkeypatch) -> None:
    engine = open_engine(str(make_model("llama")), EngineOptions(batch_rows=4))
    add = SharedDecoder.add

    def scarce(self, groups):
        if any(len(state.ids) > 50 for state, _ in groups):
            raise torch.OutOfMemoryError("CUDA out of memory")
        return add(self, groups)

    monkeypatch.setattr(SharedDecoder, "add", scarce)
    got = drawn(engine, requests(3, [LONG, PROMPTS[0]]))
    assert {got[LONG.key, i].failure for i in range(3)} == {"out of memory with a single row"}
    assert all(got[PROMPTS[0].key, i].token_ids for i in range(3))


def test_other_errors_are_not_swallowed(make_model, monkeypatch) -> None:
    engine = open_engine(str(make_model("llama")))

    def broken(self, ids_B):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(SharedDecoder, "step", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        list(engine.sample(requests(2), SPEC))


def test_closing_early_is_harmless(make_model) -> None:
    engine = open_engine(str(make_model("llama")), EngineOptions(batch_rows=5))
    running = engine.sample(requests(10), SPEC)
    first = next(running)
    running.close()
    assert not torch.is_inference_mode_enabled()
    assert drawn(engine, requests(10))[first.id.prompt_key, first.id.index] == first.completion


def test_a_model_whose_attention_differs_keeps_its_own(make_model, monkeypatch) -> None:
    monkeypatch.setattr("rewardable.engines.hf.shared._probe", lambda *_: False)
    engine = open_engine(str(make_model("qwen2")))
    assert engine.shares_prefixes is False
    assert len(drawn(engine, requests(2))) == 8
