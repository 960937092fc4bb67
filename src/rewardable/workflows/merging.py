"""Write one merge by hand."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardable.errors import DataError
from rewardable.restore import MergeRecipe, MergeReport, merge
from rewardable.workflows.sources import resolve_source


def write_merge(raw: Mapping[str, Any], out: Path) -> MergeReport:
    """Merge as parsed TOML or JSON says; embedded policies may be parents.

    Raises
    ------
    ConfigError, DataError: see :func:`rewardable.restore.merge`.
    """
    recipe = MergeRecipe.from_mapping(raw).to_mapping()
    parents = {
        "trained": resolve_source(recipe["trained"]),
        "earlier": [resolve_source(source) for source in recipe["earlier"]],
        "base": resolve_source(recipe["base"]),
    }
    return merge(MergeRecipe.from_mapping({**recipe, **parents}), out)


def read_recipe(path: Path) -> dict[str, Any]:
    """Read a recipe file: JSON by its suffix, else TOML; DataError where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        raw = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as a merge recipe: {error}.") from error
    if not isinstance(raw, dict):
        raise DataError(f"{path} must hold one table, got {type(raw).__name__}.")
    return raw
