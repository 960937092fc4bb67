"""``rewardable sample POLICY... --task NAME``."""

from __future__ import annotations

from rewardable.cli import options as o
from rewardable.cli.console import progress, say
from rewardable.cli.verdict import print_sampled


def sample(
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
    perturb: o.Perturb = 0,
    out: o.Out = None,
    temperatures: o.Temperatures = "1.0",
    top_p: o.TopP = 1.0,
    max_new_tokens: o.MaxNewTokens = 256,
    seed: o.Seed = 0,
    group: o.Group = 8,
    prompt_format: o.PromptFormat = "auto",
    template_from: o.TemplateFrom = "",
    own_templates: o.OwnTemplates = False,
    device: o.Device = "auto",
    dtype: o.Dtype = "auto",
    device_map: o.DeviceMap = "",
    batch_rows: o.BatchRows = 0,
    engine_arg: o.EngineArgs = None,
    retry_failed: o.RetryFailed = False,
    workers: o.Workers = 0,
    timeout: o.Timeout = 0.0,
) -> None:
    """Draw rollouts into a run folder; run it again to go on after an interruption.

    With --stop-at-successes they are graded in turns with sampling, by --workers and --timeout.
    """
    from rewardable.workflows.sample import open_run
    from rewardable.workflows.sample import sample as run_sample

    config = o.run_config(
        policies, task, future_task, temperatures, template_from,
        stopping=(stop_at_successes, cap, first, step, give_up), n=n, prompts=prompts,
        perturb=perturb, top_p=top_p, max_new_tokens=max_new_tokens, seed=seed, group=group,
        prompt_format=prompt_format, own_templates=own_templates, device=device, dtype=dtype,
        device_map=device_map, batch_rows=batch_rows,
        engine_args=tuple(engine_arg or ()),
    )  # fmt: skip
    run = open_run(o.default_out(out, task), config)
    with progress() as on_event:
        report = run_sample(
            run,
            config,
            on_event,
            retry_failed=retry_failed,
            workers=workers,
            timeout_s=timeout or None,
        )
    print_sampled(report)
    say(f"run: {run.path}; next: rewardable grade {run.path}")
