"""The provenance card: README.md for people, provenance.json for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.records import Json
from rewardable.restore.write import write_json, write_text

PROVENANCE = "provenance.json"
HEADER = """---
library_name: transformers
tags:
- merge
- rewardable
---
# Merge of a trained checkpoint with earlier ones
"""


def write_card(folder: Path, report: Mapping[str, Json], evidence: Mapping[str, Json]) -> None:
    """Write both files of the card."""
    raw = {**report, "evidence": dict(evidence)}
    write_json(folder / PROVENANCE, raw)
    write_text(folder / "README.md", card_text(raw))


def record_evidence(folder: str | Path, evidence: Mapping[str, Json]) -> None:
    """Add what was found out about a merged policy to its card; equal names are replaced."""
    path = Path(folder) / PROVENANCE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{folder} has no {PROVENANCE}; it is no merged checkpoint.") from error
    except ValueError as error:
        raise DataError(f"{path} is no JSON: {error}") from error
    merged = {**raw.pop("evidence", {}), **evidence}
    write_card(Path(folder), raw, merged)


def card_text(raw: Mapping[str, Any]) -> str:
    """Return the card as Markdown."""
    return "\n".join(
        [
            HEADER,
            *_parents(raw),
            *_recipe(raw),
            *_rounding(raw),
            *_evidence(raw["evidence"]),
            *_notes(raw),
        ]
    )


def _parents(raw: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {p['role']} | `{p['source']}` | `{p['weights']}` | {_code(p['adapter'])} |"
        for p in raw["parents"]
    ]
    return [
        "Parents by content (digest of the weight files):",
        "",
        "| role | source | weights | adapter |",
        "|---|---|---|---|",
        *rows,
        f"| this folder | | `{raw['weights']}` | |",
        "",
    ]


def _recipe(raw: Mapping[str, Any]) -> list[str]:
    return [
        f"{raw['mixed']} tensors were computed, {raw['copied']} copied from one parent.",
        "`alpha` is the share of the earlier side; a window's stop is not part of it.",
        "",
        "```json",
        json.dumps(raw["recipe"], indent=2),
        "```",
        "",
    ]


def _rounding(raw: Mapping[str, Any]) -> list[str]:
    if not raw["rounding"]:
        return ["No value was rounded.", ""]
    rows = [
        f"| {r['dtype']} | {r['elements']:,} | {r['max_abs']:.3g} | {r['mean_abs']:.3g} | "
        f"{r['max_ulp']:.3g} | {r['mean_ulp']:.3g} | {r['moved']:.1%} | {r['lost']:.1%} |"
        for r in raw["rounding"]
    ]
    return [
        "Computed in float32 (float64 for float64 parents) and rounded once. Moved: share of the "
        "computed values that differ from the trained ones; lost: share of the moved that rounding "
        "put back.",
        "",
        "| stored as | values | max error | mean error | max ulp | mean ulp | moved | lost |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]


def _evidence(evidence: Mapping[str, Any]) -> list[str]:
    if not evidence:
        return ["Evidence: none was recorded. Audit this policy before use.", ""]
    return ["Evidence:", "", "```json", json.dumps(evidence, indent=2), "```", ""]


def _notes(raw: Mapping[str, Any]) -> list[str]:
    notes = list(raw["notes"])
    if raw["straight"]:
        notes.append(
            f"{raw['straight']} tensors were nearly parallel or zero, so that slerp was linear."
        )
    same = "`mergekit.yaml` holds the same merge for mergekit."
    notes.append(f"No mergekit.yaml: {raw['mergekit']}" if raw["mergekit"] else same)
    return [*(f"- {note}" for note in notes), ""]


def _code(text: str) -> str:
    return f"`{text}`" if text else ""
