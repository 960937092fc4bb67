"""Write many rollouts and verdicts as one unit: all of them are stored, or none."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from rewardable.records import Graded, Policy, Prompt, Rollout, SamplingSpec
from rewardable.store.catalog import PromptCatalog, add_policies, add_specs
from rewardable.store.codec import rollouts_to_table, verdicts_to_table
from rewardable.store.index import RolloutIndex


class Bulk:
    """Takes rows in slices; made by ``Run.bulk``, which publishes them at its end."""

    def __init__(
        self,
        *,
        catalog: PromptCatalog,
        policies: Path,
        specs: Path,
        index: RolloutIndex,
        rollouts: pq.ParquetWriter,
        verdicts: pq.ParquetWriter,
        first_seq: int,
    ) -> None:
        self._catalog = catalog
        self._policies = policies
        self._specs = specs
        self._index = index
        self._rollouts = rollouts
        self._verdicts = verdicts
        self._next_seq = first_seq

    def add_prompts(self, prompts: Iterable[Prompt]) -> None:
        """Add prompts; they stay even when the rest is given up."""
        self._catalog.add(prompts)

    def add_policies(self, policies: Iterable[Policy]) -> None:
        """Add policies; they stay even when the rest is given up."""
        add_policies(self._policies, policies)

    def add_specs(self, specs: Iterable[SamplingSpec]) -> None:
        """Add sampling specs; they stay even when the rest is given up."""
        add_specs(self._specs, specs)

    def add(self, rollouts: Sequence[Rollout], verdicts: Sequence[Graded]) -> None:
        """Add a slice of new rollouts, and verdicts of these or earlier ones."""
        ids = [rollout.id for rollout in rollouts]
        self._index.require_new(ids)
        self._rollouts.write_table(rollouts_to_table(rollouts, {}))
        self._index.add(ids)
        self._index.require_stored(graded.id for graded in verdicts)
        if verdicts:
            attempts = self._index.attempts
            self._verdicts.write_table(verdicts_to_table(verdicts, attempts, self._next_seq))
            self._next_seq += len(verdicts)

    def next_index(self, policy_key: str, spec_key: str, prompt_key: str) -> int:
        """Return one more than the largest index in use there."""
        taken = self._index.indices(policy_key, spec_key).get(prompt_key)
        return max(taken) + 1 if taken else 0
