"""Writes batches to one table: finds records by its index, hands Hudi located rows, keeps all indexes up.

look      the table, its indexes, and whether this batch was committed before
lag       what the index does not describe yet: its keys are read with the batch, or it is maintained first
write     Hudi's own writer, one commit; rows are tagged inside it
index     all indexes, from what the commit says it wrote
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812  as everyone calls it

from hudi_index.arguments import check_count
from hudi_index.credentials import without_credentials
from hudi_index.errors import (
    ConflictError,
    InvalidOptionError,
    SliceRefusedError,
    UnsupportedTableError,
)
from hudi_index.lifecycle import Kept, maintain
from hudi_index.spark.build.choose_executor import executor_on
from hudi_index.spark.write.archive import archived_commits
from hudi_index.spark.write.conflicts import conflict_options
from hudi_index.spark.write.failures import meaning_of
from hudi_index.spark.write.keys import with_keys
from hudi_index.spark.write.rows import check_columns, deletes_of, tasks_of
from hudi_index.spark.write.tagging import TaskCounts, located_rows, read_for_nothing, total_of
from hudi_index.table import Timeline
from hudi_index.table.following import follow
from hudi_index.writer.batches import Batch, CommittedBatches
from hudi_index.writer.options import UNLESS_GIVEN, batch_options, write_options
from hudi_index.writer.prepare import KEYS, LAGS, costs_less_to_read, prepare, record_index_of
from hudi_index.writer.report import WriteReport
from hudi_index.writer.since import Seen
from hudi_index.writer.tags import DELETED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.storage import Storage
    from hudi_index.writer.prepare import Prepared

__all__ = ["INDEX_MODES", "IndexedWriter", "Settings"]

log = logging.getLogger(__name__)

INDEX_MODES = ("sync", "async")
_INDEX_ATTEMPTS = 3


@dataclass(frozen=True)
class Settings:
    """How batches are written."""

    options: Mapping[str, str] = field(default_factory=dict)
    """For Hudi's writer."""
    deletes: str | None = None
    """The column that is true for rows that delete their record, beside `_hoodie_is_deleted`."""
    index: str = "sync"
    """Whether the indexes are maintained in the same step, `sync`, or left to maintenance, `async`."""
    lag: str = "auto"
    """What to do about slices that the index does not describe: `read` their keys, `maintain` first, or what
    costs less."""
    keys: str | None = None
    """Whether a record key is one within the `table` or its `partition`; as the index has it if None."""
    attempts: int = 5
    """How often a batch is handed to Hudi while others commit in between."""
    tasks: int | None = None
    """How many tasks tag a batch; by its size if None."""

    def __post_init__(self) -> None:
        for name, known in (("index", INDEX_MODES), ("lag", LAGS), ("keys", (*KEYS, None))):
            value = getattr(self, name)
            if value not in known:
                reason = f"it is one of {', '.join(str(each) for each in known if each)}"
                raise InvalidOptionError(option=name, value=value, reason=reason)
        check_count("attempts", self.attempts, least=1)
        if self.tasks is not None:
            check_count("tasks", self.tasks, least=1)


