"""The process that asks Math-Verify: limits, threads, forks, death."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rewardable.errors import BoundaryError
from rewardable.tasks.math import helper
from rewardable.tasks.math.helper import Budget, same_formula


def test_a_hang_is_killed_and_the_next_question_is_answered():
    start = time.monotonic()
    with pytest.raises(BoundaryError, match=r"timeout: 0\.3 s"):
        same_formula("1", "(10^{7})!", Budget(0.3))
    assert time.monotonic() - start < 3
    assert same_formula("x+1", "1+x", Budget(20))


def test_threads_get_the_same_verdicts():
    rows = [("x+1", "1+x"), (r"\sqrt{16}", "5"), (r"\frac{x}{2}", "0.5x")]
    expected = [same_formula(*row, Budget(20)) for row in rows]
    assert expected == [True, False, True]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda row: same_formula(*row, Budget(20)), rows * 4)
        assert list(found) == expected * 4


def test_memory_is_bounded():
    with pytest.raises(BoundaryError, match=r"out of memory|timeout|died"):
        same_formula("1", r"\begin{pmatrix} 2^{9000000000} \end{pmatrix}", Budget(1))


def test_a_dead_helper_is_replaced():
    assert same_formula("y", "y", Budget(20))
    helpers = helper._BY_PROCESS[os.getpid()]
    for one in helpers._idle:
        one._process.kill()
        one._process.wait()
    with pytest.raises(BoundaryError, match="died"):
        same_formula("x", "2x", Budget(20))
    assert not same_formula("x", "3x", Budget(20))
