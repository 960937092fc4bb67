"""From a server's JSON to completions. What cannot be read is :class:`MalformedError`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.records import Completion, FinishReason, SamplingSpec, failed_completion

REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}
CUT_OFF = ("abort", "error")
"""Reasons of a server that broke a completion off: it is asked for again."""


class MalformedError(Exception):
    """An answer that is not what was asked for; asking again may help."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opening:
    """What a completion was forced to begin with. ``ids`` may be unknown where there is text."""

    text: str = ""
    ids: tuple[int, ...] = ()


def choices(answer: Any, count: int) -> list[dict[str, Any]]:
    """Return the answer's choices 0..count-1 in order, none missing and none twice."""
    found = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(found, list):
        raise MalformedError("the answer has no choices")
    by_index = {one.get("index"): one for one in found if isinstance(one, dict)}
    if len(found) != count or set(by_index) != set(range(count)):
        raise MalformedError(f"the answer has {len(found)} choices, {count} were asked for")
    for one in by_index.values():
        if one.get("finish_reason") in CUT_OFF:
            raise MalformedError(f"a completion was broken off: {one['finish_reason']}")
    return [by_index[index] for index in range(count)]


def by_ids(
    answer: Any, count: int, opening: Opening, room: int, spec: SamplingSpec
) -> list[Completion]:
    """Read completions of token ids; ``room`` is how many ids may follow the opening."""
    return [_by_ids(one, opening, room, spec) for one in choices(answer, count)]


def _by_ids(one: dict[str, Any], opening: Opening, room: int, spec: SamplingSpec) -> Completion:
    ids, text, reason = one.get("token_ids"), one.get("text"), _reason(one)
    if not isinstance(ids, list) or not isinstance(text, str):
        raise MalformedError("a completion has no text or no token ids")
    if reason is FinishReason.FAILED:
        return _withheld(one)
    if not room:
        ids, text, reason = [], "", FinishReason.LENGTH
    logprobs = _logprobs(one, len(ids)) if ids else ()
    before = prompt_logprobs(one, len(opening.ids)) if opening.ids else ()
    known = len(before) == len(opening.ids) and (bool(logprobs) or not ids)
    logprobs = (*before, *logprobs) if known else ()
    return Completion(
        text=opening.text + text,
        token_ids=(*opening.ids, *ids),
        logprobs=logprobs,
        sampling_logprobs=logprobs if is_plain(spec) else (),
        finish_reason=reason,
    )


def is_plain(spec: SamplingSpec) -> bool:
    """Tell whether the distribution that is sampled is the raw one."""
    return spec.temperature == 1 and spec.top_p == 1 and not spec.top_k


def _reason(one: dict[str, Any]) -> FinishReason:
    named = one.get("finish_reason")
    if named == "content_filter":
        return FinishReason.FAILED
    return REASONS.get(str(named), FinishReason.UNKNOWN)


def _withheld(one: dict[str, Any]) -> Completion:
    return failed_completion(f"the server withheld the answer: {one.get('finish_reason')}")


def _logprobs(one: dict[str, Any], count: int) -> tuple[float, ...]:
    """Return the log-probs of the completion's tokens, or none where they do not fit."""
    given = one.get("logprobs") or {}
    values = given.get("token_logprobs")
    if values is None:
        values = [token.get("logprob") for token in given.get("content") or ()]
    if len(values) != count or not all(isinstance(value, int | float) for value in values):
        return ()
    return tuple(float(value) for value in values)


def prompt_logprobs(one: dict[str, Any], count: int) -> tuple[float, ...]:
    """Return the log-probs of the prompt's last ``count`` tokens, or none where none are given.

    The server gives a list of {id: {logprob}}, which may hold likelier ids too, this one first.
    """
    given = one.get("prompt_logprobs")
    if not isinstance(given, list) or len(given) <= count:
        return ()
    last = given[len(given) - count :]
    if not all(isinstance(token, dict) and token for token in last):
        return ()
    return tuple(float(next(iter(token.values()))["logprob"]) for token in last)


def scores(answer: Any, ids: Sequence[int], prompt_length: int) -> tuple[float, ...]:
    """Return the log-probs of ``ids``, which stand at the end of the prompt that was scored."""
    one = choices(answer, 1)[0]
    given = one.get("prompt_logprobs")
    if isinstance(given, list) and len(given) == prompt_length + len(ids):
        pairs = zip(ids, given[prompt_length:], strict=True)
        if all(isinstance(token, dict) and str(i) in token for i, token in pairs):
            pairs = zip(ids, given[prompt_length:], strict=True)
            return tuple(float(token[str(i)]["logprob"]) for i, token in pairs)
    raise MalformedError("the answer holds no log-probs of the prompt")


def from_chat(answer: Any, count: int, opening: Opening, spec: SamplingSpec) -> list[Completion]:
    """Read chat completions. Ids and log-probs are kept where ids are given and nothing is forced.

    Reasoning that the server took out of the text is put back between think tags.
    """
    return [_from_chat(one, opening, spec) for one in choices(answer, count)]


def _from_chat(one: dict[str, Any], opening: Opening, spec: SamplingSpec) -> Completion:
    message, reason = one.get("message"), _reason(one)
    if reason is FinishReason.FAILED:
        return _withheld(one)
    if not isinstance(message, dict):
        raise MalformedError("a completion has no message")
    return _text_only(one, opening, _with_reasoning(message), reason, spec)


def from_text(answer: Any, count: int, opening: Opening, spec: SamplingSpec) -> list[Completion]:
    """Read completions of a text prompt."""
    found: list[Completion] = []
    for one in choices(answer, count):
        text, reason = one.get("text"), _reason(one)
        if not isinstance(text, str):
            raise MalformedError("a completion has no text")
        failed = reason is FinishReason.FAILED
        found.append(_withheld(one) if failed else _text_only(one, opening, text, reason, spec))
    return found


def _text_only(
    one: dict[str, Any], opening: Opening, text: str, reason: FinishReason, spec: SamplingSpec
) -> Completion:
    ids = one.get("token_ids")
    ids = tuple(ids) if isinstance(ids, list) and not opening.text else ()
    logprobs = _logprobs(one, len(ids)) if ids else ()
    return Completion(
        text=opening.text + text,
        token_ids=ids,
        logprobs=logprobs,
        sampling_logprobs=logprobs if is_plain(spec) else (),
        finish_reason=reason,
    )


def _with_reasoning(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    apart = message.get("reasoning_content") or message.get("reasoning") or ""
    return f"<think>{apart}</think>{content}" if apart else content
