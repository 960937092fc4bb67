"""Members of a ZIP archive, those packed with zstd too, and of one that is cut."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import DataError
from rewardable.importers.sources import Damage
from rewardable.importers.streams import opened, unzstd

_LOCAL = struct.Struct("<4s5H3I2H")
_MAGIC = b"PK\x03\x04"
_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_WIDE = 0xFFFFFFFF


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """Where a member's packed bytes stand."""

    name: str
    method: int
    start: int
    size: int


def members_of(path: Path, damage: Damage) -> dict[str, Member]:
    """Return the members by name, the last of equal names; of a cut archive those that are whole.

    DataError when there is none.
    """
    with opened(path) as handle:
        try:
            with zipfile.ZipFile(handle) as archive:
                infos = archive.infolist()
            found = [_located(handle, info) for info in infos]
        except (zipfile.BadZipFile, struct.error, OSError):
            damage.cut_stream = True
            found = list(_scanned(handle))
    if not found:
        raise DataError(f"{path.name} is a ZIP archive without a whole member.")
    return {member.name: member for member in found}


def _located(handle: io.BufferedReader, info: zipfile.ZipInfo) -> Member:
    handle.seek(info.header_offset)
    *_, name_size, extra_size = _LOCAL.unpack(handle.read(_LOCAL.size))
    start = info.header_offset + _LOCAL.size + name_size + extra_size
    return Member(
        name=info.filename, method=info.compress_type, start=start, size=info.compress_size
    )


def _scanned(handle: io.BufferedReader) -> Iterator[Member]:
    """Walk over local headers until one is not whole or does not say its size."""
    end, at = handle.seek(0, io.SEEK_END), 0
    while at + _LOCAL.size <= end:
        handle.seek(at)
        magic, _, flags, method, _, _, _, size, _, name_size, extra_size = _LOCAL.unpack(
            handle.read(_LOCAL.size)
        )
        name = handle.read(name_size)
        start = at + _LOCAL.size + name_size + extra_size
        if magic != _MAGIC or flags & 8 or size == _WIDE or start + size > end:
            return
        text = name.decode("utf-8" if flags & 0x800 else "cp437", "replace")
        yield Member(name=text, method=method, start=start, size=size)
        at = start + size


def content_of(path: Path, member: Member) -> bytes:
    """Return a member's bytes; DataError when they are damaged or packed in an unknown way."""
    with opened(path) as handle:
        handle.seek(member.start)
        packed = handle.read(member.size)
    if member.method == _STORED:
        return packed
    if member.method == _ZSTD:
        cut = Damage()
        content = b"".join(unzstd(io.BytesIO(packed), cut))
        if not cut.cut_stream:
            return content
    if member.method == _DEFLATED:
        try:
            return zlib.decompress(packed, wbits=-15)
        except zlib.error:
            pass
    raise DataError(
        f"{path.name}: the member {member.name} is damaged or packed by method {member.method}; "
        f"known are stored, deflate and zstd."
    )
