"""From options to a guard: tasks by name, their prompts, the callback."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from rewardable.errors import unknown_name
from rewardable.guard import GuardConfig
from rewardable.tasks import load_task
from rewardable.train.guarding.callback import GuardCallback
from rewardable.train.guarding.config import WatchConfig
from rewardable.train.guarding.looks import FutureTask


def watch(**options: Any) -> GuardCallback:
    """Return a guard for any trainer of TRL.

    Options are those of :class:`WatchConfig`, of the guard's own :class:`~rewardable.guard
    .GuardConfig`, and of the callback (``out``, ``on_decision``); unknown ones are errors.
    """
    own = {entry.name for entry in fields(GuardConfig)}
    here = {entry.name for entry in fields(WatchConfig)} - {"rule"}
    call = {"out", "on_decision", "guard"}
    for name in options:
        if name not in own | here | call:
            raise unknown_name("option of the guard:", name, own | here | call)
    chosen: dict[str, Any] = {name: options[name] for name in options if name in here}
    chosen["future_tasks"] = tuple(chosen.get("future_tasks", ()))
    inner = GuardConfig(**{name: options[name] for name in options if name in own})
    config = WatchConfig(rule=inner, **chosen)
    return build_guard(config, **{k: v for k, v in options.items() if k in call})


def build_guard(config: WatchConfig, out: Path | None = None, **more: Any) -> GuardCallback:
    """Return the callback; its prompts are drawn by ``config.prompts_seed``."""
    tasks = [load_task(name) for name in config.future_tasks]
    looked = tuple(
        FutureTask(task=task, prompts=tuple(task.prompts(config.prompts, config.prompts_seed)))
        for task in tasks
    )
    return GuardCallback(config, looked, out=out, **more)
