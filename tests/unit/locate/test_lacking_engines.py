"""What locate says where an engine gives no entropies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rewardable.locate.likelihood import join_tokens
from rewardable.locate.token_tables import entropy_table
from rewardable.locate.traces import Trace, score
from rewardable.protocols import TokenScores
from rewardable.records import Policy, user_prompt


class Silent:
    """Scores without entropies, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self.policy = Policy(name="served", weights="w", template="raw")

    def score(self, requests):
        for one in requests:
            self.asked += 1
            yield TokenScores(id=one.id, logprobs=(-1.0,) * len(one.token_ids), entropies=())


def test_scores_without_entropies_are_stored_and_read_again(tmp_path: Path) -> None:
    engine, prompts = Silent(), [user_prompt("t", "1", "p")]
    traces = [
        Trace(source="served", prompt=0, token_ids=ids, pieces=("x",) * len(ids))
        for ids in ((1, 2), (3,))
    ]
    first = score(tmp_path, engine, prompts, traces, lambda *_: None)
    again = score(tmp_path, engine, prompts, traces, lambda *_: None)
    assert first == again
    assert engine.asked == 2
    assert (first.logprobs, first.entropies) == (((-1.0, -1.0), (-1.0,)), ((), ()))


def test_entropies_that_nobody_gives_are_estimated_and_called_so() -> None:
    rng = np.random.default_rng(0)
    logps = [rng.normal(-2.0, 0.1, size=3).tolist() for _ in range(6)]
    tokens = join_tokens([["rest"] * 3] * 6, range(6), {"served": logps}, {})
    table = entropy_table({"served": tokens}, phase="operands", labels={}, level=0.95)
    assert "served gives no entropies" in table.notes[0]
    [row] = table.rows
    assert row.labels["how"] == "sampling estimate"
    assert abs(row.estimate.value - 2.0) < 0.1
    assert row.estimate.n_prompts == 6
