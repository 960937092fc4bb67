"""Table of what was compared: policies, specs, prompts, rollouts."""

from __future__ import annotations

from typing import Any

from rewardable.measure.arms import Arm
from rewardable.measure.rows import row
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Estimate, Row, Table

PROMPTS, ROLLOUTS, GRADED, UNGRADED = "prompts", "rollouts", "graded", "ungraded"
CORRECT, CUT, PER_PROMPT = "correct", "cut off", "rollouts a prompt"
HEADLINE_K = "headline budget"


def overview_table(study: Study) -> Table:
    """Give the counts of every arm, and the warnings that hold for all tables."""
    rows = [row for task in study.tasks for arm in task.arms for row in _rows(study, task, arm)]
    warnings = [*study.warnings, *(note for task in study.tasks for note in task.warnings)]
    warnings += [note for task in study.tasks for arm in task.arms for note in _ungraded(arm)]
    return Table(
        name="overview",
        title="What was compared",
        rows=tuple(rows),
        notes=tuple(dict.fromkeys(warnings)),
        provenance={**study.provenance, "policies": _policies(study), "specs": _specs(study)},
    )


def _rows(study: Study, task: TaskStudy, arm: Arm) -> list[Row]:
    counts = arm.counts if arm.stopped is None else arm.stopped.counts
    n_rollouts = int(arm.drawn_P.sum())
    figures: dict[str, float | None] = {
        HEADLINE_K: task.headline_k,
        PROMPTS: arm.n_prompts,
        ROLLOUTS: n_rollouts,
        PER_PROMPT: n_rollouts / arm.n_prompts,
        GRADED: int(counts.n_P.sum()),
        UNGRADED: int(counts.u_P.sum()),
        CORRECT: int(counts.c_P.sum()),
        CUT: None if (arm.samples.finish_R > 1).all() else int(arm.cut_R.sum()),
    }
    common: dict[str, Any] = {
        "n_prompts": arm.n_prompts,
        "n_graded": arm.n_graded,
        "n_ungraded": arm.n_ungraded,
        "level": study.config.level,
        "method": "count",
    }
    return [
        row(arm.labels, Estimate(value=value, **common), metric=metric, role=task.role)
        for metric, value in figures.items()
    ]


def _ungraded(arm: Arm) -> list[str]:
    if not arm.all_ungraded:
        return []
    reasons = sorted(arm.samples.reasons.items(), key=lambda item: -item[1])
    listing = "; ".join(f"{reason}: {number}" for reason, number in reasons[:4])
    told = f" ({listing})" if sum(n for _, n in reasons) == arm.all_ungraded else ""
    return [
        f"{arm.task}: {arm.all_ungraded} of {arm.all_rollouts} rollouts of {arm.policy} at "
        f"{arm.spec} are ungraded{told}. They are in no estimate; every estimate they could change "
        "carries its bounds, with all of them wrong and all of them right."
    ]


def _policies(study: Study) -> list[dict[str, str]]:
    known = {policy.key: policy for policy in study.run.policies()}
    return [
        {
            "name": known[key].name,
            "key": key,
            "weights": known[key].weights,
            "adapter": known[key].adapter,
            "template": known[key].template,
            "source": known[key].source,
        }
        for key in study.config.policies
    ]


def _specs(study: Study) -> list[dict[str, object]]:
    used = {arm.spec_key for task in study.tasks for arm in task.arms}
    return [
        {
            "key": spec.key,
            "temperature": spec.temperature,
            "top_p": spec.top_p,
            "top_k": spec.top_k,
            "max_new_tokens": spec.max_new_tokens,
            "stop": list(spec.stop),
            "seed": spec.seed,
        }
        for spec in study.run.specs()
        if spec.key in used
    ]
