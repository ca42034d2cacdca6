"""Runs lifecycle jobs on Spark: Python workers read slices, Spark shuffles and sorts their changes.

Two stages. The first reads file groups, one after the other inside a task, and streams changes out. The
second gets each shard's changes sorted by key (Spark spills them to disk as it must) and writes its file.
Only file statistics come to the driver.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.pandas.types import from_arrow_schema

from hudi_index.entries.schema import DELETED, KEY
from hudi_index.lifecycle.executor import JobOutcome, write_runs
from hudi_index.lifecycle.tasks import TARGET, changes_schema, item_changes, purge_of
from hudi_index.metadata_table import WriteStat, compact_slice
from hudi_index.spark.expressions import changes_with_expressions, describe_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.lifecycle.executor import ExpressionFacts
    from hudi_index.lifecycle.job import Job
    from hudi_index.metadata_table import FileSlice as MetadataSlice
    from hudi_index.metadata_table import ShardWriter

__all__ = ["SparkExecutor"]

_TASKS_PER_CORE = 4
_BYTES_PER_TASK = 64 * 1024 * 1024


@dataclass(frozen=True)
class SparkExecutor:
    """Runs jobs on a Spark session."""

    spark: SparkSession

    def run(self, job: Job, purges: Mapping[int, MetadataSlice]) -> JobOutcome:
        """See hudi_index.lifecycle.executor.Executor."""
        outcome = JobOutcome()
        if not job.items:
            return outcome
        changes = self._item_changes(job)
        if purges:
            changes = changes.union(self._purge_changes(job, purges))
        written = (
            changes.repartition(len(job.targets), TARGET)
            .sortWithinPartitions(TARGET, KEY, DELETED)
            .mapInArrow(_write(replace(job, items=())), "written string")
        )
        for row in written.collect():
            found = json.loads(row["written"])
            if "file_id" in found:
                outcome.stats.append(WriteStat(**found))
            else:
                outcome.count(found)
        return outcome

    def compact(self, writer: ShardWriter, slices: Sequence[MetadataSlice]) -> list[WriteStat]:
        """See hudi_index.lifecycle.executor.Executor."""

        def work(piece: MetadataSlice) -> WriteStat:
            return compact_slice(writer, piece, write_token=_write_token())

        pieces = self.spark.sparkContext.parallelize(slices, max(1, len(slices)))
        found: list[WriteStat] = pieces.map(work).collect()
        return found

    def _tasks_for(self, job: Job) -> int:
        size = sum(piece.size for item in job.items for piece in (item.before, item.after) if piece)
        cores = self.spark.sparkContext.defaultParallelism
        wanted = max(size // _BYTES_PER_TASK, cores * _TASKS_PER_CORE)
        return max(1, min(len(job.items), int(wanted)))

    def _item_changes(self, job: Job) -> DataFrame:
        # Items travel as rows, not inside the closure: each task gets its own only.
        plan = replace(job, items=())
        work = self._as_rows(job.items, self._tasks_for(job))
        if job.expressions:
            return changes_with_expressions(self.spark, plan, work)
        return work.mapInArrow(_extract(plan), from_arrow_schema(changes_schema(plan)))

    def _purge_changes(self, job: Job, purges: Mapping[int, MetadataSlice]) -> DataFrame:
        lost = replace(job, items=tuple(item for item in job.items if item.is_lost))
        work = self._as_rows(list(purges.items()), len(purges))
        return work.mapInArrow(_purge(lost), from_arrow_schema(changes_schema(lost)))

    def _as_rows(self, work: Sequence[object], tasks: int) -> DataFrame:
        rows = self.spark.sparkContext.parallelize([(pickle.dumps(each),) for each in work], tasks)
        return self.spark.createDataFrame(rows, "work binary")

    def describe_expression(self, schema: pa.Schema, sql: str, time_zone: str | None, /) -> ExpressionFacts:
        """See hudi_index.lifecycle.executor.Executor."""
        return describe_expression(self.spark, schema, sql, time_zone)


def _extract(job: Job) -> Any:
    def extract(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for item in _unpickled(batches):
            yield from item_changes(job, item)

    return extract


def _purge(job: Job) -> Any:
    def purge(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place, piece in _unpickled(batches):
            yield from purge_of(job, place, piece)

    return purge


def _unpickled(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    return (pickle.loads(data.as_buffer()) for batch in batches for data in batch.column(0))


def _write(job: Job) -> Any:
    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for written in write_runs(job, batches, write_token=_write_token()):
            text = json.dumps(written if isinstance(written, dict) else asdict(written))
            yield pa.RecordBatch.from_pydict({"written": [text]})

    return write


def _write_token() -> str:
    """Hudi's write token: tells the files of two attempts at the same task apart."""
    context = TaskContext.get()
    assert context is not None
    return f"{context.partitionId()}-{context.stageId()}-{context.taskAttemptId()}"
