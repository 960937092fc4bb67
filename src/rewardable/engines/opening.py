"""From a source's name to its engine."""

from __future__ import annotations

import importlib.util
from typing import Protocol

from rewardable.engines.fake import FakePolicy
from rewardable.engines.options import EngineOptions
from rewardable.errors import MissingExtraError
from rewardable.protocols import Sampler, Scorer

FAKE_PREFIX = "fake:"


class Engine(Sampler, Scorer, Protocol):
    """Samples and scores."""


def open_engine(source: str, options: EngineOptions | None = None) -> Engine:
    """Open the policy that ``source`` names.

    source: a folder with a checkpoint or a LoRA adapter, a ``.gguf`` file, a hub id, or
    ``fake:file.json`` (see :class:`rewardable.engines.fake.FakePolicy`).

    Raises ConfigError when the source cannot be opened, DataError when its files do not fit
    together, MissingExtraError when torch or transformers is not installed.
    """
    if source.startswith(FAKE_PREFIX):
        return FakePolicy.from_file(source.removeprefix(FAKE_PREFIX))
    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(
                f"opening {source!r} needs {package}: pip install 'rewardable[hf]'."
            )
    from rewardable.engines.hf.engine import HfEngine

    return HfEngine.open(source, options or EngineOptions())
