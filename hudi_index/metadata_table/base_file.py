"""Base files: Parquet, sorted by key, each key once, no tombstones.

Row groups are small and only the key column keeps statistics, so a look-up reads the footer, picks the row
groups whose key range meets the wanted one, and decodes nothing else. Keys share long prefixes with their
neighbours, which DELTA_BYTE_ARRAY stores once.

Nothing is believed unchecked: the size and the footer's CRC-32 stand in the commit metadata, every page
carries its own checksum, and the footer names the file: two of the same keys and sizes differ in it. A
mismatch is an EntryCorruptError that names the file. The CRC-32 of the whole file is for `check`, which reads
all of it.
"""

from __future__ import annotations

import io
import struct
import zlib
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_index.entries.schema import DELETED, ENTRY_SCHEMA, KEY, PARTITION, TYPE
from hudi_index.entries.sorted import last_key
from hudi_index.errors import NOT_DAMAGE, EntryCorruptError, MissingFileError
from hudi_index.metadata_table.commit_metadata import WriteStat
from hudi_index.metadata_table.layout import base_file_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hudi_index.storage import Storage

__all__ = ["ROWS_PER_GROUP", "BaseFile", "write_base_file"]

ROWS_PER_GROUP = 16_384
"""Rows decoded for one look-up; measured in benchmarks/lookup.py."""

_MAGIC = b"PAR1"
_OWN_PATH = b"hudi_index.path"
_LEAST = 8
_TAIL = 64 * 1024
_HELD = 1024 * 1024
"""So much of the end of a file is kept while it is written: a footer is shorter, but for huge files."""
_PIECE = 4 * 1024 * 1024


def write_base_file(
    storage: Storage,
    *,
    partition: str,
    file_id: str,
    requested_time: str,
    write_token: str,
    schema: pa.Schema,
    entries: Iterable[pa.Table],
) -> WriteStat:
    """Write a base file from tables of a schema that are sorted by key, one after the other."""
    name = base_file_name(file_id, requested_time, write_token)
    path = f"{partition}/{name}"
    rows, last = 0, None
    named = schema.with_metadata({_OWN_PATH: path.encode()})
    with (
        storage.naming(path, "be written"),
        storage.open_output(path) as output,
        pa.PythonFile(summed := _Summed(output), mode="w") as sink,
        pq.ParquetWriter(
            sink,
            named,
            compression="zstd",
            use_dictionary=cast("bool", [PARTITION, TYPE, DELETED]),  # the stubs don't know the list form
            column_encoding={KEY: "DELTA_BYTE_ARRAY"},
            write_statistics=[KEY],
            write_page_checksum=True,
        ) as writer,
    ):
        for group in _regroup(entries):
            last = last_key(group.column(KEY), last, path)
            writer.write_table(group.replace_schema_metadata(named.metadata), row_group_size=ROWS_PER_GROUP)
            rows += group.num_rows
    footer = summed.footer() or _load_footer(storage, path)[1]
    checksum = zlib.crc32(footer)
    return WriteStat(
        *(partition, file_id, name, summed.size, checksum, rows),
        tombstones=0,
        is_log=False,
        content=summed.checksum,
    )


class _Summed(io.RawIOBase):
    """A file for writing that sums up what passes, and keeps the end of it."""

    def __init__(self, sink: pa.NativeFile) -> None:
        super().__init__()
        self._sink, self.checksum, self.size = sink, 0, 0
        self._end: deque[bytes] = deque()
        self._held = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written = bytes(data)
        self.checksum = zlib.crc32(written, self.checksum)
        self._sink.write(written)
        self.size += len(written)
        self._end.append(written)
        self._held += len(written)
        while self._held - len(self._end[0]) >= _HELD:
            self._held -= len(self._end.popleft())
        return len(written)

    def footer(self) -> bytes | None:
        """The footer of what was written, with its length and magic; None if more was written since."""
        end = b"".join(self._end)
        wanted = _footer_length(end)
        return end[-wanted:] if wanted <= len(end) else None


