"""Durable files: atomic writes and the lock of a writer."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rewardable.errors import ResumeError

TEMPORARY = ".tmp-"
"""What the name of an unfinished file begins with; no reader ever opens one."""


def temporary_beside(path: Path) -> Path:
    """Return the name under which ``path`` is written before it is published."""
    return path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")


def publish(temporary: Path, path: Path) -> None:
    """Make ``temporary`` durable and rename it to ``path`` in the same folder."""
    with temporary.open("rb") as handle:
        os.fsync(handle.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    r"""Write a file whole or not at all. Half surrogate pairs are written as ``\udXXX``."""
    temporary = temporary_beside(path)
    temporary.write_bytes(text.encode("utf-8", "backslashreplace"))
    publish(temporary, path)


def remove_temporaries(folder: Path) -> int:
    """Delete what killed writers left; call it with the lock held. Returns how many files."""
    leftovers = list(folder.glob(f"{TEMPORARY}*"))
    for path in leftovers:
        path.unlink(missing_ok=True)
    return len(leftovers)


@contextmanager
def write_lock(path: Path, *, wait_s: float = 60.0) -> Generator[None]:
    """Hold the folder's write lock; the kernel frees it when its process dies.

    Raises ResumeError when another process still holds it after ``wait_s`` seconds.
    """
    with path.open("a+") as handle:
        _acquire(handle, path, wait_s)
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield


def _acquire(handle: IO[str], path: Path, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                handle.seek(0)
                raise ResumeError(
                    f"{path.parent} is being written by process {handle.read() or 'unknown'} "
                    f"for more than {wait_s:g} s; wait for it or stop it."
                ) from error
            time.sleep(0.02)
        else:
            return
