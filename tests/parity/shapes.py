"""Comparing the JVM-free table with Hudi on Spark: file slices by name, rows as multisets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.storage import Storage
from hudi_index.table import ROW_POSITION, Snapshot
from tests.parity.tables import HudiTable, canonical_rows, hostile_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    Rows = list[dict[str, Any]]
    MakeRows = Callable[..., Rows]
    MakeTable = Callable[..., HudiTable]


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path) -> MakeTable:
    def made(**arguments: Any) -> HudiTable:
        return HudiTable(spark, tmp_path / "table", **arguments)

    return made


def snapshot_of(table: HudiTable, as_of: str | None = None) -> Snapshot:
    return Snapshot.load(Storage.open(table.path), as_of)


def our_slices(snapshot: Snapshot) -> set[tuple[str, str, str | None, tuple[str, ...]]]:
    return {
        (s.group.partition_path, s.group.file_id, s.base_file, tuple(sorted(s.log_files)))
        for s in snapshot.slices
    }


def our_rows(snapshot: Snapshot, columns: Iterable[str]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    has_meta = snapshot.config.populates_meta_fields
    leading = ["_hoodie_record_key", "_hoodie_partition_path"] if has_meta else []
    chosen = [*leading, *columns]
    for file_slice in snapshot.slices:
        position = 0
        for batch in snapshot.reader.rows(file_slice, chosen).batches():
            expected = range(position, position + batch.num_rows)
            assert batch.column(ROW_POSITION).to_pylist() == list(expected)
            position += batch.num_rows
            for row, count in canonical_rows([batch.select(chosen)]).items():
                found[(file_slice.group.file_id, *row) if has_meta else row] += count
        assert snapshot.reader.row_count(file_slice) == position
    return found


def assert_same(table: HudiTable, as_of: str | None = None, columns: Iterable[str] | None = None) -> Snapshot:
    """Slices, rows and schema as Hudi on Spark has them."""
    snapshot = snapshot_of(table, as_of)
    theirs = table.file_slices(as_of)
    if as_of is None:
        assert our_slices(snapshot) == theirs
    else:
        assert {s[:3] for s in our_slices(snapshot)} == {s[:3] for s in theirs}
    names = list(columns or snapshot.schema.names)
    ours, spark_rows = our_rows(snapshot, names), table.rows(as_of, names)
    assert ours - spark_rows == Counter()
    assert spark_rows - ours == Counter()
    return snapshot


def history(table: HudiTable, rows: MakeRows = hostile_rows, *, deletes: bool = True) -> Snapshot:
    """Insert, update (some of it late) with new keys, delete: the short life of a table."""
    table.bulk_insert(rows(range(20), ts=1))
    late, new = rows(range(1, 20, 3), ts=0, salt=9), rows(range(20, 24), ts=2)
    table.upsert(rows(range(0, 20, 3), ts=2, salt=5) + late + new)
    if deletes:
        table.delete(rows(range(4, 9), ts=5))
    snapshot = assert_same(table)
    assert sorted(snapshot.schema.names) == sorted(table.data_columns(table.read()))
    return snapshot
