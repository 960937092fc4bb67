"""Tensors in safetensors files, read and written in pieces of rows."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rewardable.errors import DataError

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
}
FLOATS = ("F64", "F32", "F16", "BF16")
LARGEST_HEADER = 1 << 27
PIECE = 1 << 18
"""Elements in memory at a time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A tensor in a file: ``begin`` is its first byte, ``dtype`` the format's name for its type."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    begin: int

    @property
    def rows(self) -> int:
        """Length of the first dimension; 1 for a scalar."""
        return self.shape[0] if self.shape else 1

    @property
    def width(self) -> int:
        """Elements in a row."""
        return math.prod(self.shape[1:])

    @property
    def size(self) -> int:
        """Bytes of the whole tensor."""
        return self.rows * self.width * DTYPES[self.dtype].itemsize


def read_header(file: Path) -> dict[str, Entry]:
    """Return the tensors of a file; DataError when it is cut off or no safetensors file."""
    length = file.stat().st_size
    with file.open("rb") as stream:
        begin = 8 + int.from_bytes(stream.read(8), "little")
        if length < 8 or begin > min(length, LARGEST_HEADER):
            raise DataError(f"{file} is no safetensors file, or cut off: {length} bytes.")
        try:
            header = json.loads(stream.read(begin - 8))
            found = {
                name: _entry(file, name, raw, begin)
                for name, raw in header.items()
                if name != "__metadata__"
            }
        except DataError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{file} has no readable safetensors header: {error!r}.") from error
    end = max((entry.begin + entry.size for entry in found.values()), default=begin)
    if end != length:
        raise DataError(
            f"{file} has {length} bytes, but its header speaks of {end}: it is cut off or was "
            "overwritten. Copy it again."
        )
    return found


def _entry(file: Path, name: str, raw: Mapping[str, Any], begin: int) -> Entry:
    if raw["dtype"] not in DTYPES:
        raise DataError(f"{file}: {name} has the type {raw['dtype']}, known are {list(DTYPES)}.")
    first, last = raw["data_offsets"]
    shape = tuple(int(n) for n in raw["shape"])
    entry = Entry(name=name, dtype=raw["dtype"], shape=shape, file=file, begin=begin + int(first))
    if entry.size != last - first:
        raise DataError(f"{file}: {name} has {last - first} bytes for the shape {shape}.")
    return entry


def spans(rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield first row and stop of the pieces in which a tensor is read."""
    step = max(1, PIECE // max(1, width))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)


def read_rows(entry: Entry, start: int, stop: int) -> torch.Tensor:
    """Return rows ``start`` to ``stop`` as (rows, width), in the stored type, in own memory."""
    dtype = DTYPES[entry.dtype]
    stride = entry.width * dtype.itemsize
    buffer = bytearray((stop - start) * stride)
    if not buffer:
        return torch.empty((stop - start, entry.width), dtype=dtype)
    with entry.file.open("rb", buffering=0) as stream:
        stream.seek(entry.begin + start * stride)
        view, done = memoryview(buffer), 0
        while done < len(buffer):
            got = stream.readinto(view[done:])
            if not got:
                raise DataError(f"{entry.file} ended inside {entry.name}; was it overwritten?")
            done += got
    return torch.frombuffer(buffer, dtype=dtype).view(stop - start, entry.width)


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """A tensor to be written."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes of the tensor."""
        return math.prod(self.shape) * DTYPES[self.dtype].itemsize


class ShardWriter:
    """Writes one safetensors file, its tensors in the order of ``slots``, piece by piece."""

    def __init__(self, path: Path, slots: list[Slot]) -> None:
        self.slots = sorted(slots, key=lambda slot: (-DTYPES[slot.dtype].itemsize, slot.name))
        self._sha = hashlib.sha256()
        self._left = sum(slot.size for slot in slots)
        self._path = path
        self._stream = path.open("xb")
        self._put(_header(self.slots))

    def write(self, piece: torch.Tensor) -> None:
        """Append a piece of the tensor that is due."""
        flat = piece.detach().contiguous().reshape(-1)
        if flat.numel():
            raw = flat.view(torch.uint8).numpy().data
            self._left -= raw.nbytes
            self._put(raw)

    def close(self) -> str:
        """Make the file durable and return the SHA-256 of its bytes."""
        if self._left:
            raise DataError(f"{self._path}: {self._left} bytes of its tensors were not written.")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        return self._sha.hexdigest()

    def abandon(self) -> None:
        """Close the file as it is; a full disk may refuse even that."""
        with suppress(OSError):
            self._stream.close()

    def _put(self, raw: bytes | memoryview) -> None:
        self._sha.update(raw)
        self._stream.write(raw)


def _header(slots: list[Slot]) -> bytes:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for slot in slots:
        span = [offset, offset + slot.size]
        header[slot.name] = {"dtype": slot.dtype, "shape": list(slot.shape), "data_offsets": span}
        offset = span[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
