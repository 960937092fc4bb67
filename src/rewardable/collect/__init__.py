"""Two passes over protocols: generate, then grade."""

from __future__ import annotations

from rewardable.collect.generate import GenerateReport, RetrySink, generate
from rewardable.collect.grade import GradeReport, grade
from rewardable.collect.progress import Progress

__all__ = ["GenerateReport", "GradeReport", "Progress", "RetrySink", "generate", "grade"]
