"""What a merge tells: parents by content, what was mixed, what rounding did."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rewardable.records import Json
from rewardable.restore.recipe import MergeRecipe

FORMAT = 1
"""Version of provenance.json."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParentRecord:
    """A parent by content. ``weights`` and ``adapter`` are the digests that a Policy carries."""

    role: str
    source: str
    weights: str
    adapter: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounding:
    """What storing float32 results as ``dtype`` cost, over the elements that were computed.

    ulp: distance between neighbouring stored values at the result. moved: share of elements whose
    computed value differs from the trained one's; lost: share of the moved that are stored as the
    trained value all the same, since the move was below half an ulp.
    """

    dtype: str
    elements: int
    max_abs: float
    mean_abs: float
    max_ulp: float
    mean_ulp: float
    moved: float
    lost: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeReport:
    """What was written to ``folder``.

    weights: digest of the result. mixed, copied: tensors computed, and tensors taken from one
    parent byte for byte. straight: tensors that slerp mixed linearly. mergekit: why there is no
    mergekit.yaml, or ``""``.
    """

    folder: Path
    weights: str
    recipe: MergeRecipe
    parents: tuple[ParentRecord, ...]
    layers: int
    mixed: int
    copied: int
    straight: int
    size: int
    rounding: tuple[Rounding, ...]
    notes: tuple[str, ...] = ()
    mergekit: str = ""

    def to_mapping(self) -> dict[str, Json]:
        """Return what provenance.json holds, without the evidence."""
        raw = asdict(self)
        del raw["folder"]
        raw["recipe"] = self.recipe.to_mapping()
        return {"format": FORMAT, **raw}

    def to_json(self) -> str:
        """Return the report as JSON text."""
        return json.dumps(self.to_mapping(), indent=2)
