"""Statements about indexes in an enabled session: by `sql`, and by plain `spark.sql` where asked for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from hudi_index import IndexedTable
from hudi_index.errors import UserError
from hudi_index.spark import disable, enable, last_plans, sql
from tests.parity.tables import COW, HudiTable
from tests.support.enabled import catalog_table, plans_since

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "id string, ts bigint, g int, name string"
GROUPS = 4


@pytest.fixture(scope="module")
def hudi(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    """One row in each of four file groups, and no index."""
    table = HudiTable(
        spark, tmp_path_factory.mktemp("statements") / "t", COW, partition_by="g", schema=SCHEMA
    )
    table.bulk_insert([{"id": f"k{g}", "ts": 0, "g": g, "name": f"name-{g}"} for g in range(GROUPS)])
    return table


@pytest.fixture
def name(spark: SparkSession, hudi: HudiTable) -> Iterator[str]:
    """The table's name in the catalog; its indexes are gone afterwards."""
    with catalog_table(spark, hudi.path) as made:
        yield made
    disable(spark)
    table = IndexedTable.open(hudi.path)
    for index in table.indexes():
        table.drop(index.name)


def kept(spark: SparkSession, name: str) -> list[int]:
    """What the scans of a query for one row read; nothing if none was planned."""
    before = last_plans()
    assert [row.id for row in spark.sql(f"SELECT id FROM {name} WHERE name = 'name-1'").collect()] == ["k1"]
    return [plan.kept for plan in plans_since(before)]


def told(spark: SparkSession, statement: str) -> list[dict[str, Any]]:
    """The lines that a statement answers."""
    frame = spark.sql(statement)
    assert frame.columns == ["command_output"]
    # However often the answer is looked at, the statement runs once.
    assert frame.collect() == frame.collect()
    return [json.loads(row.command_output) for row in frame.collect()]


def error_of(spark: SparkSession, statement: str) -> str:
    with pytest.raises((PySparkException, Py4JJavaError)) as failed:
        spark.sql(statement).collect()
    # Without the numbers that objects and attributes have, and without where in Spark it failed.
    return re.sub(r"(\bo|#)\d+\b", r"\1", str(failed.value)).partition("\n\tat ")[0]


@pytest.mark.parametrize("place", ["{}/", "file://{}", "{}/../t"])
def test_index_is_used_at_once_whatever_the_place_is_called(
    place: str, spark: SparkSession, hudi: HudiTable, name: str
) -> None:
    enable(spark)
    assert kept(spark, name) == []
    sql(spark, f"CREATE INDEX by_name ON hudi.`{place.format(hudi.path)}` (name)")
    assert kept(spark, name) == [1]


def test_statements_name_tables_as_queries_do(spark: SparkSession, hudi: HudiTable, name: str) -> None:
    enable(spark)
    sql(spark, f"CREATE INDEX by_name ON default.{name} (name)")
    assert kept(spark, name) == [1]
    shown = sql(spark, f"SHOW INDEXES FROM {name}")
    assert isinstance(shown, tuple)
    assert [each.name for each in shown] == ["by_name"]
    sql(spark, f"REFRESH INDEX by_name ON {name}")
    sql(spark, f"REBUILD INDEX by_name ON spark_catalog.default.{name}")
    assert kept(spark, name) == [1]
    sql(spark, f"DROP INDEX by_name ON hudi.`{hudi.path}`")
    assert kept(spark, name) == []
    spark.range(3).write.saveAsTable("a_parquet_table")
    for statement, reason in {
        "DROP INDEX by_name": "names no table",
        "SHOW INDEXES FROM nowhere": "no table nowhere in the catalog",
        "CREATE INDEX i ON a_parquet_table (id)": "is no Hudi table",
    }.items():
        with pytest.raises(UserError, match=reason):
            sql(spark, statement)
    spark.sql("DROP TABLE a_parquet_table")


def test_plain_sql_runs_statements_on_hudi_tables(spark: SparkSession, name: str) -> None:
    enable(spark, statements=True)
    assert kept(spark, name) == []
    (report,) = told(spark, f"-- one\n/* two */ create /* three */ Index by_name ON {name} (name);")
    assert (report["verb"], report["indexes"]) == ("create", ["by_name"])
    assert kept(spark, name) == [1]
    other = spark.newSession()
    assert [each["name"] for each in told(other, f"SHOW INDEXES FROM {name}")] == ["by_name"]
    assert told(spark, f"REFRESH INDEX by_name ON {name}")[0]["commit"] is None
    assert told(other, f"REBUILD INDEX by_name ON default.{name}")[0]["indexes"] == ["by_name"]
    assert "by_name" in error_of(spark, f"CREATE INDEX by_name ON {name} (name)")
    assert "nonsense" in error_of(spark, f"CREATE INDEX other ON {name} USING nonsense (name)")
    told(spark, f"DROP INDEX by_name ON {name}")
    assert told(spark, f"SHOW INDEXES FROM {name}") == []
    assert kept(spark, name) == []


def test_other_statements_and_those_of_others_are_parsed_as_ever(spark: SparkSession, name: str) -> None:
    spark.range(3).write.saveAsTable("an_unindexed_table")
    statements = [
        "CREATE INDEX i ON an_unindexed_table (id)",
        "SHOW INDEXES FROM nowhere",
        "SELECT index FROM nowhere",
        "CREATE INDEXES",
        "DROP TABLE nowhere",
    ]
    expected = [error_of(spark, each) for each in statements]
    shown = spark.sql(f"SHOW INDEXES FROM {name}").columns
    try:
        enable(spark, statements=True)
        assert [error_of(spark, each) for each in statements] == expected
        assert spark.sql("SELECT :x AS index", args={"x": 1}).collect()[0]["index"] == 1
        assert told(spark, f"SHOW INDEXES FROM {name}") == []
        # Hudi's own statements, in this session and again everywhere.
        spark.conf.set("spark.hudi_index.statements", "false")
        assert spark.sql(f"SHOW INDEXES FROM {name}").columns == shown != ["command_output"]
        spark.conf.unset("spark.hudi_index.statements")
        for end in (enable, disable):
            enable(spark, statements=True)
            assert told(spark, f"SHOW INDEXES FROM {name}") == []
            end(spark)
            assert spark.sql(f"SHOW INDEXES FROM {name}").columns == shown
            assert spark.newSession().sql(f"SHOW INDEXES FROM {name}").columns == shown
    finally:
        spark.conf.unset("spark.hudi_index.statements")
        spark.sql("DROP TABLE an_unindexed_table")
