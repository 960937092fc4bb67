"""``rewardable audit BASE TRAINED... --task NAME``."""

from __future__ import annotations

from rewardable.cli import options as o
from rewardable.cli.console import progress, say
from rewardable.cli.verdict import print_audit


def audit(
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
    refusal_screen: o.RefusalScreen = True,
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
    """Sample, grade, measure and report a base policy and checkpoints of its run."""
    from rewardable.workflows.audit import audit as run_audit

    config = o.run_config(
        policies, task, future_task, temperatures, template_from,
        stopping=(stop_at_successes, cap, first, step, give_up), n=n, prompts=prompts,
        perturb=perturb, top_p=top_p, max_new_tokens=max_new_tokens, seed=seed, group=group,
        refusal_screen=refusal_screen, prompt_format=prompt_format, own_templates=own_templates,
        device=device, dtype=dtype, device_map=device_map, batch_rows=batch_rows,
        engine_args=tuple(engine_arg or ()),
    )  # fmt: skip
    if len(policies) == 1:
        say("one policy: it is described alone; name a trained one to compare.")
    with progress() as on_event:
        result = run_audit(
            o.default_out(out, task),
            config,
            on_event,
            retry_failed=retry_failed,
            workers=workers,
            timeout_s=timeout or None,
        )
    print_audit(result)
