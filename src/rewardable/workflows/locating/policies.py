"""Open a run's policies one after the other, all under the base's template unless told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rewardable.engines import Engine, open_engine
from rewardable.workflows.config import RunConfig


def opened(config: RunConfig) -> Iterator[Engine]:
    """Yield the engine of every policy of ``config``, in order; only one is held at a time."""
    options = config.engine_options()
    for position, source in enumerate(config.policies):
        engine = open_engine(source, options)
        yield engine
        if position == 0 and not (config.template_from or config.own_templates):
            raw = engine.policy.template == "raw"
            changed = {"prompt_format": "raw"} if raw else {"template_from": source}
            options = replace(options, **changed)
