"""Sampler, Scorer and TokenReader of a policy that vLLM holds in this process."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vllm import SamplingParams, TokensPrompt  # pyright: ignore[reportMissingImports]
from vllm.sampling_params import RequestOutputKind  # pyright: ignore[reportMissingImports]

from rewardable.engines.hf.checkpoints import locate
from rewardable.engines.hf.pieces import pieces, vocabulary_key
from rewardable.engines.hf.prompts import PromptEncoder
from rewardable.engines.hf.tokenizer import load_template, template_of
from rewardable.engines.keyed import consecutive, first_seed
from rewardable.engines.options import EngineOptions
from rewardable.engines.vllm.model import LoadedLLM, load_llm, weights_key
from rewardable.engines.vllm.outputs import Job, completions, scored
from rewardable.errors import DataError
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

PREFIX, PROVENANCE = "vllm:", "engines.vllm"
WAITING = 4096
"""Requests handed to vLLM ahead of the finished ones."""


@dataclass(frozen=True, kw_only=True)
class VllmEngine:
    """Samples and scores one policy. Made by :func:`rewardable.engines.open_engine`.

    The policy has the key that ``engines.hf`` gives it: the same weights, adapter and template.
    """

    policy: Policy
    loaded: LoadedLLM
    encoder: PromptEncoder
    numbers: Iterator[int]

    @classmethod
    def open(cls, source: str, options: EngineOptions) -> VllmEngine:
        """Load ``vllm:FOLDER``; ConfigError or DataError say what is wrong with it."""
        where = source.removeprefix(PREFIX)
        checkpoint = locate(where, options.adapter)
        elsewhere = options.template_from and options.template_from != where
        template = load_template(options.template_from) if elsewhere else None
        loaded = load_llm(checkpoint, options)
        if template is None:
            template = template_of(loaded.tokenizer)
        encoder = PromptEncoder.choose(loaded.tokenizer, template, options.prompt_format)
        policy = Policy(
            name=checkpoint.name,
            weights=weights_key(checkpoint.weights, options),
            template=encoder.template_key,
            adapter=checkpoint.adapter_digest,
            source=source,
        )
        return cls(policy=policy, loaded=loaded, encoder=encoder, numbers=itertools.count())

    def close(self) -> None:
        """End vLLM's processes and free its memory."""
        core = getattr(self.loaded.llm.llm_engine, "engine_core", None)
        if core is not None:
            with contextlib.suppress(AttributeError):
                core.shutdown()

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        """Yield every requested rollout once; the samples of a prompt come together."""
        policy_key, spec_key = self.policy.key, spec.key
        jobs: list[Job] = []

        def rollouts(job: Job, found: Sequence[Completion]) -> Iterator[Rollout]:
            for index, completion in zip(job.indices, found, strict=True):
                where = RolloutId(
                    policy_key=policy_key,
                    spec_key=spec_key,
                    prompt_key=job.prompt_key,
                    index=index,
                )
                yield Rollout(id=where, completion=completion, provenance=PROVENANCE)

        for request in requests:
            for job in self._jobs(request, spec):
                if job.failure:
                    yield from rollouts(job, [failed_completion(job.failure)] * len(job.indices))
                else:
                    jobs.append(job)
        prompts = (([*job.ids, *job.opening], _drawing(job, spec), job) for job in jobs)
        for job, output in self._run(prompts):
            yield from rollouts(job, completions(output, job, spec))

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield log-probs, without entropies, which vLLM does not give.

        Raises DataError for a request that does not fit the model's context.
        """
        params = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=0, detokenize=False)
        prompts: list[tuple[list[int], Any, ScoreRequest]] = []
        for request in requests:
            ids = [*self.encoder.ids(request.prompt), *request.token_ids]
            if len(ids) >= self.loaded.context:
                raise DataError(
                    f"request {request.id!r} has {len(ids)} tokens, vLLM scores less than the "
                    f"model's context of {self.loaded.context}."
                )
            prompts.append((ids, params, request))
        for request, output in self._run(iter(prompts)):
            logprobs = scored(output, request.token_ids)
            yield TokenScores(id=request.id, logprobs=logprobs, entropies=())

    @property
    def tokenizer_key(self) -> str:
        """Digest of the vocabulary."""
        return vocabulary_key(self.loaded.tokenizer)

    def encode(self, prompt: Prompt, text: str) -> tuple[int, ...]:
        """Return the ids of ``text`` as a finished completion of ``prompt``."""
        _, ids = self.encoder.with_opening(prompt, text)
        return (*ids, self.loaded.tokenizer.eos_token_id)

    def pieces(self, token_ids: Sequence[int]) -> tuple[str, ...]:
        """Return the text that each id adds."""
        return pieces(self.loaded.tokenizer, token_ids)

    def _jobs(self, request: SampleRequest, spec: SamplingSpec) -> Iterator[Job]:
        """Encode a request, one job a run of consecutive indices."""
        context, key = self.loaded.context, request.prompt.key
        try:
            ids, opening = self.encoder.with_opening(request.prompt, request.opening)
        except DataError as error:
            yield Job(prompt_key=key, indices=request.indices, failure=str(error))
            return
        limit, failure = min(spec.max_new_tokens, context - len(ids)), ""
        if limit < 1:
            failure = f"the prompt's {len(ids)} tokens fill the model's context of {context}"
        elif len(opening) > limit:
            failure = f"the opening's {len(opening)} tokens exceed the limit of {limit}"
        most = len(request.indices) if spec.temperature else 1
        for indices in consecutive(request.indices, most):
            yield Job(
                prompt_key=key, indices=indices, ids=tuple(ids), opening=tuple(opening),
                text=request.opening, room=limit - len(opening), failure=failure,
                seed=first_seed(spec.seed, key) + indices[0],
            )  # fmt: skip

    def _run(self, prompts: Iterator[tuple[list[int], Any, Any]]) -> Iterator[tuple[Any, Any]]:
        """Yield (tag, output) of every (ids, parameters, tag) as vLLM finishes it."""
        engine, waiting = self.loaded.llm.llm_engine, dict[str, Any]()
        try:
            while True:
                for ids, params, tag in itertools.islice(prompts, WAITING - len(waiting)):
                    name = f"rewardable-{next(self.numbers)}"
                    prompt = TokensPrompt(prompt_token_ids=ids)
                    engine.add_request(name, prompt, params, lora_request=self.loaded.lora)
                    waiting[name] = tag
                if not waiting:
                    return
                for output in engine.step():
                    if output.finished:
                        yield waiting.pop(output.request_id), output
        finally:
            if waiting:
                engine.abort_request(list(waiting))


def _drawing(job: Job, spec: SamplingSpec) -> Any:
    return SamplingParams(
        n=len(job.indices),
        seed=job.seed,
        temperature=spec.temperature,
        top_p=spec.top_p,
        top_k=spec.top_k or -1,
        max_tokens=max(1, job.room),
        stop=list(spec.stop) or None,
        logprobs=0,
        prompt_logprobs=0 if job.opening else None,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )
