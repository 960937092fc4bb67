"""Every public metric explains itself, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil

import numpy as np
import pytest

import rewardable.metrics as metrics

HEADINGS = (
    "What it measures",
    "Estimand and assumptions",
    "When it misleads",
    "Example",
    "Source",
)
FUNCTIONS = [name for name in metrics.__all__ if inspect.isfunction(getattr(metrics, name))]
HELPERS = {"count_grams", "count_labels", "row_quantiles"}
MODULES = [module.name for module in pkgutil.iter_modules(metrics.__path__)]


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - HELPERS))
def test_docstring_has_its_headings(name):
    text = inspect.getdoc(getattr(metrics, name))
    places = [text.find(f"\n{heading}\n{'-' * len(heading)}\n") for heading in HEADINGS]
    assert -1 not in places, dict(zip(HEADINGS, places, strict=True))
    assert places == sorted(places)
    assert ">>> " in text
    for heading in ("Parameters", "Returns", "Raises"):
        assert f"\n{heading}\n" in text


@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module):
    names = {name: getattr(metrics, name) for name in metrics.__all__}
    found = importlib.import_module(f"rewardable.metrics.{module}")
    result = doctest.testmod(found, extraglobs={**names, "np": np})
    assert result.failed == 0


def test_everything_public_is_listed_once():
    assert len(set(metrics.__all__)) == len(metrics.__all__)
    assert all(hasattr(metrics, name) for name in metrics.__all__)
