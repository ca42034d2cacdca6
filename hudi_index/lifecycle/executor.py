"""Runs a job: the contract, and a way to do it in this process.

`LocalExecutor` needs no Spark. It holds all changes in memory, so it is for small tables and for tests;
results are the same as Spark's (hudi_index.spark.build.executor), which spills.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from hudi_index.errors import (
    HudiIndexError,
    NeedsSparkError,
    SliceRefusedError,
    SlicesRefusedError,
)
from hudi_index.jobs import progress
from hudi_index.lifecycle.job import ROWS_AT_ONCE
from hudi_index.lifecycle.runs import METRICS, merged, pieces_of, targets_of
from hudi_index.lifecycle.tasks import all_changes, purge_of
from hudi_index.lifecycle.writing import write_changes
from hudi_index.metadata_table import compact_slice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from hudi_index.lifecycle.job import Job, WorkItem
    from hudi_index.lifecycle.runs import Piece
    from hudi_index.metadata_table import FileSlice as MetadataSlice
    from hudi_index.metadata_table import ShardWriter, WriteStat
    from hudi_index.predicate.catalyst.meaning import Meaning
    from hudi_index.predicate.session import Settings
    from hudi_index.table import SliceIdentity

__all__ = [
    "Executor",
    "ExpressionFacts",
    "JobOutcome",
    "LocalExecutor",
    "raise_faults",
    "write_runs",
]


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """What is recorded of an expression."""

    type_text: str
    """The type of its values, in Spark's words."""
    time_zone: str
    """The session's time zone, which its values may depend on."""
    meaning: Meaning
    """What Spark made of its text."""


def raise_faults(faults: Sequence[HudiIndexError]) -> None:
    """Raise what kept file groups from being described: refusals together, anything else first."""
    refused: dict[SliceIdentity, str] = {}
    for fault in faults:
        if not isinstance(fault, SliceRefusedError) or fault.identity is None:
            raise fault
        refused[fault.identity] = fault.reason
    if refused:
        raise SlicesRefusedError(refused=refused)


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

    def describe_expression(
        self, schema: pa.Schema, sql: str, time_zone: str | None, settings: Settings | None, /
    ) -> ExpressionFacts:
        """What Spark makes of an expression over the table's columns.

        Args:
            schema: The table's.
            sql: The expression.
            time_zone: To compute it in; the session's if None.
            settings: To compute it under; the session's if None.

        Raises:
            UserError: it can't be indexed: unknown columns, no value per row, not the same value each time.
        """
        ...

    def run(self, job: Job, purges: Mapping[int, MetadataSlice]) -> JobOutcome:
        """Make all changes of a job and write them.

        Args:
            job: What to do.
            purges: Shards to search for entries of lost slices, by place in the job's targets.

        Raises:
            SlicesRefusedError: slices that are for Spark, which nobody knew before; nothing written counts.
        """
        ...

    def compact(self, writer: ShardWriter, slices: Sequence[MetadataSlice]) -> list[WriteStat]:
        """Write a new base file for each slice."""
        ...


@dataclass(frozen=True)
class LocalExecutor:
    """Runs jobs here and now."""

    rows_at_once: int = ROWS_AT_ONCE

    def describe_expression(
        self, _schema: pa.Schema, sql: str, _time_zone: str | None, _settings: Settings | None, /
    ) -> ExpressionFacts:
        """See Executor. Refuses: index and query agree on an expression because Spark computes both."""
        raise NeedsSparkError.of_expression(sql)

    def compact(self, writer: ShardWriter, slices: Sequence[MetadataSlice]) -> list[WriteStat]:
        """See Executor."""
        found: list[WriteStat] = []
        with progress("compact", len(slices), "shards", lambda: len(found)):
            for piece in slices:
                stat = compact_slice(writer, piece)
                found.append(stat)
        return found

    def run(self, job: Job, purges: Mapping[int, MetadataSlice]) -> JobOutcome:
        """See Executor."""
        for expression in job.expressions:
            raise NeedsSparkError.of_expression(expression.sql)
        for item in job.items:
            reason = job.reason_for_spark(item)
            if reason and item.after:
                where = job.reader.storage.uri_of(item.after.paths[-1])
                raise NeedsSparkError(reason=f"{where} can only be read by Hudi on Spark, since {reason}")
        job = replace(job, rows_at_once=self.rows_at_once)
        done = 0

        def counted() -> Iterator[WorkItem]:
            nonlocal done
            for item in job.items:
                yield item
                done += 1

        faults: list[HudiIndexError] = []
        with progress("build", len(job.items), "file groups", lambda: done):
            changes = list(all_changes(job, counted(), faults.append))
        raise_faults(faults)
        changes += [each for place, piece in purges.items() for each in purge_of(job, place, piece)]
        outcome = JobOutcome()
        for written in write_runs(job, sorted(pieces_of(changes)), write_token="0-0-0"):
            if isinstance(written, dict):
                outcome.count(written)
            else:
                outcome.stats.append(written)
        return outcome


def write_runs(
    job: Job, pieces: Iterable[Piece], *, write_token: str
) -> Iterator[WriteStat | dict[str, int]]:
    """Write sorted pieces of changes; yields a statistic per file, and counts."""
    for place, mine in targets_of(pieces):
        if place == METRICS:
            yield from (json.loads(piece.data) for piece in mine)
        else:
            written = write_changes(job.writer, job.targets[place], merged(mine), write_token=write_token)
            if written:
                yield written
