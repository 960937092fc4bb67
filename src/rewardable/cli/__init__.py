"""The command line: a verb file parses, calls one workflow and prints."""

from __future__ import annotations

from rewardable.cli.app import main

__all__ = ["main"]
