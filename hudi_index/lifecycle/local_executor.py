"""Runs builds in this process, without Spark.

All changes are held in memory, so it is for small tables and for tests; results are the same as Spark's
(hudi_index.spark.build.executor), which spills.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_index.errors import NeedsSparkError
from hudi_index.jobs import progress
from hudi_index.lifecycle.changes import TaskNotes
from hudi_index.lifecycle.description import ROWS_AT_ONCE
from hudi_index.lifecycle.executor import raise_faults
from hudi_index.lifecycle.runs import runs_of
from hudi_index.lifecycle.tasks import all_changes, purge_of
from hudi_index.lifecycle.writing import write_held_runs
from hudi_index.metadata_table import compact_slice
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from hudi_index.errors import HudiIndexError
    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.description import Description, WorkItem
    from hudi_index.lifecycle.executor import ExpressionFacts
    from hudi_index.lifecycle.writing import TaskResult
    from hudi_index.metadata_table import ShardSlice, ShardWriter, WriteStat
    from hudi_index.predicate.session import Settings

__all__ = ["LocalExecutor"]


@dataclass(frozen=True)
class LocalExecutor:
    """Runs builds here and now."""

    rows_at_once: int = ROWS_AT_ONCE

    def describe_expression(
        self, _schema: pa.Schema, sql: str, _time_zone: str | None, _settings: Settings | None, /
    ) -> ExpressionFacts:
        """See Executor. Refuses: index and query agree on an expression because Spark computes both."""
        raise NeedsSparkError.of_expression(sql)

    def compact(self, writer: ShardWriter, slices: Sequence[ShardSlice]) -> list[WriteStat]:
        """See Executor."""
        done: list[str] = []

        def compacted(shard_slice: ShardSlice) -> WriteStat:
            stat = compact_slice(writer, shard_slice)
            done.append(stat.path)
            return stat

        with progress("compact", len(slices), "shards", lambda: len(done)):
            return each_of(compacted, slices, is_local=writer.storage.is_local)

    def run(self, build: Build) -> TaskResult:
        """See Executor."""
        _refuse_what_needs_spark(build.description)
        build = replace(build, description=replace(build.description, rows_at_once=self.rows_at_once))
        items, done = build.description.items, 0

        def counted() -> Iterator[WorkItem]:
            nonlocal done
            for item in items:
                yield item
                done += 1

        faults: list[HudiIndexError] = []
        notes = TaskNotes()
        with progress("build", len(items), "file groups", lambda: done):
            changes = list(all_changes(build.description, counted(), notes, faults.append))
        raise_faults(faults)
        for position, shard_slice in build.purges.items():
            changes += purge_of(build, position, shard_slice)
        return write_held_runs(build, sorted(runs_of(changes, notes.counts)), write_token="0-0-0")


def _refuse_what_needs_spark(description: Description) -> None:
    for expression in description.expressions:
        raise NeedsSparkError.of_expression(expression.sql)
    for item in description.items:
        reason = description.reason_for_spark(item)
        if reason and item.after:
            where = description.reader.storage.uri_of(item.after.paths[-1])
            raise NeedsSparkError(reason=f"{where} can only be read by Hudi on Spark, since {reason}")
