"""The small logged run, for tests of what training writes down."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "support" / "train_logged.py"


@pytest.fixture(scope="session")
def logged() -> ModuleType:
    """The module tests/support/train_logged.py."""
    pytest.importorskip("trl")
    if "train_logged" not in sys.modules:
        spec = importlib.util.spec_from_file_location("train_logged", SOURCE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["train_logged"] = module
        spec.loader.exec_module(module)
    return sys.modules["train_logged"]
