"""A folder of Parquet parts that are there whole or not at all."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rewardable.errors import DataError
from rewardable.records import FORMAT_VERSION
from rewardable.store.files import publish, temporary_beside
from rewardable.store.schema import SPLIT_COLUMNS

_LOG = logging.getLogger(__name__)

ROW_GROUP = 64_000


class PartFolder:
    """Reads need no lock; a writer holds the run's write lock."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self._sound: set[str] = set()
        self._torn: set[str] = set()

    def names(self) -> list[str]:
        """Return the names of the sound parts, oldest first."""
        found = sorted(name for name in self._listing() if _is_part(name))
        return [name for name in found if name in self._sound or self._check(name)]

    def files(self) -> list[str]:
        """Return the paths of the sound parts, oldest first."""
        return [str(self.path / name) for name in self.names()]

    def retried(self) -> bool:
        """Return whether some part holds rows in the place of failed ones."""
        return any(_is_part(name) and name.startswith("retry-") for name in self._listing())

    def torn(self) -> tuple[str, ...]:
        """Return the names of parts whose end is missing or that are no Parquet files."""
        self.names()
        return tuple(sorted(self._torn))

    def write(self, table: pa.Table, *, prefix: str = "part") -> str:
        """Append one part and return its name."""
        with self.stream(prefix=prefix) as (name, writer):
            writer.write_table(table, row_group_size=ROW_GROUP)
        return name

    @contextmanager
    def stream(self, *, prefix: str = "part") -> Generator[tuple[str, pq.ParquetWriter]]:
        """Yield (name, writer) of a part that is published when the block ends without error."""
        self.path.mkdir(exist_ok=True)
        name = f"{prefix}-{self.next_number():08d}-{uuid.uuid4().hex[:8]}.parquet"
        temporary = temporary_beside(self.path / name)
        try:
            with _writer(temporary, self.schema) as writer:
                yield name, writer
            publish(temporary, self.path / name)
        finally:
            temporary.unlink(missing_ok=True)
        self._sound.add(name)

    def next_number(self) -> int:
        """Return one more than the largest part number in use."""
        return max(map(_number, self._listing()), default=0) + 1

    def _listing(self) -> list[str]:
        try:
            return os.listdir(self.path)
        except FileNotFoundError:
            return []

    def _check(self, name: str) -> bool:
        if name in self._torn:
            return False
        try:
            metadata = pq.read_schema(self.path / name).metadata or {}
        except (pa.ArrowInvalid, OSError) as error:
            _LOG.warning("ignored the torn part %s: %s", self.path / name, error)
            self._torn.add(name)
            return False
        self._check_version(name, metadata)
        self._sound.add(name)
        return True

    def _check_version(self, name: str, metadata: dict[bytes, bytes]) -> None:
        expected = (self.schema.metadata or {})[b"rewardable.kind"]
        kind = metadata.get(b"rewardable.kind", b"")
        version = metadata.get(b"rewardable.version", b"0")
        if kind != expected or version != str(FORMAT_VERSION).encode():
            raise DataError(
                f"{self.path / name} holds {kind.decode() or 'foreign'} rows of format version "
                f"{version.decode()}, expected {expected.decode()} of version {FORMAT_VERSION}; "
                "move the file away or use the release that wrote it."
            )


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    plain = [field.name for field in schema if field.type in (pa.string(), pa.int8(), pa.int16())]
    split = [name for name in SPLIT_COLUMNS if schema.get_field_index(name.split(".")[0]) >= 0]
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=plain or False,  # pyright: ignore[reportArgumentType]
        use_byte_stream_split=split or False,  # pyright: ignore[reportArgumentType]
    )


def _is_part(name: str) -> bool:
    return name.startswith(("part-", "retry-")) and name.endswith(".parquet")


def _number(name: str) -> int:
    pieces = name.split("-")
    return int(pieces[1]) if len(pieces) > 1 and pieces[1].isdigit() else 0
