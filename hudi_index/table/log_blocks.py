"""The data blocks of a table's log files that hold nothing but plain records.

    "#HUDI#" | int64 length of what follows | int32 format version 1 | int32 block type
    | header: int32 count, then (int32 key, int32 length, bytes)*
    | int64 content length | content | footer, as the header | int64 bytes since the magic

    content of an Avro block: int32 version 3, int32 count, then (int32 length, record)*

All integers are big endian. Deletes, rollbacks, partial updates and every other block, and what is damaged,
are not for this module: whoever finds some asks hudi-rs.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

__all__ = ["OtherBlockError", "PlainRecords", "fields_of_all", "fields_of_log", "plain_records"]

_MAGIC = b"#HUDI#"
_FORMAT_VERSION, _AVRO_DATA, _CONTENT_VERSION = 1, 3, 3
_DATA = frozenset({_AVRO_DATA, 4, 5})
"""Blocks of records: as Avro, in an HFile, as Parquet."""
_INSTANT_TIME, _SCHEMA, _IS_PARTIAL = 0, 2, 7
_KNOWN_HEADERS = frozenset({_INSTANT_TIME, _SCHEMA, 5, 6, 8})
"""Beside these: positions of records in their base file and of which base file, and the block's number."""


class OtherBlockError(Exception):
    """A log file that holds something else."""


@dataclass(frozen=True, slots=True)
class PlainRecords:
    """Records of one block, as their writer's schema says."""

    schema: bytes
    data: bytes
    """The content of the block; where records begin and end is counted from there."""
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]


def plain_records(content: bytes, instant: str) -> list[PlainRecords]:
    """The blocks of a log file of one commit.

    Raises:
        OtherBlockError: for a block of another kind, of another commit, or that is damaged.
    """
    found, offset = [], 0
    try:
        while offset < len(content):
            records, offset = _block(content, offset, instant.encode())
            found.append(records)
    except (struct.error, KeyError) as error:
        raise OtherBlockError(f"damaged at byte {offset}") from error
    return found


def fields_of_log(content: bytes) -> frozenset[str] | None:
    """The fields that all records of a log file have, whatever else it holds; None if that can't be told.

    Partial updates leave out what they don't change, and count for nothing.
    """
    schemas: set[bytes] = set()
    begin = 0
    try:
        while begin < len(content):
            length, _, kind = struct.unpack_from(">qii", content, begin + len(_MAGIC))
            headers, _ = _map(content, begin + len(_MAGIC) + 16)
            if kind in _DATA and headers.get(_IS_PARTIAL) != b"true":
                schemas.add(headers[_SCHEMA])
            if length <= 0 or not content.startswith(_MAGIC, begin):
                return None
            begin += len(_MAGIC) + 8 + length
    except (struct.error, KeyError, OtherBlockError):
        return None
    return fields_of_all(schemas)


def fields_of_all(schemas: Collection[bytes]) -> frozenset[str] | None:
    """The names of the fields that are in all of some schemas; None if none are there or can't be told."""
    try:
        return frozenset.intersection(*map(_field_names, schemas)) if schemas else None
    except (ValueError, LookupError, TypeError):
        return None


@lru_cache(maxsize=64)
def _field_names(schema: bytes) -> frozenset[str]:
    return frozenset(str(field["name"]) for field in json.loads(schema)["fields"])


def _block(content: bytes, begin: int, instant: bytes) -> tuple[PlainRecords, int]:
    length, version, kind = struct.unpack_from(">qii", content, begin + len(_MAGIC))
    if not content.startswith(_MAGIC, begin) or (version, kind) != (_FORMAT_VERSION, _AVRO_DATA):
        raise OtherBlockError(f"block of version {version} and type {kind}")
    headers, offset = _map(content, begin + len(_MAGIC) + 16)
    if not _KNOWN_HEADERS.issuperset(headers) or headers[_INSTANT_TIME] != instant:
        raise OtherBlockError(f"block with headers {sorted(headers)}")
    (size,) = struct.unpack_from(">q", content, offset)
    offset += 8
    stop = offset + size
    _, after = _map(content, stop)
    (since_magic,) = struct.unpack_from(">q", content, after)
    end = after + 8
    if size < 0 or since_magic != after - begin or length != end - begin - len(_MAGIC) - 8:
        raise OtherBlockError("block whose lengths do not agree")
    starts, ends = _records(content, offset, stop)
    return PlainRecords(headers[_SCHEMA], content[offset:stop], starts - offset, ends - offset), end


def _records(content: bytes, offset: int, stop: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    version, count = struct.unpack_from(">ii", content, offset)
    if version != _CONTENT_VERSION or count < 0:
        raise OtherBlockError(f"content of version {version}")
    offset += 8
    begins = []
    size_at = struct.Struct(">i").unpack_from
    for _ in range(count):
        (size,) = size_at(content, offset)
        if size < 0:
            raise OtherBlockError("a record of no length")
        begins.append(offset)
        offset += 4 + size
    if offset != stop:
        raise OtherBlockError("records that do not end with their block")
    begins.append(stop)
    bounds = np.array(begins, np.int64)
    return bounds[:-1] + 4, bounds[1:]


def _map(content: bytes, offset: int) -> tuple[dict[int, bytes], int]:
    (count,) = struct.unpack_from(">i", content, offset)
    offset += 4
    found = {}
    for _ in range(count):
        key, length = struct.unpack_from(">ii", content, offset)
        offset += 8
        if length < 0:
            raise OtherBlockError("a header of no length")
        found[key] = content[offset : offset + length]
        offset += length
    return found, offset
