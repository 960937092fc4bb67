"""Reads requests for completions. Whatever would not be done as asked is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardable.engines.serving.encoder import chat_prompt, ids_prompt, text_prompt
from rewardable.engines.serving.refusal import RefusedError
from rewardable.errors import ConfigError, suggest
from rewardable.protocols import SampleRequest
from rewardable.records import Prompt, SamplingSpec

SEED_END = 1 << 31
ROWS_MOST = 4096
TEXT_TOKENS, CHAT_TOKENS = 16, 1024
"""Token limits of a request that names none."""
COMMON = {
    "model", "n", "max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "stream",
    "logprobs", "return_token_ids", "stream_options", "user", "metadata",
}  # fmt: skip
TEXT_KEYS = COMMON | {"prompt", "prompt_logprobs"}
CHAT_KEYS = COMMON | {
    "messages", "max_completion_tokens", "continue_final_message", "add_generation_prompt",
}  # fmt: skip
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "presence_penalty": (0,), "frequency_penalty": (0,), "repetition_penalty": (1,),
    "min_p": (0,), "min_tokens": (0,), "best_of": (1,), "echo": (False,), "suffix": ("",),
    "logit_bias": ({},), "tools": ([],), "top_logprobs": (0,), "ignore_eos": (False,),
    "response_format": ({"type": "text"},),
}  # fmt: skip
"""Settings that are not done here, with the values under which they do nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A request for ``n`` completions of each prompt; row i is drawn at ``seed`` + i.

    prompt_logprobs: log-probs of the prompts' own tokens are wanted as well.
    """

    chat: bool
    prompts: tuple[Prompt, ...]
    spec: SamplingSpec
    n: int
    seed: int
    opening: str = ""
    stream: bool = False
    usage_in_stream: bool = False
    logprobs: bool = False
    token_ids: bool = False
    prompt_logprobs: bool = False

    @property
    def requests(self) -> list[SampleRequest]:
        """What an engine is asked for."""
        indices = tuple(range(self.seed, self.seed + self.n))
        return [
            SampleRequest(prompt=prompt, indices=indices, opening=self.opening)
            for prompt in self.prompts
        ]


def read_text(body: Mapping[str, Any], fresh_seed: int) -> Asked:
    """Read the body of ``/v1/completions``."""
    _check_keys(body, TEXT_KEYS)
    prompts = _prompts(body.get("prompt"))
    logprobs = _of(body, "logprobs", int, None)
    if logprobs:
        raise RefusedError(
            f"logprobs must be 0, of the tokens drawn, got {logprobs}: there are no alternatives.",
            param="logprobs",
        )
    before = _of(body, "prompt_logprobs", int, None)
    if before:
        raise RefusedError("prompt_logprobs must be 0 here.", param="prompt_logprobs")
    limit = _number(body, "max_tokens", int, TEXT_TOKENS)
    return Asked(
        chat=False,
        prompts=prompts,
        logprobs=logprobs is not None,
        prompt_logprobs=before is not None,
        **_common(body, limit, fresh_seed, len(prompts)),
    )


def read_chat(body: Mapping[str, Any], fresh_seed: int, default_tokens: int = CHAT_TOKENS) -> Asked:
    """Read the body of ``/v1/chat/completions``."""
    _check_keys(body, CHAT_KEYS)
    turns = _turns(body.get("messages"))
    opening = ""
    goes_on = _of(body, "continue_final_message", bool, False)
    if goes_on == _of(body, "add_generation_prompt", bool, not goes_on):
        raise RefusedError(
            "exactly one of continue_final_message and add_generation_prompt can be true.",
            param="add_generation_prompt",
        )
    if goes_on:
        role, opening = turns.pop()
        if role != "assistant" or not turns:
            raise RefusedError(
                "continue_final_message needs a last message of the assistant's behind others.",
                param="messages",
            )
    older = _number(body, "max_tokens", int, default_tokens)
    limit = _number(body, "max_completion_tokens", int, older)
    return Asked(
        chat=True,
        prompts=(chat_prompt(turns, opening),),
        opening=opening,
        logprobs=_of(body, "logprobs", bool, False),
        **_common(body, limit, fresh_seed, 1),
    )


def _common(body: Mapping[str, Any], limit: int, fresh_seed: int, prompts: int) -> dict[str, Any]:
    n = _number(body, "n", int, 1)
    if not 1 <= n * prompts <= ROWS_MOST:
        raise RefusedError(
            f"n must give 1 to {ROWS_MOST} completions a request, got {n}.", param="n"
        )
    seed = _number(body, "seed", int, fresh_seed)
    if seed < 0:
        raise RefusedError(f"seed must be >= 0, got {seed}.", param="seed")
    options = _of(body, "stream_options", dict, {})
    return {
        "spec": _spec(body, limit),
        "n": n,
        "seed": seed,
        "stream": _of(body, "stream", bool, False),
        "usage_in_stream": bool(options.get("include_usage")),
        "token_ids": _of(body, "return_token_ids", bool, False),
    }


def _spec(body: Mapping[str, Any], limit: int) -> SamplingSpec:
    stop = body.get("stop") or ()
    texts = (stop,) if isinstance(stop, str) else stop
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise RefusedError("stop must be a text or a list of texts.", param="stop")
    top_k = _number(body, "top_k", int, 0)
    try:
        return SamplingSpec(
            temperature=_number(body, "temperature", float, 1.0),
            top_p=_number(body, "top_p", float, 1.0),
            top_k=0 if top_k == -1 else top_k,
            max_new_tokens=limit,
            stop=tuple(texts),
        )
    except ConfigError as error:
        message = str(error).replace("max_new_tokens", "max_tokens")
        raise RefusedError(message, param=message.partition(" ")[0]) from error


def _check_keys(body: Mapping[str, Any], known: set[str]) -> None:
    for key, value in body.items():
        if key in known or value is None:
            continue
        if key not in NEUTRAL:
            near = suggest(key, known)
            raise RefusedError(f"this server does not know {key!r}.{near}", param=key)
        if value not in NEUTRAL[key]:
            does_nothing = NEUTRAL[key][0]
            raise RefusedError(
                f"{key} is not done here: leave it out or send {does_nothing!r}, got {value!r}.",
                param=key,
            )


def _prompts(given: Any) -> tuple[Prompt, ...]:
    """Read a text, a list of texts, a list of ids, or a list of such lists."""
    many = given if isinstance(given, list) else [given]
    if many and all(_is_id(one) for one in many):
        many = [many]
    found: list[Prompt] = []
    for one in many:
        if isinstance(one, str):
            found.append(text_prompt(one))
        elif isinstance(one, list) and one and all(_is_id(i) for i in one):
            found.append(ids_prompt(one))
        else:
            found.clear()
            break
    if not found:
        raise RefusedError(
            "prompt must be a text, a list of texts, a list of token ids, or a list of those.",
            param="prompt",
        )
    return tuple(found)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _turns(given: Any) -> list[tuple[str, str]]:
    if not isinstance(given, list) or not given:
        raise RefusedError("messages must be a list of at least one message.", param="messages")
    turns: list[tuple[str, str]] = []
    for place, one in enumerate(given):
        role = one.get("role") if isinstance(one, dict) else None
        content = _content(one.get("content")) if isinstance(one, dict) else None
        if not isinstance(role, str) or content is None:
            raise RefusedError(
                f"message {place} must have a role and a content of text.", param="messages"
            )
        turns.append((role, content))
    return turns


def _content(given: Any) -> str | None:
    """Return a message's text; None for what is no text (images, calls)."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        return None
    texts: list[str] = []
    for part in given:
        text = part.get("text") if isinstance(part, dict) else None
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "".join(texts)


def _of(body: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    """Return a value of exactly the type that is expected; null is the default."""
    value = body.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise RefusedError(f"{key} must be of type {kind.__name__}, got {value!r}.", param=key)
    return value


def _number(body: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    value = body.get(key)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _of(body, key, kind, default)
