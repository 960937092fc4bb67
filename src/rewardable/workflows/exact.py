"""The exact truth about a policy whose accepted texts can be listed.

Every accepted text is scored behind its prompt, end token included, at temperature 1 and without
truncation; the sums are what the estimators of ``metrics`` estimate from samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from rewardable.engines import EngineOptions, open_engine
from rewardable.errors import ConfigError, DataError
from rewardable.protocols import Scorer, ScoreRequest, TokenReader
from rewardable.records import Policy, Prompt
from rewardable.tasks import load_task
from rewardable.tasks.countdown import CountdownTask, StepText, accepted_texts
from rewardable.workflows.sources import resolve_source

Kind = Literal["solution", "entry"]
TextsOf = Callable[[Prompt], Sequence[StepText]]
AT_ONCE = 2048
"""Texts that are handed to the scorer together; it cuts them into batches that fit."""
_ROUNDING = 1e-4


class ReadingScorer(Scorer, TokenReader, Protocol):
    """Scores tokens and knows their text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactText:
    """One accepted text. Log-probs in nats, at temperature 1 over the full vocabulary.

    logprob: of the whole text with its end token. start_logprob: of a completion that starts with
    ``entry``, whatever follows.
    """

    text: str
    logprob: float
    start_logprob: float
    solution: str
    entry: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactPrompt:
    """What is true of one prompt under one policy. ``totals``: labels that exist, by kind."""

    key: str
    texts: tuple[ExactText, ...]
    totals: Mapping[str, int]

    @property
    def rate(self) -> float:
        """The success probability p."""
        return math.fsum(math.exp(each.logprob) for each in self.texts)

    @property
    def access(self) -> dict[str, float]:
        """Probability that a completion starts with the entry, by entry with an accepted text."""
        return {each.entry: math.exp(each.start_logprob) for each in self.texts}

    @property
    def execution(self) -> dict[str, float]:
        """Probability of success given that start, by entry."""
        access = self.access
        return {entry: mass / access[entry] for entry, mass in self.masses("entry").items()}

    def masses(self, kind: Kind) -> dict[str, float]:
        """Return the probability of a success with each label; they sum to ``rate``."""
        parts: dict[str, list[float]] = {}
        for each in self.texts:
            label = each.solution if kind == "solution" else each.entry
            parts.setdefault(label, []).append(math.exp(each.logprob))
        return {label: math.fsum(part) for label, part in parts.items()}

    def pass_at(self, k: int) -> float:
        """Return pass@k, 1 - (1-p)^k."""
        return _within(self.rate, k)

    def distinct_at(self, kind: Kind, k: int) -> float:
        """Return the distinct rewarded labels expected within k rollouts."""
        return math.fsum(_within(mass, k) for mass in self.masses(kind).values())

    def coverage(self, kind: Kind, k: int) -> float:
        """Return the share of the existing labels expected within k rollouts; NaN if none exist."""
        return _share(self.distinct_at(kind, k), self.totals[kind])

    def rarefied(self, kind: Kind, successes: int) -> float:
        """Return the share of the labels expected among so many successes; NaN where p is 0."""
        rate = self.rate
        shares = [_share(mass, rate) for mass in self.masses(kind).values()] or [math.nan]
        return _share(math.fsum(_within(share, successes) for share in shares), self.totals[kind])

    def trainability(self, group: int) -> float:
        """Return the probability that a group of rollouts shows both success and failure."""
        return self.pass_at(group) - self.rate**group


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactPolicy:
    """What is true of a policy on a set of prompts. Means are over exactly these prompts.

    scored_tokens: completion tokens that were scored, the cost of knowing.
    """

    policy: Policy
    prompts: tuple[ExactPrompt, ...]
    scored_tokens: int

    @property
    def rates(self) -> tuple[float, ...]:
        """The success probability of every prompt."""
        return tuple(prompt.rate for prompt in self.prompts)

    def pass_at(self, k: int) -> float:
        """Return mean pass@k."""
        return _mean(prompt.pass_at(k) for prompt in self.prompts)

    def support_at(self, k: int) -> float:
        """Return the prompts expected to be solved at least once within k rollouts each."""
        return len(self.prompts) * self.pass_at(k)

    def coverage(self, kind: Kind, k: int) -> float:
        """Return macro coverage@k; prompts that are rarely solved weigh like the others."""
        return _mean(prompt.coverage(kind, k) for prompt in self.prompts)

    def trainability(self, group: int) -> float:
        """Return the expected share of groups with reward variation."""
        return _mean(prompt.trainability(group) for prompt in self.prompts)

    @property
    def polarisation(self) -> float:
        """1 - E[p(1-p)] / (pbar (1 - pbar)) over these prompts; NaN where pbar is 0 or 1."""
        rates = self.rates
        mean = _mean(rates)
        return 1.0 - _share(_mean(p * (1 - p) for p in rates), mean * (1 - mean))


