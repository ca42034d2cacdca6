"""File groups of more rows than are compared in memory: equal entries, equal changes, bounded memory."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from hudi_index.engine import IndexedTable
from hudi_index.entries.schema import DELETED, KEY, PAYLOADS, TYPE
from hudi_index.kind_parts.protocol import SliceContext
from hudi_index.kinds.bloom_filters import BloomFilters
from hudi_index.kinds.record_index import RecordIndex
from hudi_index.lifecycle import LocalExecutor
from hudi_index.lifecycle.changes import Described, TaskNotes, as_changes
from hudi_index.lifecycle.description import Description, Target, WorkItem
from hudi_index.lifecycle.executor import Executor
from hudi_index.lifecycle.maintain import maintain
from hudi_index.lifecycle.runs import TARGET, Changes, Counts, merged, runs_of, take_counts
from hudi_index.lifecycle.tasks import changes_of
from hudi_index.lifecycle.writing import surviving_changes
from hudi_index.metadata_table import MetadataTable
from hudi_index.metadata_table.log_file import load_log_file
from hudi_index.spark.build.executor import SparkExecutor
from hudi_index.table import RECORD_KEY, ROW_POSITION, FileGroupId, FileSlice
from tests.lifecycle.test_lifecycle_on_spark import STATEMENTS
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.entries import check_indexes, stored_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hudi_index.storage import Storage


def written_changes(storage: Storage) -> dict[str, list[dict[str, Any]]]:
    """What the latest commits wrote to logs, by partition."""
    metadata_table = MetadataTable.of(storage)
    folder = storage.child(MetadataTable.folder)
    view = metadata_table.view()
    return {
        f"{name}/{shard}": [
            row for stat in file_slice.logs for row in load_log_file(folder, stat).to_pylist()
        ]
        for name, shards in view.partitions.items()
        for shard, file_slice in shards.items()
    }


@pytest.mark.spark
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_streamed_and_compared_file_groups_are_written_alike(
    table_type: str, spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(24)) + hostile_rows(range(4), salt=2))  # some keys stand twice
    IndexedTable.open(hudi.path).create_all(STATEMENTS)
    hudi.upsert(hostile_rows(range(0, 30, 4), ts=2, salt=2))
    hudi.delete(hostile_rows([1, 2]))
    executors: dict[str, Executor] = {
        "compared": LocalExecutor(),
        "streamed": LocalExecutor(rows_at_once=3),
        "streamed-by-spark": SparkExecutor(spark, rows_at_once=3),
    }
    found = {}
    for name, executor in executors.items():
        shutil.copytree(hudi.path, tmp_path / name)
        storage = IndexedTable.open(tmp_path / name).storage
        report = maintain(storage, executor)
        check_indexes(storage)
        found[name] = (stored_entries(storage), written_changes(storage), report.entries_removed)
    assert found["compared"][2] > 0
    assert found["streamed"] == found["compared"]
    assert found["streamed-by-spark"] == found["compared"]


ROWS = 4_000
BATCHES = 60


def rows(salt: int) -> Iterator[pa.RecordBatch]:
    for number in range(BATCHES):
        places = range(number * ROWS, (number + 1) * ROWS)
        yield pa.RecordBatch.from_pydict(
            {
                RECORD_KEY: [f"a rather long record key {place:09d}" for place in places],
                ROW_POSITION: pa.array(places, pa.int64()),
                "_hoodie_commit_time": [f"2026{salt + (place % 1000 == 0)}" for place in places],
            }
        )


def peak_of(tables: Iterable[object]) -> int:
    start, peak = pa.total_allocated_bytes(), 0
    for _ in tables:
        peak = max(peak, pa.total_allocated_bytes() - start)
    return peak


def large_file_group(rows_at_once: int) -> tuple[Description, WorkItem]:
    group = FileGroupId("p", "f")
    targets = (Target("files", 0, is_new=False), Target("record_index", 0, is_new=False))
    nobody = cast("Any", None)
    kinds = (RecordIndex("record_index"),)
    item = WorkItem(SliceContext(group, 7), FileSlice(group, "old"), FileSlice(group, "new"))
    description = Description(nobody, kinds, (), (item,), targets, rows_at_once=rows_at_once)
    return description, item


def test_large_file_group_is_described_in_bounded_memory() -> None:
    description, item = large_file_group(rows_at_once=2 * ROWS)
    streamed = peak_of(changes_of(description, item, rows(1), rows(2), TaskNotes()))
    description, item = large_file_group(rows_at_once=10 * BATCHES * ROWS)
    compared = peak_of(changes_of(description, item, rows(1), rows(2), TaskNotes()))
    assert streamed < compared / 5


def test_large_payloads_of_many_file_groups_are_not_held_together() -> None:
    description, _ = large_file_group(rows_at_once=ROWS)
    targets = (Target("blooms", 0, is_new=True),)
    description = replace(description, kept_kinds=(BloomFilters("blooms", ()),), targets=targets)
    size, count = 1_000_000, 100

    def described() -> Iterator[Described]:
        for number in range(count):
            payload = pa.array([{"type": "t", "bloomFilter": bytes(size)}], PAYLOADS["BloomFilterMetadata"])
            yield Described("blooms", pa.table({KEY: [f"n$p$f{number:03d}"], "BloomFilterMetadata": payload}))

    rows = 0

    def counted() -> Iterator[object]:
        nonlocal rows
        for each in as_changes(description, described(), TaskNotes()):
            rows += each.rows.num_rows
            yield each

    assert peak_of(counted()) < 0.4 * size * count
    assert rows == count


def sorted_changes() -> Iterator[pa.Table]:
    """Every entry as it is and as it was; one in a thousand is another."""
    for number in range(BATCHES):
        places = [place for place in range(number * ROWS, (number + 1) * ROWS) for _ in range(2)]
        yield pa.table(
            {
                KEY: [f"a rather long record key {place:09d}$7" for place in places],
                TYPE: pa.array(
                    [5 + (n % 2 and place % 1000 == 0) for n, place in enumerate(places)], pa.int32()
                ),
                DELETED: [n % 2 == 1 for n in range(len(places))],
            }
        )


def test_write_stage_holds_a_batch_and_drops_what_did_not_change() -> None:
    kept: list[Any] = []
    one = next(sorted_changes()).nbytes

    def consumed() -> Iterator[object]:
        for table in surviving_changes(sorted_changes()):
            kept.extend(zip(table.column(KEY).to_pylist(), table.column(DELETED).to_pylist(), strict=True))
            yield table

    assert peak_of(consumed()) < 8 * one
    assert kept == [
        (f"a rather long record key {place:09d}$7", False) for place in range(0, ROWS * BATCHES, 1000)
    ]


def test_pairs_are_found_wherever_they_come_from() -> None:
    """Of what was and what is in different runs, only what changed is written."""
    is_ = {"a": 5, "c": 5, "d": 5, "e": 6}
    was = {"a": 5, "b": 5, "c": None, "e": 5}
    changes = [
        Changes("p", _rows(is_, deleted=False)),
        Changes("p", _rows(was, deleted=True)),
        Changes("p", _rows({"d": 5}, deleted=False)),
    ]
    runs = sorted(run for each in changes for run in runs_of([each], Counts()))
    found = pa.concat_tables(surviving_changes(merged(take_counts(runs, Counts()))))
    pairs = list(zip(*(found.column(name).to_pylist() for name in (KEY, TYPE, DELETED)), strict=True))
    assert pairs == [("b", 5, True), ("c", 5, False), ("d", 5, False), ("e", 6, False)]


def _rows(entries: dict[str, Any], *, deleted: bool) -> pa.Table:
    return pa.table(
        {
            TARGET: pa.array([1] * len(entries), pa.int32()),
            KEY: list(entries),
            TYPE: pa.array(entries.values(), pa.int32()),
            DELETED: [deleted] * len(entries),
        }
    )
