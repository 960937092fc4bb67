"""Mathematics: problems with a reference answer, and the verifier that compares with it."""

from __future__ import annotations

from rewardable.tasks.math.config import (
    Aime24,
    Aime25,
    Amc23,
    Gsm8k,
    Math500,
    MathProblems,
    MathTask,
    MinervaMath,
    OlympiadBench,
)
from rewardable.tasks.math.verify import MathVerifier

__all__ = [
    "Aime24",
    "Aime25",
    "Amc23",
    "Gsm8k",
    "Math500",
    "MathProblems",
    "MathTask",
    "MathVerifier",
    "MinervaMath",
    "OlympiadBench",
]
