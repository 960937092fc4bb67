"""The metrics explain themselves: their docstrings are the reference."""

from __future__ import annotations

import inspect

from rewardable import metrics
from rewardable.errors import unknown_name

HEADINGS = (
    "What it measures",
    "Estimand and assumptions",
    "When it misleads",
    "Example",
    "Source",
)

NO_METRICS = frozenset({"count_grams", "count_labels", "row_quantiles"})
"""Public functions of ``metrics`` that prepare input and estimate nothing."""


WRITTEN = {
    "pass": "pass_at_k", "pass^": "pass_hat_k", "support": "pass_at_k", "best": "best_at_k",
    "maj": "maj_at_k", "solutions": "distinct_at_k", "entries": "coverage",
    "distinct": "distinct_outputs",
    "distinct-n": "distinct_n", "polarization": "polarisation",
    **dict.fromkeys(("srr", "ndr", "sds", "nscr"), "support_dynamics"),
    **dict.fromkeys(
        ("lost", "reduced", "gained", "raised", "kept", "absent", "undecided"), "transitions"
    ),
}  # fmt: skip
"""Names as tables, verdicts and gates write them, before ``@``."""


def metric_names() -> list[str]:
    """Return the names of the public metric functions, sorted."""
    found = {name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))}
    return sorted(found - NO_METRICS)


def explain(name: str) -> str:
    """Return signature and docstring of a metric; ConfigError with suggestions for another name.

    Names as the verdict and gates write them (support@64, pass^8, lost, SRR) are known too.
    """
    names = metric_names()
    name = _function_name(name, names)
    if name not in names:
        raise unknown_name("metric", name, names)
    function = getattr(metrics, name)
    return f"{name}{inspect.signature(function)}\n\n{inspect.getdoc(function)}"


def _function_name(name: str, names: list[str]) -> str:
    if name in names:
        return name
    short = name.lower().partition("@")[0]
    short = "pass^" if short.startswith("pass^") else short
    return WRITTEN.get(short, short if short in names else name)


def first_line(name: str) -> str:
    """Return what a metric returns, in one line."""
    return explain(name).split("\n\n")[1].split("\n")[0]


def reference() -> str:
    """Return the metric reference as Markdown."""
    head = (
        "# Metrics\n\n"
        "Generated from the docstrings of `rewardable.metrics` by `rewardable explain --all`; "
        "`rewardable explain NAME` prints one. Arrays: P prompts, R rollouts, K budgets.\n"
    )
    return "\n".join([head, *(_section(name) for name in metric_names())])


def _section(name: str) -> str:
    signature, _, doc = explain(name).partition("\n\n")
    lines = [f"## {name}", "", "```python", signature, "```", ""]
    previous = ""
    for line in doc.split("\n"):
        if line and set(line) == {"-"} and previous:
            lines[-1] = f"**{previous}**"
            lines.append("")
        else:
            lines.append(line)
        previous = line
    return "\n".join(lines) + "\n"
