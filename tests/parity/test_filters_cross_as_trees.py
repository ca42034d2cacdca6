"""Six ways in which a filter's text lost rows, each with the rows of a full scan.

Catalyst's `sql()` prints no ESCAPE, local times without their offset, names like `null` without quotes, and
nothing of the settings that an expression was analysed under. Trees cross whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import IntegerType

from hudi_index import IndexedTable
from hudi_index.catalog import Catalog
from hudi_index.errors import InvalidDefinitionError, RefusedTextError, UnsupportedExpressionError
from hudi_index.jobs import JobReport
from hudi_index.spark import last_plans, read_indexed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

_ZONE = "spark.sql.session.timeZone"
_ANSI = "spark.sql.ansi.enabled"
_SIZE_OF_NULL = "spark.sql.legacy.sizeOfNull"
FIRST = datetime(2024, 11, 3, 4, tzinfo=timezone.utc)
"""Before the hour that New York has twice."""
ALMATY = datetime(2024, 12, 31, 23, tzinfo=timezone.utc)
ROWS = 24


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of one row per file group, so that each row can be refuted by itself."""
    place = tmp_path_factory.mktemp("trees") / "t"
    schema = (
        "id string, s string, at timestamp, `null` int, `true` int, `false` int, arr array<int>, p string"
    )
    rows = [
        (
            f"k{n:02}",
            ["a_b", "axb", "a/xb", "zz"][n % 4],
            (FIRST if n < 12 else ALMATY) + timedelta(minutes=30 * n),
            n,
            None if n % 3 else n,
            n % 5,
            None if n == 7 else list(range(n % 4)),
            f"p{n:02}",
        )
        for n in range(ROWS)
    ]
    frame = spark.createDataFrame(rows, schema)
    (
        frame.write.format("hudi")
        .option("hoodie.table.name", "t")
        .option("hoodie.datasource.write.recordkey.field", "id")
        .option("hoodie.datasource.write.partitionpath.field", "p")
        .option("hoodie.datasource.write.operation", "bulk_insert")
        .option("hoodie.metadata.enable", "false")
        .option("hoodie.bulkinsert.shuffle.parallelism", "2")
        .mode("overwrite")
        .save(str(place))
    )
    table = IndexedTable.open(str(place))
    for statement in (
        "CREATE INDEX stats ON t USING column_stats (s, at, `null`, `true`, `false`)",
        "CREATE INDEX sizes ON t USING column_stats (size(arr))",
        "CREATE INDEX hours ON t USING bitmap (hour(at)) OPTIONS (time_zone = 'Europe/Berlin')",
    ):
        table.sql(statement, spark=spark)
    return str(place)


