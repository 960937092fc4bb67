"""GSM8K: grade-school word problems with an integer answer."""

from __future__ import annotations

from rewardable.tasks.gsm8k.config import Gsm8k

__all__ = ["Gsm8k"]
