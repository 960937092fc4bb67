"""Routing prior: class probabilities against the enumeration of all short answers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from rewardable.errors import ConfigError
from rewardable.records import Prompt, user_prompt
from rewardable.train.core import Forward
from rewardable.train.preserve import RoutingConfig
from rewardable.train.preserve.reference import Reference
from rewardable.train.preserve.routing import (
    RoutingPrior,
    class_divergence,
    class_logprobs,
    read_trees,
    sample_heads,
)
from rewardable.train.preserve.trees import opening_tree

from .conftest import VOCABULARY, said, same_gradient

OPENINGS = {"a": [(4,)], "b": [(5, 2), (5, 7)], "c": [(6, 3, 8)]}
PROMPT = (3, 9)


def enumerated(model: Any, openings: Mapping[str, Sequence[tuple[int, ...]]]) -> torch.Tensor:
    """Sum the probabilities of every answer of three tokens by the class it begins with."""
    logp = torch.zeros(())
    for length in range(3):
        heads = list(itertools.product(range(VOCABULARY), repeat=length))
        rows = torch.tensor([(*PROMPT, *head) for head in heads])
        said = model(input_ids=rows).logits[:, -1].float().log_softmax(-1)
        logp = logp.unsqueeze(-1) + said.view((VOCABULARY,) * (length + 1))
    mass = logp.exp()
    assert float(mass.sum()) == pytest.approx(1.0, abs=1e-5)
    named = [sum(mass[way].sum() for way in ways) for ways in openings.values()]
    begun = torch.zeros_like(mass, dtype=torch.bool)
    for ways in openings.values():
        for way in ways:
            begun[way] = True
    return torch.stack([*named, mass[~begun].sum()])


def test_class_probabilities_and_their_gradient_are_those_of_enumeration(
    policy: Any, base: Any
) -> None:
    tree = opening_tree(OPENINGS)
    got = read_trees(policy, [(PROMPT, tree)], "cpu")[0]
    expected = enumerated(policy, OPENINGS)
    torch.testing.assert_close(got.exp(), expected, rtol=1e-4, atol=1e-6)
    assert float(got.exp().sum()) == pytest.approx(1.0, abs=1e-5)
    base_C = read_trees(base, [(PROMPT, tree)], "cpu")[0].detach()
    prior = enumerated(base, OPENINGS).detach()
    by_hand = sum(q * (q.log() - p.log()) for q, p in zip(prior, expected, strict=True))
    same_gradient(policy, class_divergence(base_C, got), by_hand)


def test_prompts_of_different_lengths_are_read_together_as_alone(policy: Any) -> None:
    small, large = opening_tree({"a": [(4,)]}), opening_tree(OPENINGS)
    trees = [((3, 9, 2, 5, 6), small), (PROMPT, large)]
    together = read_trees(policy, trees, "cpu")
    for one, got in zip(trees, together, strict=True):
        torch.testing.assert_close(got, read_trees(policy, [one], "cpu")[0], rtol=1e-4, atol=1e-5)


def test_the_gradient_in_the_logits_passes_autograds_own_check() -> None:
    tree = opening_tree(OPENINGS)
    torch.manual_seed(0)
    logits = torch.randn((len(tree.rows), tree.depth, VOCABULARY), dtype=torch.float64)
    logits.requires_grad_(True)
    prior = torch.tensor([0.3, 0.4, 0.2, 0.1], dtype=torch.float64).log()

    def loss(numbers: torch.Tensor) -> torch.Tensor:
        return class_divergence(prior, class_logprobs(tree, numbers.log_softmax(-1)))

    assert torch.autograd.gradcheck(loss, (logits,))


def test_other_stays_exact_where_it_is_tiny() -> None:
    """One minus the rest would be 0 here, or rounding."""
    tree = opening_tree({"a": [(4,)], "b": [(5,)]})
    logits = torch.full((1, 1, VOCABULARY), -30.0)
    logits[0, 0, 4:6] = 0.0
    got = class_logprobs(tree, logits.log_softmax(-1))
    wide = torch.full((VOCABULARY,), -30.0, dtype=torch.float64)
    wide[4:6] = 0.0
    mass = wide.softmax(0)
    assert float(1.0 - got[:-1].exp().sum()) == pytest.approx(0.0, abs=1e-6)
    assert float(got[-1]) == pytest.approx(float((mass[:4].sum() + mass[6:].sum()).log()), abs=1e-4)


class Vocabulary:
    """A tokenizer of single characters: ``a`` is 2, ``b`` is 3..."""

    chat_template = None
    eos_token_id = 1

    def __call__(self, text: Any, add_special_tokens: bool = True) -> dict[str, Any]:
        if isinstance(text, list):
            return {"input_ids": [self(one)["input_ids"] for one in text]}
        return {"input_ids": [ord(c) - 95 for c in text]}

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(i + 95) for i in ids)


class Lister:
    name = "letters"

    def entry_openings(self, prompt: Prompt) -> Mapping[str, Sequence[str]]:
        return {"cd": ("cd",), "e": ("e",)}

    def solution_texts(self, prompt: Prompt, count: int, seed: int) -> Sequence[str]:
        return ("cde", "ea")[:count]


PROMPTS = [user_prompt("letters", "1", text) for text in ("a", "ba", "dab", "hag")]


def routing(config: RoutingConfig, folder: Path, task: Any) -> RoutingPrior:
    term = RoutingPrior(config, Reference(str(folder)), task, PROMPTS, Vocabulary(), 7)
    term._ends = frozenset({1})
    return term


@pytest.mark.parametrize("source", ["task", "base"])
def test_the_base_costs_nothing_and_another_policy_what_the_formula_says(
    seen: Callable[..., Forward], policy: Any, base: Any, base_folder: Path, source: Any
) -> None:
    config = RoutingConfig(weight=0.5, prompts=4, source=source, samples=40, tokens=2, classes=6)
    term = routing(config, base_folder, Lister())
    assert float(term(seen(base, [[2]], [[3]]))) == pytest.approx(0.0, abs=1e-6)
    got = term(seen(policy, [[2]], [[3]]))
    expected = 0.0
    for route in term._routes.values():
        now = read_trees(policy, [(route.prompt, route.tree)], "cpu")[0]
        expected += float(class_divergence(route.base_C, now)) / len(PROMPTS)
    assert len(term._routes) == 4
    assert float(got) == pytest.approx(0.5 * expected, rel=1e-4)
    assert float(got) > 0.01
    got.backward()


def test_draws_depend_on_seed_step_and_turn_alone(
    seen: Callable[..., Forward], policy: Any, base_folder: Path
) -> None:
    config = RoutingConfig(prompts=1, source="task")
    first, second = (routing(config, base_folder, Lister()) for _ in range(2))
    steps = [0, 0, 0, 0, 1, 1, 2, 2]
    drawn = [first._draw(seen(policy, [[2]], [[3]], step=s))[0].key for s in steps]
    assert len(set(drawn[:4])) > 1
    resumed = [second._draw(seen(policy, [[2]], [[3]], step=s))[0].key for s in steps[4:]]
    assert resumed == drawn[4:]


def test_sampled_heads_follow_the_base_and_stop_at_its_end_token(base: Any) -> None:
    draw = torch.Generator().manual_seed(3)
    with torch.no_grad():
        heads = sample_heads(base, PROMPT, 4000, 2, frozenset({1}), draw, "cpu")
        first = said(base, PROMPT).exp()
    counts = Counter(head[0] for head in heads)
    for token in range(VOCABULARY):
        p = float(first[token])
        assert abs(counts[token] / 4000 - p) < 4.5 * (p * (1 - p) / 4000) ** 0.5 + 1e-9
    assert all(len(head) == (1 if head[0] == 1 else 2) for head in heads)


def test_a_task_that_lists_nothing_is_sampled_or_refused(base_folder: Path) -> None:
    silent: Any = SimpleNamespace(name="silent")
    term = routing(RoutingConfig(source="auto"), base_folder, silent)
    assert term._lister is None
    with pytest.raises(ConfigError, match="silent"):
        routing(RoutingConfig(source="task"), base_folder, silent)
    with pytest.raises(ConfigError, match="needs prompts"):
        RoutingPrior(RoutingConfig(), Reference(str(base_folder)), silent, [], Vocabulary(), 0)
