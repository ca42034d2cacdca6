"""Runs builds on Spark: Python workers read slices, Spark brings their changes to the shards.

Two stages. The first reads file groups, one after the other inside a task, and gives sorted runs of changes.
The second gets each shard's runs in order (Spark spills them to disk if there are many), merges them and
writes its file. For Spark a run is bytes: no entry is ever a row of the JVM. Only the results of tasks, which
are file statistics and counts, come to the driver.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

from hudi_index.jobs import progress
from hudi_index.lifecycle.changes import TaskNotes
from hudi_index.lifecycle.description import ROWS_AT_ONCE
from hudi_index.lifecycle.executor import raise_faults
from hudi_index.lifecycle.runs import Counts, Run, runs_of
from hudi_index.lifecycle.tasks import all_changes, purge_of
from hudi_index.lifecycle.writing import TaskResult, write_runs
from hudi_index.metadata_table import compact_slice
from hudi_index.spark.build.expressions import as_runs, changes_with_expressions, describe_expression
from hudi_index.spark.build.faults import fault_notes
from hudi_index.spark.build.slices import naming_slices, refuse_changed_logs, runs_of_slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark import RDD
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.description import Description, WorkItem
    from hudi_index.lifecycle.executor import ExpressionFacts
    from hudi_index.metadata_table import ShardSlice, ShardWriter, WriteStat
    from hudi_index.predicate.session import Settings
    from hudi_index.spark.build.faults import FaultNotes

__all__ = ["SparkExecutor", "bytes_of", "split_by_reader", "tasks_for"]

log = logging.getLogger(__name__)

_TASKS_PER_CORE = 4
_BYTES_PER_TASK = 64 * 1024 * 1024
_LEAST_BYTES_PER_TASK = 32 * 1024 * 1024


@dataclass(frozen=True)
class SparkExecutor:
    """Runs builds on a Spark session."""

    spark: SparkSession
    rows_at_once: int = ROWS_AT_ONCE

    def run(self, build: Build) -> TaskResult:
        """See hudi_index.lifecycle.executor.Executor."""
        result = TaskResult()
        description = replace(build.description, rows_at_once=self.rows_at_once)
        if not description.items:
            return result
        build = replace(build, description=description)
        for_spark, others = split_by_reader(description)
        log.debug("on Spark: %d file groups by hudi-rs, %d by Hudi", len(others), len(for_spark))
        # Counts when a task ends.
        done = self.spark.sparkContext.accumulator(0)
        faults = fault_notes(self.spark)
        parts: list[RDD[Run]] = []
        if others:
            parts.append(self._item_changes(replace(description, items=others), done, faults))
        if for_spark:
            tasks = tasks_for(self.spark, for_spark)
            # Spark begins to read here, to see how large the parts become.
            with naming_slices(description, for_spark):
                parts.append(as_runs(runs_of_slices(self.spark, description, for_spark, tasks, done)))
        if build.purges:
            parts.append(self._purge_changes(build))
        # What is united passes through one more Python worker.
        runs = parts[0] if len(parts) == 1 else self.spark.sparkContext.union(parts)
        # As many as read, or each writes one: a Python task costs more than a small shard.
        writers = min(len(description.targets), tasks_for(self.spark, description.items))
        plan = replace(build, description=description.without_items(), purges={})
        written = shuffle(runs, writers).mapPartitions(_write(plan))
        with (
            progress("build", len(description.items), "file groups", lambda: done.value),
            naming_slices(description, for_spark),
        ):
            results = written.collect()
        raise_faults(faults.value)
        refuse_changed_logs(description, for_spark)
        for each in results:
            result.add(each)
        return result

    def compact(self, writer: ShardWriter, slices: Sequence[ShardSlice]) -> list[WriteStat]:
        """See hudi_index.lifecycle.executor.Executor."""
        done = self.spark.sparkContext.accumulator(0)

        def work(shard_slice: ShardSlice) -> WriteStat:
            stat = compact_slice(writer, shard_slice, write_token=_write_token())
            done.add(1)
            return stat

        shards = self.spark.sparkContext.parallelize(slices, max(1, len(slices)))
        with progress("compact", len(slices), "shards", lambda: done.value):
            found: list[WriteStat] = shards.map(work).collect()
        return found

    def _item_changes(self, description: Description, done: Accumulator[int], faults: FaultNotes) -> RDD[Run]:
        # Items travel as rows, not inside the closure: each task gets its own only.
        plan, items = description.without_items(), description.items
        work = self.spark.sparkContext.parallelize(items, tasks_for(self.spark, items))
        if description.expressions:
            return changes_with_expressions(self.spark, plan, work, done, faults)
        return work.mapPartitions(_extract(plan, done, faults))

    def _purge_changes(self, build: Build) -> RDD[Run]:
        lost = tuple(item for item in build.description.items if item.is_lost)
        plan = replace(build, description=replace(build.description, items=lost), purges={})
        work = self.spark.sparkContext.parallelize(list(build.purges.items()), len(build.purges))
        return work.mapPartitions(_purge(plan))

    def describe_expression(
        self, schema: pa.Schema, sql: str, time_zone: str | None, settings: Settings | None, /
    ) -> ExpressionFacts:
        """See hudi_index.lifecycle.executor.Executor."""
        return describe_expression(self.spark, schema, sql, time_zone, settings)


def bytes_of(items: Iterable[WorkItem]) -> int:
    """The size of the files that describing some file groups reads; what both states have counts once."""
    return sum(map(_bytes_of_item, items))


def _bytes_of_item(item: WorkItem) -> int:
    sizes: dict[str | None, int] = {}
    for each in (item.before, item.after):
        if each:
            sizes[each.base_file] = each.base_size
            sizes.update(zip(each.log_files, each.log_sizes, strict=True))
    return sum(sizes.values())


def tasks_for(spark: SparkSession, items: Sequence[WorkItem]) -> int:
    """How many tasks read some file groups: few where there is little to read, since each costs a worker.

    Then a multiple of the cores: all of them end at about the same time.
    """
    size, cores = bytes_of(items), spark.sparkContext.defaultParallelism
    rounds = min(_TASKS_PER_CORE, size // (cores * _LEAST_BYTES_PER_TASK))
    wanted = max(size // _BYTES_PER_TASK, cores * max(1, rounds))
    return max(1, min(len(items), int(wanted)))


def split_by_reader(description: Description) -> tuple[tuple[WorkItem, ...], tuple[WorkItem, ...]]:
    """The items whose present slices Hudi on Spark reads, and the others."""
    for_spark: list[WorkItem] = []
    others: list[WorkItem] = []
    for item in description.items:
        (for_spark if description.reason_for_spark(item) else others).append(item)
    return tuple(for_spark), tuple(others)


def shuffle(runs: RDD[Run], targets: int) -> RDD[Run]:
    """Runs, those of one target together and in order. Python workers spill what they can't hold."""
    keyed = runs.map(lambda run: ((run.target, run.low), (run.data, run.rows_read)))
    order: Any = lambda key: key  # noqa: E731  as Any: pyspark's stubs take tuples for unordered
    ordered = keyed.repartitionAndSortWithinPartitions(targets, lambda key: key[0], True, order)  # noqa: FBT003
    return ordered.map(lambda pair: Run(*pair[0], *pair[1]))


def _extract(description: Description, done: Accumulator[int], faults: FaultNotes) -> Any:
    def counted(items: Iterable[WorkItem]) -> Iterator[WorkItem]:
        for item in items:
            yield item
            done.add(1)

    def extract(items: Iterable[WorkItem]) -> Iterator[Run]:
        notes = TaskNotes()
        changes = all_changes(description, counted(items), notes, lambda error: faults.add([error]))
        return runs_of(changes, notes.counts)

    return extract


def _purge(build: Build) -> Any:
    def purge(shards: Iterable[tuple[int, ShardSlice]]) -> Iterator[Run]:
        changes = (
            each for position, shard_slice in shards for each in purge_of(build, position, shard_slice)
        )
        return runs_of(changes, Counts())

    return purge


def _write(build: Build) -> Any:
    def write(runs: Iterable[Run]) -> Iterator[TaskResult]:
        yield write_runs(build, runs, write_token=_write_token())

    return write


def _write_token() -> str:
    """Hudi's write token: tells the files of two attempts at the same task apart."""
    context = TaskContext.get()
    assert context is not None
    return f"{context.partitionId()}-{context.stageId()}-{context.taskAttemptId()}"
