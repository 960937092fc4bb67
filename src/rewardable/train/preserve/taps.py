"""What a generation batch says of the support that is left."""

from __future__ import annotations

from rewardable.train.taps import RolloutBatch, Tap

SUPPORT, REWARD, FAMILIES = "preserve/support", "preserve/reward", "preserve/families"
KL_WEIGHT = "preserve/kl_weight"


def support_tap(label: str = "solution") -> Tap:
    """Return the tap that logs support, families and reward of a batch.

    support: share of groups with a graded row that have a success. families: distinct values of
    ``label`` among the successes of a group with one. reward: mean of the graded rows.
    """

    def tap(batch: RolloutBatch) -> dict[str, float]:
        graded = [row for row in batch.rewards if row is not None]
        groups = [rows for rows in batch.groups if any(batch.rewards[i] is not None for i in rows)]
        wins = [[i for i in rows if batch.correct[i]] for rows in groups]
        found = [
            len({batch.shaped[i].verdict.labels.get(label) for i in one}) for one in wins if one
        ]
        numbers = {}
        if graded:
            numbers[REWARD] = sum(graded) / len(graded)
        if groups:
            numbers[SUPPORT] = sum(map(bool, wins)) / len(groups)
        if found:
            numbers[FAMILIES] = sum(found) / len(found)
        return numbers

    return tap
