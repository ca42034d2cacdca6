"""Hudi on Spark must read the very slice that the index notes, also while others write."""

from __future__ import annotations

import pytest

from hudi_index.errors import SliceChangedError
from hudi_index.spark.build.slices import _logs_by_group, _refuse_another
from hudi_index.table import FileGroupId, FileSlice

GROUP = FileGroupId("a b", "f-0")
FIRST, SECOND = ".f-0_20260102000000000.log.1_0-1-1", ".f-0_20260103000000000.log.1_0-2-2"
PIECE = FileSlice(GROUP, "f-0_0-0-0_20260101000000000.parquet", (FIRST,), log_sizes=(10,))
INSTANT = "20260102000000000"
OWNER = "file:/t/a b/f-0_0-0-0_20260101000000000.parquet"


def test_the_same_slice_and_logs_of_later_commits_are_fine() -> None:
    _refuse_another(PIECE, OWNER, {FIRST: 10}, INSTANT)
    _refuse_another(PIECE, OWNER, {FIRST: 10, SECOND: 20}, INSTANT)


def test_another_base_file_is_refused() -> None:
    with pytest.raises(SliceChangedError, match="files are no longer listed"):
        _refuse_another(PIECE, None, {FIRST: 10}, INSTANT)


def test_a_log_that_is_gone_is_refused() -> None:
    with pytest.raises(SliceChangedError, match=r"a b/f-0.*no longer listed"):
        _refuse_another(PIECE, OWNER, {}, INSTANT)


def test_a_log_of_an_earlier_commit_that_completed_since_is_refused() -> None:
    late = ".f-0_20260101120000000.log.1_0-3-3"
    with pytest.raises(SliceChangedError, match="was added"):
        _refuse_another(PIECE, OWNER, {FIRST: 10, late: 5}, INSTANT)


def test_a_version_6_log_that_grew_is_refused() -> None:
    piece = FileSlice(GROUP, PIECE.base_file, (FIRST,), log_sizes=(10,), log_times=(1,))
    with pytest.raises(SliceChangedError, match="has grown"):
        _refuse_another(piece, OWNER, {FIRST: 11}, INSTANT)


def test_logs_are_told_apart_by_partition_and_file_group() -> None:
    text = (
        "(Some(PartitionPath(path=a b)),ArrayBuffer("
        "FileSlice(fileGroupId=HoodieFileGroupId(partitionPath=a b, fileId=f-0), baseInstantTime=1, "
        f"logFiles=[HoodieLogFile(pathStr=file:/t/a b/{SECOND}, fileSize=7), "
        f"HoodieLogFile(pathStr=file:/t/a b/{FIRST}, fileSize=10)]), "
        "FileSlice(fileGroupId=HoodieFileGroupId(partitionPath=a b, fileId=g-0), baseInstantTime=1, "
        "logFiles=[])))"
    )
    assert _logs_by_group(text) == {("a b", "f-0"): {SECOND: 7, FIRST: 10}, ("a b", "g-0"): {}}
