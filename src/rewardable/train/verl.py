"""Our tasks in verl: a reward function of its signature, and data sets that carry what it needs.

In verl's configuration::

    custom_reward_function.path=/path/to/site-packages/rewardable/train/verl.py
    custom_reward_function.name=compute_score
    data.train_files=train.parquet

where ``train.parquet`` was written by :func:`write_dataset`. Nothing of verl is imported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rewardable.errors import BoundaryError, DataError
from rewardable.protocols import Task
from rewardable.records import Outcome, Prompt, user_prompt
from rewardable.tasks import load_task
from rewardable.train.rewards import judged
from rewardable.train.shaping import RewardConfig, base_reward

FACTS, KEY, VERSION = "facts", "prompt_key", "task_version"


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any = None,
    extra_info: Mapping[str, Any] | None = None,
    *,
    ungraded: float | None = None,
    **reward: Any,
) -> dict[str, Any]:
    """Return verl's score of one answer: ``score``, ``acc`` and what the verdict says.

    data_source: a task of the catalog, with its options. extra_info: of a row that
    :func:`write_dataset` wrote. reward: options of :class:`~rewardable.train.RewardConfig` (verl
    passes ``custom_reward_function.reward_kwargs``); what needs a whole group is not for here.
    ungraded: what an answer that could not be graded is paid; None raises, since any number would
    teach something that nobody found.

    Raises
    ------
    DataError: the row was not written by :func:`write_dataset`.
    BoundaryError: the verifier failed and ``ungraded`` is None.
    """
    prompt = _prompt(data_source, extra_info or {})
    verdict = judged(_task(data_source).verifier, prompt, solution_str)
    paid = base_reward(RewardConfig(**reward), verdict)
    if paid is None:
        if ungraded is None:
            raise BoundaryError(
                f"verifier {verdict.verifier}@{verdict.version}",
                f"{verdict.reason}; give reward_kwargs.ungraded to pay such answers a number",
            )
        paid = ungraded
    return {
        "score": float(paid),
        "acc": float(verdict.outcome is Outcome.CORRECT) if _known(verdict.outcome) else math.nan,
        "verdict": verdict.outcome.value,
        "reason": verdict.reason,
        "pred": verdict.labels.get("answer", ""),
        KEY: prompt.key,
        **{f"label_{kind}": label for kind, label in verdict.labels.items()},
    }


def write_dataset(task: str, path: str | Path, count: int, seed: int = 0) -> int:
    """Write ``count`` prompts of a task as verl's training parquet; return how many.

    Columns: ``data_source`` (the task), ``prompt`` (messages), ``ability``, ``reward_model``
    (style ``rule`` and a ground truth for people), ``extra_info`` (what the verifier needs).

    Raises
    ------
    DataError: the task has fewer prompts.
    """
    from datasets import Dataset

    rows = [_row(task, prompt, place) for place, prompt in enumerate(_prompts(task, count, seed))]
    Dataset.from_list(rows).to_parquet(str(path))
    return len(rows)


def _prompts(task: str, count: int, seed: int) -> list[Prompt]:
    return list(_task(task).prompts(count, seed))


def _row(task: str, prompt: Prompt, place: int) -> dict[str, Any]:
    facts = json.dumps(prompt.facts, ensure_ascii=False, sort_keys=True)
    return {
        "data_source": task,
        "prompt": [{"role": m.role, "content": m.content} for m in prompt.messages],
        "ability": prompt.task.partition(":")[0],
        "reward_model": {"style": "rule", "ground_truth": str(prompt.facts.get("answer", ""))},
        "extra_info": {
            "index": place,
            KEY: prompt.key,
            VERSION: prompt.task_version,
            FACTS: facts,
            "question": prompt.text,
        },
    }


def _prompt(task: str, extra: Mapping[str, Any]) -> Prompt:
    missing = [name for name in (FACTS, KEY, VERSION, "question") if not extra.get(name)]
    if missing:
        raise DataError(
            f"extra_info of a row of {task} lacks {', '.join(missing)}: write the data set with "
            "rewardable.train.verl.write_dataset."
        )
    facts = json.loads(extra[FACTS])
    plain = user_prompt(_task(task).name, str(extra[VERSION]), str(extra["question"]), facts)
    return Prompt(
        task=plain.task,
        task_version=plain.task_version,
        messages=plain.messages,
        facts=facts,
        explicit_key=str(extra[KEY]),
    )


@cache
def _task(name: str) -> Task:
    return load_task(name)


def _known(outcome: Outcome) -> bool:
    return outcome is not Outcome.UNGRADED
