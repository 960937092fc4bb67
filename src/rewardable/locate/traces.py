"""The same texts under every policy: which are scored, scoring them once, and token tables."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rewardable.locate.likelihood import Tokens, join_tokens
from rewardable.locate.phases import token_phases
from rewardable.locate.rollouts import PolicyRollouts
from rewardable.locate.task_rules import EntryTask, Rules
from rewardable.protocols import HiddenRequest, Scorer, ScoreRequest, Task, TokenReader
from rewardable.records import Prompt, digest

Floats = npt.NDArray[np.float64]
SOLVER = "solver"
OnDone = Callable[[int, int], None]
"""Told (done, total)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """One scored text: where it comes from, its prompt, its ids and the text that each adds."""

    source: str
    prompt: int
    token_ids: tuple[int, ...]
    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of S texts under one policy: per text, log-probs and entropies in nats.

    An engine may give no entropies; those of every text are then empty.
    """

    logprobs: tuple[tuple[float, ...], ...]
    entropies: tuple[tuple[float, ...], ...]


def pick(
    engine: object,
    task: Task,
    prompts: Sequence[Prompt],
    rollouts: Sequence[PolicyRollouts],
    count: int,
    seed: int,
) -> list[Trace]:
    """Choose up to ``count`` texts a prompt and source: each policy's samples, solver texts."""
    found: list[Trace] = []
    for policy in rollouts:
        by_prompt: dict[int, list[tuple[int, ...]]] = {}
        for one in policy.rows:
            if one.token_ids:
                by_prompt.setdefault(one.prompt, []).append(one.token_ids)
        for i, texts in sorted(by_prompt.items()):
            rng = random.Random(f"texts {seed} {policy.policy.key} {i}")
            for ids in rng.sample(texts, min(count, len(texts))):
                found.append(_sequence(engine, policy.policy.name, i, ids))
    if isinstance(task, EntryTask) and isinstance(engine, TokenReader):
        for i, prompt in enumerate(prompts):
            for text in task.solution_texts(prompt, count, seed):
                found.append(_sequence(engine, SOLVER, i, engine.encode(prompt, text)))
    return found


def _sequence(engine: object, source: str, prompt: int, ids: tuple[int, ...]) -> Trace:
    pieces = engine.pieces(ids) if isinstance(engine, TokenReader) else ("",) * len(ids)
    return Trace(source=source, prompt=prompt, token_ids=ids, pieces=pieces)


def score(
    folder: Path,
    engine: Scorer,
    prompts: Sequence[Prompt],
    sequences: Sequence[Trace],
    on_done: OnDone,
) -> Scores:
    """Score all texts under one policy, or read the scores that an earlier call stored."""
    what = digest(
        engine.policy.key, [[prompts[s.prompt].key, list(s.token_ids)] for s in sequences]
    )
    path = folder / f"{what}.npz"
    lengths = [len(one.token_ids) for one in sequences]
    if path.is_file():
        with np.load(path) as stored:
            return _cut(stored["logprobs"], stored["entropies"], lengths)
    logprobs, entropies = _score_all(engine, prompts, sequences, on_done)
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, logprobs=logprobs, entropies=entropies)
    os.replace(partial, path)
    return _cut(logprobs, entropies, lengths)


def _score_all(
    engine: Scorer, prompts: Sequence[Prompt], sequences: Sequence[Trace], on_done: OnDone
) -> tuple[Floats, Floats]:
    requests = [
        ScoreRequest(id=str(j), prompt=prompts[one.prompt], token_ids=one.token_ids)
        for j, one in enumerate(sequences)
    ]
    found: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = {}
    for scores in engine.score(requests):
        found[int(scores.id)] = (scores.logprobs, scores.entropies)
        if len(found) % 50 == 0 or len(found) == len(requests):
            on_done(len(found), len(requests))
    ordered = [found[j] for j in range(len(sequences))]
    logprobs, entropies = (
        np.array([value for one in ordered for value in one[part]], dtype=np.float64)
        for part in (0, 1)
    )
    return logprobs, entropies


def _cut(logprobs_T: Floats, entropies_T: Floats, lengths: Sequence[int]) -> Scores:
    ends = np.cumsum(lengths)[:-1]
    parts = np.split(entropies_T, ends) if entropies_T.size else [entropies_T] * len(lengths)
    return Scores(
        logprobs=tuple(tuple(part.tolist()) for part in np.split(logprobs_T, ends)),
        entropies=tuple(tuple(part.tolist()) for part in parts),
    )


def token_table(
    sequences: Sequence[Trace], source: str, scores: Mapping[str, Scores], rules: Rules
) -> Tokens | None:
    """Lay the texts of one source out by token; None where there is none."""
    chosen = [j for j, one in enumerate(sequences) if one.source == source and one.token_ids]
    if not chosen:
        return None
    return join_tokens(
        [token_phases(sequences[j].pieces, rules.phases(sequences[j].text)) for j in chosen],
        [sequences[j].prompt for j in chosen],
        {name: [one.logprobs[j] for j in chosen] for name, one in scores.items()},
        {
            name: [one.entropies[j] for j in chosen]
            for name, one in scores.items()
            if any(one.entropies)
        },
    )


def sources(sequences: Sequence[Trace]) -> Iterator[str]:
    """Yield the sources in order."""
    yield from dict.fromkeys(one.source for one in sequences)


def hidden_requests(
    traces: Sequence[Trace], source: str, prompts: Sequence[Prompt]
) -> list[HiddenRequest]:
    """Ask for the states of one text of ``source`` a prompt: end of prompt, then every token."""
    first = {one.prompt: one for one in reversed(traces) if one.source == source}
    return [
        HiddenRequest(
            id=str(i),
            prompt=prompts[i],
            token_ids=trace.token_ids,
            positions=(-1, *range(len(trace.token_ids))),
        )
        for i, trace in sorted(first.items())
    ]
