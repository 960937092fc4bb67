"""Served models, asked by the engine for servers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rewardable.engines import EngineOptions, close_engine, open_engine
from rewardable.engines.serving.server import PolicyServer
from rewardable.protocols import SampleRequest, Scorer, ScoreRequest
from rewardable.records import FinishReason, SamplingSpec, user_prompt
from rewardable.workflows.serve import serving

pytest.importorskip("httpx2")
PROMPTS = [user_prompt("t", "1", text) for text in ("4,7,9=19:", "one two three")]
TEMPLATE = "{% for m in messages %}={{ m['content'] }}{% endfor %}"


@contextmanager
def running(source: str, **options) -> Iterator[PolicyServer]:
    with serving(source, port=0, **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def drawn(engine, spec: SamplingSpec, n: int = 4, opening: str = "") -> dict:
    wanted = [SampleRequest(prompt=p, indices=tuple(range(n)), opening=opening) for p in PROMPTS]
    return {(r.id.prompt_key, r.id.index): r.completion for r in engine.sample(wanted, spec)}


def test_a_served_mix_is_the_mix(make_model) -> None:
    mix = f"mix:logits,alpha=0.4,{make_model('llama', seed=0)},{make_model('llama', seed=1)}"
    here = open_engine(mix)
    with running(mix, model="mixed") as server:
        there = open_engine(f"{server.url}#mixed")
        assert isinstance(there, Scorer)
        greedy = SamplingSpec(max_new_tokens=10, temperature=0.0)
        wanted, got = drawn(here, greedy, 1), drawn(there, greedy, 1)
        assert {k: c.token_ids for k, c in got.items()} == {
            k: c.token_ids for k, c in wanted.items()
        }
        spec = SamplingSpec(max_new_tokens=10, seed=2)
        rows = drawn(there, spec)
        again = drawn(there, spec)
        assert {k: c.token_ids for k, c in again.items()} == {
            k: c.token_ids for k, c in rows.items()
        }
        assert len({row.token_ids for row in rows.values()}) > 4
        assert all(row.finish_reason is not FinishReason.FAILED for row in rows.values())
        requests = [
            ScoreRequest(id=f"{p.key}/{i}", prompt=p, token_ids=rows[p.key, i].token_ids)
            for p in PROMPTS
            for i in range(4)
        ]
        local = {one.id: one.logprobs for one in here.score(requests)}
        for request, score in zip(requests, there.score(requests), strict=True):
            key, _, i = request.id.rpartition("/")
            assert score.logprobs == pytest.approx(local[score.id], abs=1e-4)
            assert rows[key, int(i)].logprobs == pytest.approx(local[request.id], abs=1e-4)
        forced = drawn(there, spec, 2, opening="7*3")
        assert all(row.text.startswith("7*3") for row in forced.values())
        close_engine(there)


def test_a_mix_of_first_tokens_scores_no_prompts(make_model) -> None:
    """Where the completion begins is not known from ids, so a wrong figure is not given."""
    mix = f"mix:opening,tokens=2,{make_model('llama', seed=0)},{make_model('llama', seed=1)}"
    with running(mix, model="mixed") as server:
        there = open_engine(f"{server.url}#mixed")
        spec = SamplingSpec(max_new_tokens=6, temperature=0.0)
        assert drawn(there, spec, 1) != {}
        forced = drawn(there, spec, 1, opening="7")
        assert all(row.finish_reason is FinishReason.FAILED for row in forced.values())
        assert all("cannot score a prompt" in row.failure for row in forced.values())
        close_engine(there)


def test_chats_use_the_template_and_continue_an_answer(make_model, tmp_path) -> None:
    file = tmp_path / "chat.jinja"
    file.write_text(TEMPLATE)
    folder = str(make_model("llama", seed=0))
    here = open_engine(folder, EngineOptions(template_from=str(file)))
    with running(folder, model="chat", template_from=str(file)) as server:
        there = open_engine(f"{server.url}#chat", EngineOptions(arguments=("http.tokenizer=none",)))
        spec = SamplingSpec(max_new_tokens=8, temperature=0.0)
        for opening in ("", "7*3"):
            got, wanted = drawn(there, spec, 1, opening), drawn(here, spec, 1, opening)
            assert {k: c.finish_reason for k, c in got.items()} == {
                k: c.finish_reason for k, c in wanted.items()
            }
            if not opening:  # there the limit counts what follows
                assert {k: c.text for k, c in got.items()} == {k: c.text for k, c in wanted.items()}
            for key, row in got.items():
                assert row.text[:8] == wanted[key].text[:8]
        close_engine(there)
