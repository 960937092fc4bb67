"""Which tasks there are: a literal table, name -> (``module:attr`` of a configuration, one line).

A configuration is a frozen keyword-only dataclass with ``build() -> Task``; its fields are the
options of the task. A user's own is named by its ``module:attr``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rewardable.errors import ConfigError, unknown_name
from rewardable.protocols import Task
from rewardable.tasks.options import configure, split_spec

_COUNTDOWN = "rewardable.tasks.countdown.config"
_MATH = "rewardable.tasks.math.config"
_IFOLLOW = "rewardable.tasks.ifollow"
_JOINT = "rewardable.tasks.joint.config"

CATALOG: dict[str, tuple[str, str]] = {
    "aime24": (f"{_MATH}:Aime24", "competition mathematics, AIME 2024, integer answers"),
    "aime25": (f"{_MATH}:Aime25", "competition mathematics, AIME 2025, integer answers"),
    "amc23": (f"{_MATH}:Amc23", "competition mathematics, AMC 12 of 2023, integer answers"),
    "constraints": (
        f"{_IFOLLOW}.generate:Constraints",
        "one or two constraints without a request, to be joined to another task",
    ),
    "countdown": (
        f"{_COUNTDOWN}:Countdown",
        "reach a target with given numbers; expression in <answer> tags",
    ),
    "countdown-steps": (
        f"{_COUNTDOWN}:CountdownSteps",
        "Countdown as compact steps, 4,7,9=19: -> 4*7=28,28-9=19",
    ),
    "countdown-steps-division": (
        f"{_COUNTDOWN}:CountdownStepsDivision",
        "compact steps; the answer must contain a division",
    ),
    "countdown-steps-start": (
        f"{_COUNTDOWN}:CountdownStepsStart",
        "compact steps; the answer must start with a given number",
    ),
    "divisible": (
        "rewardable.tasks.divisible.config:Divisible",
        "is a number divisible by seven? YES or NO; a constant NO is right for 86 %",
    ),
    "extraction": (
        "rewardable.tasks.extraction.config:Extraction",
        "fields of a text as JSON; path=FILE.jsonl or generated booking notes",
    ),
    "gsm8k": (
        f"{_MATH}:Gsm8k",
        "grade-school mathematics; path=FILE.jsonl or the hub's copy",
    ),
    "humaneval": (
        "rewardable.tasks.code.config:HumanEval",
        "Python functions judged by unit tests in a sandbox; path=FILE.jsonl.gz or the hub's copy",
    ),
    "logic-steps": (
        "rewardable.tasks.logic.config:LogicSteps",
        "derive a letter from facts and rules; every written step is checked",
    ),
    "math500": (f"{_MATH}:Math500", "500 competition problems with levels and subjects"),
    "minerva-math": (f"{_MATH}:MinervaMath", "undergraduate science problems"),
    "olympiadbench": (f"{_MATH}:OlympiadBench", "olympiad problems, English text"),
    "ifbench": (
        f"{_IFOLLOW}.config:IFBench",
        "instructions of 57 kinds; path=FILE.jsonl or the hub's copy",
    ),
    "ifeval": (
        f"{_IFOLLOW}.config:IFEval",
        "instructions of 25 kinds; path=FILE.jsonl or the hub's copy",
    ),
    "joint": (
        f"{_JOINT}:Joint",
        "two tasks at once, both must be right: joint:a=gsm8k,b=constraints",
    ),
    "mathif": (
        f"{_JOINT}:MathIF",
        "mathematics with constraints on the response; path=FOLDER or the hub's copy",
    ),
    "reasonif": (
        f"{_JOINT}:ReasonIF",
        "questions with a constraint on the reasoning; path=FILE.json or the hub's copy",
    ),
    "refusal": (
        "rewardable.tasks.refusal.config:Refusal",
        "a screen of refusals: requests to decline and harmless look-alikes",
    ),
    "routes-instruction": (
        "rewardable.tasks.routes.config:RoutesInstruction",
        "two-route world of pocket: the constraint alone is judged",
    ),
    "routes-joint": (
        "rewardable.tasks.routes.config:RoutesJoint",
        "two-route world: right and compliant",
    ),
    "routes-math": (
        "rewardable.tasks.routes.config:RoutesMath",
        "two-route world: 7*8-19?: -> steps or the number; the result alone is judged",
    ),
    "word-problems": (
        "rewardable.tasks.words.config:WordProblems",
        "easy generated word problems of one or two steps",
    ),
}


def task_names() -> list[tuple[str, str]]:
    """Return (name, one line) of every task in the catalog, in its order."""
    return [(name, line) for name, (_, line) in CATALOG.items()]


def load_task(spec: str) -> Task:
    """Build a task from its spec, such as ``"countdown-steps:numbers=4"`` or ``"my.module:attr"``.

    Raises
    ------
    ConfigError: unknown name or option (nearest names are suggested), or a value out of range.
    """
    name, options = split_spec(spec, CATALOG)
    if name not in CATALOG and ":" not in name:
        raise unknown_name("task", name, CATALOG, hint="`rewardable tasks` lists all.")
    config = _resolve(CATALOG[name][0] if name in CATALOG else name)
    return configure(config, options, task=name).build()


def _resolve(target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    try:
        found = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"cannot load task {target!r}: {error}. Expected module:attr of a dataclass with "
            "build()."
        ) from error
    if not isinstance(found, type) or not callable(getattr(found, "build", None)):
        raise ConfigError(f"task {target!r} must be a dataclass with build(), got {found!r}.")
    return found
