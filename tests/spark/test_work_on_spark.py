"""What operations cost on Spark, counted: jobs, calls to the JVM, files read. It follows what is asked."""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.kind_parts.protocol import SliceContext
from hudi_index.lifecycle.description import WorkItem
from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.build.executor import tasks_for
from hudi_index.table import FileGroupId, FileSlice
from tests.parity.tables import MOR, HudiTable, hostile_rows
from tests.support.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@dataclass
class Calls:
    """What a session was asked to do."""

    jobs: int = 0
    commands: int = 0
    """py4j's, without those of Python's finalizers, which come whenever they like."""


@contextmanager
def calls(spark: SparkSession) -> Iterator[Calls]:
    found, context = Calls(), spark.sparkContext
    client = type(context._gateway._gateway_client)  # type: ignore[union-attr]
    send, sent, group = client.send_command, [], uuid.uuid4().hex
    context.setJobGroup(group, "counted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            client,
            "send_command",
            lambda self, text, *rest, **how: sent.append(text) or send(self, text, *rest, **how),
        )
        yield found
    found.commands = sum(not text.startswith("m\n") for text in sent)
    found.jobs = len(context.statusTracker().getJobIdsForGroup(group))
    context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_work_follows_what_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    seen = []
    for writes in (2, 4):
        hudi = HudiTable(spark, tmp_path / str(writes), MOR)
        for number in range(writes):
            hudi.bulk_insert(hostile_rows(range(number * 12, number * 12 + 12)))
        read_indexed(spark, hudi.path)  # what is compiled once for a session is not counted
        table = IndexedTable.open(hudi.path)
        table.create_all(["CREATE INDEX by_key ON t USING record_index (id)", "CREATE INDEX by_n ON t (n)"])
        with calls(spark) as hudis_own:
            # What Hudi starts to list the table, ours starts too, and nothing beyond.
            hudi.read().where("id = 'k0007'")._jdf.queryExecution().executedPlan().execute()
        with calls(spark) as opening, counted() as work:
            frame = read_indexed(spark, hudi.path, strict=True)
        assert work.data_files == set()
        query = frame.where("id = 'k0007'").select("id", "n")
        with calls(spark) as planning, counted() as work:
            query._jdf.queryExecution().executedPlan().execute()
        (plan,) = last_plans(1)
        assert (plan.kept, plan.error) == (1, None)
        assert work.data_files == set()
        assert opening.jobs + planning.jobs <= hudis_own.jobs
        with calls(spark) as again:
            frame.where("id = 'k0011'")._jdf.queryExecution().executedPlan().execute()
        assert again.jobs == 0
        with calls(spark) as running:
            assert query.count() == 1
        assert running.jobs <= 2  # the count and its exchange
        scan = frame.where("id = 'k0007'")
        scan.collect()
        leaf = scan._jdf.queryExecution().executedPlan().collectLeaves().head()
        assert leaf.metrics().apply("numFiles").value() == 1

        with calls(spark) as idle, counted() as work:
            assert table.maintain(spark=spark).commit is None
        assert (idle.jobs, idle.commands, work.data_files) == (0, 0, set())
        hudi.upsert(hostile_rows([7], ts=9, salt=3))
        with calls(spark) as maintaining:
            report = table.maintain(spark=spark)
        assert report.file_groups_changed == 1
        seen.append((opening.commands, planning.commands, maintaining.jobs, maintaining.commands))
    # The second table has twice as many file groups.
    assert seen[0] == seen[1]
    opened, planned, jobs, commands = seen[0]
    assert (opened <= 130, planned <= 4, jobs <= 1, commands <= 120) == (True, True, True, True), seen


def test_few_tasks_read_little_and_all_cores_are_busy(spark: SparkSession) -> None:
    cores = spark.sparkContext.defaultParallelism
    megabyte = 1024 * 1024

    def tasks(count: int, size: int) -> int:
        groups = [FileGroupId("", str(number)) for number in range(count)]
        slices = [FileSlice(group, "f.parquet", base_size=size) for group in groups]
        return tasks_for(spark, [WorkItem(SliceContext(each.group, 1), None, each) for each in slices])

    assert tasks(1, 900 * megabyte) == 1
    assert tasks(100 * cores, megabyte // 8) == cores
    assert tasks(100 * cores, megabyte // 2) == cores
    assert tasks(100 * cores, megabyte) == 3 * cores
    assert tasks(100 * cores, 2 * megabyte) == 4 * cores
    # Many bytes: no task reads more than 64 MB, if files are small.
    assert tasks(100 * cores, 64 * megabyte) == 100 * cores
