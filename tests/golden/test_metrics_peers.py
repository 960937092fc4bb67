"""Numbers printed by independent programs: scorio 0.2.3 and passk-inference 0.3.1."""

from __future__ import annotations

import numpy as np
import pytest

from rewardable.metrics import best_at_k, paired_band, pass_at_k, pass_hat_k

# numpy.random.default_rng(12345): R = integers(0, 3, (6, 9)); B = (R == 2).
RATINGS = np.array(
    [
        [2, 0, 2, 0, 0, 2, 1, 2, 2],
        [1, 2, 0, 1, 1, 0, 0, 0, 2],
        [1, 2, 2, 0, 2, 2, 2, 2, 0],
        [0, 0, 1, 0, 2, 1, 2, 0, 0],
        [0, 2, 2, 0, 2, 0, 1, 0, 2],
        [1, 1, 1, 1, 0, 1, 2, 1, 0],
    ]
)
KS = [1, 3, 9]
# scorio.eval.pass_at_k(B, k), pass_hat_k(B, k), max_at_k(R, k, [0, 0.25, 1]).
SCORIO_PASS = [0.3703703703703704, 0.7202380952380952, 1.0]
SCORIO_HAT = [0.3703703703703704, 0.06746031746031747, 0.0]
SCORIO_MAX = [0.4351851851851852, 0.7807539682539683, 1.0]

# The next draws of the same generator: c = integers(0, 17, 40), d = minimum(16, integers(0, 20)).
BEFORE = [
    0, 2, 1, 1, 2, 10, 13, 14, 11, 10, 5, 15, 10, 12, 12, 14, 11, 15, 9, 9,
    4, 15, 9, 8, 5, 4, 10, 7, 9, 11, 15, 5, 11, 15, 7, 4, 4, 5, 10, 4,
]  # fmt: skip
AFTER = [
    16, 7, 1, 0, 0, 12, 6, 5, 12, 1, 10, 12, 0, 3, 7, 6, 16, 8, 12, 3,
    16, 4, 15, 9, 8, 9, 10, 5, 2, 5, 16, 5, 13, 5, 16, 9, 11, 4, 12, 9,
]  # fmt: skip
# passk_inference.core.compare(c, 16, d, 16, bootstrap=20000) at k = 1, 4, 16.
PASSK_BASE = [0.528125, 0.8501923076923076, 0.975]
PASSK_RL = [0.5, 0.8042170329670328, 0.925]
PASSK_CRITICAL = 2.3210054260483193


def test_scorio():
    n, c = np.full(6, 9), (RATINGS == 2).sum(1)
    assert pass_at_k(n, c, KS).mean(0) == pytest.approx(SCORIO_PASS)
    assert pass_hat_k(n, c, KS).mean(0) == pytest.approx(SCORIO_HAT)
    scores = np.array([0, 0.25, 1.0])[RATINGS].reshape(-1)
    best = best_at_k(scores, np.repeat(np.arange(6), 9), 6, KS)
    assert best.mean(0) == pytest.approx(SCORIO_MAX)


def test_passk_inference():
    ks = np.arange(1, 17)
    before, after = (pass_at_k(16, c, ks) for c in (BEFORE, AFTER))
    assert before.mean(0)[[0, 3, 15]] == pytest.approx(PASSK_BASE)
    assert after.mean(0)[[0, 3, 15]] == pytest.approx(PASSK_RL)
    # Columns that only a few prompts move are not left to the bootstrap here, so the critical
    # value of the remaining ones is compared.
    band = paired_band(before, after, draws=20_000)
    assert band.critical == pytest.approx(PASSK_CRITICAL, abs=0.15)
    assert band.mean_K[[0, 3, 15]] == pytest.approx(np.subtract(PASSK_RL, PASSK_BASE))
