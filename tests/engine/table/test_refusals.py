from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_index.errors import SliceRefusedError, TableFileError
from hudi_index.storage import Storage
from hudi_index.table import FileGroupId, FileSlice
from hudi_index.table.refusals import failure_of

if TYPE_CHECKING:
    from pathlib import Path

BASE, LOG = "a_0-1-2_20240101000000000.parquet", ".a_20240102000000000.log.1_0-1-2"
PIECE = FileSlice(FileGroupId("", "a"), BASE, (LOG,), 1, (1,))


def block(content: bytes = b"x" * 20, *, key: int = 0) -> bytes:
    header = struct.pack(">iii", 1, key, 3) + b"abc"
    body = (
        struct.pack(">ii", 1, 3) + header + struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    )
    return b"#HUDI#" + struct.pack(">q", len(body) + 8) + body + struct.pack(">q", len(body) + 22)


def failure(path: Path, log: bytes, base: bytes | None = None) -> Exception:
    if base is None:
        pq.write_table(pa.table({"id": ["a"]}), path / BASE)
    else:
        (path / BASE).write_bytes(base)
    (path / LOG).write_bytes(log)
    return failure_of(Storage.open(path), PIECE, RuntimeError("can't\ndo that"))


@pytest.mark.parametrize("log", [block(), block() * 3, b"", block() + block()[:-9]], ids=range(4))
def test_a_slice_of_whole_files_is_refused(log: bytes, tmp_path: Path) -> None:
    found = failure(tmp_path, log)
    assert isinstance(found, SliceRefusedError)
    assert found.identity == PIECE.identity
    assert found.reason == "hudi-rs refuses it (can't do that)"
    assert LOG in str(found)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (b"garbage" * 9, "no log block begins at byte 0"),
        (block() + b"garbage" * 9, f"no log block begins at byte {len(block())}"),
        (block(key=99), "a header 99 of 3 bytes in the log block at byte 0"),
        (block()[:14] + struct.pack(">ii", 77, 3) + block()[22:], "version 77"),
    ],
    ids=range(4),
)
def test_a_damaged_log_file_is_named(log: bytes, reason: str, tmp_path: Path) -> None:
    found = failure(tmp_path, log)
    assert isinstance(found, TableFileError)
    assert LOG in found.path
    assert reason in found.reason


def test_a_damaged_base_file_is_named(tmp_path: Path) -> None:
    found = failure(tmp_path, block(), b"PAR1 and no more than that PAR1")
    assert isinstance(found, TableFileError)
    assert BASE in found.path


def test_a_storage_that_does_not_answer_is_no_refusal(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        failure_of(Storage.open(tmp_path), PIECE, RuntimeError("can't"))
