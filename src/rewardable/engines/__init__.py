"""Engines: prompts and a sampling specification in, completions out. One backend a file or folder.

Importing this package loads no backend: torch is imported by :func:`open_engine` alone.
"""

from rewardable.engines.fake import FakePolicy
from rewardable.engines.opening import Engine, open_engine
from rewardable.engines.options import EngineOptions

__all__ = ["Engine", "EngineOptions", "FakePolicy", "open_engine"]
