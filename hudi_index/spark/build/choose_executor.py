"""Work that is done before Spark would be up: jobs of this machine do it in their own process."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.lifecycle.local_executor import LocalExecutor
from hudi_index.spark.build.executor import SparkExecutor, bytes_of
from hudi_index.spark.runtime.session import LateSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.executor import Executor, ExpressionFacts
    from hudi_index.lifecycle.writing import TaskResult
    from hudi_index.metadata_table import ShardSlice, ShardWriter, WriteStat
    from hudi_index.predicate.session import Settings

__all__ = ["SmallWorkHere", "executor_on"]

log = logging.getLogger(__name__)

MOST_BYTES = 32 * 1024 * 1024
"""Of files to read: some seconds of work, and entries that fit in any process's memory."""


def executor_on(spark: SparkSession) -> Executor:
    """Runs jobs on a session; what is small, before a session that need not start."""
    on_spark = SparkExecutor(spark)
    return SmallWorkHere(on_spark) if isinstance(spark, LateSession) else on_spark


@dataclass(frozen=True)
class SmallWorkHere:
    """Runs small jobs in this process, and others on Spark."""

    on_spark: SparkExecutor

    def run(self, build: Build) -> TaskResult:
        """See hudi_index.lifecycle.executor.Executor."""
        description = build.description
        needs_spark = bool(description.expressions) or any(
            description.reason_for_spark(item) for item in description.items
        )
        is_small = bytes_of(description.items) + _sum_bytes(build.purges.values()) <= MOST_BYTES
        if needs_spark or not is_small:
            return self.on_spark.run(build)
        log.debug(
            "%d file groups of %d bytes: done here", len(description.items), bytes_of(description.items)
        )
        return LocalExecutor(self.on_spark.rows_at_once).run(build)

    def compact(self, writer: ShardWriter, slices: Sequence[ShardSlice]) -> list[WriteStat]:
        """See hudi_index.lifecycle.executor.Executor."""
        is_small = _sum_bytes(slices) <= MOST_BYTES
        return (LocalExecutor() if is_small else self.on_spark).compact(writer, slices)

    def describe_expression(
        self, schema: pa.Schema, sql: str, time_zone: str | None, settings: Settings | None, /
    ) -> ExpressionFacts:
        """See hudi_index.lifecycle.executor.Executor."""
        return self.on_spark.describe_expression(schema, sql, time_zone, settings)


def _sum_bytes(slices: Iterable[ShardSlice]) -> int:
    return sum(shard_slice.base_bytes + shard_slice.log_bytes for shard_slice in slices)
