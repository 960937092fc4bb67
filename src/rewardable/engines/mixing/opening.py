"""Opens the parts of a mix, under one template, and puts them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rewardable.engines.mixing.checkpoints import mix_checkpoints
from rewardable.engines.mixing.source import CHECKPOINTS, MixSource, parse_mix
from rewardable.engines.options import EngineOptions
from rewardable.errors import ConfigError
from rewardable.protocols import Sampler

OpenPart = Callable[[str, EngineOptions], Sampler]
ELSEWHERE = ("fake:", "vllm:", "http://", "https://")
"""Policies whose logits are not at hand."""


def open_mix(source: str, options: EngineOptions, open_part: OpenPart) -> Sampler:
    """Open the mix that ``source`` names; its first part gives the template unless told."""
    mix = parse_mix(source)
    if options.adapter:
        raise ConfigError(
            f"adapter={options.adapter!r} cannot be put on {source}: name the adapter's folder as "
            "a part of the mix."
        )
    if mix.kind != CHECKPOINTS:
        _check_local(mix)
    first = open_part(mix.sources[0], options)
    options = _like(first, mix.sources[0], options)
    parts = [first, *(open_part(part, options) for part in mix.sources[1:])]
    if mix.kind == CHECKPOINTS:
        return mix_checkpoints(mix, parts)
    from rewardable.engines.hf.engine import HfEngine
    from rewardable.engines.mixing.engine import mix_models

    trained, earlier = (part for part in parts if isinstance(part, HfEngine))
    return mix_models(mix, trained, earlier)


def _check_local(mix: MixSource) -> None:
    for part in mix.sources:
        if part.startswith(ELSEWHERE):
            raise ConfigError(
                f"a {mix.kind} mix needs both models in this process, got {part!r}; name folders "
                "or hub ids, or mix whole completions with mix:checkpoints."
            )


def _like(first: Sampler, source: str, options: EngineOptions) -> EngineOptions:
    """Return how the other parts are opened: under the first one's template."""
    if options.template_from:
        return options
    if first.policy.template == "raw":
        return replace(options, prompt_format="raw")
    return replace(options, template_from=source)
