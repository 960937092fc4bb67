"""Engines: prompts and a sampling specification in, completions out. One backend a file or folder.

Importing this package loads no backend: :func:`open_engine` imports the one it needs.
"""

from rewardable.engines.fake import FakePolicy
from rewardable.engines.opening import Engine, close_engine, open_engine
from rewardable.engines.options import EngineOptions

__all__ = ["Engine", "EngineOptions", "FakePolicy", "close_engine", "open_engine"]
