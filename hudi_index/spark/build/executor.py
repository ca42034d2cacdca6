"""Runs lifecycle jobs on Spark: Python workers read slices, Spark brings their changes to the shards.

Two stages. The first reads file groups, one after the other inside a task, and gives sorted pieces of
changes. The second gets each shard's pieces in order (spilled to disk as must be), merges them and writes its
file. For Spark a piece is bytes: no entry is ever a row of the JVM. Only file statistics come to the driver.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext

from hudi_index.jobs import progress
from hudi_index.lifecycle.executor import JobOutcome, raise_faults, write_runs
from hudi_index.lifecycle.job import ROWS_AT_ONCE
from hudi_index.lifecycle.runs import Piece, pieces_of
from hudi_index.lifecycle.tasks import all_changes, purge_of
from hudi_index.metadata_table import WriteStat, compact_slice
from hudi_index.spark.build.expressions import as_pieces, changes_with_expressions, describe_expression
from hudi_index.spark.build.faults import fault_notes
from hudi_index.spark.build.slices import naming_slices, pieces_of_slices, refuse_changed_logs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark import RDD
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

    from hudi_index.lifecycle.executor import ExpressionFacts
    from hudi_index.lifecycle.job import Job, WorkItem
    from hudi_index.metadata_table import FileSlice as MetadataSlice
    from hudi_index.metadata_table import ShardWriter
    from hudi_index.predicate.session import Settings
    from hudi_index.spark.build.faults import FaultNotes

__all__ = ["SparkExecutor", "bytes_of", "split_by_reader", "tasks_for"]

log = logging.getLogger(__name__)

_TASKS_PER_CORE = 4
_BYTES_PER_TASK = 64 * 1024 * 1024
_LEAST_BYTES_PER_TASK = 4 * 1024 * 1024


@dataclass(frozen=True)
class SparkExecutor:
    """Runs jobs on a Spark session."""

    spark: SparkSession
    rows_at_once: int = ROWS_AT_ONCE

    def run(self, job: Job, purges: Mapping[int, MetadataSlice]) -> JobOutcome:
        """See hudi_index.lifecycle.executor.Executor."""
        outcome = JobOutcome()
        if not job.items:
            return outcome
        job = replace(job, rows_at_once=self.rows_at_once)
        for_spark, others = split_by_reader(job)
        log.debug("on Spark: %d file groups by hudi-rs, %d by Hudi", len(others), len(for_spark))
        # Counts when a task ends.
        done = self.spark.sparkContext.accumulator(0)
        faults = fault_notes(self.spark)
        parts: list[RDD[Piece]] = []
        if others:
            parts.append(self._item_changes(replace(job, items=others), done, faults))
        if for_spark:
            tasks = tasks_for(self.spark, for_spark)
            # Spark begins to read here, to see how large the parts become.
            with naming_slices(job, for_spark):
                parts.append(as_pieces(pieces_of_slices(self.spark, job, for_spark, tasks, done)))
        if purges:
            parts.append(self._purge_changes(job, purges))
        # What is united passes through one more Python worker.
        pieces = parts[0] if len(parts) == 1 else self.spark.sparkContext.union(parts)
        # As many as read, or each writes one: a Python task costs more than a small shard.
        writers = min(len(job.targets), tasks_for(self.spark, job.items))
        written = shuffled(pieces, writers).mapPartitions(_write(replace(job, items=())))
        with (
            progress("build", len(job.items), "file groups", lambda: done.value),
            naming_slices(job, for_spark),
        ):
            all_written = written.collect()
        raise_faults(faults.value)
        refuse_changed_logs(job, for_spark)
        for found in all_written:
            if isinstance(found, WriteStat):
                outcome.stats.append(found)
            else:
                outcome.count(found)
        return outcome

    def compact(self, writer: ShardWriter, slices: Sequence[MetadataSlice]) -> list[WriteStat]:
        """See hudi_index.lifecycle.executor.Executor."""
        done = self.spark.sparkContext.accumulator(0)

        def work(piece: MetadataSlice) -> WriteStat:
            stat = compact_slice(writer, piece, write_token=_write_token())
            done.add(1)
            return stat

        pieces = self.spark.sparkContext.parallelize(slices, max(1, len(slices)))
        with progress("compact", len(slices), "shards", lambda: done.value):
            found: list[WriteStat] = pieces.map(work).collect()
        return found

    def _item_changes(self, job: Job, done: Accumulator[int], faults: FaultNotes) -> RDD[Piece]:
        # Items travel as rows, not inside the closure: each task gets its own only.
        plan = replace(job, items=())
        work = self.spark.sparkContext.parallelize(job.items, tasks_for(self.spark, job.items))
        if job.expressions:
            return changes_with_expressions(self.spark, plan, work, done, faults)
        return work.mapPartitions(_extract(plan, done, faults))

    def _purge_changes(self, job: Job, purges: Mapping[int, MetadataSlice]) -> RDD[Piece]:
        lost = replace(job, items=tuple(item for item in job.items if item.is_lost))
        work = self.spark.sparkContext.parallelize(list(purges.items()), len(purges))
        return work.mapPartitions(_purge(lost))

    def describe_expression(
        self, schema: pa.Schema, sql: str, time_zone: str | None, settings: Settings | None, /
    ) -> ExpressionFacts:
        """See hudi_index.lifecycle.executor.Executor."""
        return describe_expression(self.spark, schema, sql, time_zone, settings)


def bytes_of(items: Iterable[WorkItem]) -> int:
    """The size of the files that describing some file groups reads."""
    return sum(piece.size for item in items for piece in (item.before, item.after) if piece)


def tasks_for(spark: SparkSession, items: Sequence[WorkItem]) -> int:
    """How many tasks read some file groups: few where there is little to read, since each costs a worker."""
    size, cores = bytes_of(items), spark.sparkContext.defaultParallelism
    wanted = max(size // _BYTES_PER_TASK, min(cores * _TASKS_PER_CORE, size // _LEAST_BYTES_PER_TASK), cores)
    return max(1, min(len(items), int(wanted)))


def split_by_reader(job: Job) -> tuple[tuple[WorkItem, ...], tuple[WorkItem, ...]]:
    """The items whose present slices Hudi on Spark reads, and the others."""
    for_spark: list[WorkItem] = []
    others: list[WorkItem] = []
    for item in job.items:
        (for_spark if job.reason_for_spark(item) else others).append(item)
    return tuple(for_spark), tuple(others)


def shuffled(pieces: RDD[Piece], targets: int) -> RDD[Piece]:
    """Pieces, those of one target together and in order. Python workers spill what they can't hold."""
    keyed = pieces.map(lambda piece: ((piece.target, piece.low), piece.data))
    order: Any = lambda key: key  # noqa: E731  as Any: pyspark's stubs take tuples for unordered
    ordered = keyed.repartitionAndSortWithinPartitions(targets, lambda key: key[0], True, order)  # noqa: FBT003
    return ordered.map(lambda pair: Piece(pair[0][0], pair[0][1], pair[1]))


def _extract(job: Job, done: Accumulator[int], faults: FaultNotes) -> Any:
    def counted(items: Iterable[WorkItem]) -> Iterator[WorkItem]:
        for item in items:
            yield item
            done.add(1)

    return lambda items: pieces_of(all_changes(job, counted(items), lambda error: faults.add([error])))


def _purge(job: Job) -> Any:
    def purge(shards: Iterable[tuple[int, MetadataSlice]]) -> Iterator[Piece]:
        return pieces_of(each for place, piece in shards for each in purge_of(job, place, piece))

    return purge


def _write(job: Job) -> Any:
    def write(pieces: Iterable[Piece]) -> Iterator[WriteStat | dict[str, int]]:
        return write_runs(job, pieces, write_token=_write_token())

    return write


def _write_token() -> str:
    """Hudi's write token: tells the files of two attempts at the same task apart."""
    context = TaskContext.get()
    assert context is not None
    return f"{context.partitionId()}-{context.stageId()}-{context.taskAttemptId()}"
