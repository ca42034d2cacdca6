"""Indexed columns that change: plans stop asking at once, the next maintenance says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index.catalog import IndexState
from hudi_index.engine import IndexedTable
from hudi_index.errors import UnknownColumnError
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.entries import check_indexes

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OVER_N = {
    "by_n": "CREATE INDEX by_n ON t (n)",
    "stats": "CREATE INDEX stats ON t USING column_stats (n, ratio)",
    "blooms": "CREATE INDEX blooms ON t USING bloom_filters (n)",
    "numbers": "CREATE INDEX numbers ON t USING bitmap (n)",
    "twice": "CREATE INDEX twice ON t USING secondary_index (n * 2)",
}
OTHERS = {
    "by_name": "CREATE INDEX by_name ON t (name)",
    "more_stats": "CREATE INDEX more_stats ON t USING column_stats (name)",
}


def _with_indexes(hudi: HudiTable, *, functional: bool) -> IndexedTable:
    table = IndexedTable.open(hudi.path)
    for name, statement in (OTHERS | OVER_N).items():
        if functional or name != "twice":
            table.sql(statement, spark=hudi.spark if name == "twice" else None)
    return table


def _evolve(spark: SparkSession, path: Path, change: str) -> None:
    """ALTER TABLE by schema-on-read."""
    spark.sql("drop table if exists evolving")
    spark.sql(f"create table evolving using hudi location '{path}'")
    settings = {
        "hoodie.schema.on.read.enable": "true",
        "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
        "hoodie.metadata.enable": "false",
        "hoodie.embed.timeline.server": "false",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        spark.sql(f"alter table evolving {change}")
    finally:
        for name in settings:
            spark.conf.unset(name)
        spark.sql("drop table evolving")


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_widened_column(table_type: str, spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(12)))
    table = _with_indexes(hudi, functional=True)
    schema = hudi.schema.replace(" n int,", " n bigint,")
    HudiTable(spark, hudi.path, table_type, schema=schema).upsert(
        [{**row, "n": 1 << 40} for row in hostile_rows(range(12), ts=6)]
    )
    assert table.plan(f"n = {1 << 40}").kept == 3
    assert set(table.plan("n = 1").unusable) == OVER_N.keys()
    report = table.maintain(spark=spark)
    assert {each.name for each in table.indexes() if each.state is IndexState.INVALID} == OVER_N.keys()
    assert len(report.notes) == len(OVER_N)
    assert all(
        "column 'n' was int32 when it was indexed and is int64 in this snapshot" in note
        for note in report.notes
    )
    assert {each.reason for each in table.indexes() if each.name in OVER_N} == {
        "column 'n' was int32 when it was indexed and is int64 in this snapshot"
    }
    for name in OVER_N:
        table.sql(f"REBUILD INDEX {name} ON t", spark=spark)
    assert {each.state for each in table.indexes()} == {IndexState.READY}
    check_indexes(table.storage)
    assert table.plan(f"n = {1 << 40}").kept == 3
    assert table.plan("n = 1").kept == 0


@pytest.mark.parametrize("change", ["drop column n", "rename column n to m"])
def test_column_dropped_or_renamed_by_schema_on_read(
    change: str, spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(12)))
    table = _with_indexes(hudi, functional=False)
    _evolve(spark, hudi.path, change)
    over_n = OVER_N.keys() - {"twice"}
    assert set(table.plan("name = 'ascii'").unusable) == over_n
    table.maintain()
    states = {each.name: each.state for each in table.indexes()}
    assert {name for name, state in states.items() if state is IndexState.INVALID} == over_n
    assert all("n" in (each.reason or "") for each in table.indexes() if each.name in over_n)
    with pytest.raises(UnknownColumnError):
        table.sql("REBUILD INDEX by_n ON t")
    # A refused rebuild leaves it as it was.
    assert {each.name: each.state for each in table.indexes()} == states
