"""From a source's name to its engine."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Protocol

from rewardable.engines.arguments import split_argument
from rewardable.engines.fake import FakePolicy
from rewardable.engines.http.source import is_server
from rewardable.engines.mixing.opening import open_mix
from rewardable.engines.mixing.source import is_mix, parse_mix
from rewardable.engines.options import EngineOptions
from rewardable.errors import MissingExtraError
from rewardable.protocols import Sampler

FAKE_PREFIX, VLLM_PREFIX = "fake:", "vllm:"


class Engine(Sampler, Protocol):
    """Samples; many score, read tokens and give hidden states too: ask with ``isinstance``."""


def open_engine(source: str, options: EngineOptions | None = None) -> Engine:
    """Open the policy that ``source`` names.

    source: a folder with a checkpoint or a LoRA adapter, a ``.gguf`` file, a hub id, ``vllm:`` and
    one of these, ``http://host:port/v1#model``, ``fake:file.json`` (see
    :class:`rewardable.engines.fake.FakePolicy`), or a mix of them (see
    :mod:`rewardable.engines.mixing.source`).

    Raises ConfigError when the source cannot be opened, DataError when its files do not fit
    together, MissingExtraError when torch, transformers, vllm or httpx2 is not installed.
    """
    if source.startswith(FAKE_PREFIX):
        return FakePolicy.from_file(source.removeprefix(FAKE_PREFIX))
    options = _with_template(options or EngineOptions(), source)
    for text in options.arguments:
        split_argument(text)
    if is_mix(source):
        return open_mix(source, options, open_engine)
    if is_server(source):
        _require(source, "http", "httpx2")
        from rewardable.engines.http.opening import open_server

        return open_server(source, options)
    if source.startswith(VLLM_PREFIX):
        _require(source, "vllm", "vllm")
        from rewardable.engines.vllm.engine import VllmEngine

        return VllmEngine.open(source, options)
    _require(source, "hf", "torch", "transformers")
    from rewardable.engines.hf.engine import HfEngine

    return HfEngine.open(source, options)


def close_engine(engine: object) -> None:
    """Let go of what the engine holds besides memory: connections, processes."""
    close = getattr(engine, "close", None)
    if callable(close):
        close()


def _require(source: str, extra: str, *packages: str) -> None:
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(
                f"opening {source!r} needs {package}: pip install 'rewardable[{extra}]'."
            )


def _with_template(options: EngineOptions, source: str) -> EngineOptions:
    """Name the template by files: a served or vLLM policy's template is its tokenizer's.

    A mix's template is that of its first part.
    """
    where = options.template_from
    if is_mix(where):
        return _with_template(replace(options, template_from=parse_mix(where).sources[0]), source)
    if where.startswith(VLLM_PREFIX):
        return replace(options, template_from=where.removeprefix(VLLM_PREFIX))
    if not is_server(where) or where == source:
        return options
    _require(where, "http", "httpx2")
    from rewardable.engines.http.opening import tokenizer_source

    found = tokenizer_source(where, options)
    return replace(options, template_from=found) if found else options
