"""Colours and shape of the figures: safe for colour-blind readers, plain on paper and screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

INK, MUTED, RULE, PAPER = "#1f2430", "#5a6372", "#d9dde3", "#ffffff"

BASE = "#0072b2"
LAST = "#d55e00"
BETWEEN = ("#e69f00", "#009e73", "#cc79a7", "#7a5195", "#56b4e9", "#8c6d31")

CALL_COLOURS = {
    "lost": "#d55e00",
    "reduced": "#e69f00",
    "undecided": "#b8bec8",
    "absent": "#dfe3e8",
    "kept": "#8fa3b8",
    "raised": "#56b4e9",
    "gained": "#009e73",
}
"""In the order from loss to gain."""

CALL_SHAPES = {
    "lost": "triangle-down",
    "reduced": "triangle-down",
    "undecided": "circle",
    "absent": "circle",
    "kept": "circle",
    "raised": "triangle-up",
    "gained": "triangle-up",
}

DARK = {
    INK: "#e8eaee",
    MUTED: "#a3acba",
    RULE: "#383e49",
    PAPER: "#16191f",
    BASE: "#5cb3ec",
    LAST: "#ff8a4c",
    BETWEEN[0]: "#f2b632",
    BETWEEN[1]: "#2fc79a",
    BETWEEN[3]: "#b48ad0",
    CALL_COLOURS["absent"]: "#3b424e",
    CALL_COLOURS["undecided"]: "#6b7482",
}
"""The same colours on a dark page."""


def policy_colours(policies: Sequence[str]) -> list[str]:
    """Return one colour a policy: the base first, the last trained one last."""
    if len(policies) < 2:
        return [BASE][: len(policies)]
    middle = [BETWEEN[i % len(BETWEEN)] for i in range(len(policies) - 2)]
    return [BASE, *middle, LAST]


def vega_config() -> dict[str, Any]:
    """Return the Vega-Lite configuration of all figures."""
    label = {"labelColor": MUTED, "labelFontSize": 12, "titleColor": MUTED, "titleFontSize": 12}
    return {
        "background": "transparent",
        "font": "Helvetica, Arial, sans-serif",
        "view": {"stroke": None},
        "axis": {
            **label,
            "titleFontWeight": "normal",
            "gridColor": RULE,
            "domainColor": RULE,
            "tickColor": RULE,
            "gridWidth": 0.7,
            "labelPadding": 5,
        },
        "legend": {
            **label,
            "orient": "top",
            "direction": "horizontal",
            "title": None,
            "labelColor": INK,
            "symbolStrokeWidth": 2,
            "symbolSize": 70,
            "columnPadding": 14,
        },
        "text": {"color": INK, "fontSize": 12},
    }


def dark_css() -> str:
    """Return the style rules that recolour the inline figures on a dark page."""
    rules = [
        f'svg [{attribute}="{light}"]{{{attribute}:{dark}}}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    ]
    return "\n".join(rules)
