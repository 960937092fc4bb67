"""What a part must offer. Any object with these members will do; nothing needs to inherit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rewardable.records import (
    Completion,
    Graded,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
)


@runtime_checkable
class Verifier(Protocol):
    """Judges one completion. Raising is allowed: ``collect`` turns it into UNGRADED."""

    @property
    def name(self) -> str:
        """Stable name, for example ``"countdown"``."""
        ...

    @property
    def version(self) -> str:
        """Raised whenever a verdict could change."""
        ...

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Return the verdict. Never called for a completion whose engine failed."""
        ...


@runtime_checkable
class Task(Protocol):
    """Prompts and the verifier that judges their completions."""

    @property
    def name(self) -> str:
        """Name in the catalog, with options: ``"countdown"``."""
        ...

    @property
    def version(self) -> str:
        """Raised whenever the prompts could change."""
        ...

    @property
    def verifier(self) -> Verifier:
        """The judge of this task's completions."""
        ...

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct prompts; the same (count, seed) gives the same prompts.

        Raises DataError when the task cannot supply so many.
        """
        ...


@runtime_checkable
class GoldSource(Protocol):
    """A task that can write right answers."""

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return responses that are right, in the format that the prompt asks for.

        None where any prose may be right.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleRequest:
    """Draw the completions ``indices`` of ``prompt``.

    ``opening`` is text that the completion is forced to begin with; it counts as part of the
    completion's text and ids, and its log-probs are those of the forced tokens.
    """

    prompt: Prompt
    indices: tuple[int, ...]
    opening: str = ""


@runtime_checkable
class Sampler(Protocol):
    """Draws completions of one policy."""

    @property
    def policy(self) -> Policy:
        """Who samples."""
        ...

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        """Yield every requested rollout once, in any order, as soon as it is finished.

        A row that cannot be sampled is yielded as a failed completion. The draw of a row depends
        on (spec.seed, prompt key, index) alone, not on the other rows.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRequest:
    """Teacher-force ``token_ids`` after ``prompt``. ``id`` comes back with the scores."""

    id: str
    prompt: Prompt
    token_ids: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenScores:
    """Per given token: raw log-prob and entropy in nats, at temperature 1, full vocabulary."""

    id: str
    logprobs: tuple[float, ...]
    entropies: tuple[float, ...]


@runtime_checkable
class Scorer(Protocol):
    """Gives log-probs of given token ids."""

    @property
    def policy(self) -> Policy:
        """Who scores."""
        ...

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield the scores of every request, in any order."""
        ...


@runtime_checkable
class TokenReader(Protocol):
    """Knows which text a token stands for; needed wherever tokens are told apart by their text."""

    @property
    def tokenizer_key(self) -> str:
        """Digest of the vocabulary: equal keys give one text the same ids."""
        ...

    def encode(self, prompt: Prompt, text: str) -> tuple[int, ...]:
        """Return the ids of a finished completion: ``text`` behind the prompt, end token last."""
        ...

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Return the text that each id adds; joined they are the completion's text."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class HiddenRequest:
    """Hidden states wanted of ``token_ids`` behind ``prompt``.

    positions: places in the completion; -1 is the last prompt token.
    """

    id: str
    prompt: Prompt
    token_ids: tuple[int, ...]
    positions: tuple[int, ...]


@runtime_checkable
class HiddenReader(Protocol):
    """Gives hidden states."""

    def hidden(self, requests: Sequence[HiddenRequest]) -> Iterator[tuple[str, Any]]:
        """Yield (id, float32 array [layers + 1, positions, width]); layer 0 is the embedding."""
        ...


@runtime_checkable
class RolloutSink(Protocol):
    """Where generated rollouts go. Rows are durable when ``add_rollouts`` returns."""

    def add_rollouts(self, rollouts: Sequence[Rollout]) -> None:
        """Append rows atomically; a row whose id is already stored is a DataError."""
        ...

    def rollout_ids(self, policy_key: str, spec_key: str) -> set[RolloutId]:
        """Return the ids already stored."""
        ...


@runtime_checkable
class VerdictSink(Protocol):
    """Where verdicts go, and where ungraded rollouts come from."""

    def pending(self, verifier: str, version: str, prompt_keys: Iterable[str]) -> Iterator[Rollout]:
        """Yield stored rollouts of these prompts that this verifier version has not judged."""
        ...

    def add_verdicts(self, verdicts: Sequence[Graded]) -> None:
        """Append rows atomically."""
        ...
