"""The grammar of gates: ``support@64 falls > 5%`` as a value, or an error that says what is off.

    gate   = metric change [scope] | metric level [scope]
    metric = NAME "@" K, or pass^K, or trainability
    change = ("falls" | "rises") [">" NUMBER ["%" | "points"]]
    level  = ("<" | ">") NUMBER ["%"]
    scope  = ["on" (TASK | "every task")] ["for" (POLICY | "every policy")]

Names with spaces stand in quotes. ``docs/gate.md`` explains it with examples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewardable.errors import ConfigError, suggest, unknown_name

METRICS = (
    "pass", "pass^", "support", "solutions", "coverage", "entries", "best", "maj", "distinct",
    "trainability",
)  # fmt: skip
"""Names before ``@``; ``pass^8`` is written without one."""

NUMBERS = ("support", "solutions", "distinct", "best")
"""Metrics that are no shares: per cent of a level and points mean nothing there."""

NO_BUDGET = "trainability"
"""The metric that may stand without a number: its group is the run's."""

EVERY = "*"
FALLS, RISES, BELOW, ABOVE = "falls", "rises", "<", ">"
_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|[<>]|[^\s<>]+")
_NUMBER = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(%?)")
_EXAMPLE = "for example 'support@64 falls > 5%'"


@dataclass(frozen=True, kw_only=True)
class Gate:
    """One parsed gate.

    verb: falls, rises, < or >. relative: the amount is a share of the base's value. task, policy:
    a name, "*" for every one, or empty for the main task and the last trained policy.
    """

    text: str
    metric: str
    k: int
    verb: str
    amount: float
    relative: bool
    task: str = ""
    policy: str = ""

    @property
    def name(self) -> str:
        """The metric with its budget, as written."""
        if not self.k:
            return self.metric
        return f"{self.metric}{'' if self.metric.endswith('^') else '@'}{self.k}"


def parse_gate(text: str) -> Gate:
    """Parse a gate; ConfigError with a suggestion for anything else."""
    tokens = _TOKEN.findall(text)
    if len(tokens) < 2:
        raise _bad(text, "a gate is METRIC@K, then falls, rises, < or >, then a number")
    metric, k = _metric(text, tokens[0])
    verb, rest = tokens[1], tokens[2:]
    if verb not in (FALLS, RISES, BELOW, ABOVE):
        near = suggest(verb, (FALLS, RISES))
        raise _bad(text, f"{verb!r} is none of falls, rises, < and >.{near}")
    amount, relative, rest = _amount(text, verb, rest)
    _check_reach(text, metric, verb, amount, relative)
    task, policy = _scope(text, rest)
    return Gate(
        text=" ".join(tokens), metric=metric, k=k, verb=verb, amount=amount, relative=relative,
        task=task, policy=policy,
    )  # fmt: skip


def _bad(text: str, why: str) -> ConfigError:
    return ConfigError(f"gate {text!r}: {why}; {_EXAMPLE}.")


def _metric(text: str, token: str) -> tuple[str, int]:
    found = re.fullmatch(r"([A-Za-z_-]+\^?)@?(\d*)", token)
    name, digits = (found[1], found[2]) if found else (token.partition("@")[0], "")
    if name not in METRICS:
        listing = ", ".join(m if m == NO_BUDGET else f"{m}K" if m == "pass^" else f"{m}@K"
                            for m in METRICS)  # fmt: skip
        raise unknown_name("gate metric", name, METRICS, hint=f"Known: {listing}.")
    joined = name == "pass^" or not digits
    if found is None or joined != ("@" not in token):
        raise _bad(text, f"{token!r} must be written like {name}{'' if name == 'pass^' else '@'}64")
    if not digits and name != NO_BUDGET:
        at = "" if name == "pass^" else "@"
        raise _bad(text, f"{name} needs a budget, like {name}{at}64")
    k = int(digits or 0)
    if digits and k < (2 if name == NO_BUDGET else 1):
        raise _bad(text, f"{token}: the number must be at least {2 if name == NO_BUDGET else 1}")
    return name, k


def _amount(text: str, verb: str, rest: list[str]) -> tuple[float, bool, list[str]]:
    """Return the threshold, whether it is relative, and what is left."""
    change = verb in (FALLS, RISES)
    if change and (not rest or rest[0] in ("on", "for")):
        return 0.0, False, rest
    if change and rest[0] != ">":
        raise _bad(text, f"after {verb} comes '> NUMBER', got {rest[0]!r}")
    rest = rest[1:] if change else rest
    found = _NUMBER.fullmatch(rest[0]) if rest else None
    if found is None:
        raise _bad(text, f"a number like 5% or 0.05 must follow, got {' '.join(rest) or 'nothing'}")
    rest, percent = rest[1:], bool(found[2])
    points = bool(rest) and rest[0] in ("%", "points", "point")
    unit, rest = (rest[0], rest[1:]) if points else ("%" if percent else "", rest)
    if percent and points:
        raise _bad(text, "write either % or points, not both")
    value = float(found[1])
    return (value / 100 if unit else value), change and unit == "%", rest


def _check_reach(text: str, metric: str, verb: str, amount: float, relative: bool) -> None:
    """Refuse a threshold that no value can cross, and units that the metric does not have."""
    if verb == FALLS and relative and amount >= 1:
        raise _bad(text, "nothing falls by more than 100%")
    if relative:
        return
    if metric in NUMBERS:
        if re.search(r"\d\s*(%|points?\b)", text):
            raise _bad(text, f"{metric} is no share; write a plain number, or a fall in %")
    elif amount > 1:
        raise _bad(text, f"{metric} is a share from 0 to 1; write 5%, 5 points or 0.05")


def _scope(text: str, rest: list[str]) -> tuple[str, str]:
    found = {"on": "", "for": ""}
    noun = {"on": "task", "for": "policy"}
    while rest:
        word = rest[0]
        if word not in found or len(rest) < 2 or found[word]:
            raise _bad(text, f"{' '.join(rest)!r} is no 'on TASK' or 'for POLICY'")
        every = rest[1:3] == ["every", noun[word]]
        found[word] = EVERY if every else rest[1].strip("'\"")
        rest = rest[3 if every else 2 :]
    return found["on"], found["for"]
