"""Which successes are kept, dropped and drawn."""

from __future__ import annotations

import json

from rewardable.train.mix import ReplayBuffer, ReplayConfig, Success
from rewardable.train.mix.replay import rare_rows


def success(
    answer: int,
    *,
    prompt: int = 0,
    family: str = "f",
    entropy: float = 0.0,
    rare: bool = True,
    step: int = 0,
) -> Success:
    return Success(
        prompt_key=f"p{prompt}",
        prompt_ids=(prompt,),
        token_ids=(answer,),
        family=family,
        entropy=entropy,
        rare=rare,
        step=step,
    )


def answers(buffer: ReplayBuffer) -> list[int]:
    return [row.token_ids[0] for row in buffer.rows]


def test_rare_is_a_small_share_of_the_graded_answers_of_a_group() -> None:
    families = ["a"] * 5 + ["b"] + [None] * 2
    assert rare_rows(families, [True] * 8, 0.125) == [False] * 5 + [True] + [False] * 2
    # an ungraded answer does not make others rarer
    assert not any(rare_rows(families, [True] * 7 + [False], 0.125))
    # the only success of a group is rare, whatever its family
    assert rare_rows(["a"] + [None] * 7, [True] * 8, 0.125)[0]
    assert rare_rows([None, None], [False, False], 0.5) == [False, False]


def test_common_low_entropy_successes_are_not_kept() -> None:
    buffer = ReplayBuffer(ReplayConfig(entropy_quantile=0.5))
    for n, entropy in enumerate((0.2, 0.4, 0.6, 0.8)):
        buffer.add(success(n, entropy=entropy, rare=False))
    # the first has nothing to be compared with; each later one is at the top of those before it
    assert answers(buffer) == [1, 2, 3]
    assert not buffer.add(success(9, entropy=0.1, rare=False))
    assert buffer.add(success(9, entropy=0.1, rare=True))


def test_a_success_seen_again_is_young_and_kept_once() -> None:
    buffer = ReplayBuffer(ReplayConfig(max_age=10))
    buffer.add(success(0, step=0))
    buffer.add(success(1, step=0))
    buffer.add(success(0, step=8))
    assert answers(buffer) == [1, 0]
    assert [row.token_ids for row in buffer.draw(11, 0)] == [(0,)]
    assert len(buffer) == 1


def test_full_prompts_give_up_their_most_frequent_family_first() -> None:
    buffer = ReplayBuffer(ReplayConfig(per_prompt=3))
    for n, family in enumerate(("rare", "often", "often", "often")):
        buffer.add(success(n, family=family))
    assert answers(buffer) == [0, 2, 3]


def test_a_full_buffer_drops_its_oldest() -> None:
    buffer = ReplayBuffer(ReplayConfig(capacity=3))
    for n in range(5):
        buffer.add(success(n, prompt=n))
    assert answers(buffer) == [2, 3, 4]


def test_draws_are_seeded_and_take_every_family_before_a_second_of_any() -> None:
    buffer = ReplayBuffer(ReplayConfig(), "7")
    for n in range(6):
        buffer.add(success(n, family="often"))
    buffer.add(success(6, family="rare"))
    first = [row.token_ids[0] for row in buffer.draw(3, 0)]
    assert {"rare", "often"} == {row.family for row in buffer.draw(3, 0)[:2]}
    assert sorted(first) == list(range(7))
    assert first == [row.token_ids[0] for row in buffer.draw(3, 0)]
    others = {tuple(row.token_ids[0] for row in buffer.draw(3, nth)) for nth in range(1, 9)}
    assert len(others) > 1


def test_a_restored_buffer_behaves_as_the_saved_one() -> None:
    one = ReplayBuffer(ReplayConfig(entropy_quantile=0.7), "3")
    for n in range(20):
        one.add(success(n, prompt=n % 4, entropy=(n * 7 % 10) / 10, rare=n % 3 == 0, step=n))
    other = ReplayBuffer(ReplayConfig(entropy_quantile=0.7), "3")
    other.restore(json.loads(json.dumps(one.state())))
    assert other.rows == one.rows
    assert other.draw(21, 1) == one.draw(21, 1)
    late = success(99, entropy=0.65, rare=False, step=22)
    assert one.add(late) == other.add(late)
