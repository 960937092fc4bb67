"""What happened: prompts, policies, sampling, rollouts, verdicts. Standard library only.

Every record is frozen and keyword-only. Keys are content digests, so that two runs that mean the
same thing meet under the same key wherever they were made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from rewardable.errors import ConfigError

Json = Any
"""Anything that ``json.dumps`` writes without a ``default``."""

FORMAT_VERSION = 1
"""Version of the records on disk. Raised when a field changes its meaning."""


def digest(*parts: Json, length: int = 24) -> str:
    """Return the first ``length`` hex digits of SHA-256 over the canonical JSON of ``parts``."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:length]


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """A task instance as the policy sees it, with what is known about it.

    ``facts`` holds what the verifier and the metrics need (the gold answer, the numbers of a
    Countdown instance). ``facts["totals"]`` maps a label kind to the number of labels that exist,
    for example ``{"solution": 6, "entry": 4}``; coverage is measured for these kinds.
    """

    task: str
    task_version: str
    messages: tuple[Message, ...]
    facts: Mapping[str, Json] = field(default_factory=dict)
    explicit_key: str | None = None

    @property
    def key(self) -> str:
        """Digest of (task, task version, content), or the key that an importer gave."""
        if self.explicit_key is not None:
            return self.explicit_key
        turns = [[message.role, message.content] for message in self.messages]
        return digest("prompt", self.task, self.task_version, turns)

    @property
    def text(self) -> str:
        """The content without a chat template: turns joined by a blank line."""
        return "\n\n".join(message.content for message in self.messages)


def user_prompt(
    task: str, task_version: str, text: str, facts: Mapping[str, Json] | None = None
) -> Prompt:
    """Build a prompt of one user turn."""
    messages = (Message(role="user", content=text),)
    return Prompt(task=task, task_version=task_version, messages=messages, facts=facts or {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """What samples: weights, adapter and prompt template, named by content.

    ``weights`` and ``adapter`` are content digests (or ``"id@revision"`` for a server's model);
    ``template`` is ``"raw"`` or the digest of the chat template. ``name`` is for people only.
    """

    name: str
    weights: str
    template: str
    adapter: str = ""
    source: str = ""

    @property
    def key(self) -> str:
        """Digest of (weights, adapter, template)."""
        return digest("policy", self.weights, self.adapter, self.template)


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplingSpec:
    """How completions are drawn. ``top_p=1`` and ``top_k=0`` mean no truncation."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int = 256
    stop: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values outside their range with a ConfigError."""
        _require(self.temperature >= 0, "temperature", self.temperature, ">= 0 (0 is greedy)")
        _require(0 < self.top_p <= 1, "top_p", self.top_p, "in (0, 1]")
        _require(self.top_k >= 0, "top_k", self.top_k, ">= 0 (0 is off)")
        _require(self.max_new_tokens >= 1, "max_new_tokens", self.max_new_tokens, ">= 1")
        _require(all(self.stop), "stop", self.stop, "non-empty strings")

    @property
    def key(self) -> str:
        """Digest of all fields but none of the number of samples."""
        return digest("spec", asdict(self))


def _require(ok: bool, name: str, got: object, expected: str) -> None:
    if not ok:
        raise ConfigError(f"{name} must be {expected}, got {got!r}.")


UNKNOWN_SPEC = "unknown"
"""The spec key of imported rollouts whose sampling parameters nobody wrote down."""


TRAINING = "training: "
"""What the provenance of rollouts begins with that a trainer drew: every step is another policy,
the trainer chose the prompts, and groups may be missing. No i.i.d. sample of one policy."""


class FinishReason(StrEnum):
    """Why a completion ended."""

    STOP = "stop"
    """an end-of-sequence token or a stop string"""
    LENGTH = "length"
    """the token limit: the answer is truncated"""
    FAILED = "failed"
    """the engine gave no completion; ``Completion.failure`` says why"""
    UNKNOWN = "unknown"
    """imported from a source that does not say"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """One sampled continuation. Per-token fields have one entry per id of ``token_ids``.

    token_ids: the completion's ids, its end token included, nothing after it.
    logprobs: nats, at temperature 1 over the full vocabulary ("raw").
    sampling_logprobs: nats, under the distribution that was sampled (temperature, top-p, top-k).
    entropies: nats, of the raw next-token distribution from which each id was drawn.

    An engine that cannot give a field leaves it empty; empty never means zero.
    """

    text: str
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    sampling_logprobs: tuple[float, ...] = ()
    entropies: tuple[float, ...] = ()
    finish_reason: FinishReason = FinishReason.UNKNOWN
    failure: str = ""


def failed_completion(reason: str) -> Completion:
    """Build the completion of a row whose engine failed."""
    return Completion(text="", finish_reason=FinishReason.FAILED, failure=reason)


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class RolloutId:
    """Where a rollout belongs: unique in a run."""

    policy_key: str
    spec_key: str
    prompt_key: str
    index: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollout:
    """One completion of one prompt by one policy. ``provenance`` says who made it."""

    id: RolloutId
    completion: Completion
    provenance: str = ""


class Outcome(StrEnum):
    """The three verdicts. A failed grading is never WRONG."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNGRADED = "ungraded"


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a verifier says of one completion.

    reason: why it is WRONG or UNGRADED, a short stable phrase ("no answer", "timeout: 5 s").
    score: in [0, 1], or None where the verifier gives none.
    parts: named marginals (a joint verdict keeps its halves); None means that part is ungraded.
    labels: what the completion is (solution, entry, opening, extracted answer), for counting.
    """

    outcome: Outcome
    verifier: str
    version: str
    reason: str = ""
    score: float | None = None
    parts: Mapping[str, float | None] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a score outside [0, 1] (NaN included) and an unexplained UNGRADED."""
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ConfigError(f"score must lie in [0, 1] or be None, got {self.score!r}.")
        if self.outcome is Outcome.UNGRADED and not self.reason:
            raise ConfigError("an UNGRADED verdict must say why: pass reason=...")


@dataclass(frozen=True, kw_only=True, slots=True)
class Graded:
    """A verdict and the rollout it belongs to."""

    id: RolloutId
    verdict: Verdict


WORDING_VERSION = 1
"""Version of the counting of wording. Raised when a figure of the same texts could change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """The texts that one policy under one spec gave to one prompt, those of failed rows left out.

    n_rows, n_attempts: all rows they are of, and how often failed ones were drawn again: together
    they tell whether the rows are still the same. indices: of the rollouts, ascending.
    """

    policy_key: str
    spec_key: str
    prompt_key: str
    n_rows: int
    n_attempts: int
    indices: tuple[int, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """What was counted in the ``Texts`` of a prompt, so that nobody need read them again.

    version: of the counting. first: only rollouts with a smaller index were counted; 0: all.
    repetition, steps, form, opening: of each text, in the order of ``indices``: the share of its
    n-grams that it had before (NaN where it has none), the calculations written out, and digests
    of the whole text and of its beginning with the numbers masked.
    orders, seen, numbers: ``numbers[i]`` n-grams of order ``orders[i]`` occur in exactly
    ``seen[i]`` of the texts. totals: all n-grams of order 1, 2, ...
    """

    policy_key: str
    spec_key: str
    prompt_key: str
    version: int
    first: int
    n_rows: int
    n_attempts: int
    indices: tuple[int, ...]
    repetition: tuple[float, ...]
    steps: tuple[int, ...]
    form: tuple[int, ...]
    opening: tuple[int, ...]
    orders: tuple[int, ...]
    seen: tuple[int, ...]
    numbers: tuple[int, ...]
    totals: tuple[int, ...]
