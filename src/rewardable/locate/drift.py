"""How far hidden states moved, layer by layer, against what chance pairs would show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rewardable.errors import DataError
from rewardable.metrics import Interval, mean_interval

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[Any]
"""States at one place: [N, layers, width]."""
_TINY = 1e-30


@dataclass(frozen=True, kw_only=True)
class LayerDrift:
    """One layer at one place (end of the prompt, or along the response).

    cosine: 1 - cosine of a token's states under both policies, mean over prompts.
    cosine_noise: the same between states of *different* prompts: what no correspondence looks
    like. cka: linear centred kernel alignment of the two sets of states, 1 is the same geometry.
    cka_noise: its 95th percentile when the pairing is permuted. norm_ratio: after over before.
    """

    layer: int
    cosine: Interval
    cosine_noise: float
    cka: float
    cka_noise: float
    norm_ratio: Interval
    n: int


def layer_drift(
    before_NLD: npt.ArrayLike,
    after_NLD: npt.ArrayLike,
    *,
    permutations: int = 100,
    seed: int = 0,
    level: float = 0.95,
) -> list[LayerDrift]:
    """Compare states of N prompts under two policies, shape [N, layers, width] each.

    Raises DataError for shapes that differ or fewer than 3 prompts.

    Source of CKA: Kornblith et al. 2019.
    """
    before, after = (np.asarray(one, dtype=np.float64) for one in (before_NLD, after_NLD))
    if before.shape != after.shape or before.ndim != 3:
        raise DataError(f"states of shapes {before.shape} and {after.shape} cannot be compared.")
    if before.shape[0] < 3:
        raise DataError(f"drift needs at least 3 prompts, got {before.shape[0]}.")
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(before.shape[0]) for _ in range(permutations)]
    return [
        _layer(layer, before[:, layer], after[:, layer], orders, level)
        for layer in range(before.shape[1])
    ]


def _layer(
    layer: int, first_ND: Floats, second_ND: Floats, orders: list[npt.NDArray[np.int64]],
    level: float,
) -> LayerDrift:  # fmt: skip
    grams = [_gram(one) for one in (first_ND, second_ND)]
    shuffled = [_cka(grams[0], grams[1][np.ix_(order, order)]) for order in orders]
    norms = [np.linalg.norm(one, axis=1) for one in (first_ND, second_ND)]
    return LayerDrift(
        layer=layer,
        cosine=mean_interval(_cosine(first_ND, second_ND), level=level, bounds=(0.0, 2.0)),
        cosine_noise=float(
            np.mean([_cosine(first_ND, np.roll(second_ND, shift, axis=0)) for shift in (1, 2)])
        ),
        cka=_cka(*grams),
        cka_noise=float(np.quantile(shuffled, 0.95)) if shuffled else float("nan"),
        norm_ratio=mean_interval(norms[1] / (norms[0] + _TINY), level=level, bounds=None),
        n=first_ND.shape[0],
    )


def _cosine(first_ND: Floats, second_ND: Floats) -> Floats:
    product = (first_ND * second_ND).sum(axis=1)
    norms = np.linalg.norm(first_ND, axis=1) * np.linalg.norm(second_ND, axis=1)
    return np.clip(1.0 - product / (norms + _TINY), 0.0, 2.0)


def _gram(states_ND: Floats) -> Floats:
    centred = states_ND - states_ND.mean(axis=0)
    return centred @ centred.T


def _cka(first_NN: Floats, second_NN: Floats) -> float:
    scale = np.sqrt((first_NN**2).sum() * (second_NN**2).sum())
    return float((first_NN * second_NN).sum() / scale) if scale > _TINY else float("nan")


def one_state_each(found: Mapping[str, Any]) -> dict[str, Places]:
    """Return place -> one state a prompt, [N, layers, width], from whole [layers, 1 + T, width].

    The first position is the prompt's last token; the response is the mean over the others.
    """
    ordered = [np.asarray(found[key]) for key in sorted(found, key=int)]
    if not ordered:
        return {}
    return {
        "end of prompt": np.stack([one[:, 0] for one in ordered]),
        "response": np.stack([one[:, 1:].mean(axis=1) for one in ordered]),
    }
