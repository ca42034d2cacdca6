"""What a batch costs, counted: how often its rows are tagged, Spark jobs, listings of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.spark.write.tagging import TaskCounts
from hudi_index.spark.write.verbs import writer_of
from hudi_index.spark.write.writer import Settings
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.counting import counted

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOBS = {COW: 7, MOR: 6}
"""Shuffling by key, counting located rows, writing them, two for markers, one for all indexes; and one that
looks for small files to put new records into, which the merge-on-read table has none of."""


def _jobs(spark: SparkSession) -> int:
    """Jobs so far."""
    context: Any = spark.sparkContext
    return int(context._jsc.sc().dagScheduler().nextJobId())


def _tagged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Gets the number of each task whenever one has tagged its rows."""
    found: list[int] = []
    add = TaskCounts.addInPlace

    def adding(self: TaskCounts, one: dict[int, Any], two: dict[int, Any]) -> dict[int, Any]:
        found.extend(two)
        return add(self, one, two)

    monkeypatch.setattr(TaskCounts, "addInPlace", adding)
    return found


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_batch_is_tagged_once_and_the_table_listed_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str
) -> None:
    made = HudiTable(spark, tmp_path / "t", table_type)
    made.bulk_insert(hostile_rows(range(24)))
    IndexedTable.open(made.path).create_all(
        ["CREATE INDEX records ON t USING record_index (id)", "CREATE INDEX names ON t (name)"], spark=spark
    )
    options = {
        name: value for name, value in made.write_options.items() if "parallelism" in name or "small" in name
    }
    options |= {"hoodie.embed.timeline.server": "false", "hoodie.clean.automatic": "false"}
    writer = writer_of(spark, made.path.as_posix(), Settings(options, tasks=2), None)
    tagged = _tagged(monkeypatch)
    for turn in range(3):
        tagged.clear()
        before = _jobs(spark)
        with counted() as work:
            report = writer.upsert(made.frame(hostile_rows(range(8, 28), ts=2 + turn, salt=turn)))
        assert sorted(tagged) == [0, 1]
        assert report.counts.rows == 20
        assert (report.counts.updated, report.counts.inserted) == ((20, 0) if turn else (16, 4))
        assert _jobs(spark) - before <= JOBS[table_type]
        # Once, to see what others did; what this batch wrote is known from its commit.
        assert (work.table_listings, work.table_looks) == ((0, 1) if turn else (1, 0))
