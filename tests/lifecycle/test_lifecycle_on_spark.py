"""Indexes of all kinds kept in step with real Hudi tables through every operation: stored == rebuilt."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from hudi_index.engine import IndexedTable
from hudi_index.entries import encode_value
from hudi_index.errors import NeedsSparkError, UserError
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.decoding import decode_value
from tests.support.entries import check_indexes, stored_entries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = [
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX by_city_and_n ON t (address.city, n) OPTIONS (shards = 2)",
    "CREATE INDEX by_price ON t USING secondary_index (price)",
    "CREATE INDEX stats ON t USING column_stats (ratio, small, name, born, seen, price, address.zip)",
    "CREATE INDEX blooms ON t USING bloom_filters (big, raw)",
    "CREATE INDEX record_index ON t (id)",
    "CREATE INDEX flags ON t USING bitmap (flag, day)",
    "CREATE INDEX grams ON t USING ngram (name, address.city)",
    "CREATE INDEX tagged ON t USING array (tags)",
]
FUNCTIONAL = [
    "CREATE FUNCTION INDEX shout ON t USING secondary_index (upper(name))",
    "CREATE INDEX hours ON t USING bitmap (hour(seen)) OPTIONS (time_zone = 'America/New_York')",
    "CREATE INDEX day_of ON t (date_format(seen, 'yyyy-MM-dd')) OPTIONS (time_zone = 'Asia/Tokyo')",
    "CREATE INDEX cost ON t USING bloom_filters (price + price * 2)",
    "CREATE INDEX zip_text ON t USING secondary_index (cast(address.zip AS string))",
]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_random_history_keeps_all_kinds_equal_to_a_rebuild(
    table_type: str, spark: SparkSession, tmp_path: Path
) -> None:
    chance = random.Random(table_type)
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(24)))
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS:
        table.sql(statement, spark=spark if "name" in statement else None)
    check_indexes(table.storage)

    rows = lambda salt: hostile_rows(chance.sample(range(40), 8), ts=salt, salt=salt)  # noqa: E731
    operations: list[Callable[[int], object]] = [
        lambda salt: hudi.upsert(rows(salt)),
        lambda salt: hudi.delete(rows(salt)[:4]),
        lambda salt: hudi.bulk_insert(rows(salt)[:3]),  # record keys that stand twice
        lambda salt: hudi.insert_overwrite([row for row in rows(salt) if row["region"] == "eu"]),
        lambda _: hudi.cluster(),
        lambda _: hudi.compact() if table_type == MOR else hudi.clean(),
        lambda salt: hudi.crash_a_write(rows(salt)),
        lambda salt: hudi.upsert(rows(salt)),  # rolls the crashed one back
        lambda _: hudi.delete_partition("us"),
        lambda salt: hudi.upsert(rows(salt)),
        lambda _: hudi.clean(),
    ]
    for salt, operation in enumerate(operations, start=2):
        operation(salt)
        if chance.random() < 0.3:
            continue  # the next run catches up with both
        report = table.maintain(spark=spark if salt % 3 == 0 else None)
        assert report.file_groups_changed == 0 or report.commit
        check_indexes(table.storage)
    table.maintain()
    check_indexes(table.storage)
    assert table.maintain().commit is None
    table.compact(force=True, spark=spark)
    check_indexes(table.storage)
    assert table.status().is_fresh


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_indexes_over_expressions_hold_what_spark_computes(
    table_type: str, spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(24)))
    table = IndexedTable.open(hudi.path)
    table.sql("CREATE INDEX by_name ON t (name)")
    for statement in FUNCTIONAL:
        table.sql(statement, spark=spark)
    hudi.upsert(hostile_rows(range(0, 30, 4), ts=2, salt=2))
    hudi.delete(hostile_rows([1, 2]))
    with pytest.raises(NeedsSparkError, match="run this with a Spark session"):
        table.maintain()
    report = table.maintain(spark=spark)
    assert report.file_groups_changed >= 3
    check_indexes(table.storage)
    stored = stored_entries(table.storage)

    # The same expressions in plain SQL over the table, under the index's time zone.
    def values(sql: str, zone: str = "UTC") -> list[tuple[Any, str, str]]:
        before = str(spark.conf.get("spark.sql.session.timeZone"))
        spark.conf.set("spark.sql.session.timeZone", zone)
        try:
            rows = (
                hudi.read().selectExpr("id", f"{sql} AS value", "_hoodie_partition_path AS region").collect()
            )
        finally:
            spark.conf.set("spark.sql.session.timeZone", before)
        return [(row["value"], row["id"], row["region"]) for row in rows]

    whole = {key.rpartition("$")[0] for key in stored["func_index_shout"] if "%~" not in key}
    names = [(value, key) for value, key, _ in values("upper(name)") if value is None or len(value) <= 1000]
    assert whole == {f"{encode_value(value, pa.string())}${key}" for value, key in names}
    hours: Counter[tuple[object, str]] = Counter()
    for key, entry in stored["func_index_hours"].items():
        label, value, region, _ = key.split("$")
        assert label == "hours"
        positions = BitMap.deserialize(entry["BitmapIndexMetadata"]["bitmap"])
        hours[decode_value(value, pa.int32()), region] += len(positions)
    assert hours == Counter((value, region) for value, _, region in values("hour(seen)", "America/New_York"))
    days = [value for value, _, _ in values("date_format(seen, 'yyyy-MM-dd')", "Asia/Tokyo") if value]
    bounds = [entry["ColumnStatsMetadata"] for entry in stored["func_index_day_of"].values()]
    # A file group of nulls only has no bounds.
    assert min(each["minValue"] for each in bounds if each["minValue"]) == min(days)
    assert max(each["maxValue"] for each in bounds if each["maxValue"]) == max(days)
    assert sum(each["nullCount"] for each in bounds) == len(values("seen")) - len(days)
    # A rebuild from nothing holds the same entries.
    table.sql("REBUILD INDEX hours ON t", spark=spark)
    assert stored_entries(table.storage) == stored


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("nope(name)", "none of the built-in functions"),
        ("upper(nmae)", "nmae"),
        ("shuffle(tags)", "same value for the same row"),
        ("count(n)", "aggregate"),
        ("struct(n, name)", "no order"),
        ("map(name, n)", "no order"),
    ],
)
def test_expression_that_cannot_be_indexed_is_refused_with_the_reason(
    expression: str, reason: str, spark: SparkSession, trips: IndexedTable
) -> None:
    with pytest.raises(UserError, match=reason):
        trips.sql(f"CREATE INDEX i ON t ({expression})", spark=spark)
    assert trips.indexes() == ()


@pytest.fixture(scope="module")
def trips(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    hudi = HudiTable(spark, tmp_path_factory.mktemp("trips") / "t", COW)
    hudi.bulk_insert(hostile_rows(range(6)))
    return IndexedTable.open(hudi.path)
