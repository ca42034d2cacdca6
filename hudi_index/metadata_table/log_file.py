"""Log files: one Hudi log block that holds a Parquet file of changed entries, tombstones included.

    "#HUDI#" | int64 length of what follows | int32 format version 1 | int32 block type 5 (Parquet data)
    | header: int32 count, then (int32 key, int32 length, bytes)*     key 0 instant time, key 2 Avro schema
    | int64 content length | content | footer, as the header | int64 bytes since the magic

All integers are big endian. A log file is small and read whole, so one CRC-32 in the commit metadata covers
it. Its rows are sorted by key, each key once: a commit says of an entry either what it is or that it is gone.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_index.entries.schema import DELETED, ENTRY_SCHEMA, KEY, avro_schema_of
from hudi_index.entries.sorted import last_key
from hudi_index.errors import NOT_DAMAGE, EntryCorruptError, MissingFileError
from hudi_index.metadata_table.commit_metadata import WriteStat
from hudi_index.metadata_table.layout import log_file_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.storage import Storage

__all__ = ["load_log_file", "write_log_file"]

_MAGIC = b"#HUDI#"
_FORMAT_VERSION = 1
_PARQUET_BLOCK = 5
_INSTANT_TIME, _SCHEMA = 0, 2
_AVRO_SCHEMA = json.dumps(avro_schema_of(ENTRY_SCHEMA, name="entry"))


def write_log_file(
    storage: Storage,
    *,
    partition: str,
    file_id: str,
    requested_time: str,
    write_token: str,
    entries: Iterable[pa.Table],
) -> WriteStat:
    """Write the changes of one commit to one file group, sorted by key, each key once.

    Only their compressed form is held.
    """
    rows = gone = 0
    last: str | None = None
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        ENTRY_SCHEMA,
        compression="zstd",
        use_dictionary=False,
        column_encoding={KEY: "DELTA_BYTE_ARRAY"},
        write_statistics=False,
    ) as writer:
        for changes in entries:
            last = last_key(changes.column(KEY), last, f"{partition}/{file_id}")
            writer.write_table(changes)
            rows += changes.num_rows
            gone += pc.sum(changes.column(DELETED)).as_py() or 0
    block = _encode_block(requested_time, sink.getvalue())
    name = log_file_name(file_id, requested_time, write_token)
    storage.write(f"{partition}/{name}", block)
    return WriteStat(partition, file_id, name, len(block), zlib.crc32(block), rows, gone, is_log=True)


def load_log_file(storage: Storage, stat: WriteStat) -> pa.Table:
    """The changes of a committed log file, sorted by key."""
    uri = storage.uri_of(stat.path)
    try:
        block = storage.read(stat.path)
    except FileNotFoundError:
        raise MissingFileError(path=uri) from None
    except NOT_DAMAGE:
        raise
    except OSError as error:
        raise EntryCorruptError(path=uri, reason=f"can't be read ({error})") from error
    if len(block) != stat.size or zlib.crc32(block) != stat.checksum:
        raise EntryCorruptError(path=uri, reason="size or content is not what was committed")
    try:
        return pq.read_table(pa.BufferReader(_content_of(block)), use_threads=False).combine_chunks()
    except (pa.ArrowException, struct.error, ValueError) as error:
        raise EntryCorruptError(path=uri, reason=f"no log block of ours ({error})") from error


def _encode_map(entries: dict[int, str]) -> bytes:
    encoded = struct.pack(">i", len(entries))
    for key, text in entries.items():
        data = text.encode()
        encoded += struct.pack(">ii", key, len(data)) + data
    return encoded


def _encode_block(instant: str, content: bytes) -> bytes:
    header, footer = _encode_map({_INSTANT_TIME: instant, _SCHEMA: _AVRO_SCHEMA}), _encode_map({})
    length = 4 + 4 + len(header) + 8 + len(content) + len(footer) + 8
    body = b"".join(
        [
            _MAGIC,
            struct.pack(">qii", length, _FORMAT_VERSION, _PARQUET_BLOCK),
            header,
            struct.pack(">q", len(content)),
            content,
            footer,
        ]
    )
    return body + struct.pack(">q", len(body))


def _content_of(block: bytes) -> memoryview:
    _, version, kind = struct.unpack_from(">qii", block, len(_MAGIC))
    if not block.startswith(_MAGIC) or (version, kind) != (_FORMAT_VERSION, _PARQUET_BLOCK):
        raise ValueError(f"block version {version}, type {kind}")
    offset = len(_MAGIC) + 16
    (count,) = struct.unpack_from(">i", block, offset)
    offset += 4
    for _ in range(count):
        _, length = struct.unpack_from(">ii", block, offset)
        offset += 8 + length
    (length,) = struct.unpack_from(">q", block, offset)
    return memoryview(block)[offset + 8 : offset + 8 + length]
