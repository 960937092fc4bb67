"""Ways to ask a server for completions: by token ids, as a chat, or by text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rewardable.engines.hf.prompts import RAW, PromptEncoder
from rewardable.engines.http.answers import Opening, by_ids, from_chat, from_text, scores
from rewardable.engines.http.card import Card
from rewardable.engines.http.courier import Errand
from rewardable.engines.keyed import first_seed
from rewardable.errors import ConfigError, DataError
from rewardable.protocols import SampleRequest
from rewardable.records import SamplingSpec

COMPLETIONS, CHAT = "/completions", "/chat/completions"
SERVER = "server"
"""Template of a policy whose server applies its own, which nobody here has seen."""


class Route(Protocol):
    """Makes errands of requests."""

    @property
    def template(self) -> str:
        """The policy's template."""
        ...

    def errand(
        self, request: SampleRequest, indices: Sequence[int], spec: SamplingSpec
    ) -> Errand | str:
        """Return the errand that brings consecutive ``indices``, or why there is none."""
        ...


def body_of(
    card: Card, request: SampleRequest, indices: Sequence[int], spec: SamplingSpec
) -> dict[str, Any]:
    """Return what all ways have in common. vLLM is told every setting, lest a default act."""
    if spec.top_k and not card.vllm:
        raise ConfigError("this server takes no top_k; use top_k = 0.")
    body: dict[str, Any] = {
        "model": card.model,
        "n": len(indices),
        "seed": first_seed(spec.seed, request.prompt.key) + indices[0],
        "max_tokens": spec.max_new_tokens,
        "temperature": spec.temperature,
        "top_p": spec.top_p,
    }
    if spec.stop:
        body["stop"] = list(spec.stop)
    if card.vllm:
        body |= {"top_k": spec.top_k or -1, "min_p": 0.0, "repetition_penalty": 1.0}
        body |= {"presence_penalty": 0.0, "frequency_penalty": 0.0, "return_token_ids": True}
    return body


@dataclass(frozen=True, kw_only=True)
class TokenRoute:
    """Prompts as token ids, made here: the same ids for sampling, forcing and scoring."""

    card: Card
    encoder: PromptEncoder

    @property
    def template(self) -> str:
        """``"raw"`` or the digest of the chat template that is applied here."""
        return self.encoder.template_key

    def errand(
        self, request: SampleRequest, indices: Sequence[int], spec: SamplingSpec
    ) -> Errand | str:
        """Ask behind the ids of prompt and opening."""
        try:
            ids, opening = self.encoder.with_opening(request.prompt, request.opening)
        except DataError as error:
            return str(error)
        context = self.card.context
        limit = min(spec.max_new_tokens, context - len(ids) if context else spec.max_new_tokens)
        if limit < 1:
            return f"the prompt's {len(ids)} tokens fill the model's context of {context}"
        if len(opening) > limit:
            return f"the opening's {len(opening)} tokens exceed the limit of {limit}"
        room = limit - len(opening)
        body = body_of(self.card, request, indices, spec)
        body |= {"prompt": [*ids, *opening], "max_tokens": max(1, room), "logprobs": 0}
        if opening:
            body["prompt_logprobs"] = 0
        forced = Opening(text=request.opening, ids=tuple(opening))
        read = partial(by_ids, count=len(indices), opening=forced, room=room, spec=spec)
        return Errand(path=COMPLETIONS, body=body, read=read)

    def score(self, ids: Sequence[int], token_ids: Sequence[int]) -> Errand:
        """Ask for the log-probs of ``token_ids`` behind the prompt's ``ids``."""
        body = {
            "model": self.card.model, "prompt": [*ids, *token_ids], "max_tokens": 1,
            "temperature": 0.0, "prompt_logprobs": 0,
        }  # fmt: skip
        read = partial(scores, ids=tuple(token_ids), prompt_length=len(ids))
        return Errand(path=COMPLETIONS, body=body, read=read)


@dataclass(frozen=True, kw_only=True)
class ChatRoute:
    """Prompts as messages, to which the server applies its own template."""

    card: Card
    template: str = SERVER

    def errand(
        self, request: SampleRequest, indices: Sequence[int], spec: SamplingSpec
    ) -> Errand | str:
        """Ask for answers; an opening is an assistant message to be continued."""
        turns = [{"role": one.role, "content": one.content} for one in request.prompt.messages]
        body = {**body_of(self.card, request, indices, spec), "messages": turns}
        if self.card.vllm:
            body["logprobs"] = True
        if request.opening:
            if not self.card.vllm:
                return (
                    "the server cannot be made to begin with an opening: continuing an assistant "
                    "message is vLLM's extension. Use prompt_format raw, or a vLLM server"
                )
            turns.append({"role": "assistant", "content": request.opening})
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        return _errand(CHAT, body, from_chat, request, indices, spec)


@dataclass(frozen=True, kw_only=True)
class TextRoute:
    """Prompts as they are, without a template."""

    card: Card
    template: str = RAW

    def errand(
        self, request: SampleRequest, indices: Sequence[int], spec: SamplingSpec
    ) -> Errand | str:
        """Ask for continuations of prompt and opening."""
        body = body_of(self.card, request, indices, spec)
        body["prompt"] = request.prompt.text + request.opening
        if self.card.vllm:
            body["logprobs"] = 0
        return _errand(COMPLETIONS, body, from_text, request, indices, spec)


def _errand(
    path: str,
    body: dict[str, Any],
    read: Callable[..., Any],
    request: SampleRequest,
    indices: Sequence[int],
    spec: SamplingSpec,
) -> Errand:
    opening = Opening(text=request.opening)
    return Errand(
        path=path, body=body, read=partial(read, count=len(indices), opening=opening, spec=spec)
    )
