"""Tables to a self-contained HTML report and to figures. No number is computed here."""

from __future__ import annotations

from rewardable.report.located import render_located
from rewardable.report.poster import figure_svg, write_figure
from rewardable.report.render import render_report, report_html

__all__ = ["figure_svg", "render_located", "render_report", "report_html", "write_figure"]
