"""Names of policies that the package brings along."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

EMBEDDED = {"pocket": "assets/pocket"}
"""Name -> folder inside the package: a Hugging Face checkpoint trained by ``recipes/pocket``."""


def resolve_source(source: str) -> str:
    """Return the folder of an embedded policy, or ``source`` itself. A local path wins."""
    if source in EMBEDDED and not Path(source).exists():
        return str(resources.files("rewardable") / EMBEDDED[source])
    return source
