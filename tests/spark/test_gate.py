"""The gate on Spark: what gets past the text is stopped as a plan, and nothing of it has run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from hudi_index.errors import RefusedTextError
from hudi_index.gate import check_condition
from hudi_index.spark.catalyst import gate
from tests.engine.gate.harmless import COLUMNS, HARMLESS_CONDITIONS, HARMLESS_QUERIES
from tests.engine.gate.hostile_conditions import HOSTILE_CONDITIONS
from tests.engine.gate.hostile_queries import CANARY, HOSTILE_QUERIES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def frame(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("gate") / "rows")
    spark.createDataFrame([("a", 1, "x")], "id string, n int, name string").selectExpr(
        *(
            name if name in ("id", "n", "name") else f"CAST(NULL AS {kind}) AS {name}"
            for name, _, kind in (each.partition(" ") for each in COLUMNS.split(", "))
        )
    ).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module")
def canary(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file that must not come to be, and things of the session that must stay as they are."""
    place = tmp_path_factory.mktemp("canary") / "touched"
    secrets = spark.createDataFrame([(7, "secret")], "n int, name string")
    secrets.createOrReplaceTempView("secrets")
    spark.range(3).selectExpr("CAST(id AS int) AS n").createOrReplaceTempView("victim")
    try:
        yield place
        assert not place.exists()
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        assert jvm.java.lang.System.getProperty("gate.canary") is None
        assert spark.conf.get("gate.canary", None) is None
        assert [row.n for row in spark.table("victim").orderBy("n").collect()] == [0, 1, 2]
        assert spark.table("secrets").collect()[0].name == "secret"
        names = {each.name for each in spark.catalog.listTables()}
        assert {"secrets", "victim"} <= names
        assert "canary" not in names
        assert not spark.catalog.isCached("victim")
        assert not [each.name for each in spark.catalog.listFunctions() if each.name == "evil"]
        assert not spark.catalog.databaseExists("canary")
    finally:
        spark.catalog.dropTempView("secrets")
        spark.catalog.dropTempView("victim")


# What the text's own check refuses and is no harm as a plan: the relation is ours, or Spark reads a name.
NO_HARM = {
    "TABLE t",
    "SELECT n FROM t;;",
    "SELECT n FROM t SORT BY n",
    "SELECT n FROM t WHERE",
    "WITH T AS (SELECT n FROM t) SELECT * FROM T",
    # Spark's parser makes a constant of it.
    "SELECT TIMESTAMP 'now', n FROM t",
}


def _bypassed(frame: DataFrame, text: str, *, in_query: bool) -> None:
    """The plan's own check alone, as if everything had got past that of the text."""
    found = gate._Gate.of(frame.sparkSession, text, in_query=in_query)
    if in_query:
        found.query(frame, "t")
    else:
        found.filter_rows(frame)


@pytest.mark.parametrize("in_query", [True, False], ids=["queries", "conditions"])
def test_hostile_plans_are_stopped_without_the_check_of_the_text(
    frame: DataFrame, canary: Path, in_query: bool
) -> None:
    passed, refused = set(), 0
    # Spark's parser takes seconds for those that are nested without end.
    texts = [text for text in (HOSTILE_QUERIES if in_query else HOSTILE_CONDITIONS) if len(text) < 2_000]
    for text in texts:
        try:
            _bypassed(frame, text.replace(CANARY, str(canary)), in_query=in_query)
        except RefusedTextError:
            refused += 1
        except PySparkException:
            continue  # Spark can make nothing of it
        else:
            passed.add(text)
        assert not canary.exists(), text
    assert passed == (NO_HARM if in_query else set())
    assert refused > len(texts) / 2


