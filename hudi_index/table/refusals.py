"""Why reading a slice failed: files gone, files damaged, the storage, or hudi-rs that can't do it.

hudi-rs has one error for everything, and some of its parts panic instead. So its words decide nothing, but
for those that tell of a request to an object store. After a failure the slice's files are looked at here: are
they there, do they have the shape of a base or log file, does the storage give their bytes? What is left is
a slice that is whole and that hudi-rs refuses, which Hudi on Spark may read.

A log file is a run of blocks (version 1 of Hudi's log format, all numbers big-endian):

    magic `#HUDI#`, 8 bytes size of what follows, 4 version, 4 type, headers, 8 content size, content,
    footers, 8 size of all before it

A block that ends behind the end of the file is one that a writer could not finish; Hudi skips it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_index.errors import (
    SliceRefusedError,
    StorageError,
    StorageUnreachableError,
    TableFileError,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from hudi_index.storage import Storage
    from hudi_index.table.slices import FileSlice

__all__ = ["failure_of", "is_of_hudi_rs", "refusal_of", "refuse_columns"]

_MAGIC = b"#HUDI#"
_NO_ANSWER = "RetryErrorImpl"
"""What hudi-rs, whose errors are texts, says where a request to an object store failed."""
_MAX_BLOCK_TYPE, _MAX_HEADER_KEY, _MAX_HEADERS = 16, 64, 64


def is_of_hudi_rs(error: BaseException) -> bool:
    """Whether hudi-rs may have raised this. A panic is no Exception, to Python."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def failure_of(storage: Storage, file_slice: FileSlice, error: BaseException) -> Exception:
    """What to raise after hudi-rs failed to read a slice whose files are all there."""
    for path in file_slice.paths:
        with storage.open_input(path) as source:
            reason = _damage_of_base(source) if path == file_slice.base_path else _damage_of_log(source)
        if reason is not None:
            return TableFileError(path=storage.uri_of(path), reason=reason)
    said = " ".join(str(error).split()) or type(error).__name__
    if not storage.is_local and _NO_ANSWER in said:
        # By now the store gives the bytes to us, and may give them to hudi-rs when that asks again.
        path, reason = storage.uri_of(file_slice.paths[-1]), shortened(storage.scrub(said))
        return StorageUnreachableError(path=path, operation="be read by hudi-rs", reason=reason)
    return refusal_of(storage, file_slice, f"hudi-rs refuses it ({said})")


def refusal_of(storage: Storage, file_slice: FileSlice, reason: str) -> SliceRefusedError:
    """What to raise of a slice that is for Spark."""
    path = storage.uri_of(file_slice.paths[-1])
    return SliceRefusedError(uri=storage.uri, path=path, reason=reason, identity=file_slice.identity)


def refuse_columns(
    storage: Storage,
    file_slice: FileSlice,
    columns: Collection[str],
    what: str = "in the calendar of Spark 2",
) -> None:
    """Refuse a slice for columns that hold values which are not read right here, if there are any."""
    if columns:
        raise refusal_of(storage, file_slice, f"values of {', '.join(sorted(columns))} are {what}")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _damage_of_base(source: pa.NativeFile) -> str | None:
    try:
        pq.read_metadata(source)
    except StorageError:
        raise
    except (pa.ArrowInvalid, OSError) as error:
        return _first_line(error)
    return None


def _damage_of_log(source: pa.NativeFile) -> str | None:
    end, position = source.size(), 0
    while position + len(_MAGIC) + 8 <= end:
        source.seek(position)
        magic = source.read(len(_MAGIC))
        size = int.from_bytes(source.read(8), "big", signed=True)
        if magic != _MAGIC:
            return f"no log block begins at byte {position}"
        body = position + len(_MAGIC) + 8
        if size < 16 or body + size > end:
            return None  # unfinished, which readers skip
        reason = _damage_of_block(source)
        if reason is not None:
            return f"{reason} in the log block at byte {position}"
        position = body + size
    return None


def _damage_of_block(source: pa.NativeFile) -> str | None:
    version, kind, headers = (_int(source) for _ in range(3))
    if version > 3 or kind > _MAX_BLOCK_TYPE:
        return f"version {version}, type {kind}"
    if not 0 <= headers <= _MAX_HEADERS:
        return f"{headers} headers"
    for _ in range(headers):
        key, length = _int(source), _int(source)
        if not 0 <= key <= _MAX_HEADER_KEY or length < 0:
            return f"a header {key} of {length} bytes"
        source.seek(source.tell() + length)
    return None


def _int(source: pa.NativeFile) -> int:
    return int.from_bytes(source.read(4), "big", signed=True)
