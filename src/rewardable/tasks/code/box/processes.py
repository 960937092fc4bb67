"""Which processes descend from one, what memory they hold; read from /proc, empty without it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator

_MB = 1 << 20


def descendants(root: int) -> list[int]:
    """Return the processes below ``root``; a supervisor has adopted its orphans."""
    children = defaultdict[int, list[int]](list)
    for pid in _numbers():
        try:
            fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            children[int(fields[1])].append(pid)
        except (OSError, IndexError):
            continue
    found, queue = list[int](), [root]
    while queue:
        below = children[queue.pop()]
        found += below
        queue += below
    return found


def memory_mb(root: int) -> float:
    """Return the resident memory of all descendants."""
    pages = 0
    for pid in descendants(root):
        try:
            pages += int(_read(f"/proc/{pid}/statm").split()[1])
        except (OSError, IndexError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / _MB


def count_of_user(uid: int) -> int:
    """Count the threads of a user, whom the process limit counts together."""
    count = 0
    for pid in _numbers():
        try:
            if os.stat(f"/proc/{pid}").st_uid == uid:
                count += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            continue
    return count


def _numbers() -> Iterator[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
