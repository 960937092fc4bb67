"""Trainers without their own bars."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager

from transformers.utils import logging as transformers_logging


@contextmanager
def quiet() -> Generator[None]:
    """Keep transformers' bars and deprecation notes out of our progress display."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
            yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()
