"""Two passes over protocols: generate, then grade; or both in turns, prompt by prompt."""

from __future__ import annotations

from rewardable.collect.adaptive import AdaptiveReport, Need, Outcomes, collect_adaptively
from rewardable.collect.generate import GenerateReport, RetrySink, generate
from rewardable.collect.grade import GradeReport, grade
from rewardable.collect.progress import Progress
from rewardable.collect.wording import Grams, count_wording

__all__ = [
    "AdaptiveReport",
    "GenerateReport",
    "GradeReport",
    "Grams",
    "Need",
    "Outcomes",
    "Progress",
    "RetrySink",
    "collect_adaptively",
    "count_wording",
    "generate",
    "grade",
]
