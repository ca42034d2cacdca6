"""Hudi on Spark must read the very slice that the index notes, also while others write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_index.errors import SliceChangedError
from hudi_index.spark.build.slices import _find_slices
from hudi_index.spark.read.file_index import ListedSlice, make_unplanned_index
from hudi_index.spark.read.indexed import relation_of, rows_over
from hudi_index.storage import Storage
from hudi_index.table import FileGroupId, FileSlice, Snapshot
from tests.parity.tables import MOR, HudiTable, hostile_rows

GROUP = FileGroupId("a b", "f-0")
BASE = "f-0_0-0-0_20260101000000000.parquet"
FIRST, SECOND = ".f-0_20260102000000000.log.1_0-1-1", ".f-0_20260103000000000.log.1_0-2-2"
FILE_SLICE = FileSlice(GROUP, BASE, (FIRST,), log_sizes=(10,))
INSTANT = "20260102000000000"
OTHERS = [
    ListedSlice(FileGroupId("a b", "g-0"), "g-0_0-0-0_20260101000000000.parquet", [], "file:/t/a b/g"),
    ListedSlice(FileGroupId("c", "f-0"), BASE, [], f"file:/t/c/{BASE}"),
]


def listed(base_file: str | None = BASE, **logs: int) -> ListedSlice:
    names = {"first": FIRST, "second": SECOND, "late": ".f-0_20260101120000000.log.1_0-3-3"}
    of_logs = [(names[name], size, -1) for name, size in logs.items()]
    return ListedSlice(GROUP, base_file, of_logs, f"file:/t/a b/{base_file or FIRST}")


@pytest.mark.parametrize("logs", [{"first": 10}, {"first": 10, "second": 20}], ids=["same", "later commits"])
def test_the_same_slice_and_logs_of_later_commits_are_fine(logs: dict[str, int]) -> None:
    mine = listed(BASE, **logs)

    assert _find_slices([OTHERS[0], mine, OTHERS[1]], {GROUP: FILE_SLICE}, INSTANT) == {GROUP: mine}


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        pytest.param([], "files are no longer listed", id="group gone"),
        pytest.param([listed("f-0_0-0-0_20260103000000000.parquet", first=10)], "no longer", id="other base"),
        pytest.param([listed(None, first=10)], "files are no longer listed", id="no base"),
        pytest.param([listed()], r"a b/f-0.*log\.1_0-1-1 is no longer listed", id="log gone"),
        pytest.param([listed(first=10, late=5)], "was added", id="earlier commit completed since"),
    ],
)
def test_another_slice_is_refused(found: list[ListedSlice], reason: str) -> None:
    with pytest.raises(SliceChangedError, match=reason):
        _find_slices([*OTHERS, *found], {GROUP: FILE_SLICE}, INSTANT)


def test_a_version_6_log_that_grew_is_refused() -> None:
    file_slice = FileSlice(GROUP, BASE, (FIRST,), log_sizes=(10,), log_times=(1,))
    with pytest.raises(SliceChangedError, match="has grown"):
        _find_slices([listed(first=11)], {GROUP: file_slice}, INSTANT)
    assert _find_slices([listed(first=-1)], {GROUP: file_slice}, INSTANT)


@pytest.mark.spark
def test_listing_is_the_snapshot_and_restricts_what_is_read(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "a table", MOR)
    hudi.bulk_insert(hostile_rows(range(12)))
    hudi.upsert(hostile_rows([3], ts=9, salt=3))
    storage = Storage.open(hudi.path)
    slices = Snapshot.load(storage).slices
    frame = hudi.read()
    relation = relation_of(frame, storage)
    index = make_unplanned_index(spark.sparkContext._gateway, relation.location())

    found = [ListedSlice.of(each) for each in json.loads(index.listing())]

    told = {each.group: (each.base_file, sorted(name for name, _, _ in each.logs)) for each in found}
    assert told == {each.group: (each.base_file, sorted(each.log_files)) for each in slices}
    assert len(found) == len(slices) > 1
    assert any(each.log_files for each in slices)
    sizes = {name: size for each in found for name, size, _ in each.logs}
    assert sizes == {
        name: size for each in slices for name, size in zip(each.log_files, each.log_sizes, strict=True)
    }
    counts = []
    for chosen in found:
        keep = "".join("1" if each is chosen else "0" for each in found)
        rows = rows_over(spark, relation, index.planned(keep)).select("_hoodie_file_name").collect()
        assert {row[0].startswith(chosen.group.file_id) for row in rows} == {True}
        counts.append(len(rows))
    assert sum(counts) == 12
