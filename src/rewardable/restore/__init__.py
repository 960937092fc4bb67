"""Writes weights: a trained checkpoint mixed with earlier ones, as an ordinary folder with a card.

``merge(recipe, out)`` reads safetensors in pieces and writes a Hugging Face folder. It samples
nothing and measures nothing. Importing this package loads no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rewardable.errors import MissingExtraError
from rewardable.records import Json
from rewardable.restore.card import record_evidence
from rewardable.restore.recipe import MergeRecipe
from rewardable.restore.report import MergeReport, ParentRecord, Rounding

__all__ = [
    "MergeRecipe",
    "MergeReport",
    "ParentRecord",
    "Rounding",
    "merge",
    "record_evidence",
    "to_mergekit_yaml",
]


def merge(
    recipe: MergeRecipe, out: str | Path, *, evidence: Mapping[str, Json] | None = None
) -> MergeReport:
    """Write the policy that ``recipe`` describes to the new folder ``out``.

    ``evidence`` goes into the provenance card as given; ``record_evidence`` adds it later.

    Raises
    ------
    ConfigError: ``out`` is not empty, or the recipe does not fit the parents.
    DataError: a parent cannot be read, holds NaN or inf, or does not fit the others.
    UserError: writing failed (disk full); nothing is left at ``out``.
    """
    try:
        from rewardable.restore.run import run_merge
    except ImportError as error:
        raise _missing(error) from error
    return run_merge(recipe, Path(out), dict(evidence or {}))


def to_mergekit_yaml(recipe: MergeRecipe) -> str:
    """Return the same merge as a mergekit configuration.

    Raises ConfigError with the reason where mergekit has no words for it. Reads the parents'
    headers, because mergekit's filters are parts of tensor names.
    """
    try:
        from rewardable.restore.mergekit import recipe_yaml
    except ImportError as error:
        raise _missing(error) from error
    return recipe_yaml(recipe)


def _missing(error: ImportError) -> MissingExtraError:
    return MissingExtraError(
        f"merging weights needs torch ({error}); install it with: pip install 'rewardable[hf]'"
    )
