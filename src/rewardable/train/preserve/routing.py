"""A routing prior: keep the base's distribution over how an answer begins."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from rewardable.errors import ConfigError
from rewardable.protocols import Task
from rewardable.records import Prompt, digest
from rewardable.train.core import Forward
from rewardable.train.preserve.classes import (
    ListsOpenings,
    listed_openings,
    sampled_openings,
)
from rewardable.train.preserve.config import RoutingConfig
from rewardable.train.preserve.reference import Ids, Reference, next_logprobs
from rewardable.train.preserve.trees import OpeningTree, opening_tree
from rewardable.train.tokens import encoder


@dataclass(frozen=True, kw_only=True, eq=False)
class Route:
    """A prompt's ids, its tree, and the base's log-probs of the classes, "other" last."""

    prompt: Ids
    tree: OpeningTree
    base_C: torch.Tensor


class RoutingPrior:
    """weight x mean over a few prompts of KL(base's classes || policy's classes).

    Class probabilities are exact: the tree of openings is read by teacher forcing. Which prompts a
    micro-batch looks at depends on seed, step, its place in the step and the process alone.
    """

    name = "routing"

    def __init__(
        self,
        config: RoutingConfig,
        reference: Reference,
        task: Task,
        prompts: Sequence[Prompt],
        tokenizer: Any,
        seed: int,
    ) -> None:
        if not prompts:
            raise ConfigError("the routing prior needs prompts whose openings it keeps; got none.")
        listed = config.source == "task" or (
            config.source == "auto" and isinstance(task, ListsOpenings)
        )
        if listed and not isinstance(task, ListsOpenings):
            raise ConfigError(f"task {task.name} lists no openings; use source='base'.")
        self._config = config
        self._reference = reference
        self._lister: Any = task if listed else None
        self._prompts = tuple(prompts)
        self._tokenizer = tokenizer
        self._encoder = encoder(tokenizer, ())
        self._seed = seed
        self._routes: dict[str, Route] = {}
        self._ends: frozenset[int] = frozenset()
        self._turn = (-1, 0)

    def bind(self, trainer: Any) -> None:
        """Learn which tokens end an answer; share the trainer's reference where it has one."""
        self._reference.bind(trainer)
        known = trainer.accelerator.unwrap_model(trainer.model).generation_config.eos_token_id
        listed = known if isinstance(known, list) else [known, self._tokenizer.eos_token_id]
        self._ends = frozenset(int(i) for i in listed if i is not None)

    def __call__(self, seen: Forward) -> torch.Tensor:
        """Return the term."""
        chosen = self._draw(seen)
        routes = [self._route(seen, prompt) for prompt in chosen]
        device = seen.completion_ids_BT.device
        policy = read_trees(seen.model, [(r.prompt, r.tree) for r in routes], device)
        each = [
            class_divergence(route.base_C.to(device), now_C)
            for route, now_C in zip(routes, policy, strict=True)
        ]
        return self._config.weight * torch.stack(each).mean()

    def _draw(self, seen: Forward) -> list[Prompt]:
        step, turn = self._turn
        turn = turn + 1 if step == seen.step else 0
        self._turn = (seen.step, turn)
        process = seen.accelerator.process_index
        rng = random.Random(f"routing {self._seed} {seen.step} {turn} {process}")
        return rng.sample(self._prompts, min(self._config.prompts, len(self._prompts)))

    def _route(self, seen: Forward, prompt: Prompt) -> Route:
        """Return the prompt's route; what the base says of it is read once."""
        if prompt.key not in self._routes:
            ids = tuple(self._encoder.prompt(prompt))
            device = seen.completion_ids_BT.device
            with self._reference.opened(seen) as model:
                tree = opening_tree(self._openings(model, prompt, ids, device))
                base_C = read_trees(model, [(ids, tree)], device)[0]
            self._routes[prompt.key] = Route(prompt=ids, tree=tree, base_C=base_C.cpu())
        return self._routes[prompt.key]

    def _openings(self, model: Any, prompt: Prompt, ids: Ids, device: Any) -> dict[str, list[Ids]]:
        if self._lister is not None:
            texts = self._config.texts
            return listed_openings(
                self._tokenizer, self._lister, prompt, texts=texts, seed=self._seed
            )
        draw = torch.Generator().manual_seed(
            int(digest("routing", self._seed, prompt.key)[:12], 16)
        )
        rows = sample_heads(
            model, ids, self._config.samples, self._config.tokens, self._ends, draw, device
        )
        return sampled_openings(rows, self._config.classes)


