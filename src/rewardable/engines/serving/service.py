"""Answers requests with one policy; knows nothing of sockets."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewardable.engines.serving.asking import CHAT_TOKENS, SEED_END, Asked, read_chat, read_text
from rewardable.engines.serving.encoder import as_served, context_of, encoder_of, ids_prompt
from rewardable.engines.serving.refusal import RefusedError
from rewardable.engines.serving.replies import DONE, Reply, event, scored_prompt
from rewardable.engines.serving.worker import Found, Worker
from rewardable.protocols import Sampler, Scorer, ScoreRequest, TokenReader
from rewardable.records import FinishReason, Policy

OWNER = "rewardable"
COMPLETIONS, CHAT, MODELS = "/v1/completions", "/v1/chat/completions", "/v1/models"


@dataclass(frozen=True, kw_only=True)
class Service:
    """One policy under one name. root: where its tokenizer lies, for clients on this machine."""

    engine: Sampler
    worker: Worker
    model: str
    root: str
    started: int
    scores_prompts: bool

    @classmethod
    def of(cls, engine: Sampler, model: str, root: str, *, scores_prompts: bool) -> Service:
        """Start serving ``engine``.

        scores_prompts: the policy does the same behind any text, so that it does not matter
        where a prompt ends and a completion begins.
        """
        served = as_served(engine)
        has_tokens = encoder_of(served) is not None
        return cls(
            engine=served,
            worker=Worker(served),
            model=model,
            root=root,
            started=int(time.time()),
            scores_prompts=scores_prompts and isinstance(served, Scorer) and has_tokens,
        )

    @property
    def policy(self) -> Policy:
        """Who is served."""
        return self.engine.policy

    def models(self) -> dict[str, Any]:
        """Return the list of models, which is this one."""
        entry = {
            "id": self.model, "object": "model", "created": self.started, "owned_by": OWNER,
            "root": self.root, "parent": None, "max_model_len": context_of(self.engine),
            "policy_key": self.policy.key,
        }  # fmt: skip
        return {"object": "list", "data": [entry]}

    def answer(self, path: str, body: Mapping[str, Any]) -> dict[str, Any] | Iterator[bytes]:
        """Return an answer, or the events of one; RefusedError where there is none."""
        asked = self._read(path, body)
        encoder = encoder_of(self.engine)
        prompts, skipped = None, 0
        if encoder is not None:
            pairs = [encoder.with_opening(prompt, asked.opening) for prompt in asked.prompts]
            prompts = tuple((*ids, *opening) for ids, opening in pairs)
            skipped = len(pairs[0][1])
        self._check_fits(prompts)
        limit = asked.spec.max_new_tokens + skipped
        asked = replace(asked, spec=replace(asked.spec, max_new_tokens=limit))
        reply = Reply(
            asked=asked,
            id=f"{'chatcmpl' if asked.chat else 'cmpl'}-{secrets.token_hex(12)}",
            created=int(time.time()),
            model=self.model,
            reader=self.engine if isinstance(self.engine, TokenReader) else None,
            prompts=prompts,
            skipped=skipped,
            prompt_logprobs=self._prompt_logprobs(asked, prompts),
        )
        rows = map(_checked, self.worker.submit(asked).completions())
        return _events(reply, rows) if asked.stream else reply.whole(list(rows))

    def close(self) -> None:
        """End the worker's thread."""
        self.worker.close()

    def _read(self, path: str, body: Mapping[str, Any]) -> Asked:
        model = body.get("model")
        if model is not None and model != self.model:
            raise RefusedError(
                f"the model {model!r} is not served here, {self.model!r} is.",
                status=404, param="model", code="model_not_found",
            )  # fmt: skip
        fresh = secrets.randbelow(SEED_END)
        if path == COMPLETIONS:
            return self._check_kind(read_text(body, fresh))
        encoder = encoder_of(self.engine)
        if encoder is not None and not encoder.template:
            raise RefusedError(
                f"{self.model} has no chat template: use {COMPLETIONS}, or serve it with "
                "--template-from."
            )
        context = context_of(self.engine)
        return read_chat(body, fresh, min(CHAT_TOKENS, context or CHAT_TOKENS))

    def _check_kind(self, asked: Asked) -> Asked:
        by_ids = any(prompt.task == ids_prompt([0]).task for prompt in asked.prompts)
        if by_ids and encoder_of(self.engine) is None:
            raise RefusedError("this policy has no tokens: send a text.", param="prompt")
        if asked.prompt_logprobs and not self.scores_prompts:
            raise RefusedError(
                f"{self.model} cannot score a prompt: what it does depends on where the "
                "completion begins, or it does not score at all.",
                param="prompt_logprobs",
            )
        return asked

    def _check_fits(self, prompts: tuple[tuple[int, ...], ...] | None) -> None:
        context = context_of(self.engine)
        longest = max(map(len, prompts or ((),)))
        if context is not None and longest >= context:
            raise RefusedError(
                f"a prompt of {longest} tokens fills the model's context of {context}.",
                param="prompt", code="context_length_exceeded",
            )  # fmt: skip

    def _prompt_logprobs(
        self, asked: Asked, prompts: tuple[tuple[int, ...], ...] | None
    ) -> tuple[Any, ...]:
        if not asked.prompt_logprobs or prompts is None:
            return ()
        assert isinstance(self.engine, Scorer)
        found: list[Any] = []
        for ids in prompts:
            request = ScoreRequest(id="", prompt=ids_prompt(ids[:1]), token_ids=ids[1:])
            found.append(scored_prompt(ids, self.worker.score(self.engine, request).logprobs))
        return tuple(found)


def _checked(row: Found) -> Found:
    if row[2].finish_reason is FinishReason.FAILED:
        raise RefusedError(f"the engine failed: {row[2].failure}", status=500)
    return row


def _events(reply: Reply, rows: Iterator[Found]) -> Iterator[bytes]:
    """Yield the events of an answer; an error on the way is the last event."""
    done: list[Found] = []
    try:
        for row in rows:
            done.append(row)
            yield from map(event, reply.chunks(row))
    except RefusedError as error:
        yield event(error.body)
        return
    if reply.asked.usage_in_stream:
        yield event(reply.last_chunk(done))
    yield DONE