@pytest.mark.parametrize(
    "text",
    [
        "current_user = 'x'",
        "user = 'x'",
        "`current_timestamp` > seen",
        "`current_date` > day",
        "unix_timestamp() > n",
        "seen > 'today'",
        "day = 'Yesterday'",
        "CAST('now' AS TIMESTAMP) > seen",
        "to_date('today') > day",
        "to_timestamp('now') > seen",
        "CAST(concat('to', 'day') AS DATE) > day",
        "day > nvl(NULL, 'today')",
        "reflect('java.lang.System', 'lineSeparator') IS NULL",
    ],
)
def test_what_spark_finds_behind_a_name_is_refused(frame: DataFrame, text: str) -> None:
    with pytest.raises(RefusedTextError):
        _bypassed(frame, text, in_query=False)
    with pytest.raises(RefusedTextError):
        _bypassed(frame, f"SELECT id FROM t WHERE {text}", in_query=True)


def test_hidden_columns_are_refused(frame: DataFrame) -> None:
    with pytest.raises(RefusedTextError, match="tells of files"):
        gate.filter_rows(frame, "_metadata.file_path LIKE '%'")


def test_functions_in_the_place_of_built_in_ones_are_refused(frame: DataFrame) -> None:
    other = frame.sparkSession.newSession()
    rows = other.createDataFrame([("a", 1)], "name string, n int")
    gate.filter_rows(rows, "upper(name) = 'A'")
    other.udf.register("upper", lambda text: text)
    for check in (
        lambda: gate.filter_rows(rows, "upper(name) = 'A'"),
        lambda: gate.query(rows, "SELECT count(*) FROM t WHERE length(upper(name)) = 1", view="t"),
    ):
        with pytest.raises(RefusedTextError, match="PythonUDF"):
            check()
    gate.filter_rows(rows, "lower(name) = 'a'")
    gate.filter_rows(frame, "upper(name) = 'A'")


def test_own_functions_of_the_session_are_refused(frame: DataFrame) -> None:
    other = frame.sparkSession.newSession()
    rows = other.createDataFrame([("a",)], "name string")
    other.udf.register("evil", lambda text: text)
    for text in ("evil(name) = 'a'", "`evil`(name) = 'a'"):
        with pytest.raises(RefusedTextError, match="evil is none of"):
            _bypassed(rows, text, in_query=False)


def test_view_of_the_session_is_not_seen_and_not_hidden(frame: DataFrame, canary: Path) -> None:
    asked = gate.query(frame, "SELECT n FROM secrets", view="secrets")
    assert [row.n for row in asked.collect()] == [1]
    assert frame.sparkSession.table("secrets").collect()[0].n == 7


@pytest.mark.parametrize(
    "call", ["sum(ratio)", "avg(ratio)", "try_sum(ratio)", "sum(n * ratio)", "mean(n + 0.5D)"]
)
def test_sums_of_floating_point_numbers_are_refused(frame: DataFrame, call: str) -> None:
    with pytest.raises(RefusedTextError, match=r"floating-point.* DECIMAL"):
        gate.query(frame, f"SELECT region, {call} FROM t GROUP BY region", view="t")


def test_nesting_that_only_spark_finds_too_deep_is_refused(frame: DataFrame) -> None:
    text = "(" * 1_000 + "n = 1" + ")" * 1_000
    check_condition(text)
    with pytest.raises(RefusedTextError, match="nested too deeply"):
        gate.filter_rows(frame, text)


def test_harmless_texts_pass(frame: DataFrame) -> None:
    for text in HARMLESS_CONDITIONS:
        assert gate.filter_rows(frame, text).columns == frame.columns
        value = frame.select(gate.expression(frame.sparkSession, text).alias("value"))
        gate.check_expression(frame, text, value)
    for text in HARMLESS_QUERIES:
        gate.query(frame, text, view="t")


def test_answers_are_those_of_plain_spark(frame: DataFrame) -> None:
    spark = frame.sparkSession
    frame.createOrReplaceTempView("t")
    try:
        for text in HARMLESS_QUERIES[3:8]:
            assert gate.query(frame, text, view="t").collect() == spark.sql(text).collect()
    finally:
        spark.catalog.dropTempView("t")
