"""Mixed-in parts of the loss: their values, their gradients, what a ratio comes to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from accelerate import Accelerator
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardable.errors import ConfigError
from rewardable.records import Outcome, Prompt, Verdict
from rewardable.tasks import load_task
from rewardable.train.core import Forward
from rewardable.train.mix import DistillMix, MixConfig, ReplayConfig
from rewardable.train.mix.build import build_terms
from rewardable.train.mix.distill import DistillTerm
from rewardable.train.mix.likelihood import batch_of, cross_entropy_sum, reverse_kl
from rewardable.train.mix.terms import ReplayTerm, Shares, SupervisedTerm
from rewardable.train.rows import gold_rows
from rewardable.train.shaping import ShapedReward
from rewardable.train.taps import RolloutBatch
from rewardable.train.tokens import encoder
from rewardable.workflows.sources import resolve_source

TASK = load_task("countdown-steps:numbers=3,values=1-9")
POCKET = resolve_source("pocket")
PROMPTS = TASK.prompts(6, 0)
ROWS = gold_rows(TASK, PROMPTS, 2, 0)
TOKENIZER = AutoTokenizer.from_pretrained(POCKET)
TOLD = encoder(TOKENIZER, (1,))


@pytest.fixture
def trainer() -> Any:
    accelerator = SimpleNamespace(process_index=0, device="cpu", unwrap_model=lambda model: model)
    model = AutoModelForCausalLM.from_pretrained(POCKET)
    return SimpleNamespace(processing_class=TOKENIZER, model=model, accelerator=accelerator)


def forward(
    trainer: Any, answers: Sequence[tuple[Prompt, Sequence[int]]], *, step: int = 0,
    entropies: Sequence[float] = (),
) -> Forward:  # fmt: skip
    rows = [(TOLD.prompt(prompt), answer) for prompt, answer in answers]
    batch = batch_of(rows, 0, "cpu")
    width = batch.answer_mask_BT.size(1)
    entropy_B = torch.tensor(list(entropies) or [0.5] * len(rows))
    return Forward(
        step=step,
        model=trainer.model,
        accelerator=trainer.accelerator,
        prompt_ids_BP=batch.ids_BL[:, :-width],
        prompt_mask_BP=batch.mask_BL[:, :-width],
        completion_ids_BT=batch.ids_BL[:, -width:],
        completion_mask_BT=batch.answer_mask_BT,
        advantages_B=torch.zeros(len(rows)),
        logp_BT=torch.zeros(len(rows), width),
        entropy_BT=entropy_B[:, None].expand(-1, width),
    )


def some_forward(trainer: Any, tokens: int = 40, step: int = 0) -> Forward:
    return forward(trainer, [(PROMPTS[0], [5] * tokens), (PROMPTS[1], [5] * tokens)], step=step)


def alone(model: Any, prompt: Sequence[int], answer: Sequence[int]) -> float:
    """The answer's negative log-likelihood by a forward pass without padding."""
    ids = torch.tensor([[*prompt, *answer]])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1]
    return float(functional.cross_entropy(logits, torch.tensor(answer), reduction="sum"))


def test_cross_entropy_of_padded_rows_is_that_of_each_alone(trainer: Any) -> None:
    rows = [([3, 4, 5, 6], [7, 1]), ([8], [9, 10, 11, 1]), ([4, 4], [1])]
    batch = batch_of(rows, 0, "cpu")
    assert int(batch.n_tokens) == 7
    expected = sum(alone(trainer.model, *row) for row in rows)
    assert float(cross_entropy_sum(trainer.model, batch).detach()) == pytest.approx(
        expected, rel=1e-5
    )


def test_reverse_kl_is_the_sum_over_the_vocabulary() -> None:
    p = torch.tensor([[[0.7, 0.2, 0.1], [0.5, 0.25, 0.25]]])
    q = torch.tensor([[[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]])
    got = reverse_kl(p.log(), q.log(), torch.tensor([[1, 0]]))
    assert float(got) == pytest.approx(float((p[0, 0] * (p[0, 0] / q[0, 0]).log()).sum()), rel=1e-5)
    assert float(reverse_kl(p.log(), q.log(), torch.tensor([[0, 0]]))) == 0.0


def test_by_tokens_every_token_weighs_as_one_of_the_rollouts(trainer: Any) -> None:
    term = SupervisedTerm(ROWS, ratio=0.5, unit="tokens", count=8, seed=0)
    term.bind(trainer)
    seen = some_forward(trainer)
    drawn = SupervisedTerm(ROWS, ratio=0.5, unit="tokens", count=8, seed=0)
    drawn.bind(trainer)
    assert drawn._draws is not None
    rows = [drawn._rows[row] for row in drawn._draws.tokens(0.5 * 80)]
    total = sum(alone(trainer.model, *row) for row in rows)
    value = term(seen)
    assert float(value.detach()) == pytest.approx(total / 80, rel=1e-5)
    value.backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in trainer.model.parameters())