@dataclass
class IndexedWriter:
    """Writes batches to one table, one after the other, and keeps what it saw of it between them."""

    spark: SparkSession
    storage: Storage
    location: str
    """The table as Spark is told it."""
    settings: Settings = field(default_factory=Settings)

    @cached_property
    def _batches(self) -> CommittedBatches:
        return CommittedBatches(partial(archived_commits, self.spark, self.location))

    @cached_property
    def _kept(self) -> Kept:
        return Kept.of(self.storage)

    def upsert(self, frame: DataFrame, batch: Batch | None = None) -> WriteReport:
        """Insert, update, move and delete records, in one commit."""
        return self._write("upsert", frame, batch)

    def delete(self, frame: DataFrame, batch: Batch | None = None) -> WriteReport:
        """Delete the records of these keys, whatever their ordering values, in one commit."""
        return self._write("delete", frame, batch)

    def _write(self, verb: str, frame: DataFrame, batch: Batch | None) -> WriteReport:
        report = WriteReport(verb, self.storage.uri)
        if batch:
            report.writer, report.batch = batch.writer, batch.batch
        # A batch without a name gets one all the same: by it the commit is known for this write's.
        noted = batch or Batch(f"once-{uuid.uuid4().hex}", "0")
        with report.phase("look"):
            state = self._kept.look()
            report.instant = self._batches.find(noted, state.snapshot.timeline) if batch else None
        if report.instant:
            report.is_repeated = True
            log.info(
                "%s: batch %s of %s is in commit %s",
                self.storage.uri,
                noted.batch,
                noted.writer,
                report.instant,
            )
            self._bring_indexes(state, report)
            return report
        # Before anything is maintained: what can't be written is refused at once.
        prepare(state, keys=self.settings.keys)
        options = UNLESS_GIVEN | write_options(state.snapshot.config, verb, self.settings.options)
        options |= conflict_options(self.spark, options)
        options |= batch_options(noted.writer, noted.batch)
        may_read = True
        while True:
            state, prepared = self._close_lag(state, verb, report, may_read=may_read)
            report.attempts += 1
            try:
                with report.phase("write"):
                    self._hand_to_hudi(verb, frame, state, prepared, options, report)
                break
            except Exception as error:
                # Whatever it was: what the timeline says is what happened.
                timeline = Timeline.load(self.storage, state.snapshot.config)
                if self._batches.find(noted, timeline):
                    report.notes.append(f"Hudi failed after the commit: {str(error).splitlines()[0]}")
                    break
                if may_read and prepared.uncovered and SliceRefusedError.__name__ in str(error):
                    may_read = False
                elif not self._begins_anew(state, timeline, report):
                    self._raise_ours(error, state, timeline)
                    raise
            with report.phase("look"):
                state = self._kept.look()
        self._note_commit(noted, state, report)
        self._bring_indexes(state, report)
        return report

    def _close_lag(
        self, state: IndexedState, verb: str, report: WriteReport, *, may_read: bool
    ) -> tuple[IndexedState, Prepared]:
        """The state to tag by, maintained first where that is asked for or costs less.

        Or where hudi-rs turned out not to read a slice, which maintenance has Hudi read.
        """
        with report.phase("lag"):
            prepared = self._prepare(state, verb)
            reads = may_read and self._reads(state, prepared) and self._is_readable(state, prepared)
            if prepared.uncovered and not reads:
                done = maintain(self.storage, executor_on(self.spark), seen=state)
                report.notes += [f"maintained first: {done.file_groups_changed} file groups", *done.notes]
                state = self._kept.look()
                prepared = self._prepare(state, verb)
            reader = state.snapshot.reader
            unreadable = [each for each in prepared.uncovered if reader.choice_of(each).reason]
            if unreadable:
                reason = (
                    f"{len(unreadable)} of its file groups are not indexed and can be read by Spark only, "
                    f"such as {unreadable[0].group}; maintain the indexes first"
                )
                raise UnsupportedTableError(uri=self.storage.uri, reason=reason)
        return state, prepared

    def _prepare(self, state: IndexedState, verb: str) -> Prepared:
        return prepare(state, keys=self.settings.keys, is_ordered=verb == "upsert")

    def _reads(self, state: IndexedState, prepared: Prepared) -> bool:
        if record_index_of(state).id not in state.describing:
            return False
        match self.settings.lag:
            case "read":
                return True
            case "maintain":
                return all(each.unsettled for each in prepared.uncovered)
            case _:
                return costs_less_to_read(state, prepared.uncovered)

    def _is_readable(self, state: IndexedState, prepared: Prepared) -> bool:
        """Whether hudi-rs reads the uncovered slices, asked now where after a failed write it is too late.

        Such a write is pending until Hudi's next one takes it back. In version 6, whose logs may grow under
        their names, maintenance leaves slices with logs alone as long.
        """
        slices = [each for each in prepared.uncovered if each.log_times]
        if not slices:
            return True
        try:
            read_for_nothing(self.spark, slices, state.snapshot.reader, prepared.tagger.ordering_types)
        except (PySparkException, Py4JJavaError) as error:
            if SliceRefusedError.__name__ not in str(error):
                raise
            return False
        return True

    def _hand_to_hudi(
        self,
        verb: str,
        frame: DataFrame,
        state: IndexedState,
        prepared: Prepared,
        options: Mapping[str, str],
        report: WriteReport,
    ) -> None:
        snapshot, tagger = state.snapshot, prepared.tagger
        if verb == "delete":
            frame = check_columns(frame, snapshot, needs_partition=tagger.by_partition, is_delete=True)
            frame = frame.withColumn(DELETED, F.lit(True))  # noqa: FBT003  pyspark's signature
        else:
            frame = check_columns(frame, snapshot, needs_partition=True, is_delete=False)
            frame = deletes_of(frame, snapshot, self.settings.deletes, options)
        counts: Any = self.spark.sparkContext.accumulator({}, TaskCounts())
        shards = state.view.state.shards.get(tagger.partition, 1)
        rows = located_rows(
            self.spark,
            with_keys(self.spark, frame, self.location, options, snapshot.config.timestamp_partition_fields),
            tagger,
            uncovered=prepared.uncovered,
            reader=snapshot.reader,
            tasks=self.settings.tasks or tasks_of(self.spark, frame, shards),
            counts=counts,
        )
        rows.write.format("hudi").options(**options).mode("append").save(without_credentials(self.location))
        report.counts = total_of(counts)

    def _raise_ours(self, error: Exception, state: IndexedState, timeline: Timeline) -> None:
        """Raise what a task or Hudi refused as the error that it is."""
        between = Seen.of(state.snapshot.timeline).changed_by(timeline)
        if meant := meaning_of(str(error), self.storage.uri, between):
            raise meant from None

    def _begins_anew(self, state: IndexedState, timeline: Timeline, report: WriteReport) -> bool:
        """Whether a failed write is worth another try: others committed since the table was looked at."""
        between = Seen.of(state.snapshot.timeline).changed_by(timeline)
        if not between or report.attempts >= self.settings.attempts:
            return False
        listed = ", ".join(between)
        report.notes.append(f"tried again: {listed} completed or undone after the table was looked at")
        log.info("%s: %s", self.storage.uri, report.notes[-1])
        return True

    def _note_commit(self, noted: Batch, state: IndexedState, report: WriteReport) -> None:
        timeline = Timeline.load(self.storage, state.snapshot.config)
        report.instant = self._batches.find(noted, timeline)
        written = next((each for each in timeline.commits if each.requested_time == report.instant), None)
        if written is None:
            return
        stats: Any = timeline.metadata_of(written).get("partitionToWriteStats") or {}
        report.file_groups = len(
            {(path, each["fileId"]) for path, all_of in stats.items() for each in all_of}
        )
        others = Seen.of(state.snapshot.timeline).written_before(written, timeline)
        if others:
            report.notes.append(
                f"{', '.join(others)} completed while this batch was written. Hudi checks that for writers "
                "that share a table by hoodie.write.concurrency.mode; a record of both may be there twice"
            )
            log.warning("%s: %s", self.storage.uri, report.notes[-1])

    def _bring_indexes(self, state: IndexedState, report: WriteReport) -> None:
        """Bring all indexes to what was written, from what the commit says of it."""
        if self.settings.index == "async":
            return
        with report.phase("index"):
            seen: IndexedState | None = None
            followed = follow(state.snapshot)
            if followed is not None:
                self._kept.snapshot = followed
                seen = replace(state, snapshot=followed)
            for attempt in range(1, _INDEX_ATTEMPTS + 1):
                try:
                    done = maintain(self.storage, executor_on(self.spark), kept=self._kept, seen=seen)
                except ConflictError as error:
                    # The rows are written, and what is not indexed is read: the next batch, or maintenance,
                    # brings the indexes on.
                    if attempt == _INDEX_ATTEMPTS:
                        report.notes.append(f"the indexes are behind: {error}")
                        log.warning("%s: %s", self.storage.uri, report.notes[-1])
                    seen = None
                else:
                    report.index_commit, report.indexes = done.commit, done.indexes
                    report.notes += done.notes
                    return
