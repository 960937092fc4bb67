"""Names of policies that the package brings along."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from rewardable.engines.mixing.source import is_mix, renamed
from rewardable.errors import ConfigError

LOCAL_STARTS = ("/", "./", "../", "~")
VLLM = "vllm:"

EMBEDDED = {"pocket": "assets/pocket", "pocket-routes": "assets/pocket-routes"}
"""Name -> folder inside the package: Hugging Face checkpoints trained by ``recipes/pocket``."""


def resolve_source(source: str) -> str:
    """Return the folder of an embedded policy, or ``source`` itself. A local path wins.

    The parts of a mix are resolved one by one.

    Raises ConfigError for what can only be a local path and is not there.
    """
    if is_mix(source):
        return renamed(source, resolve_source)
    if source.startswith(VLLM):
        return VLLM + resolve_source(source.removeprefix(VLLM))
    if source and Path(source).exists():
        return str(Path(source))
    if source in EMBEDDED:
        return str(resources.files("rewardable") / EMBEDDED[source])
    if source.startswith(LOCAL_STARTS) or source.endswith(".gguf"):
        raise ConfigError(f"there is no file or folder {source!r}.")
    return source
