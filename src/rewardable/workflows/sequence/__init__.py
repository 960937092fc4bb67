"""Stages of training in several orders from one base: what each gained, what it left."""

from __future__ import annotations

from rewardable.workflows.sequence.plan import SequencePlan, StagePlan, sequence_plan
from rewardable.workflows.sequence.run import SequenceResult, sequence

__all__ = ["SequencePlan", "SequenceResult", "StagePlan", "sequence", "sequence_plan"]
