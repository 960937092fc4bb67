"""Open a run's policies in turn, one in memory at a time, under the base's template unless told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rewardable.engines import Engine, EngineOptions, close_engine, open_engine
from rewardable.workflows.config import RunConfig

Visit = Callable[[int, str, EngineOptions, Engine], None]
"""Told (position, source, how it was opened, engine). It must not keep the engine."""


def in_turn(config: RunConfig, visit: Visit) -> None:
    """Open every policy of ``config`` in order and visit it; each is let go before the next."""
    options = config.engine_options()
    for position, source in enumerate(config.policies):
        options = _one(config, position, source, options, visit)


def _one(
    config: RunConfig, position: int, source: str, options: EngineOptions, visit: Visit
) -> EngineOptions:
    """Visit one policy; return how the next one is opened."""
    engine = open_engine(source, options)
    try:
        visit(position, source, options, engine)
    finally:
        close_engine(engine)
    if position or config.template_from or config.own_templates:
        return options
    if engine.policy.template == "raw":
        return replace(options, prompt_format="raw")
    return replace(options, template_from=source)
