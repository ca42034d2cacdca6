"""Commits that are taken back while or before the indexes are maintained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index.engine import IndexedTable
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.entries import check_indexes

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = [
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX stats ON t USING column_stats (n, name)",
    "CREATE INDEX flags ON t USING bitmap (flag)",
    "CREATE INDEX record_index ON t (id)",
]


def _indexed(hudi: HudiTable) -> IndexedTable:
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS:
        table.sql(statement)
    return table


def test_restore_that_has_taken_a_commit_back_and_not_deleted_its_logs_yet(
    spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", MOR)
    hudi.bulk_insert(hostile_rows(range(12)))
    hudi.upsert(hostile_rows(range(2), ts=2, salt=1))
    table = _indexed(hudi)
    taken_back = hudi.upsert(hostile_rows(range(8), ts=3, salt=3))
    table.maintain()
    check_indexes(table.storage)
    (completed,) = (hudi.path / ".hoodie/timeline").glob(f"{taken_back}*.deltacommit")
    completed.unlink()
    assert table.maintain().file_groups_changed == 3
    check_indexes(table.storage)


@pytest.mark.parametrize("version", [6, 9])
def test_restored_table(version: int, spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", MOR, version=version)
    hudi.bulk_insert(hostile_rows(range(12)))
    savepoint = hudi.savepoint()
    table = _indexed(hudi)
    hudi.upsert(hostile_rows(range(8), ts=3, salt=3))
    table.maintain()
    check_indexes(table.storage)
    hudi.restore(savepoint)
    table.maintain()
    check_indexes(table.storage)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_table_written_anew_at_the_same_path(table_type: str, spark: SparkSession, tmp_path: Path) -> None:
    """By mode `overwrite` the indexes are gone with `.hoodie`; put back, they speak of no file group."""
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(12)))
    _indexed(hudi)
    folder = hudi.path / ".hoodie" / ".index"
    kept = folder.rename(tmp_path / "kept")
    hudi.write(hudi.frame(hostile_rows(range(12), salt=4)), "bulk_insert", mode="overwrite")
    assert not folder.exists()
    anew = IndexedTable.open(hudi.path)
    assert anew.indexes() == ()
    assert anew.plan("id = 'k0001'").kept == 3
    assert anew.maintain().commit is None

    kept.rename(folder)
    anew = IndexedTable.open(hudi.path)
    plan = anew.plan("name = 'none has this name'")
    assert (plan.kept, plan.covered) == (3, 0)
    assert anew.status().file_groups_gone == 3
    report = anew.maintain()
    assert report.notes == ["none of the indexed file groups is left: all indexes were built anew"]
    check_indexes(anew.storage)
    assert anew.plan("name = 'none has this name'").kept == 0
