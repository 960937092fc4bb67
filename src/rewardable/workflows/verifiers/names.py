"""File names from names of tasks and verifiers."""

from __future__ import annotations

from urllib.parse import quote

from rewardable.records import digest

LONGEST = 140


def file_name(text: str) -> str:
    """Return a name that any file system takes; long ones end in a digest."""
    name = quote(text, safe=" @")
    return name if len(name) <= LONGEST else f"{name[:LONGEST]} {digest(text, length=8)}"
