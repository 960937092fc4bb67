"""Draw forced openings into a run folder, and read what came of them and of free samples."""

from __future__ import annotations

from collections.abc import Sequence

from rewardable.collect import Progress, generate
from rewardable.collect import grade as grade_pass
from rewardable.engines.forced import ForcedSampler, with_opening
from rewardable.errors import DataError
from rewardable.locate.forced import Demand, ForcedResult, Place
from rewardable.locate.rollouts import HEAD, PolicyRollouts, Seen
from rewardable.locate.task_rules import Rules
from rewardable.protocols import Sampler, Task
from rewardable.records import FinishReason, Outcome, Policy, Prompt, SamplingSpec
from rewardable.store import Run
from rewardable.workflows.events import Event, OnEvent


def read_free(
    run: Run, prompts: Sequence[Prompt], policies: Sequence[Policy], rules: Rules
) -> list[PolicyRollouts]:
    """Read the graded rollouts of every policy; DataError where one has none."""
    place = {prompt.key: i for i, prompt in enumerate(prompts)}
    spec = run.specs()[0]
    found: list[PolicyRollouts] = []
    for policy in policies:
        rows: list[Seen] = []
        graded = run.rollouts(policy_key=policy.key, spec_key=spec.key, prompt_keys=list(place))
        ungraded = 0
        for rollout, verdict in graded:
            if verdict is None or verdict.outcome is Outcome.UNGRADED:
                ungraded += 1
                continue
            text = rollout.completion.text
            rows.append(
                Seen(
                    prompt=place[rollout.id.prompt_key],
                    head=text[:HEAD],
                    token_ids=rollout.completion.token_ids,
                    entry=rules.entry_of(text, verdict),
                    solution=verdict.labels.get("solution"),
                    success=verdict.outcome is Outcome.CORRECT,
                    answered=verdict.reason != "no answer",
                    truncated=rollout.completion.finish_reason is FinishReason.LENGTH,
                )
            )
        if not rows:
            raise DataError(f"no rollout of {policy.name} is graded: nothing can be located.")
        found.append(PolicyRollouts(policy=policy, rows=tuple(rows), ungraded=ungraded))
    return found


def draw(
    run: Run,
    engine: Sampler,
    task: Task,
    prompts: Sequence[Prompt],
    demand: Demand,
    spec: SamplingSpec,
    on_event: OnEvent,
) -> None:
    """Sample and grade what is asked for and not stored yet."""
    run.add_specs([spec])
    run.add_policies([engine.policy])
    wanted = [(with_opening(prompts[i], text), n) for (i, text), n in demand.count.items()]
    run.add_prompts([prompt for prompt, _ in wanted])
    stage = f"forced openings, {engine.policy.name}"
    total, done = sum(n for _, n in wanted), 0
    for count in sorted({n for _, n in wanted}):
        rows = [prompt for prompt, n in wanted if n == count]

        def tell(progress: Progress, before: int = done) -> None:
            on_event(Event(stage=stage, done=before + progress.done, total=total))

        generate(ForcedSampler(inner=engine), rows, count, spec, run, on_progress=tell)
        done += count * len(rows)
    grade_pass(task.verifier, run.prompts(task.name), run)


def read_forced(
    run: Run, policy: Policy, spec: SamplingSpec, prompts: Sequence[Prompt], demand: Demand
) -> dict[Place, ForcedResult]:
    """Read the graded rollouts behind every opening that was asked for."""
    place_of = {with_opening(prompts[i], text).key: (i, text) for i, text in demand.count}
    rows: dict[Place, list[tuple[bool, str | None]]] = {}
    graded = run.rollouts(policy_key=policy.key, spec_key=spec.key, prompt_keys=list(place_of))
    for rollout, verdict in graded:
        if verdict is None or verdict.outcome is Outcome.UNGRADED:
            continue
        success = verdict.outcome is Outcome.CORRECT
        place = place_of[rollout.id.prompt_key]
        rows.setdefault(place, []).append((success, verdict.labels.get("solution")))
    return {
        place: ForcedResult(
            success=tuple(one for one, _ in found), solution=tuple(one for _, one in found)
        )
        for place, found in rows.items()
    }