def test_by_tokens_the_shares_come_out_over_many_passes(trainer: Any) -> None:
    config = MixConfig(rlvr=0.5, supervised=0.3, replay=0.2)
    prompts, rows = PROMPTS, ROWS
    added = build_terms(config, prompts=prompts, rows=rows)
    added.bind(trainer)
    supervised, replay = added.terms
    assert isinstance(replay, ReplayTerm)
    fill(replay, trainer)
    taken = {"supervised": 0, "replay": 0}
    rollouts = 0
    with torch.no_grad():
        for step in range(1, 41):
            seen = some_forward(trainer, 30 + step % 5, step)
            rollouts += int(seen.completion_mask_BT.sum())
            for term in (supervised, replay):
                term(seen)
                taken[term.name] += term.tokens
    total = rollouts + sum(taken.values())
    assert taken["supervised"] / total == pytest.approx(0.3, abs=0.01)
    assert taken["replay"] / total == pytest.approx(0.2, abs=0.01)


def test_by_loss_the_mean_is_weighed_and_the_rows_are_fixed(trainer: Any) -> None:
    few, many = (
        SupervisedTerm(ROWS[:2], ratio=0.5, unit="loss", count=count, seed=0) for count in (2, 4)
    )
    total, tokens = 0.0, 0
    for row in ROWS[:2]:
        answer = TOLD.completion(row.text)
        total += alone(trainer.model, TOLD.prompt(row.prompt), answer)
        tokens += len(answer)
    for term in (few, many):
        term.bind(trainer)
        got = float(term(some_forward(trainer)).detach())
        assert got == pytest.approx(0.5 * total / tokens, rel=1e-5)
    assert many.tokens == 2 * few.tokens
    shares = Shares((few,))(some_forward(trainer))
    assert shares["mix/supervised_tokens"] == pytest.approx(few.tokens / (few.tokens + 80))


def rollouts(
    rows: Sequence[tuple[Prompt, str, Outcome, bool]], group: int, step: int = 0
) -> RolloutBatch:
    shaped = tuple(
        ShapedReward(
            prompt_key=prompt.key,
            verdict=Verdict(
                outcome=outcome, verifier="v", version="1", reason="t", labels={"solution": text}
            ),
            base=None if outcome is Outcome.UNGRADED else float(outcome is Outcome.CORRECT),
        )
        for prompt, text, outcome, _ in rows
    )
    return RolloutBatch(
        step=step,
        group_size=group,
        prompt_keys=tuple(prompt.key for prompt, *_ in rows),
        texts=tuple(text for _, text, _, _ in rows),
        token_ids=tuple(tuple(TOLD.completion(text)) for _, text, _, _ in rows),
        truncated=tuple(cut for *_, cut in rows),
        shaped=shaped,
    )


def fill(replay: ReplayTerm, trainer: Any) -> None:
    """One success in each group of 8: all rare."""
    for prompt in PROMPTS:
        wrong = [(prompt, f"{n}+1", Outcome.WRONG, False) for n in range(7)]
        replay.tap(rollouts([(prompt, "1+2=3", Outcome.CORRECT, False), *wrong], 8))
        replay(forward(trainer, [(prompt, TOLD.completion("1+2=3"))]))
    assert len(replay.buffer) == len(PROMPTS)


def replay_term(trainer: Any, **config: Any) -> ReplayTerm:
    told = ReplayConfig(**config)
    term = ReplayTerm(PROMPTS, told, ratio=0.25, unit="loss", count=4, seed=0)
    term.bind(trainer)
    return term


def test_only_finished_graded_rare_successes_are_kept(trainer: Any) -> None:
    term = replay_term(trainer, rare_share=0.25, entropy_quantile=1.0)
    right, wrong, none = Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED
    rows = [("a", right, False), ("b", wrong, False), ("c", none, False), ("d", right, True)]
    full = [(PROMPTS[0], {"a": "1+2", "b": "1+3", "c": "1+4", "d": "1+5"}[t], o, c)
            for t, o, c in rows] + [(PROMPTS[0], "9+9", wrong, False)] * 4  # fmt: skip
    term.tap(rollouts(full, 8))
    answers = [(prompt, TOLD.completion(text)) for prompt, text, _, _ in full]
    term(forward(trainer, answers, entropies=[0.1] * 8))
    assert [row.token_ids for row in term.buffer.rows] == [tuple(TOLD.completion("1+2"))]
    (kept,) = term.buffer.rows
    assert kept.prompt_ids == tuple(TOLD.prompt(PROMPTS[0]))
    assert kept.entropy == pytest.approx(0.1)


