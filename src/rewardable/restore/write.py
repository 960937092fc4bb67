"""A checkpoint folder written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rewardable.errors import ConfigError, UserError
from rewardable.records import Json

TEMPORARY = ".tmp-"
SPARE = 1 << 20
"""Bytes wanted beside the weights, for tokenizer and card."""


@contextmanager
def new_folder(out: Path, size: int) -> Generator[Path]:
    """Give a temporary folder beside ``out`` that becomes ``out`` when the block ends well.

    UserError when the disk is full or refuses; then, as after any error, nothing is left.
    """
    check_target(out)
    temporary = out.parent / f"{TEMPORARY}{os.getpid()}-{time.monotonic_ns()}-{out.name}"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(out.parent).free
        if free < size + SPARE:
            raise UserError(
                f"{out} needs {megabytes(size)}, but {out.parent} has {megabytes(free)} free. "
                "Make room or write elsewhere."
            )
        temporary.mkdir()
        yield temporary
        _publish(temporary, out)
    except OSError as error:
        raise UserError(
            f"writing {out} failed: {error.strerror or error}; it needs {megabytes(size)}. "
            "Nothing was left there; make room or write elsewhere."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_target(out: Path) -> None:
    """Refuse a target that holds something."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise ConfigError(f"{out} is no folder; a merge is written to a new one.")
    if out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty; a merge is written to a new or empty folder.")


def write_text(path: Path, text: str) -> None:
    """Write a small file in the place of an older one."""
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    try:
        temporary.write_text(text, encoding="utf-8")
        _sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, raw: Json) -> None:
    """Write JSON as transformers does: indented, a line end at the end."""
    write_text(path, json.dumps(raw, indent=2) + "\n")


def megabytes(size: int) -> str:
    """Return a size for people."""
    return f"{size / 1e6:,.1f} MB"


def _publish(temporary: Path, out: Path) -> None:
    for file in sorted(temporary.rglob("*")):
        _sync(file)
    _sync(temporary)
    temporary.rename(out)
    _sync(out.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
