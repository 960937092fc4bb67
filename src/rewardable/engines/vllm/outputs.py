"""From vLLM's outputs to completions and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.errors import BoundaryError
from rewardable.records import Completion, FinishReason, SamplingSpec, failed_completion

REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Consecutive samples of one prompt. room: ids that may follow the opening."""

    prompt_key: str
    indices: tuple[int, ...]
    ids: tuple[int, ...] = ()
    opening: tuple[int, ...] = ()
    text: str = ""
    room: int = 0
    seed: int = 0
    failure: str = ""


def completions(output: Any, job: Job, spec: SamplingSpec) -> list[Completion]:
    """Return the job's completions in the order of its indices."""
    by_index = {one.index: one for one in output.outputs}
    if sorted(by_index) != list(range(len(job.indices))):
        raise BoundaryError("vLLM", f"gave {len(output.outputs)} of {len(job.indices)} samples")
    before = scored(output, job.opening) if job.opening else ()
    plain = spec.temperature == 1 and spec.top_p == 1 and not spec.top_k
    return [_completion(by_index[i], job, before, plain) for i in range(len(job.indices))]


def _completion(one: Any, job: Job, before: tuple[float, ...], plain: bool) -> Completion:
    ids, text = tuple(one.token_ids), one.text
    reason = REASONS.get(str(one.finish_reason))
    if reason is None:
        return failed_completion(f"vLLM ended it: {one.finish_reason}")
    if not job.room:
        ids, text, reason = (), "", FinishReason.LENGTH
    drawn = tuple(at[i].logprob for i, at in zip(ids, one.logprobs or (), strict=False))
    logprobs = (*before, *drawn)
    return Completion(
        text=job.text + text,
        token_ids=(*job.opening, *ids),
        logprobs=logprobs,
        sampling_logprobs=logprobs if plain else (),
        finish_reason=reason,
    )


def scored(output: Any, token_ids: Sequence[int]) -> tuple[float, ...]:
    """Return the log-probs of the ids at the end of the output's prompt."""
    if not token_ids:
        return ()
    last = output.prompt_logprobs[-len(token_ids) :]
    return tuple(float(at[i].logprob) for i, at in zip(token_ids, last, strict=True))
