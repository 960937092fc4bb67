"""What a training run writes down: numbers of every step, every rollout, the first token's entropy.

``StepMetrics`` and ``RolloutRecorder`` are taps; ``Together`` gives taps the rows of all processes.
``LogBook`` (``book``) keeps the files; ``StepLog`` (``callback``) is it for TRL. Nothing here loads
torch; ``book``, ``callback``, ``entropy`` and ``together`` do.
"""

from __future__ import annotations

from rewardable.train.logs.metrics import Disagreement, StepMetrics
from rewardable.train.logs.recorder import RolloutRecorder, TrainingSink
from rewardable.train.logs.rows import MetricsFile

__all__ = ["Disagreement", "MetricsFile", "RolloutRecorder", "StepMetrics", "TrainingSink"]
