"""The engine: samples and scores a policy held by transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from rewardable.engines.hf.checkpoints import locate
from rewardable.engines.hf.decoder import Decoder, PlainDecoder, PromptState
from rewardable.engines.hf.finish import Finisher
from rewardable.engines.hf.hidden import hidden_states
from rewardable.engines.hf.load import Loaded, load
from rewardable.engines.hf.memory import automatic_rows
from rewardable.engines.hf.pieces import pieces, vocabulary_key
from rewardable.engines.hf.prompts import PromptEncoder
from rewardable.engines.hf.rows import Job
from rewardable.engines.hf.sample import SampleLoop, context_length, new_state
from rewardable.engines.hf.score import Item, full_logits, score_items
from rewardable.engines.hf.shared import SharedDecoder, own_attention, share_prefixes, shared_logits
from rewardable.engines.hf.tokenizer import load_template, template_of
from rewardable.engines.options import EngineOptions
from rewardable.errors import DataError
from rewardable.protocols import HiddenRequest, SampleRequest, ScoreRequest, TokenScores
from rewardable.records import (
    Completion,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    failed_completion,
)

PROVENANCE = "engines.hf"


@dataclass(frozen=True, kw_only=True)
class HfSampler:
    """Sampler, Scorer and TokenReader of a policy whose model is held here."""

    policy: Policy
    loaded: Loaded
    encoder: PromptEncoder
    options: EngineOptions
    shares_prefixes: bool

    @property
    def context(self) -> int | None:
        """Most tokens of prompt and completion together; None where nothing says."""
        return context_length(self.loaded.model)

    @property
    def vocabulary(self) -> int:
        """Width of the logits."""
        return int(self.loaded.model.config.get_text_config().vocab_size)

    def new_decoder(self, places: int) -> Decoder:
        """Return an empty decoder of at most ``places`` rows."""
        if self.shares_prefixes:
            return SharedDecoder(self.loaded.model, places)
        return PlainDecoder(self.loaded.model, pad_id=0)

    def new_state(self, ids: Sequence[int]) -> PromptState:
        """Return the state of a prompt that no decoder has seen."""
        return new_state(ids)

    def logits(self, items: Sequence[Item]) -> Tensor:
        """Return the logits that predict each completion's ids; see ``score_items``."""
        compute = shared_logits if self.shares_prefixes else full_logits
        return compute(self.loaded.model, items)

    def places(self, jobs: Sequence[Job]) -> int:
        """Return how many rows are decoded at once."""
        if self.options.batch_rows:
            return self.options.batch_rows
        tokens = max(len(job.state.ids) + job.limit for job in jobs)
        return automatic_rows(self.loaded.model, self.loaded.device, tokens)

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        """Yield every requested rollout once, as soon as it is finished."""
        keys = (self.policy.key, spec.key)
        jobs: list[Job] = []
        for request in requests:
            job = self._job(request, spec)
            if isinstance(job, str):
                failure = failed_completion(job)
                prompt_key = request.prompt.key
                yield from (_rollout(keys, prompt_key, i, failure) for i in request.indices)
            else:
                jobs.append(job)
        if not jobs:
            return
        finisher = Finisher(self.loaded.tokenizer, self.loaded.eos_ids, spec.stop)
        places = min(self.places(jobs), sum(len(job.waiting) for job in jobs))
        loop = SampleLoop(self.new_decoder, spec, finisher, max(1, places))
        for job, index, completion in loop.run(jobs):
            yield _rollout(keys, job.prompt_key, index, completion)

    def score(self, requests: Sequence[ScoreRequest]) -> Iterator[TokenScores]:
        """Yield teacher-forced scores; a request without ids comes back empty.

        Raises DataError for a request that does not fit the model's context.
        """
        items: list[Item] = []
        for request in requests:
            ids = self.encoder.ids(request.prompt)
            if not request.token_ids:
                yield TokenScores(id=request.id, logprobs=(), entropies=())
                continue
            items.append((request.id, ids, request.token_ids))
            self._check_fits(items[-1])
        if not self.shares_prefixes:
            yield from score_items(self.logits, items, self.vocabulary)
            return
        by_prompt: dict[tuple[int, ...], list[Item]] = {}
        for item in items:
            by_prompt.setdefault(tuple(item[1]), []).append(item)
        for group in by_prompt.values():
            yield from score_items(self.logits, group, self.vocabulary)

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

    def _job(self, request: SampleRequest, spec: SamplingSpec) -> Job | str:
        """Encode a request; a string says why it cannot be sampled."""
        try:
            ids, opening = self.encoder.with_opening(request.prompt, request.opening)
        except DataError as error:
            return str(error)
        context = self.context
        limit = spec.max_new_tokens if context is None else min(
            spec.max_new_tokens, context - len(ids)
        )  # fmt: skip
        if limit < 1:
            return f"the prompt's {len(ids)} tokens fill the model's context of {context}"
        if len(opening) > limit:
            return f"the opening's {len(opening)} tokens exceed the limit of {limit}"
        return Job(request=request, state=self.new_state(ids), opening=tuple(opening), limit=limit)

    def _check_fits(self, item: Item) -> None:
        name, prompt, ids = item
        context = self.context
        if context is not None and len(prompt) + len(ids) > context:
            raise DataError(
                f"request {name!r} has {len(prompt)} + {len(ids)} tokens, "
                f"more than the model's context of {context}."
            )


@dataclass(frozen=True, kw_only=True)
class HfEngine(HfSampler):
    """One checkpoint's policy. Made by :func:`rewardable.engines.open_engine`."""

    @classmethod
    def open(cls, source: str, options: EngineOptions) -> HfEngine:
        """Load ``source``; ConfigError or DataError say what is wrong with it."""
        checkpoint = locate(source, options.adapter)
        loaded = load(checkpoint, options)
        elsewhere = options.template_from and options.template_from != source
        template = (
            load_template(options.template_from) if elsewhere else template_of(loaded.tokenizer)
        )
        encoder = PromptEncoder.choose(loaded.tokenizer, template, options.prompt_format)
        policy = Policy(
            name=checkpoint.name,
            weights=checkpoint.weights,
            template=encoder.template_key,
            adapter=checkpoint.adapter_digest,
            source=source,
        )
        return cls(
            policy=policy,
            loaded=loaded,
            encoder=encoder,
            options=options,
            shares_prefixes=options.shared_prefix and share_prefixes(loaded.model),
        )

    def hidden(self, requests: Sequence[HiddenRequest]) -> Iterator[tuple[str, Any]]:
        """Yield (id, float32 array [layers + 1, positions, width]) of every request."""
        items = [(request, self.encoder.ids(request.prompt)) for request in requests]
        for request, ids in items:
            self._check_fits((request.id, ids, request.token_ids))
        if not self.shares_prefixes:
            yield from hidden_states(self.loaded.model, items)
            return
        with own_attention(self.loaded.model):
            found = list(hidden_states(self.loaded.model, items))
        yield from found


def _rollout(keys: tuple[str, str], prompt_key: str, index: int, completion: Completion) -> Rollout:
    policy_key, spec_key = keys
    rollout_id = RolloutId(
        policy_key=policy_key, spec_key=spec_key, prompt_key=prompt_key, index=index
    )
    return Rollout(id=rollout_id, completion=completion, provenance=PROVENANCE)
