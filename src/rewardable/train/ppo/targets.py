"""What a batch teaches: which tokens take part, their advantages, and the returns to foresee."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rewardable.train.ppo.gae import Bools, Floats, gae, token_rewards
from rewardable.train.ppo.recipe import PPORecipe


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Advantages are not whitened yet. Outside ``plays_BT`` nothing counts."""

    plays_BT: Bools
    advantage_BT: Floats
    returned_BT: Floats


def targets(
    recipe: PPORecipe,
    *,
    mask_BT: Bools,
    truncated_B: Bools,
    paid_B: Floats,
    value_BU: Floats,
    gap_BT: Floats | None = None,
) -> Targets:
    """Return the targets of a batch.

    A row that is paid NaN (UNGRADED) takes no part, nor does a truncated one that the recipe masks.
    A bootstrapped one is paid nothing: the value at the cut says what would have come.
    gap_BT: log p - log p(reference) of each token.
    """
    takes_B = ~np.isnan(paid_B)
    if recipe.mask_truncated:
        takes_B &= ~truncated_B
    cut_B = truncated_B & recipe.bootstrap_truncated
    length_B = mask_BT.sum(axis=1)
    behind_B = value_BU[np.arange(len(value_BU)), length_B]
    advantage_BT, returned_BT = gae(
        token_rewards(
            np.where(takes_B & ~cut_B, np.nan_to_num(paid_B), 0.0),
            mask_BT,
            None if gap_BT is None else recipe.kl_coefficient * gap_BT,
        ),
        value_BU[:, :-1],
        mask_BT,
        np.where(cut_B, behind_B, 0.0),
        gamma=recipe.gamma,
        lam=recipe.gae_lambda,
    )
    return Targets(
        plays_BT=mask_BT & takes_B[:, None], advantage_BT=advantage_BT, returned_BT=returned_BT
    )
