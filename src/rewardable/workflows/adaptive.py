"""Joins who asks how much more a prompt needs with who knows: sampling and the stopping rule."""

from __future__ import annotations

from collections.abc import Sequence

from rewardable.collect import Need, Outcomes
from rewardable.metrics import StoppingRule
from rewardable.protocols import Task
from rewardable.records import Outcome, SamplingSpec
from rewardable.store import Run

_OUTCOMES = {1: Outcome.CORRECT, 0: Outcome.WRONG, -1: Outcome.UNGRADED}


def need_of(rule: StoppingRule) -> Need:
    """Return what sampling asks under ``rule``.

    The rule counts graded rollouts in the order of their index; an ungraded one is replaced by a
    further one, up to ``rule.most_rollouts`` in all. Then the prompt is left unfinished.
    """

    def need(prompt_key: str, outcomes: Sequence[Outcome]) -> int:
        more = rule.follow(_successes(outcomes))[2]
        return max(0, min(more, rule.most_rollouts - len(outcomes)))

    return need


def stored_outcomes(run: Run, policy_key: str, spec: SamplingSpec, task: Task) -> Outcomes:
    """Return what the task's verifier judged the run's rollouts to be; unjudged as ungraded."""
    samples = run.samples(
        policy_key=policy_key,
        spec_key=spec.key,
        task=task.name,
        verifier=task.verifier.name,
        version=task.verifier.version,
    )
    found: Outcomes = {key: {} for key in samples.prompt_keys}
    rows = zip(samples.prompt_R, samples.index_R.tolist(), samples.outcome_R.tolist(), strict=True)
    for prompt, index, outcome in rows:
        found[samples.prompt_keys[prompt]][index] = _OUTCOMES[outcome]
    return found


def reopened(
    run: Run, rule: StoppingRule, policy_keys: Sequence[str], spec: SamplingSpec, task: Task
) -> dict[str, set[str]]:
    """Return, for each policy, the prompts it gave up but some other policy solves, late."""
    given_up, late = dict[str, set[str]](), dict[str, set[str]]()
    for policy in policy_keys:
        given_up[policy], late[policy] = set(), set()
        for key, judged in stored_outcomes(run, policy, spec, task).items():
            outcomes = [judged[index] for index in sorted(judged)]
            n, c, more = rule.follow(_successes(outcomes))
            if not more:
                given_up[policy] |= {key} if rule.gave_up(n, c) else set()
                late[policy] |= {key} if rule.late(n, c) else set()
    return {
        policy: given_up[policy]
        & set[str]().union(*(late[other] for other in policy_keys if other != policy))
        for policy in policy_keys
    }


def _successes(outcomes: Sequence[Outcome]) -> list[bool]:
    return [one is Outcome.CORRECT for one in outcomes if one is not Outcome.UNGRADED]
