"""Other tools' rollout dumps, read into records."""

from __future__ import annotations

from rewardable.importers.counts import write_counts
from rewardable.importers.fieldmap import TARGETS, parse_field_map
from rewardable.importers.format import Choices
from rewardable.importers.generic import CountItem, GenericImport
from rewardable.importers.into import (
    ImportResult,
    KnownImport,
    import_generic,
    import_into,
    import_known,
)
from rewardable.importers.report import ImportReport
from rewardable.importers.steps import Steps, parse_steps

__all__ = [
    "TARGETS",
    "Choices",
    "CountItem",
    "GenericImport",
    "ImportReport",
    "ImportResult",
    "KnownImport",
    "Steps",
    "import_generic",
    "import_into",
    "import_known",
    "parse_field_map",
    "parse_steps",
    "write_counts",
]