def read_trees(
    model: Any, trees: Sequence[tuple[Ids, OpeningTree]], device: Any
) -> list[torch.Tensor]:
    """Return per tree the log-probs of its classes, "other" last, in one forward pass."""
    prompts = [prompt for prompt, tree in trees for _ in tree.rows]
    rows = [row for _, tree in trees for row in tree.rows]
    places = max(tree.depth for _, tree in trees)
    logp_RTV = next_logprobs(model, prompts, rows, places, device)
    out: list[torch.Tensor] = []
    begin = 0
    for _, tree in trees:
        out.append(class_logprobs(tree, logp_RTV[begin : begin + len(tree.rows)]))
        begin += len(tree.rows)
    return out


def class_logprobs(tree: OpeningTree, logp_RTV: torch.Tensor) -> torch.Tensor:
    """Return log q of every class and, last, of everything else; in the graph of ``logp_RTV``.

    "Other" is summed over the tokens that leave the tree, node by node, so that it stays exact
    where it is tiny; 1 minus the rest would be rounding.
    """
    node_NV = torch.stack([logp_RTV[row, place] for row, place in tree.at])

    def reached(way: Sequence[tuple[int, int]]) -> torch.Tensor:
        if not way:
            return node_NV.new_zeros(())
        nodes, tokens = zip(*way, strict=True)
        return node_NV[list(nodes), list(tokens)].sum()

    leaf_L = torch.stack([reached(path) for path in tree.paths])
    stays_NV = torch.zeros_like(node_NV, dtype=torch.bool)
    for node, tokens in enumerate(tree.children):
        stays_NV[node, list(tokens)] = True
    leaves_N = node_NV.masked_fill(stays_NV, -torch.inf).logsumexp(dim=-1)
    other = (torch.stack([reached(way) for way in tree.above]) + leaves_N).logsumexp(dim=0)
    class_of = torch.tensor(tree.class_of, device=leaf_L.device)
    classes = [leaf_L[class_of == c].logsumexp(dim=0) for c in range(len(tree.classes))]
    return torch.stack([*classes, other])


def class_divergence(base_C: torch.Tensor, policy_C: torch.Tensor) -> torch.Tensor:
    """Return KL(base || policy) over the classes, from log-probs."""
    return (base_C.exp() * (base_C - policy_C)).sum()


def sample_heads(
    model: Any,
    prompt: Ids,
    count: int,
    tokens: int,
    ends: frozenset[int],
    draw: torch.Generator,
    device: Any,
) -> list[Ids]:
    """Draw the first tokens of ``count`` answers at temperature 1, each up to its end token."""
    heads: list[Ids] = [()] * count
    for place in range(tokens):
        open_heads = [head for head in heads if not (head and head[-1] in ends)]
        distinct = list(dict.fromkeys(open_heads))
        if not distinct:
            break
        logp_RTV = next_logprobs(model, [prompt] * len(distinct), distinct, place + 1, device)
        probs_RV = logp_RTV[:, place].exp().cpu()
        at = {head: i for i, head in enumerate(distinct)}
        wanted = torch.tensor([at[head] for head in open_heads])
        drawn = torch.multinomial(probs_RV[wanted], 1, generator=draw)[:, 0].tolist()
        tokens_drawn = iter(drawn)
        heads = [
            head if head and head[-1] in ends else (*head, int(next(tokens_drawn)))
            for head in heads
        ]
    return heads
