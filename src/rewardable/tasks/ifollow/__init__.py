"""Instruction following: checks that are pure functions of a text and its parameters."""

from __future__ import annotations

from rewardable.tasks.ifollow.config import IFBench, IFEval, InstructionTask
from rewardable.tasks.ifollow.generate import Constraints
from rewardable.tasks.ifollow.kinds import IFBENCH, IFEVAL, UNDECIDED, instruction
from rewardable.tasks.ifollow.verify import InstructionVerifier

__all__ = [
    "IFBENCH",
    "IFEVAL",
    "UNDECIDED",
    "Constraints",
    "IFBench",
    "IFEval",
    "InstructionTask",
    "InstructionVerifier",
    "instruction",
]
