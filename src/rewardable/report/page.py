"""One way to make a page: the template's environment, its style, and writing it atomically."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from rewardable.report.text import visible
from rewardable.report.theme import dark_css


def render_page(template: str, **values: Any) -> str:
    """Fill a template; the style comes with it, and every text is shown literally."""
    return _environment().get_template(template).render(css=_css(), **values)


def write_page(html: str, path: str | Path) -> Path:
    """Write a page in the place of an older one, atomically."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(html, encoding="utf-8")
    temporary.replace(path)
    return path


def _css() -> str:
    style = files("rewardable.report").joinpath("templates", "report.css").read_text("utf-8")
    return style.replace("DARK_FIGURES", dark_css())


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("rewardable.report"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Make what cannot be seen visible; what the templates marked as safe passes as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible(value)
    return value
