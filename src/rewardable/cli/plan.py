"""``rewardable plan BASE TRAINED... --task NAME``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import print_rows, say

if TYPE_CHECKING:
    from rewardable.workflows.plan import Plan


def plan(
    policies: o.Policies,
    task: o.TaskName,
    future_task: o.FutureTasks = None,
    n: o.Samples = 64,
    stop_at_successes: o.StopAt = 0,
    cap: o.Cap = 0,
    first: o.First = 0,
    step: o.Step = 8,
    give_up: o.GiveUp = 0,
    prompts: o.Prompts = 64,
    temperatures: o.Temperatures = "1.0",
    max_new_tokens: o.MaxNewTokens = 256,
    seed: o.Seed = 0,
    group: o.Group = 8,
    device: o.Device = "auto",
    dtype: o.Dtype = "auto",
    probe: Annotated[
        int, typer.Option(help="Rollouts drawn to measure the speed; 0 loads no model.")
    ] = 64,
) -> None:
    """Tell tokens, hours and the smallest loss that an audit would certify."""
    from rewardable.workflows.plan import plan as make_plan

    config = o.run_config(
        policies,
        task,
        future_task,
        temperatures,
        stopping=(stop_at_successes, cap, first, step, give_up),
        n=n,
        prompts=prompts,
        max_new_tokens=max_new_tokens,
        seed=seed,
        group=group,
        device=device,
        dtype=dtype,
    )
    _show(make_plan(config, probe_rollouts=probe), config.n)


def _duration(hours: float) -> str:
    if hours >= 1:
        return f"{hours:.1f} hours"
    return f"{hours * 60:.1f} minutes" if hours * 60 >= 1 else f"{hours * 3600:.0f} seconds"


def _show(plan: Plan, n: int) -> None:
    if plan.design:
        _show_design(plan)
    else:
        say(f"rollouts: {plan.rollouts:,}")
    if plan.probe is not None and plan.hours is not None and plan.tokens is not None:
        say(
            f"tokens: about {plan.tokens:,.0f} ({plan.probe.tokens_per_rollout:.0f} a rollout); "
            f"time: about {_duration(plan.hours)} at {plan.probe.tokens_per_second:,.0f} tokens/s; "
            f"both measured on {plan.probe.rollouts} probe rollouts of the base, thrown away "
            "(larger batches are faster)"
        )
        if plan.probe.truncated:
            say(f"{plan.probe.truncated:.0%} of the probe was cut at the token limit")
    if plan.smallest_loss is not None:
        say(f"smallest success rate whose fall to 0 is certified in 80 %: {plan.smallest_loss:.3f}")
    else:
        say(f"no fall is certified in 80 % of the cases at n = {n}")
    rows = [
        (f"{p.rate:g} -> 0", f"{p.power:.0%}", "-" if p.needed_n is None else str(p.needed_n))
        for p in plan.powers
    ]
    say("Of one prompt on its own; with many prompts and few losses among them it is less:")
    at = "certified" if plan.design else f"certified at n = {n}"
    print_rows(("fall of one prompt", at, "n for 80 %"), rows)


def _show_design(plan: Plan) -> None:
    say(f"every prompt {plan.design}")
    each = ", ".join(f"{rollouts:.0f} at a rate of {rate:g}" for rate, rollouts in plan.expected)
    say(f"rollouts expected of a prompt: {each}")
    if plan.likely is None:
        say(f"rollouts: at most {plan.rollouts:,}")
        return
    say(
        f"rollouts: about {plan.likely:,.0f} if all policies and tasks are like the probe, at "
        f"most {plan.rollouts:,}; tokens and time are for the former"
    )
