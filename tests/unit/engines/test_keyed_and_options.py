"""Row-keyed random numbers; options."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from rewardable.engines import EngineOptions
from rewardable.engines.keyed import uniforms
from rewardable.errors import ConfigError


def test_a_longer_draw_begins_with_a_shorter_one() -> None:
    assert uniforms(3, "key", 5, 100)[:7].tolist() == uniforms(3, "key", 5, 7).tolist()


def test_the_stream_is_pinned() -> None:
    # computed once; a change would resample every run
    expected = [0.11885506261240542, 0.028666051193420805]
    assert uniforms(0, "p", 0, 2).tolist() == pytest.approx(expected, abs=0)


def test_neighbouring_keys_have_unrelated_streams() -> None:
    rows = np.stack([uniforms(0, "p", index, 64) for index in range(200)])
    assert kstest(rows.ravel(), "uniform").pvalue > 1e-3
    assert kstest(rows[:, 0], "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(rows[:-1].ravel(), rows[1:].ravel())[0, 1]) < 0.03
    assert uniforms(1, "p", 0, 4).tolist() != uniforms(0, "p", 0, 4).tolist()
    assert uniforms(0, "q", 0, 4).tolist() != uniforms(0, "p", 0, 4).tolist()


@pytest.mark.parametrize(
    "wrong",
    [{"dtype": "bf16"}, {"prompt_format": "chta"}, {"batch_rows": -1}, {"device": ""}],
)
def test_wrong_options_are_refused(wrong) -> None:
    (value,) = wrong.values()
    with pytest.raises(ConfigError, match=f"got {value!r}|{value!r}"):
        EngineOptions(**wrong)