def exact_truth(source: str, task_name: str, count: int, seed: int = 0) -> ExactPolicy:
    """Open a policy and a task by name and score every accepted text of ``count`` prompts.

    Raises
    ------
    ConfigError: a task whose accepted texts cannot be listed, a policy without a tokenizer.
    UserError: policy or task cannot be opened.
    """
    task = load_task(task_name)
    if not isinstance(task, CountdownTask):
        raise ConfigError(
            f"the accepted texts of {task_name!r} cannot be listed; use a Countdown task in steps."
        )
    scorer = open_engine(resolve_source(source), EngineOptions(dtype="float32"))
    if not (isinstance(scorer, TokenReader) and isinstance(scorer, Scorer)):
        raise ConfigError(f"{source!r} has no tokenizer, so its texts cannot be scored.")
    prompts = task.prompts(count, seed)
    return exact_policy(scorer, prompts, partial(accepted_texts, task.verifier))


def exact_policy(
    scorer: ReadingScorer, prompts: Sequence[Prompt], texts_of: TextsOf
) -> ExactPolicy:
    """Score every accepted text of every prompt.

    The cost is one forward pass over all texts (``scored_tokens``), prompt by prompt; memory is
    bounded by the scorer's batches. A text counts with the ids that ``scorer.encode`` gives it:
    other ids that decode to the same text (a padding token inside it) are left out, so the sums
    are lower bounds by that mass.

    Raises
    ------
    DataError: no prompts, a text listed twice, an entry whose end lies inside a token,
        probabilities that sum to more than 1.
    """
    if not prompts:
        raise DataError("no prompts were given; expected at least one.")
    found: list[ExactPrompt] = []
    tokens = 0
    for prompt in prompts:
        listed = texts_of(prompt)
        ids = [scorer.encode(prompt, each.text) for each in listed]
        tokens += sum(map(len, ids))
        found.append(_exact_prompt(scorer, prompt, listed, ids))
    return ExactPolicy(policy=scorer.policy, prompts=tuple(found), scored_tokens=tokens)


def _exact_prompt(
    scorer: ReadingScorer,
    prompt: Prompt,
    listed: Sequence[StepText],
    ids: Sequence[tuple[int, ...]],
) -> ExactPrompt:
    if len({each.text for each in listed}) < len(listed):
        raise DataError(f"an accepted text of {prompt.text[:80]!r} is listed twice.")
    lengths: dict[str, int] = {}
    for each, row in zip(listed, ids, strict=True):
        if each.entry not in lengths:
            lengths[each.entry] = _entry_tokens(scorer, each, row)
    scores = dict(_scores(scorer, prompt, ids))
    texts = tuple(
        ExactText(
            text=each.text,
            logprob=math.fsum(scores[i]),
            start_logprob=math.fsum(scores[i][: lengths[each.entry]]),
            solution=each.solution,
            entry=each.entry,
        )
        for i, each in enumerate(listed)
    )
    totals = {
        "solution": len({each.solution for each in listed}),
        "entry": len({each.entry for each in listed}),
    }
    exact = ExactPrompt(key=prompt.key, texts=texts, totals=totals)
    if exact.rate > 1 + _ROUNDING:
        raise DataError(
            f"the accepted texts of {prompt.text[:80]!r} have a probability of {exact.rate:.6f} "
            "together; expected at most 1. Does the scorer give log-probs at temperature 1?"
        )
    return exact


def _scores(
    scorer: ReadingScorer, prompt: Prompt, ids: Sequence[tuple[int, ...]]
) -> Iterator[tuple[int, tuple[float, ...]]]:
    requests = [ScoreRequest(id=str(i), prompt=prompt, token_ids=row) for i, row in enumerate(ids)]
    for start in range(0, len(requests), AT_ONCE):
        for each in scorer.score(requests[start : start + AT_ONCE]):
            yield int(each.id), each.logprobs


def _entry_tokens(scorer: ReadingScorer, listed: StepText, ids: tuple[int, ...]) -> int:
    """Return how many tokens write the entry."""
    written = ""
    for count, piece in enumerate(scorer.pieces(ids[: len(listed.entry)]), 1):
        written += piece
        if written == listed.entry:
            return count
    raise DataError(
        f"no token of {listed.text!r} ends where its entry {listed.entry!r} ends; access and "
        "execution need a tokenizer that does not join them."
    )


def _within(mass: float, k: int) -> float:
    """Return 1 - (1 - mass)^k without loss of digits for small masses."""
    return 1.0 if mass >= 1 else -math.expm1(k * math.log1p(-mass))


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)
