"""First-token entropy and mean entropy of the policy that is trained."""

from __future__ import annotations

import torch

from rewardable.train.core import Forward, Ratio

FIRST = "entropy/first_token"
MEAN = "entropy/mean"


def watch_entropy(seen: Forward) -> dict[str, Ratio]:
    """Return both entropies (nats, at the sampling temperature) over all processes.

    Of completions and tokens that take part in the loss: of masked ones the trainer's model says
    0, which is no entropy.
    """
    mask_BT = seen.completion_mask_BT.double()
    entropy_BT = seen.entropy_BT.detach().double() * mask_BT
    sums = torch.stack(
        [entropy_BT[:, 0].sum(), mask_BT[:, 0].sum(), entropy_BT.sum(), mask_BT.sum()]
    )
    first, rows, total, tokens = seen.accelerator.reduce(sums, reduction="sum").tolist()
    return {FIRST: Ratio(first, rows), MEAN: Ratio(total, tokens)}
