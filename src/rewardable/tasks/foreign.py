"""Reward functions in other trainers' signatures, judged as verifiers.

- ``trl``: ``f(completions, **columns) -> list[float | None]``; columns are the prompt's facts.
- ``verl``: ``compute_score(data_source, solution_str, ground_truth, extra_info)``, which returns a
  number or a mapping with ``score``.

A reward of at least ``success_at`` is CORRECT, a smaller one WRONG; None and what is no finite
number leave the answer UNGRADED. What the function raises goes through.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from rewardable.errors import ConfigError, unknown_name
from rewardable.records import Completion, Outcome, Prompt, Verdict, digest

Signature = Literal["auto", "trl", "verl"]
SIGNATURES: tuple[Signature, ...] = ("auto", "trl", "verl")
Reward = Callable[..., Any]
TRUTHS = ("ground_truth", "answer", "solution")
"""Facts that may hold the reference, in the order in which they are tried."""

_ALWAYS = {
    "auto": (),
    "trl": ("prompts", "completions", "completion_ids"),
    "verl": ("data_source", "solution_str", "extra_info"),
}
"""Arguments that a trainer gives whatever the data set holds."""


@dataclass(frozen=True, kw_only=True)
class RewardVerifier:
    """A reward function as a verifier. Part ``reward``: what it returned, other numbers beside it.

    columns: argument -> fact, where a dataset column has another name than the fact.
    chat: completions are lists of one message, as TRL gives them of conversational datasets.
    """

    name: str
    version: str
    function: Reward
    signature: Signature
    success_at: float = 1.0
    chat: bool = False
    columns: tuple[tuple[str, str], ...] = ()

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Ask the function about one completion."""
        ask = self._verl if self.signature == "verl" else self._trl
        reward, parts = _read(ask(prompt, completion))
        if reward is None or not math.isfinite(reward):
            said = "None" if reward is None else f"{reward}"
            return self._verdict(Outcome.UNGRADED, f"the reward is {said}", parts)
        right = reward >= self.success_at
        outcome = Outcome.CORRECT if right else Outcome.WRONG
        reason = "" if right else f"reward below {self.success_at:g}"
        score = reward if 0.0 <= reward <= 1.0 else None
        return self._verdict(outcome, reason, {"reward": reward, **parts}, score)

    def arguments(self, prompt: Prompt) -> dict[str, Any]:
        """Return what the prompt gives to the function, by argument.

        Raises
        ------
        ConfigError: an argument without a default for which the prompt has no fact.
        """
        given = self._columns(prompt)
        given |= dict.fromkeys(_ALWAYS[self.signature])
        for argument in _needed(self.function):
            if argument not in given:
                raise unknown_name(
                    f"column of {self.name}:", argument, prompt.facts,
                    hint=f"The prompts have {', '.join(sorted(prompt.facts)) or 'no fact'}; name "
                    f"one with --column {argument}=FACT.",
                )  # fmt: skip
        return given

    def _columns(self, prompt: Prompt) -> dict[str, Any]:
        facts: dict[str, Any] = dict(prompt.facts)
        truth = next((facts[name] for name in TRUTHS if facts.get(name) is not None), None)
        given = {name: truth for name in TRUTHS if truth is not None} | facts
        for argument, fact in self.columns:
            if fact not in facts:
                raise unknown_name(f"fact of the prompts, for column {argument}:", fact, facts)
            given[argument] = facts[fact]
        return given

    def _trl(self, prompt: Prompt, completion: Completion) -> Any:
        columns = {name: [value] for name, value in self._columns(prompt).items()}
        said: Any = completion.text
        asked: Any = prompt.text
        if self.chat:
            said = [{"role": "assistant", "content": said}]
            asked = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
        columns |= {"prompts": [asked], "completions": [said]}
        columns |= {"completion_ids": [list(completion.token_ids)]}
        said = self.function(**_accepted(self.function, columns))
        rewards: list[Any] = list(said) if isinstance(said, Iterable) else []
        if len(rewards) != 1:
            raise TypeError(f"expected a list of one reward, got {str(said)[:80]!r}")
        return rewards[0]

    def _verl(self, prompt: Prompt, completion: Completion) -> Any:
        columns = self._columns(prompt)
        given = {
            "data_source": prompt.task,
            "solution_str": completion.text,
            "ground_truth": columns.get("ground_truth"),
            "extra_info": dict(prompt.facts),
        }
        return self.function(**_accepted(self.function, given))

    def _verdict(
        self,
        outcome: Outcome,
        reason: str,
        parts: Mapping[str, float],
        score: float | None = None,
    ) -> Verdict:
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=score,
            parts=parts,
        )


def reward_verifier(
    name: str,
    function: Reward,
    *,
    signature: Signature = "auto",
    success_at: float = 1.0,
    chat: bool = False,
    columns: Mapping[str, str] | None = None,
) -> RewardVerifier:
    """Wrap a reward function. Its version is a digest of the module that it stands in.

    Raises
    ------
    ConfigError: a function of neither signature, or a coroutine.
    """
    if inspect.iscoroutinefunction(function):
        raise ConfigError(f"{name} is a coroutine; wrap it in a function that waits for it.")
    chosen = _signature_of(name, function) if signature == "auto" else signature
    return RewardVerifier(
        name=name,
        version=_version_of(function),
        function=function,
        signature=chosen,
        success_at=success_at,
        chat=chat,
        columns=tuple((columns or {}).items()),
    )


def _signature_of(name: str, function: Reward) -> Signature:
    known = set(inspect.signature(function).parameters)
    if "completions" in known:
        return "trl"
    if "solution_str" in known:
        return "verl"
    raise ConfigError(
        f"{name} takes ({', '.join(sorted(known))}); expected `completions` (TRL) or "
        "`solution_str` (verl). Pass one of these, a verifier or a task."
    )


def _version_of(function: Reward) -> str:
    module = sys.modules.get(getattr(function, "__module__", ""))
    try:
        return digest("reward", inspect.getsource(cast(Any, module)), length=8)
    except (OSError, TypeError):
        return "unknown"


def _accepted(function: Reward, given: Mapping[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return dict(given)
    return {name: value for name, value in given.items() if name in parameters}


def _needed(function: Reward) -> list[str]:
    variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.default is inspect.Parameter.empty and one.kind not in variable
    ]


def _read(said: Any) -> tuple[float | None, dict[str, float]]:
    """Return the reward and the other numbers that came with it."""
    if isinstance(said, Mapping):
        told = cast(Mapping[str, Any], said)
        others = {
            name: float(value)
            for name, value in told.items()
            if name != "score" and isinstance(value, (bool, int, float)) and math.isfinite(value)
        }
        return _number(told.get("score")), others
    return _number(said), {}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
