"""Runs a job: the contract, and a way to do it in this process.

`LocalExecutor` needs no Spark. It holds all changes in memory, so it is for small tables and for tests;
results are the same as Spark's (hudi_index.spark.executor), which spills.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from hudi_index.entries.schema import DELETED, KEY
from hudi_index.errors import UserError
from hudi_index.lifecycle.tasks import (
    METRICS,
    TARGET,
    changes_schema,
    item_changes,
    purge_of,
    runs_of,
    write_changes,
)
from hudi_index.metadata_table import compact_slice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hudi_index.lifecycle.job import Job
    from hudi_index.metadata_table import FileSlice as MetadataSlice
    from hudi_index.metadata_table import ShardWriter, WriteStat

__all__ = ["Executor", "ExpressionFacts", "JobOutcome", "LocalExecutor", "NeedsSparkError", "write_runs"]


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """What is recorded of an expression."""

    type_text: str
    """The type of its values, in Spark's words."""
    time_zone: str
    """The session's time zone, which its values may depend on."""


class NeedsSparkError(UserError):
    """An index over an expression, and no Spark to compute it."""

    def __init__(self, *, expression: str) -> None:
        self.expression = expression
        super().__init__(f"expression {expression!r} is computed by Spark: run this with a Spark session")


@dataclass
class JobOutcome:
    """What a job wrote and read."""

    stats: list[WriteStat] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, amounts: Mapping[str, int]) -> None:
        """Add to the counts."""
        for name, amount in amounts.items():
            self.counts[name] = self.counts.get(name, 0) + amount


class Executor(Protocol):
    """Somewhere to run jobs."""

    def describe_expression(self, schema: pa.Schema, sql: str, time_zone: str | None, /) -> ExpressionFacts:
        """What Spark makes of an expression over the table's columns.

        Raises:
            UserError: it can't be indexed: unknown columns, no value per row, not the same value each time.
        """
        ...

    def run(self, job: Job, purges: Mapping[int, MetadataSlice]) -> JobOutcome:
        """Make all changes of a job and write them.

        Args:
            job: What to do.
            purges: Shards to search for entries of lost slices, by place in the job's targets.
        """
        ...

    def compact(self, writer: ShardWriter, slices: Sequence[MetadataSlice]) -> list[WriteStat]:
        """Write a new base file for each slice."""
        ...


class LocalExecutor:
    """Runs jobs here and now."""

    def describe_expression(self, _schema: pa.Schema, sql: str, _time_zone: str | None, /) -> ExpressionFacts:
        """See Executor. Refuses: index and query agree on an expression because Spark computes both."""
        raise NeedsSparkError(expression=sql)

    def compact(self, writer: ShardWriter, slices: Sequence[MetadataSlice]) -> list[WriteStat]:
        """See Executor."""
        return [compact_slice(writer, piece) for piece in slices]

    def run(self, job: Job, purges: Mapping[int, MetadataSlice]) -> JobOutcome:
        """See Executor."""
        for expression in job.expressions:
            raise NeedsSparkError(expression=expression.sql)
        batches = [batch for item in job.items for batch in item_changes(job, item)]
        batches += [batch for place, piece in purges.items() for batch in purge_of(job, place, piece)]
        order: Any = [(TARGET, "ascending"), (KEY, "ascending"), (DELETED, "ascending")]
        ordered = pa.Table.from_batches(batches, schema=changes_schema(job)).sort_by(order)
        outcome = JobOutcome()
        for written in write_runs(job, ordered.combine_chunks().to_batches(), write_token="0-0-0"):
            if isinstance(written, dict):
                outcome.count(written)
            else:
                outcome.stats.append(written)
        return outcome


def write_runs(
    job: Job, batches: Iterable[pa.RecordBatch], *, write_token: str
) -> Iterator[WriteStat | dict[str, int]]:
    """Write changes sorted by target and key; yields a statistic per file, and counts."""
    for place, tables in runs_of(batches):
        if place == METRICS:
            for table in tables:
                for text in table.column(KEY).to_pylist():
                    yield json.loads(str(text))
        else:
            yield write_changes(job.writer, job.targets[place], tables, write_token=write_token)
