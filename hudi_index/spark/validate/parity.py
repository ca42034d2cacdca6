"""Two DataFrames compared as multisets, without bringing either to the driver.

Each row becomes one text of all its values; texts are counted by their digest on both sides. Only counts
come back, and of the rows that differ as many as a report shows. Predicates over one table are compared many
at a time: one full scan puts each row to all of them. Under Spark's own pruning and reuse two
scans of the same rows were seen to disagree, or a second scan may not run at all, so both are off meanwhile.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import Window, functions

from hudi_index.errors import UserError
from hudi_index.spark.catalyst import gate
from hudi_index.spark.runtime.session import HUDI_BUNDLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = [
    "ORACLE",
    "RowDifference",
    "compare_predicates",
    "compare_rows",
    "refuse_without_hudi",
    "session_settings",
]

ORACLE = {
    "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
    "spark.sql.parquet.filterPushdown": "false",
    # Else the second side of a comparison may be served by the exchange of the first.
    "spark.sql.exchange.reuse": "false",
    "spark.sql.execution.reuseSubquery": "false",
}
"""What a full scan has to be asked with to be a full scan."""


_QUERY = "query"


@dataclass
class RowDifference:
    """What two answers have in common, and what not."""

    rows: int = 0
    """Rows of the full answer."""
    missing: int = 0
    extra: int = 0
    missing_rows: list[str] = field(default_factory=list)
    extra_rows: list[str] = field(default_factory=list)


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Settings of the session for a while; then all are as they were, the unset ones unset."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def refuse_without_hudi(spark: SparkSession) -> None:
    """Raises UserError where the session can't read Hudi tables."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.loadClass("org.apache.hudi.HoodieFileIndex")
    except Py4JJavaError as error:
        raise UserError(
            f"queries are compared through Hudi on Spark, which this session does not have: "
            f"spark-submit --packages {HUDI_BUNDLE} …"
        ) from error


def compare_rows(pruned: DataFrame, full: DataFrame, *, limit: int) -> RowDifference:
    """Compare two answers to one question."""
    return _compare(_texts(pruned, 0, 1).unionAll(_texts(full, 1, 0)), 1, limit)[0]


def compare_predicates(
    pruned: Sequence[DataFrame], full: DataFrame, predicates: Sequence[str], *, limit: int
) -> list[RowDifference]:
    """Compare the answers to several predicates with what one scan of all rows says of them.

    Args:
        pruned: For each predicate the rows that were found.
        full: All rows.
        predicates: Of the same columns, each computed from one row alone.
        limit: Most rows that are named.
    """
    spark = full.sparkSession
    matching = functions.array(
        *(functions.when(gate.expression(spark, text), position) for position, text in enumerate(predicates))
    )
    found = functions.filter(matching, lambda position: position.isNotNull())
    asked = functions.explode(functions.when(functions.size(found) > 0, found))
    sides = _texts(full, 1, 0, asked)
    for position, rows in enumerate(pruned):
        sides = sides.unionAll(_texts(rows, 0, 1, functions.lit(position)))
    return _compare(sides, len(predicates), limit)


def _compare(sides: DataFrame, questions: int, limit: int) -> list[RowDifference]:
    """What the texts of both sides have in common, question by question."""
    counted, found = _count(sides), [RowDifference() for _ in range(questions)]
    for row in _totals(counted).collect():
        found[row[_QUERY]] = RowDifference(row["full"], row["missing"], row["extra"])
    if any(each.missing or each.extra for each in found):
        position = functions.row_number().over(Window.partitionBy(_QUERY).orderBy("text"))
        different = counted.where(_surplus() != 0).withColumn("rank", position)
        for row in different.where(functions.col("rank") <= limit).orderBy(_QUERY, "text").collect():
            mine = found[row[_QUERY]]
            (mine.missing_rows if row["full"] > row["pruned"] else mine.extra_rows).append(row["text"])
    return found


def _count(sides: DataFrame) -> DataFrame:
    """How often each text comes, by question and side."""
    return sides.groupBy(_QUERY, functions.md5("text").alias("digest")).agg(
        functions.sum("full").alias("full"),
        functions.sum("pruned").alias("pruned"),
        functions.first("text").alias("text"),
    )


def _surplus() -> Column:
    return functions.col("full") - functions.col("pruned")


def _totals(counted: DataFrame) -> DataFrame:
    """One row for each question that has any."""
    zero = functions.lit(0)
    return counted.groupBy(_QUERY).agg(
        functions.sum("full").alias("full"),
        functions.sum(functions.greatest(_surplus(), zero)).alias("missing"),
        functions.sum(functions.greatest(-_surplus(), zero)).alias("extra"),
    )


def _texts(frame: DataFrame, full: int, pruned: int, query: Column | None = None) -> DataFrame:
    # By place: a statement's columns may share a name. Null fields stay, so that rows of nulls differ.
    names = frame.columns
    asked = functions.lit(0) if query is None else query
    numbered = frame.select("*", asked.alias(_QUERY)).toDF(
        *(f"{position}_{name}" for position, name in enumerate(names)), _QUERY
    )
    fields = [functions.col(f"`{position}_{name.replace('`', '``')}`") for position, name in enumerate(names)]
    row = (
        functions.to_json(functions.struct(*fields), {"ignoreNullFields": "false"})
        if names
        else functions.lit("{}")
    )
    return numbered.select(
        _QUERY, row.alias("text"), functions.lit(full).alias("full"), functions.lit(pruned).alias("pruned")
    )