def test_the_same_answer_to_two_prompts_is_told_apart(trainer: Any) -> None:
    term = replay_term(trainer, rare_share=1.0)
    both = [(PROMPTS[1], "1+2", Outcome.WRONG, False), (PROMPTS[0], "1+2", Outcome.CORRECT, False)]
    term.tap(rollouts(both, 1))
    term(forward(trainer, [(prompt, TOLD.completion("1+2")) for prompt, *_ in both]))
    assert [row.prompt_key for row in term.buffer.rows] == [PROMPTS[0].key]


def test_replay_is_the_cross_entropy_of_what_was_kept_before(trainer: Any) -> None:
    term = replay_term(trainer)
    assert float(term(some_forward(trainer)).detach()) == 0.0
    fill(term, trainer)
    value = float(term(some_forward(trainer, step=1)).detach())
    drawn = term.buffer.draw(1, 0)[:4]
    total = sum(alone(trainer.model, row.prompt_ids, row.token_ids) for row in drawn)
    tokens = sum(len(row.token_ids) for row in drawn)
    assert value == pytest.approx(0.25 * total / tokens, rel=1e-5)


def test_an_empty_draw_is_a_zero_in_the_graph(trainer: Any) -> None:
    value = replay_term(trainer)(some_forward(trainer))
    value.backward()
    assert float(value.detach()) == 0.0
    assert all(float(p.grad.abs().sum()) == 0.0 for p in trainer.model.parameters())


def test_restored_terms_go_on_alike(trainer: Any) -> None:
    config = MixConfig(rlvr=0.5, supervised=0.3, replay=0.2)
    one, other = (build_terms(config, prompts=PROMPTS, rows=ROWS) for _ in range(2))
    for added in (one, other):
        added.bind(trainer)
    fill(one.terms[1], trainer)
    for step in range(1, 4):
        for term in one.terms:
            term(some_forward(trainer, step=step))
    for ours, theirs in zip(one.terms, other.terms, strict=True):
        theirs.restore(json.loads(json.dumps(ours.state())))
    seen = some_forward(trainer, step=9)
    for ours, theirs in zip(one.terms, other.terms, strict=True):
        assert float(ours(seen).detach()) == float(theirs(seen).detach())


def distil_term(trainer: Any, **change: Any) -> DistillTerm:
    told = {"teacher": POCKET, "rows": 3, "max_new_tokens": 12, "every": 2, "weight": 0.5, **change}
    term = DistillTerm(PROMPTS, DistillMix(**told), 0)
    term.bind(trainer)
    return term


def test_distillation_is_zero_at_the_teacher_and_grows_with_distance(trainer: Any) -> None:
    trainer.accelerator = real_accelerator()
    term = distil_term(trainer)
    seen = some_forward(trainer)
    assert float(term(seen).detach()) == pytest.approx(0.0, abs=1e-6)
    with torch.no_grad():
        for parameter in trainer.model.parameters():
            noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0))
            parameter.add_(0.02 * noise)
    value = term(seen)
    assert float(value.detach()) > 0.01
    value.backward()
    assert all(p.grad is None for p in term._teacher.parameters())
    assert trainer.model.training is False  # as it was before sampling


def test_the_policy_answers_anew_every_so_many_steps(trainer: Any) -> None:
    trainer.accelerator = real_accelerator()
    term = distil_term(trainer)
    held = []
    for step in range(4):
        term(some_forward(trainer, step=step))
        held.append(tuple(term._rows))
    assert held[0] == held[1] != held[2] == held[3]
    for _, answer in held[0]:
        assert 1 not in answer[:-1]
        assert answer[-1] == 1 or len(answer) == 12


def test_a_teacher_of_other_tokens_is_refused(trainer: Any) -> None:
    with pytest.raises(ConfigError, match="same tokens"):
        distil_term(trainer, teacher=resolve_source("pocket-routes"))


def test_shares_without_a_source_are_refused() -> None:
    with pytest.raises(ConfigError, match="no rows"):
        build_terms(MixConfig(), prompts=PROMPTS)
    nothing = MixConfig(rlvr=1.0, supervised=0.0, replay=0.0)
    with pytest.raises(ConfigError, match="would be unused"):
        build_terms(nothing, prompts=PROMPTS, rows=ROWS)
    assert build_terms(nothing, prompts=PROMPTS).terms == ()


def real_accelerator() -> Any:
    return Accelerator(cpu=True)
