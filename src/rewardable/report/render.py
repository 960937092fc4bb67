"""Tables in, one HTML file out: no network, no script, light and dark, screen and paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardable.report import grids, sections
from rewardable.report.brief import shortened
from rewardable.report.classes import classes
from rewardable.report.joint import joint
from rewardable.report.page import render_page, write_page
from rewardable.report.pick import Tables
from rewardable.report.robustness import robustness
from rewardable.report.text import tables_block
from rewardable.results import Table

TEMPLATE = "report.html.j2"


def render_report(tables: Mapping[str, Table], path: str | Path, *, title: str) -> Path:
    """Write the report of ``tables`` to ``path`` and return it; the file is replaced atomically.

    Every text of policies, prompts and rollouts is shown literally. The tables themselves are
    in the file as a JSON data block with id ``tables``. Missing tables leave their sections out.
    """
    return write_page(report_html(tables, title=title), path)


def report_html(tables: Mapping[str, Table], *, title: str) -> str:
    """Return the report as text."""
    found = Tables(shortened(tables))
    tasks = [sections.task_view(found, task) for task in found.tasks]
    comparisons = sections.verdict(found)
    return render_page(
        TEMPLATE,
        title=title,
        comparisons=comparisons,
        gates=sections.gates(found),
        scoreboard=grids.scoreboard(found) if found.tasks else None,
        overview=grids.overview(found),
        warnings=found.table("overview").notes,
        caveats=found.table("verdict").notes[len(comparisons) :],
        tasks=tasks,
        classes=classes(found),
        joint=joint(found),
        robustness=robustness(found),
        notes={name: table.notes for name, table in tables.items()},
        explained=_explained(tables),
        provenance=found.table("overview").provenance,
        settings=_settings(found.table("overview").provenance.get("measure", {})),
        titles={name: table.title for name, table in tables.items()},
        methods=_methods(tables),
        block=tables_block(tables),
    )  # fmt: skip


def _settings(measure: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Write the configuration for people; what was left to its default choice is left out."""
    shown: list[tuple[str, str]] = []
    for name, value in measure.items():
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if value not in ("", None) and text and (name, value) != ("headline_k", 0):
            shown.append((name.replace("_", " "), text))
    return shown


def _explained(tables: Mapping[str, Table]) -> list[str]:
    """Return the tables whose notes say how they were made, or why they are empty."""
    names = (
        "gates", "curves", "coverage", "richness", "transitions", "dynamics", "polarisation",
        "models", "trainability", "shape", "truncation", "classes",
        "joint", "robustness",
    )  # fmt: skip
    say_why = {"coverage", "shape"}
    return [name for name in names if name in tables and (tables[name].rows or name in say_why)]


def _methods(tables: Mapping[str, Table]) -> list[str]:
    """Return the distinct ways in which intervals were made, in words."""
    named = (row.estimate.method for table in tables.values() for row in table.rows)
    return sorted({method for method in named if method and method != "count"})