@dataclass(frozen=True)
class BaseFile:
    """An open base file: its footer, read and checked once."""

    storage: Storage
    stat: WriteStat
    metadata: Any
    """pyarrow's FileMetaData, which has no useful type."""
    lows: tuple[str, ...]
    """Per row group, no key in it is below this."""
    highs: tuple[str, ...]
    """Per row group, no key in it is above this. The last ones may be missing: they have no known bound."""
    whole: bytes | None = field(default=None, repr=False)
    """All of the file, if it is so small that it came with its footer."""

    @classmethod
    def open(cls, storage: Storage, stat: WriteStat) -> BaseFile:
        """Read and check the footer of a committed base file."""
        uri = storage.uri_of(stat.path)
        try:
            size, footer, tail = _load_footer(storage, stat.path)
            if size != stat.size or zlib.crc32(footer) != stat.checksum:
                raise EntryCorruptError(path=uri, reason="size or footer is not what was committed")
            metadata = pq.read_metadata(pa.BufferReader(footer))
            whole = tail if len(tail) == size else None
            return cls(storage, stat, metadata, *_bounds(metadata), whole)
        except FileNotFoundError:
            raise MissingFileError(path=uri) from None
        except NOT_DAMAGE:
            raise
        except (pa.ArrowException, OSError, struct.error) as error:
            raise EntryCorruptError(path=uri, reason=f"no Parquet footer ({error})") from error

    @classmethod
    def check(cls, storage: Storage, stat: WriteStat) -> None:
        """Read all of a committed base file. Raises CorruptError if it is not what was committed."""
        found = cls.open(storage, stat)
        if stat.content is None:
            for group in range(found.row_groups):
                found.read_row_group(group, found.columns)
            return
        checksum = 0
        with storage.open_input(stat.path) as source:
            while shard_slice := source.read(_PIECE):
                checksum = zlib.crc32(shard_slice, checksum)
        if checksum != stat.content:
            raise EntryCorruptError(path=storage.uri_of(stat.path), reason="is not what was committed")

    @property
    def path(self) -> str:
        """Where it is, below its storage."""
        return self.stat.path

    @property
    def held_bytes(self) -> int:
        """About what it takes in memory."""
        return int(self.metadata.serialized_size) * 4 + len(self.whole or b"")

    @property
    def row_groups(self) -> int:
        """How many row groups the file has."""
        return len(self.lows)

    @property
    def columns(self) -> list[str]:
        """The columns of ENTRY_SCHEMA that the file has; the others are null."""
        names: list[str] = self.metadata.schema.to_arrow_schema().names
        return names

    def row_groups_of(self, low: str, high: str | None) -> range:
        """The row groups that may hold keys in [low, high)."""
        first = bisect_left(self.highs, low)
        last = self.row_groups if high is None else bisect_left(self.lows, high)
        return range(first, max(first, last))

    def read_row_group(self, group: int, columns: Sequence[str]) -> pa.Table:
        """The rows of one row group."""
        found = self._read(group, columns)
        for name in columns:
            if name not in found.column_names:
                field = ENTRY_SCHEMA.field(name)
                found = found.append_column(field, pa.nulls(found.num_rows, field.type))
        return found.select(list(columns))

    def read_field(self, group: int, payload: str, name: str) -> pa.Array[Any]:
        """One field of a payload in the rows of one row group; nothing else of the payload is decoded."""
        found: Any = self._read(group, [f"{payload}.{name}"])
        if payload not in found.column_names:
            missing: pa.Array[Any] = pa.nulls(
                found.num_rows, ENTRY_SCHEMA.field(payload).type.field(name).type
            )
            return missing
        values: pa.Array[Any] = found.column(payload).combine_chunks().flatten()[0]
        return values

    def _read(self, group: int, columns: Sequence[str]) -> pa.Table:
        """Those of some columns that the file has."""
        try:
            with self._open() as source:
                # Far away, what lies side by side comes in one request.
                is_far = self.whole is None and not self.storage.is_local
                file = pq.ParquetFile(
                    source, metadata=self.metadata, page_checksum_verification=True, pre_buffer=is_far
                )
                return file.read_row_group(group, columns=list(columns), use_threads=False)
        except FileNotFoundError:
            raise MissingFileError(path=self.storage.uri_of(self.path)) from None
        except NOT_DAMAGE:
            raise
        except (pa.ArrowException, OSError) as error:
            reason = f"row group {group} can't be read ({error})"
            raise EntryCorruptError(path=self.storage.uri_of(self.path), reason=reason) from error

    def _open(self) -> pa.NativeFile:
        return self.storage.open_input(self.path) if self.whole is None else pa.BufferReader(self.whole)


def _bounds(metadata: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Key bounds per row group. Keys above 4 kB have no statistics: their bounds come from the neighbours."""
    found = [metadata.row_group(group).column(0).statistics for group in range(metadata.num_row_groups)]
    known = [(each.min, each.max) if each is not None and each.has_min_max else None for each in found]
    lows: list[str] = []
    below = ""
    for bounds in known:
        lows.append(bounds[0] if bounds else below)
        below = bounds[1] if bounds else below
    highs: list[str] = []
    above: str | None = None
    for bounds in reversed(known):
        high = bounds[1] if bounds else above
        if high is not None:
            highs.append(high)
        above = bounds[0] if bounds else above
    return tuple(lows), tuple(reversed(highs))


def _load_footer(storage: Storage, path: str) -> tuple[int, bytes, bytes]:
    """File size, the footer with its length and magic, and all that was read with it from the file's end."""
    size, tail = storage.tail(path, _TAIL)
    try:
        wanted = _footer_length(tail)
    except ValueError as error:
        raise EntryCorruptError(path=storage.uri_of(path), reason=str(error)) from None
    if wanted > size:
        raise EntryCorruptError(path=storage.uri_of(path), reason="footer longer than the file")
    if wanted > len(tail):
        size, tail = storage.tail(path, wanted)
    return size, tail[-wanted:], tail


def _footer_length(end: bytes) -> int:
    """How long a footer is with its length and magic, as the end of a file says. Raises ValueError."""
    if end[-4:] != _MAGIC or len(end) < _LEAST:
        raise ValueError("does not end like a Parquet file")
    (length,) = struct.unpack("<I", end[-8:-4])
    return int(length) + 8


def _regroup(entries: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of whole row groups, so that many small inputs don't make small row groups."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in entries:
        waiting.append(table)
        rows += table.num_rows
        if rows < ROWS_PER_GROUP:
            continue
        joined = pa.concat_tables(waiting)
        whole = rows - rows % ROWS_PER_GROUP
        yield joined.slice(0, whole)
        waiting, rows = [joined.slice(whole)], rows - whole
    if rows:
        yield pa.concat_tables(waiting)
