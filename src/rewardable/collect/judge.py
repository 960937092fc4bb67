"""The boundary to verifiers: whatever happens there becomes a verdict."""

from __future__ import annotations

import math
from dataclasses import replace

from rewardable.protocols import Verifier
from rewardable.records import Completion, FinishReason, Outcome, Prompt, Verdict


def judge(verifier: Verifier, prompt: Prompt, completion: Completion) -> Verdict:
    """Return the verifier's verdict, or UNGRADED with the reason why there is none."""
    try:
        verdict = _as_object(verifier.verify(prompt, completion))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the named boundary of verifiers
        return ungraded(verifier, describe_error(error))
    if not isinstance(verdict, Verdict):
        return ungraded(verifier, f"no verdict: the verifier returned {type(verdict).__name__}")
    for name, value in verdict.parts.items():
        if value is not None and not math.isfinite(value):
            return ungraded(verifier, f"no verdict: part {name!r} is {value}")
    if (verdict.verifier, verdict.version) != (verifier.name, verifier.version):
        return replace(verdict, verifier=verifier.name, version=verifier.version)
    return verdict


def _as_object(value: object) -> object:
    """Forget the promised type: a foreign verifier may return anything."""
    return value


def ungraded(verifier: Verifier, reason: str) -> Verdict:
    """Build the verdict of a completion that could not be graded."""
    return Verdict(
        outcome=Outcome.UNGRADED,
        verifier=verifier.name,
        version=verifier.version,
        reason=reason,
    )


def without_verifier(verifier: Verifier, completion: Completion) -> Verdict | None:
    """Return the verdict of a completion whose engine failed, None for all others."""
    if completion.finish_reason is not FinishReason.FAILED:
        return None
    return ungraded(verifier, f"engine: {completion.failure or 'failed'}")


def describe_error(error: BaseException) -> str:
    """Return the class and the first line of an exception's message."""
    line = str(error).strip().split("\n", 1)[0].strip()
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
