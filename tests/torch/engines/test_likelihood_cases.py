"""Published faults of likelihoods: alignment, padding, end tokens, doubled begin tokens."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import processors

from rewardable.engines import EngineOptions, open_engine
from rewardable.engines.hf.decoder import Moves
from rewardable.engines.hf.finish import Finisher
from rewardable.engines.hf.prompts import PromptEncoder
from rewardable.engines.hf.rows import Job
from rewardable.engines.hf.sample import SampleLoop, new_state
from rewardable.engines.hf.score import full_logits, score_items
from rewardable.errors import ConfigError
from rewardable.protocols import SampleRequest
from rewardable.records import FinishReason, SamplingSpec, user_prompt

VOCABULARY = 50


class TableModel(torch.nn.Module):
    """Gives the logits of a table by position, whatever the ids."""

    def __init__(self, logits_TV: torch.Tensor) -> None:
        super().__init__()
        self.logits_TV = torch.nn.Parameter(logits_TV)

    def forward(self, input_ids, **_):
        rows, length = input_ids.shape
        return SimpleNamespace(logits=self.logits_TV[:length].expand(rows, -1, -1))


def with_entropy(entropy: float) -> torch.Tensor:
    """Logits whose entropy is the one given: one peak, its height found by bisection."""
    low, high = 0.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        logits_V = torch.zeros(VOCABULARY, dtype=torch.float64)
        logits_V[0] = middle
        log_V = logits_V.log_softmax(-1)
        low, high = (middle, high) if -(log_V.exp() * log_V).sum() > entropy else (low, middle)
    return logits_V.float()


def with_logprob(token: int, logprob: float) -> torch.Tensor:
    """Logits that give ``token`` this log-prob and share the rest evenly."""
    p_V = torch.full((VOCABULARY,), (1 - np.exp(logprob)) / (VOCABULARY - 1), dtype=torch.float64)
    p_V[token] = np.exp(logprob)
    return p_V.log().float()


def scores(logits_TV: torch.Tensor, padded: bool):
    items = [("row", [10, 11], (12, 13, 1))]
    if padded:
        items.append(("longer", [10, 11], (12, 13, 14, 15, 16)))
    found = score_items(lambda some: full_logits(TableModel(logits_TV), some), items, VOCABULARY)
    return next(s for s in found if s.id == "row")


@pytest.mark.parametrize("padded", [False, True])
def test_case_l01_entropy_and_log_prob_at_their_positions(cases, padded: bool) -> None:
    case = cases["L01"]["input"]
    expected = cases["L01"]["expected"]
    table = torch.stack([with_entropy(h) for h in case["entropy_at_position"]])
    got = scores(table, padded).entropies
    assert len(got) == expected["n_tokens"]
    assert sum(got) / len(got) == pytest.approx(expected["entropy"], abs=1e-5)
    # the log-prob of a token is predicted one position before it
    tokens = [11, 12, 13, 1, 0]
    table = torch.stack(
        [with_logprob(t, lp) for t, lp in zip(tokens, case["logprob_of_token"][1:], strict=True)]
        + [torch.zeros(VOCABULARY)]
    )
    assert sum(scores(table, padded).logprobs) == pytest.approx(expected["sum_logprob"], abs=1e-5)


class ScriptedDecoder:
    """Makes each row likely to go on along its script."""

    joins_running = False

    def __init__(self, scripts) -> None:
        self.scripts, self.rows, self.live, self.at = scripts, 0, [], 0

    def add(self, groups):
        self.live = list(range(len(groups)))
        self.rows = len(groups)
        return self._logits()

    def step(self, ids_B):
        self.at += 1
        return self._logits()

    def drop(self, moves: Moves) -> None:
        for hole, mover in zip(moves.holes, moves.movers, strict=True):
            self.live[hole] = self.live[mover]
        del self.live[moves.count :]
        self.rows = moves.count

    def _logits(self):
        at = self.at
        return torch.stack([with_logprob(ids[at], lp[at]) for ids, lp in map(self._row, self.live)])

    def _row(self, row):
        return self.scripts[row]["ids"], self.scripts[row]["logprobs"]


class Words:
    """Decodes an id to its number."""

    def batch_decode(self, rows, **_):
        return [" ".join(map(str, row)) for row in rows]


def test_case_l02_all_end_ids_and_padding_equal_to_one(cases) -> None:
    case = cases["L02"]["input"]
    scripts = case["rows"]
    spec = SamplingSpec(temperature=0, max_new_tokens=case["max_new_tokens"])
    jobs = [
        Job(
            request=SampleRequest(prompt=user_prompt("t", "1", str(i)), indices=(0,)),
            state=new_state([1]), opening=(), limit=spec.max_new_tokens,
        )
        for i in range(len(scripts))
    ]  # fmt: skip
    loop = SampleLoop(
        lambda _: ScriptedDecoder(scripts), spec,
        Finisher(Words(), frozenset(case["eos_ids"]), ()), len(scripts),
    )  # fmt: skip
    found = {jobs.index(job): completion for job, _, completion in loop.run(jobs)}
    said = []
    for i in range(len(scripts)):
        c = found[i]
        finished = c.finish_reason is FinishReason.STOP
        said.append((len(c.token_ids), round(sum(c.logprobs), 3), finished))
    assert said == [(4, -1.85, True), (6, -2.35, False), (3, -1.75, True)]
    assert [found[i].text for i in range(3)] == ["11 42 7", "11 42 7 8 5 6", "11 42"]


def test_every_named_end_id_counts(make_model, tmp_path) -> None:
    folder = make_model("llama", seed=5)
    copy = tmp_path / "several-ends"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    raw = json.loads((copy / "generation_config.json").read_text())
    (copy / "generation_config.json").write_text(json.dumps({**raw, "eos_token_id": [3, 20]}))
    engine = open_engine(str(copy))
    assert engine.loaded.eos_ids == {1, 3, 20}
    request = SampleRequest(prompt=user_prompt("t", "1", "12="), indices=tuple(range(80)))
    rows = [r.completion for r in engine.sample([request], SamplingSpec(max_new_tokens=40))]
    assert {c.token_ids[-1] for c in rows if c.finish_reason is FinishReason.STOP} >= {1, 20}
    assert all(not {1, 3, 20} & set(c.token_ids[:-1]) for c in rows)


TEMPLATE = "<bos>{% for m in messages %}{{ m['content'] }}{% endfor %}="


def prepending(make_tokenizer):
    """A tokenizer that puts the begin token before everything, like Llama's."""
    tokenizer = make_tokenizer(bos_token="<bos>")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", special_tokens=[("<bos>", 2), ("<eos>", 1)]
    )
    return tokenizer


