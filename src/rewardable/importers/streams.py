"""The bytes of a file, plain, gzip or zstd, and what a cut stream still gives."""

from __future__ import annotations

import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from rewardable.errors import DataError

PACKED = (".gz", ".zst", ".zstd")
"""Suffixes of compressed files, left out when a name tells the format."""
_CHUNK = 1 << 20
_ZSTD_PIECE = 1 << 16
"""A piece is read whole or not at all, so it is no larger than the format's blocks."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class CutMark(Protocol):
    """Learns that a stream ended before its end."""

    cut_stream: bool


def opened(path: Path) -> io.BufferedReader:
    """Open a file; DataError says why it cannot be."""
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error


def sha256(paths: Iterable[Path]) -> str:
    """Return the digest of a file's bytes, or of the digests of several files in their order."""
    digests: list[bytes] = []
    for path in paths:
        with opened(path) as handle:
            digests.append(hashlib.file_digest(handle, "sha256").digest())
    return digests[0].hex() if len(digests) == 1 else hashlib.sha256(b"".join(digests)).hexdigest()


def chunks_of(path: Path, mark: CutMark) -> Iterator[bytes]:
    """Yield the content, unpacked; all that stands before a cut or damage."""
    with opened(path) as handle:
        start = handle.peek(4)[:4]
        if start.startswith(_GZIP):
            yield from _gunzipped(handle, mark)
        elif start == _ZSTD:
            yield from unzstd(handle, mark)
        else:
            yield from _raw(handle)


def _raw(handle: io.BufferedReader) -> Iterator[bytes]:
    while chunk := handle.read(_CHUNK):
        yield chunk


def unzstd(handle: io.BufferedReader | io.BytesIO, mark: CutMark) -> Iterator[bytes]:
    """Yield all that zstd frames hold, also when they are cut or damaged at some point."""
    stream = pa.CompressedInputStream(pa.PythonFile(handle, mode="r"), "zstd")
    while True:
        try:
            chunk = stream.read(_ZSTD_PIECE)
        except OSError:
            mark.cut_stream = True
            return
        if not chunk:
            return
        yield chunk


def _gunzipped(handle: io.BufferedReader, mark: CutMark) -> Iterator[bytes]:
    stream = zlib.decompressobj(wbits=31)
    started = True
    for chunk in _raw(handle):
        data = chunk
        while data:
            try:
                yield stream.decompress(data)
            except zlib.error:
                mark.cut_stream = True
                return
            data, started = stream.unused_data, not stream.eof
            if stream.eof:
                stream = zlib.decompressobj(wbits=31)
                data = data.lstrip(b"\0")
                started = bool(data)
    mark.cut_stream = started
