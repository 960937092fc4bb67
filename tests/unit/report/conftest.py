"""The fake run, for tests of measuring."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "support" / "fake_run.py"


@pytest.fixture(scope="session")
def fake() -> ModuleType:
    """The module tests/support/fake_run.py."""
    if "fake_run" not in sys.modules:
        spec = importlib.util.spec_from_file_location("fake_run", SOURCE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["fake_run"] = module
        spec.loader.exec_module(module)
    return sys.modules["fake_run"]
