"""Rollouts that a trainer drew: what every table made from them must say."""

from __future__ import annotations

from collections.abc import Sequence

from rewardable.records import TRAINING, Policy
from rewardable.store import Run

FROM_TRAINING = "Drawn while training"
"""What the warning begins with."""


def training_warnings(run: Run, policies: Sequence[Policy]) -> tuple[str, ...]:
    """Return the warning where rollouts of some of these policies are a trainer's own."""
    marked = {key for key, origin in run.provenances() if origin.startswith(TRAINING)}
    found = [policy.name for policy in policies if policy.key in marked]
    if not found:
        return ()
    return (
        f"{FROM_TRAINING}: rollouts of {', '.join(found)}. The trainer chose the prompts and may "
        "have left groups out, and every step is another policy: these are no independent samples "
        "of one policy, and no interval here allows for that. Sample the checkpoints for figures "
        "to rely on.",
    )