def test_case_l05_one_begin_token_everywhere(character_tokenizer) -> None:
    tokenizer = prepending(character_tokenizer)
    prompt = user_prompt("t", "1", "12")
    assert tokenizer("12")["input_ids"][0] == 2
    chat = PromptEncoder.choose(tokenizer, TEMPLATE, "auto")
    ids = chat.ids(prompt)
    assert ids.count(2) == 1
    assert ids[0] == 2
    prompt_ids, opening = chat.with_opening(prompt, "4*")
    assert prompt_ids == ids
    assert len(opening) == 2
    raw = PromptEncoder.choose(tokenizer, TEMPLATE, "raw")
    assert raw.ids(prompt) == tokenizer("<bos>12", add_special_tokens=False)["input_ids"]
    assert raw.ids(user_prompt("t", "1", "<bos>12")) == raw.ids(prompt)
    assert raw.with_opening(prompt, "4*") == (raw.ids(prompt), opening)


def test_the_template_is_part_of_the_policy_key(make_model, tmp_path) -> None:
    folder = str(make_model("llama"))
    (tmp_path / "t.jinja").write_text(TEMPLATE)
    (tmp_path / "u.jinja").write_text(TEMPLATE + " ")
    raw = open_engine(folder).policy
    one, two = (
        open_engine(folder, EngineOptions(template_from=str(tmp_path / name))).policy
        for name in ("t.jinja", "u.jinja")
    )
    assert raw.template == "raw"
    assert raw.weights == one.weights
    assert len({raw.key, one.key, two.key}) == 3
    forced = EngineOptions(template_from=str(tmp_path / "t.jinja"), prompt_format="raw")
    assert open_engine(folder, forced).policy.key == raw.key
    with pytest.raises(ConfigError, match="needs a chat template"):
        open_engine(folder, EngineOptions(prompt_format="chat"))