@contextmanager
def settings(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def full(spark: SparkSession, path: str) -> DataFrame:
    options = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
    return spark.read.format("hudi").options(**options).load(path)


def ids(frame: DataFrame) -> list[str]:
    return sorted(row[0] for row in frame.select("id").collect())


def compared(spark: SparkSession, path: str, text: str, *, is_given: bool = True) -> tuple[list[str], int]:
    """The rows, the same with and without indexes, and how many file slices were left out.

    As a filter of a query, and as a text that is given, unless that may not be.
    """
    wanted = ids(full(spark, path).where(text))
    assert ids(read_indexed(spark, path, strict=True).where(text)) == wanted, text
    plan = last_plans(1)[0]
    if is_given:
        assert ids(read_indexed(spark, path, where=text, strict=True)) == wanted, text
    return wanted, plan.total - plan.kept


def test_escape_sign_of_like_crosses(spark: SparkSession, path: str) -> None:
    rows, left_out = compared(spark, path, "s LIKE 'a/_b' ESCAPE '/'")
    assert len(rows) == 6
    assert left_out == ROWS - 6
    assert len(compared(spark, path, "s LIKE 'a//%' ESCAPE '/'")[0]) == 6
    assert compared(spark, path, "s LIKE 'a_b'")[0] == compared(spark, path, r"s LIKE 'a\_b' OR s = 'axb'")[0]


@pytest.mark.parametrize(
    "zone",
    [
        "Australia/Lord_Howe",
        pytest.param("Europe/Berlin", marks=pytest.mark.slow),
        pytest.param("America/New_York", marks=pytest.mark.slow),
        pytest.param("Asia/Almaty", marks=pytest.mark.slow),
    ],
)
def test_instants_cross_whatever_clocks_show(zone: str, spark: SparkSession, path: str) -> None:
    # The repeated hour of New York, and one on which the zone data don't agree.
    moments = [FIRST + timedelta(minutes=30 * n) for n in (3, 4, 5, 6)] + [ALMATY + timedelta(hours=8)]
    with settings(spark, {_ZONE: zone}):
        for moment in moments:
            literal = f"TIMESTAMP'{moment:%Y-%m-%d %H:%M:%S}Z'"
            rows, left_out = compared(spark, path, f"at = {literal}")
            assert (len(rows), left_out) == (1, ROWS - 1), moment
            compared(spark, path, f"at >= {literal} AND at < {literal} + INTERVAL 1 HOUR")
        for text in ("at = '2024-11-03 01:30:00'", "date(at) = '2024-11-03'"):
            compared(spark, path, text)


@pytest.mark.parametrize(
    "changed", [{_ANSI: "true"}, {_SIZE_OF_NULL: "false"}, {"spark.sql.legacy.timeParserPolicy": "LEGACY"}]
)
def test_expression_index_is_left_out_under_other_settings(
    changed: dict[str, str], spark: SparkSession, path: str
) -> None:
    assert compared(spark, path, "size(arr) = 3")[1] > 0
    with settings(spark, changed):
        (name,) = changed
        for text in ("size(arr) = 3", "size(arr) IS NULL OR size(arr) = 1"):
            assert compared(spark, path, text)[1] == 0
            assert f"computed with {name} = Spark's default" in last_plans(1)[0].explain()


def test_function_that_hides_a_built_in_one_is_not_the_indexed_one(spark: SparkSession, path: str) -> None:
    table, other = IndexedTable.open(path), spark.newSession()
    other.udf.register("size", lambda values: 3, IntegerType())
    other.udf.register("of_my_own", lambda values: 3, IntegerType())
    rows, left_out = compared(other, path, "size(arr) = 3", is_given=False)
    assert (len(rows), left_out) == (ROWS, 0)
    with pytest.raises(RefusedTextError, match="PythonUDF"):
        read_indexed(other, path, where="size(arr) = 3")
    # Maintenance goes on computing the indexed one.
    table.sql("REBUILD INDEX sizes ON t", spark=other)
    with pytest.raises(UnsupportedExpressionError, match="none of the built-in functions"):
        table.sql("CREATE INDEX other ON t USING column_stats (of_my_own(arr))", spark=other)
    rows, left_out = compared(spark, path, "size(arr) = 3")
    assert len(rows) < ROWS
    assert left_out > 0


def test_expressions_of_a_table_are_created_under_the_same_settings(spark: SparkSession, path: str) -> None:
    table = IndexedTable.open(path)
    with settings(spark, {_ANSI: "true"}):
        with pytest.raises(InvalidDefinitionError, match=rf"another {_ANSI}.*or drop"):
            table.sql("CREATE INDEX other ON t USING column_stats (upper(s))", spark=spark)
        # Whoever maintains, the values stay what the index says.
        table.sql("REBUILD INDEX sizes ON t", spark=spark)
    assert compared(spark, path, "size(arr) = -1")[0] == ["k07"]


@pytest.mark.parametrize(
    "name",
    ["null", pytest.param("true", marks=pytest.mark.slow), pytest.param("false", marks=pytest.mark.slow)],
)
def test_column_with_the_name_of_a_constant_is_a_column(name: str, spark: SparkSession, path: str) -> None:
    pruned = 0
    for text in ("{} = 4", "{} > 20", "{} IS NULL", "{} <=> 3", "NOT ({} = 3)", "{} IN (1, 3)"):
        pruned += compared(spark, path, text.format(f"`{name}`"))[1]
    assert pruned > 0


def test_expression_is_matched_by_the_zone_that_its_tree_names(spark: SparkSession, path: str) -> None:
    with settings(spark, {_ZONE: "Europe/Berlin"}):
        rows, left_out = compared(spark, path, "hour(at) = 5")
        assert rows
        assert left_out > 0
    rows, left_out = compared(spark, path, "hour(at) = 5")
    assert rows
    assert left_out == 0


def test_index_that_would_be_computed_otherwise_is_retired_alone_and_comes_back(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    copy = tmp_path / "t"
    shutil.copytree(path, copy)
    table = IndexedTable.open(str(copy))
    catalog = Catalog(table.storage)
    meanings: dict[str, dict[str, Any] | None] = {"sizes": None, "hours": {"zone_data": "1999a"}}
    for name, meaning in meanings.items():
        old = catalog.load().definition_of(name)
        assert old.meaning is not None
        changed = replace(old, meaning=None if meaning is None else replace(old.meaning, **meaning))
        catalog.put_back(changed, index_id=old.id)
    assert compared(spark, str(copy), "size(arr) = 3")[1] == 0
    assert "REBUILD INDEX sizes" in last_plans(1)[0].explain()
    assert compared(spark, str(copy), "s = 'zz'")[1] == 18
    report = table.sql("REBUILD INDEX sizes ON t", spark=spark)
    assert isinstance(report, JobReport)
    assert any("hours is invalid" in note and "1999a" in note for note in report.notes)
    states = {each.name: each.state.value for each in table.indexes()}
    assert states == {"stats": "ready", "sizes": "ready", "hours": "invalid"}
    assert compared(spark, str(copy), "size(arr) = 3")[1] > 0
    table.sql("REBUILD INDEX hours ON t", spark=spark)
    with settings(spark, {_ZONE: "Europe/Berlin"}):
        assert compared(spark, str(copy), "hour(at) = 5")[1] > 0
    # Without Spark rows are asked of their columns, whether the expression is indexed or not.
    before = table.scan("substring(s, 1, 2) = 'zz'", ["id"]).read_all().sort_by("id")
    table.sql("CREATE INDEX heads ON t USING column_stats (substring(s, 1, 2))", spark=spark)
    assert table.scan("substring(s, 1, 2) = 'zz'", ["id"]).read_all().sort_by("id") == before
    assert table.scan("heads = 'zz'", ["id"], unfiltered=True).read_all().num_rows == before.num_rows == 6
