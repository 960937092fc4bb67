"""A policy's name from its content: digests of weight files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from rewardable.records import digest

CHUNK = 1 << 22
WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth")


def weights_digest(files: Iterable[Path]) -> str:
    """Return the digest of the files' bytes in the order of their names."""
    return digest("weights", [_file_digest(file) for file in sorted(files)])


def weight_files(folder: Path, prefix: str) -> list[Path]:
    """Return the weight files of one kind whose names begin with ``prefix``."""
    for pattern in WEIGHTS:
        found = sorted(folder.glob(prefix + pattern))
        if found:
            return found
    return []


def _file_digest(file: Path) -> str:
    status = file.stat()
    return _bytes_digest(str(file.resolve()), status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=1024)
def _bytes_digest(path: str, size: int, mtime_ns: int) -> str:
    """Digest once a process for a path that has not changed (size and time are the cache's key)."""
    del size, mtime_ns
    sha = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(CHUNK):
            sha.update(chunk)
    return sha.hexdigest()
