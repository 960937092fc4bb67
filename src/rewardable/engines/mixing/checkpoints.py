"""Checkpoint sampling: the rows of a prompt spread over several policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rewardable.engines.mixing.schedule import part_of
from rewardable.engines.mixing.source import MixSource
from rewardable.errors import ConfigError, DataError
from rewardable.protocols import Sampler, SampleRequest, Scorer, ScoreRequest, TokenReader
from rewardable.protocols import TokenScores as Scores
from rewardable.records import Policy, Prompt, Rollout, SamplingSpec, digest


@dataclass(frozen=True, kw_only=True)
class CheckpointSampler:
    """Spreads rows over ``parts`` by weight: each row is drawn by one of them, under its own key.

    A row is the row that its part would have drawn, log-probs included; ``provenance`` names the
    part. Rows of one prompt are not independent: their shares are exact wherever a whole number
    of rows allows it, else less than one row off with two parts, less than two with more.
    """

    policy: Policy
    parts: tuple[Sampler, ...]
    weights: tuple[int, ...]

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        """Yield every requested rollout, part by part."""
        for place, part in enumerate(self.parts):
            mine = [
                replace(request, indices=indices)
                for request in requests
                if (indices := self._indices(request, spec.seed, place))
            ]
            if not mine:
                continue
            for row in part.sample(mine, spec):
                yield replace(
                    row,
                    id=replace(row.id, policy_key=self.policy.key),
                    provenance=f"engines.mixing of {part.policy.name}: {row.provenance}",
                )

    def close(self) -> None:
        """Let go of the parts."""
        for part in self.parts:
            close = getattr(part, "close", None)
            if callable(close):
                close()

    def _indices(self, request: SampleRequest, seed: int, place: int) -> tuple[int, ...]:
        key = request.prompt.key
        return tuple(i for i in request.indices if part_of(self.weights, seed, key, i) == place)


@dataclass(frozen=True, kw_only=True)
class ScoringCheckpointSampler(CheckpointSampler):
    """Also scores, and reads tokens, where all parts do so with one vocabulary."""

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[Scores]:
        """Yield log-probs of a completion from a part drawn by weight, without entropies.

        They sum to the log of the parts' weighted mean probability of the whole completion.
        """
        found = [
            {one.id: one.logprobs for one in scorer.score(requests)} for scorer in _scorers(self)
        ]
        log_shares_K = np.log(np.array(self.weights) / sum(self.weights))
        for request in requests:
            logprobs_KT = np.array([part[request.id] for part in found])
            values_T = mixed_logprobs(log_shares_K, logprobs_KT)
            yield Scores(id=request.id, logprobs=tuple(values_T.tolist()), entropies=())

    @property
    def tokenizer_key(self) -> str:
        """Digest of the vocabulary that the parts share."""
        return _reader(self).tokenizer_key

    def encode(self, prompt: Prompt, text: str) -> tuple[int, ...]:
        """Return the ids of ``text`` as a finished completion of ``prompt``."""
        return _reader(self).encode(prompt, text)

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Return the text that each id adds."""
        return _reader(self).pieces(token_ids)


def mixed_logprobs(
    log_shares_K: NDArray[np.float64], logprobs_KT: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log-prob of each token given those before it, the part unknown."""
    whole_KT = log_shares_K[:, None] + np.cumsum(logprobs_KT, axis=1)
    whole_T = np.logaddexp.reduce(whole_KT, axis=0)
    before_T = np.concatenate([[0.0], whole_T[:-1]])[: len(whole_T)]
    impossible_T = np.isneginf(whole_T)
    return np.where(impossible_T, -np.inf, whole_T - np.where(impossible_T, 0.0, before_T))


def mix_checkpoints(mix: MixSource, parts: Sequence[Sampler]) -> CheckpointSampler:
    """Build the sampler of opened ``parts``; refuses two templates and a part that comes twice."""
    policies = [part.policy for part in parts]
    templates = {policy.template for policy in policies}
    if len(templates) > 1:
        raise ConfigError(
            f"the parts of {mix.text()} use {len(templates)} chat templates; "
            "name one for all with template_from."
        )
    keys = [policy.key for policy in policies]
    twice = next(
        (name for name, key in zip(mix.sources, keys, strict=True) if keys.count(key) > 1), ""
    )
    if twice:
        raise DataError(
            f"{twice} is twice a part of {mix.text()}: name it once, with both weights."
        )
    contents = [[policy.weights, policy.adapter] for policy in policies]
    policy = Policy(
        name=mix.text([policy.name for policy in policies]),
        weights=digest("mix", mix.kind, list(mix.weights), contents),
        template=policies[0].template,
        source=mix.text(),
    )
    made = ScoringCheckpointSampler if _all_score(parts) else CheckpointSampler
    return made(policy=policy, parts=tuple(parts), weights=mix.weights)


def _all_score(parts: Sequence[Sampler]) -> bool:
    """Tell whether all parts score ids of one vocabulary."""
    keys = {
        part.tokenizer_key if isinstance(part, Scorer) and isinstance(part, TokenReader) else None
        for part in parts
    }
    return len(keys) == 1 and None not in keys


def _scorers(sampler: CheckpointSampler) -> list[Scorer]:
    return [part for part in sampler.parts if isinstance(part, Scorer)]


def _reader(sampler: CheckpointSampler) -> TokenReader:
    part = sampler.parts[0]
    assert isinstance(part, TokenReader)
    return part
