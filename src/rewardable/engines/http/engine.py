"""Sampler, and with the model's tokenizer Scorer and TokenReader, of a served policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewardable.engines.hf.pieces import pieces, vocabulary_key
from rewardable.engines.http.courier import Courier, Errand, Failure
from rewardable.engines.http.routes import Route, TokenRoute
from rewardable.engines.keyed import consecutive
from rewardable.errors import BoundaryError
from rewardable.protocols import SampleRequest, ScoreRequest, TokenScores
from rewardable.records import (
    Completion,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    failed_completion,
)

PROVENANCE = "engines.http"


@dataclass(frozen=True, kw_only=True)
class HttpEngine:
    """Samples a served policy. Made by :func:`rewardable.engines.open_engine`.

    samples: most samples of a prompt in one request.
    """

    policy: Policy
    courier: Courier
    route: Route
    samples: int

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        """Yield every requested rollout once, as soon as its request is answered."""
        errands: list[Errand] = []
        for request in requests:
            for indices in consecutive(request.indices, self.samples if spec.temperature else 1):
                tag = (request.prompt.key, indices)
                errand = self.route.errand(request, indices, spec)
                if isinstance(errand, str):
                    yield from self._rollouts(tag, Failure(errand), spec)
                else:
                    errands.append(replace(errand, tag=tag))
        for errand, found in self.courier.run(errands):
            yield from self._rollouts(errand.tag, found, spec)

    def close(self) -> None:
        """Close the connections."""
        self.courier.close()

    def _rollouts(
        self,
        tag: tuple[str, tuple[int, ...]],
        found: Sequence[Completion] | Failure,
        spec: SamplingSpec,
    ) -> Iterator[Rollout]:
        prompt_key, indices = tag
        if isinstance(found, Failure):
            found = [failed_completion(found.reason)] * len(indices)
        for index, completion in zip(indices, found, strict=True):
            yield Rollout(
                id=RolloutId(
                    policy_key=self.policy.key,
                    spec_key=spec.key,
                    prompt_key=prompt_key,
                    index=index,
                ),
                completion=completion,
                provenance=PROVENANCE,
            )


@dataclass(frozen=True, kw_only=True)
class TokenHttpEngine(HttpEngine):
    """Samples and scores token ids; knows which text they stand for."""

    route: TokenRoute

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield log-probs, without entropies, which servers do not give.

        Raises BoundaryError for a request that the server does not score.
        """
        errands: list[Errand] = []
        for request in requests:
            if not request.token_ids:
                yield TokenScores(id=request.id, logprobs=(), entropies=())
                continue
            ids = self.route.encoder.ids(request.prompt)
            errands.append(replace(self.route.score(ids, request.token_ids), tag=request.id))
        for errand, found in self.courier.run(errands):
            if isinstance(found, Failure):
                raise BoundaryError(
                    f"server {self.courier.url}", f"request {errand.tag!r}: {found.reason}"
                )
            yield TokenScores(id=errand.tag, logprobs=found, entropies=())

    @property
    def tokenizer_key(self) -> str:
        """Digest of the vocabulary."""
        return vocabulary_key(self.route.encoder.tokenizer)

    def encode(self, prompt: Prompt, text: str) -> tuple[int, ...]:
        """Return the ids of ``text`` as a finished completion of ``prompt``."""
        _, ids = self.route.encoder.with_opening(prompt, text)
        return (*ids, self.route.encoder.tokenizer.eos_token_id)

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Return the text that each id adds."""
        return pieces(self.route.encoder.tokenizer, token_ids)
