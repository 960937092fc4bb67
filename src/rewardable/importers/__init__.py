"""Other tools' rollout dumps, read into records."""

from __future__ import annotations

from rewardable.importers.fieldmap import TARGETS, parse_field_map
from rewardable.importers.generic import CountItem, GenericImport
from rewardable.importers.into import ImportResult, import_generic, import_into
from rewardable.importers.report import ImportReport

__all__ = [
    "TARGETS",
    "CountItem",
    "GenericImport",
    "ImportReport",
    "ImportResult",
    "import_generic",
    "import_into",
    "parse_field_map",
]
