"""Which prompts were made from one source problem: they are one unit of every interval."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from rewardable.errors import unknown_name
from rewardable.measure.config import CLUSTER
from rewardable.measure.counts import Ints
from rewardable.records import Prompt


def clusters_of(
    task: str, prompts: Sequence[Prompt], keys: Sequence[str], name: str
) -> tuple[Ints | None, tuple[str, ...]]:
    """Return a number a prompt of ``keys``, equal for prompts of one source, and what to say of it.

    ``name``: the fact that names the source; empty: ``cluster`` where some prompt has it, else no
    clusters. A prompt without the fact is a source of its own. ConfigError when no prompt of the
    task has the fact that was told.
    """
    facts = {prompt.key: prompt.facts for prompt in prompts}
    field = name or CLUSTER
    named = {key: _source(facts.get(key, {}), field) for key in keys}
    if not any(named.values()):
        if name:
            known = set[str]().union(*(set(found) for found in facts.values()))
            raise unknown_name("cluster field", name, known, hint=_hint(task, known))
        return None, ()
    own = [named[key] or f"prompt {key}" for key in keys]
    found, code_P = np.unique(np.array(own), return_inverse=True)
    if len(found) == len(keys):
        return None, ()
    alone = sum(not source for source in named.values())
    text = (
        f"Task {task}: the {len(keys)} prompts come from {len(found)} sources (fact {field!r}); "
        "intervals over prompts take a source as one unit."
    )
    text += f" {alone} prompts without it count as sources of their own." if alone else ""
    return code_P.reshape(-1).astype(np.int64), (text,)


def _source(facts: Mapping[str, object], field: str) -> str:
    value = facts.get(field)
    return "" if value is None else f"source {json.dumps(value, sort_keys=True)}"


def _hint(task: str, known: set[str]) -> str:
    listing = ", ".join(sorted(known)) or "no fact at all"
    return f"The prompts of {task} have: {listing}."
