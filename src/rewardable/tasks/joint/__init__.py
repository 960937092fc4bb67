"""Two things wanted at once: right and compliant, with both verdicts kept as parts."""

from __future__ import annotations

from rewardable.tasks.joint.config import Joint, MathIF, ReasonIF
from rewardable.tasks.joint.pair import JointTask, joint
from rewardable.tasks.joint.verify import Half, JointVerifier

__all__ = ["Half", "Joint", "JointTask", "JointVerifier", "MathIF", "ReasonIF", "joint"]
