"""A sampler whose prompts carry the opening that their completions must begin with.

A prompt with an opening is a prompt of its own, under a key of its own, so that forced rollouts
are stored, resumed and graded like any others and never meet the free ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewardable.protocols import Sampler, SampleRequest
from rewardable.records import Policy, Prompt, Rollout, SamplingSpec, digest

OPENING, SOURCE_KEY = "forced_opening", "source_key"
"""Facts of a prompt with an opening: the text, and the key of the prompt that it is made from."""


def with_opening(prompt: Prompt, opening: str) -> Prompt:
    """Return the prompt whose completions begin with ``opening``; ``""`` leaves them free."""
    facts = {**prompt.facts, OPENING: opening, SOURCE_KEY: prompt.key}
    return replace(prompt, facts=facts, explicit_key=digest("opening", prompt.key, opening))


@dataclass(frozen=True, kw_only=True)
class ForcedSampler:
    """Samples every prompt behind the opening among its facts."""

    inner: Sampler

    @property
    def policy(self) -> Policy:
        """Who samples."""
        return self.inner.policy

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        """Yield every rollout; an opening that a request brings along wins over the prompt's."""
        forced = [
            request if request.opening else replace(request, opening=_opening(request.prompt))
            for request in requests
        ]
        yield from self.inner.sample(forced, spec)


def _opening(prompt: Prompt) -> str:
    return str(prompt.facts.get(OPENING, ""))
