"""Hudi's own indexes on Hudi 1.2.0: the rows that its data skipping loses, and its index verbs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from hudi_index.errors import HudiIndexError
from hudi_index.spark.native import NativeIndexes
from tests.parity.tables import COW, HudiTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOSING = {
    "name like 'p%'": (5, 0),
    "v > 1": (8, 7),
    "v >= 8": (3, 2),
    "v = 'NaN'": (1, 0),
    "s > 's'": (10, 8),
    "s like 's%'": (9, 0),
    "s is not null": (10, 8),
    "v < 3 or name like 'z%'": (8, 3),
    "g = 1 and v > 2": (4, 3),
}
RIGHT = ("name like 'p_0%'", "s is null", "not (v > 5)")


@pytest.fixture(scope="module")
def skipping(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    """A partitioned table, three bulk inserts, ten rows: one NaN, one text of 5,000 characters."""
    hudi = HudiTable(
        spark,
        tmp_path_factory.mktemp("native") / "t",
        COW,
        partition_by="g",
        ordering=None,
        schema="id string, g int, v double, name string, s string",
        options={"hoodie.metadata.enable": "true"},
    )
    rows = [
        {
            "id": f"k{i}",
            "g": i % 2,
            "v": math.nan if i == 3 else float(i),
            "name": f"{'p' if i in (0, 1, 2, 3, 8) else 'z'}{i}",
            "s": "x" * 5000 if i == 5 else f"s{i}",
        }
        for i in range(10)
    ]
    for part in (rows[:4], rows[4:8], rows[8:]):
        hudi.bulk_insert(part)
    return hudi


def test_predicates_that_lose_rows_are_reported_with_the_rows(
    skipping: HudiTable, spark: SparkSession
) -> None:
    before = {
        name: spark.conf.get(name, None) for name in ("hoodie.metadata.enable", "hoodie.enable.data.skipping")
    }
    native = NativeIndexes.open(spark, skipping.path)
    report = native.validate(queries=0, where=(*LOSING, *RIGHT))
    counts = {each.query: (each.rows, (each.rows or 0) - each.rows_missing) for each in report.wrong_queries}
    assert counts == LOSING
    assert [each.result for each in report.queries[len(LOSING) :]] == ["same"] * len(RIGHT)
    missing = {each.query: [json.loads(row) for row in each.missing] for each in report.wrong_queries}
    assert [row["5_id"] for row in missing["v = 'NaN'"]] == ["k3"]
    assert {row["5_id"] for row in missing["s is not null"]} == {"k5", "k7"}
    assert report.exit_code == 3
    assert any("hoodie.enable.data.skipping=false" in each for each in report.advice)
    assert report.effect["queries_pruned"] > 0
    assert before == {name: spark.conf.get(name, None) for name in before}
    # Made queries meet it too, sooner or later.
    assert any(native.validate(queries=4, seed=seed).wrong_queries for seed in range(8))


@pytest.mark.parametrize("name", ["x` ON t (id); DROP TABLE t", "a b", ""])
def test_names_never_become_other_statements(skipping: HudiTable, spark: SparkSession, name: str) -> None:
    native = NativeIndexes.open(spark, skipping.path)
    with pytest.raises(HudiIndexError):
        native.create(name, ["id"])
    with pytest.raises(HudiIndexError):
        native.create("fine", [name or "no such column` int"])
    assert skipping.read().count() == 10


def test_native_verbs_go_through_hudi(skipping: HudiTable, spark: SparkSession) -> None:
    native = NativeIndexes.open(spark, skipping.path)
    tables = [each.name for each in spark.catalog.listTables()]
    native.create("record_index", ["id"])
    native.create("by_name", ["name"], kind="secondary_index")
    assert "secondary_index_by_name" in str(native.show())
    again = native.run_statement("CREATE INDEX IF NOT EXISTS by_name ON t (name)")
    assert again.notes == ["index by_name exists already"]
    before = native.status()
    assert before.exists
    assert max(each.deepest_log for each in before.partitions) > 0
    report = native.compact()
    after = native.status()
    assert report.commit == after.last_compaction != before.last_compaction
    assert {each.partition: each.deepest_log for each in after.partitions if each.deepest_log} == {}
    assert native.validate(queries=0, where=("name = 'p1'",)).passed
    native.drop("by_name")
    assert "secondary_index_by_name" not in str(native.show())
    assert "nothing to do" in native.maintain().notes[0]
    assert [each.name for each in spark.catalog.listTables()] == tables
