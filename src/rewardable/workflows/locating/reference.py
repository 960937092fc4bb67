"""Which policy of a series is the reference: the earliest that has learned the format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.locate.claims import claim, row
from rewardable.metrics import Interval, mean_interval
from rewardable.protocols import Task
from rewardable.records import Outcome, Verdict
from rewardable.results import Table
from rewardable.store import Run
from rewardable.workflows.config import RunConfig
from rewardable.workflows.events import OnEvent
from rewardable.workflows.grade import grade
from rewardable.workflows.sample import open_run, sample

OTHER_PROMPTS = 1_000_003
"""Added to the seed of the prompts, so that the format is looked at on others."""
SAMPLES = 4
FORMATTED = 0.9
"""Share of validly formatted answers that a reference has (arXiv 2608.29188)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FormatShare:
    """The share of a policy's answers that are in the form asked for; None if nothing tells."""

    policy: str
    share: Interval | None
    n_prompts: int


def format_shares(
    path: Path, config: RunConfig, task: Task, on_event: OnEvent
) -> list[FormatShare]:
    """Sample every policy on separate prompts and see how often it keeps to the format."""
    apart = replace(config, prompts_seed=config.prompts_seed + OTHER_PROMPTS, n=SAMPLES)
    run = open_run(path, apart)
    sample(run, apart, on_event)
    grade(run, on_event=on_event)
    by_source = {policy.source: policy for policy in run.policies()}
    keys = {prompt.key for prompt in run.prompts(task.name)}
    looked_at = {prompt.key for prompt in task.prompts(config.prompts, config.prompts_seed)}
    keys = keys - looked_at or keys  # a small file may leave no others
    return [_share(run, by_source[source].key, source, keys) for source in config.policies]


def _share(run: Run, policy_key: str, source: str, keys: set[str]) -> FormatShare:
    found: dict[str, list[float]] = {}
    spec = run.specs()[0]
    for rollout, verdict in run.rollouts(
        policy_key=policy_key, spec_key=spec.key, prompt_keys=sorted(keys)
    ):
        valid = formatted(verdict) if verdict is not None else None
        if valid is not None:
            found.setdefault(rollout.id.prompt_key, []).append(float(valid))
    means = [sum(one) / len(one) for one in found.values()]
    share = mean_interval(means, bounds=(0.0, 1.0)) if means else None
    return FormatShare(policy=source, share=share, n_prompts=len(means))


def formatted(verdict: Verdict) -> bool | None:
    """Tell whether an answer is in form: by the part ``format``, else whether one was found."""
    if verdict.outcome is Outcome.UNGRADED:
        return None
    part = verdict.parts.get("format")
    if part is not None:
        return part >= 1.0
    return verdict.outcome is Outcome.CORRECT or "answer" in verdict.labels


def choose_reference(shares: list[FormatShare]) -> int:
    """Return the place of the earliest formatted policy that leaves a later one, else 0."""
    for place, one in enumerate(shares[:-1]):
        if one.share is not None and one.share.mean >= FORMATTED:
            return place
    return 0


def format_table(shares: list[FormatShare], place: int, task: str) -> Table:
    """Return the shares as a table, with a warning where the reference lacks the format."""
    rows = tuple(
        row({"task": task, "policy": one.policy, "metric": "format compliance"},
            claim(one.share, n_prompts=one.n_prompts, n_graded=one.n_prompts * SAMPLES))
        for one in shares
        if one.share is not None
    )  # fmt: skip
    reference = shares[place]
    notes = [
        f"The reference is {reference.policy}: the earliest with at least {FORMATTED:.0%} validly "
        "formatted answers on separate prompts, so that learning the format does not pass for a "
        "change of support."
    ]
    if reference.share is None:
        notes = ["The verdicts do not tell whether an answer is in form; the first policy is kept."]
    elif reference.share.mean < FORMATTED:
        notes = [
            f"No policy before the last has {FORMATTED:.0%} validly formatted answers (the first: "
            f"{reference.share.mean:.0%}): part of what changed may be the format."
        ]
    return Table(name="format", title="Format", rows=rows, notes=tuple(notes))
