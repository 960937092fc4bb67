"""Serve one policy, a mix too, in OpenAI's form."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from rewardable.engines import EngineOptions, close_engine, open_engine
from rewardable.engines.http.source import is_server
from rewardable.engines.mixing.source import CHECKPOINTS, is_mix, parse_mix
from rewardable.engines.serving.server import PolicyServer
from rewardable.engines.serving.service import Service
from rewardable.errors import ConfigError
from rewardable.workflows.sources import VLLM, resolve_source

LOOPBACK = "127.0.0.1"
PORT = 8000


@contextmanager
def serving(
    source: str,
    *,
    host: str = LOOPBACK,
    port: int = PORT,
    model: str = "",
    template_from: str = "",
    **options: Any,
) -> Generator[PolicyServer]:
    """Open ``source`` and a server of it, which the caller runs with ``serve_forever``.

    model: its name for clients; empty takes the policy's own. options: those of EngineOptions.

    Raises ConfigError for a policy that is served already and for a port that is taken.
    """
    resolved = resolve_source(source)
    _check_local(resolved)
    opened = EngineOptions(template_from=resolve_source(template_from), **options)
    engine = open_engine(resolved, opened)
    first = parse_mix(resolved).sources[0] if is_mix(resolved) else resolved
    service = Service.of(
        engine, model or engine.policy.name, first, scores_prompts=_same_everywhere(resolved)
    )
    try:
        with PolicyServer(service, host, port) as server:
            yield server
    finally:
        service.close()
        close_engine(engine)


def _check_local(source: str) -> None:
    for part in parse_mix(source).sources if is_mix(source) else (source,):
        if is_server(part):
            raise ConfigError(f"{part} is a server's policy already: ask that server.")
        if part.startswith(VLLM):
            raise ConfigError(f"{part}: vLLM has a better server of its own, `vllm serve`.")


def _same_everywhere(source: str) -> bool:
    """Tell whether the policy does the same wherever a completion begins."""
    if not is_mix(source):
        return True
    mix = parse_mix(source)
    return mix.kind != CHECKPOINTS and not mix.first
