"""Write a run's counts for other tools: one file a policy, the same prompts in all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import ConfigError, DataError, unknown_name
from rewardable.importers import write_counts
from rewardable.records import UNKNOWN_SPEC
from rewardable.store import Group, Run

_ODD = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """What was written: path -> (policy, successes, graded samples). left_out: prompts that some
    policy has no graded sample of. n_ungraded: rollouts that no count holds.
    """

    files: Mapping[Path, tuple[str, int, int]]
    n_prompts: int
    left_out: int
    n_ungraded: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _Arm:
    name: str
    counts: Mapping[str, tuple[int, int]]
    ungraded: int


def export_counts(run: Run, folder: Path, *, task: str = "") -> Exported:
    """Write ``{"id": prompt key, "c": ..., "n": ...}`` a line, of one task.

    task: empty for the only one. DataError where no prompt is shared by all policies.
    """
    chosen = [group for group in run.groups() if group.task == _task(run, task)]
    names = {policy.key: policy.name for policy in run.policies()}
    several = len({group.spec_key for group in chosen}) > 1
    arms = [_arm(run, group, names[group.policy_key], several=several) for group in chosen]
    shared = set.intersection(*(set(arm.counts) for arm in arms))
    every = set[str]().union(*(arm.counts for arm in arms))
    if not shared:
        raise DataError("no prompt has graded samples of every policy; nothing was written.")
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[Path, tuple[str, int, int]] = {}
    for arm in arms:
        path = _free(folder, arm.name, files)
        rows = [(key, *arm.counts[key]) for key in sorted(shared)]
        write_counts(path, rows)
        files[path] = (arm.name, sum(c for _, _, c in rows), sum(n for _, n, _ in rows))
    return Exported(
        files=files,
        n_prompts=len(shared),
        left_out=len(every - shared),
        n_ungraded=sum(arm.ungraded for arm in arms),
    )


def _task(run: Run, wanted: str) -> str:
    tasks = sorted({group.task for group in run.groups()})
    if wanted and wanted not in tasks:
        raise unknown_name("task of the run", wanted, tasks)
    if not wanted and len(tasks) != 1:
        raise ConfigError(f"the run holds {len(tasks)} tasks, {', '.join(tasks)}: give --task.")
    return wanted or tasks[0]


def _arm(run: Run, group: Group, name: str, *, several: bool) -> _Arm:
    place = {"policy_key": group.policy_key, "spec_key": group.spec_key, "task": group.task}
    samples = run.samples(**place)
    n, c = samples.n_P.tolist(), samples.c_P.tolist()
    counts = {key: (n[i], c[i]) for i, key in enumerate(samples.prompt_keys) if n[i]}
    held = run.counts(**place)
    counts |= {
        key: (n_row, c_row)
        for key, n_row, c_row in zip(
            held.prompt_keys, held.n_P.tolist(), held.c_P.tolist(), strict=True
        )
        if n_row
    }
    spec = "" if not several or group.spec_key == UNKNOWN_SPEC else f"-{group.spec_key[:8]}"
    return _Arm(name=f"{name}{spec}", counts=counts, ungraded=len(samples.outcome_R) - sum(n))


def _free(folder: Path, name: str, taken: Mapping[Path, object]) -> Path:
    stem = _ODD.sub("-", name).strip("-") or "policy"
    tries = (f"{stem}.jsonl", *(f"{stem}-{i}.jsonl" for i in range(2, 1000)))
    return next(folder / name for name in tries if folder / name not in taken)
