"""Validation on Spark: entries are compared in tasks, queries run twice over one listing of the files."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Window, functions
from pyspark.sql.pandas.types import from_arrow_schema

from hudi_index.coverage import files
from hudi_index.entries.schema import KEY, PARTITION, TYPE
from hudi_index.errors import HudiIndexError, MissingSliceFileError, SlicesRefusedError
from hudi_index.lifecycle.description import Description, Target
from hudi_index.lifecycle.executor import raise_faults
from hudi_index.lifecycle.runs import TARGET, Run
from hudi_index.spark.build.executor import split_by_reader, tasks_for
from hudi_index.spark.build.expressions import runs_with_expressions
from hudi_index.spark.build.faults import fault_notes
from hudi_index.spark.build.slices import naming_slices, runs_of_slices
from hudi_index.spark.read.indexed import Readings
from hudi_index.spark.validate.query_parity import IndexedLooks, answers
from hudi_index.validation.comparison import Comparison, EntryDifference, difference_of
from hudi_index.validation.entries import (
    CONTENT,
    LABEL,
    NO_SHARD,
    REBUILT,
    ROWS,
    SIDE,
    STORED,
    ContentWork,
    read_stored_rows,
    rebuilt_rows,
    rebuilt_rows_of,
    rows_of,
)
from hudi_index.validation.in_process import values_by_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import MetadataTable
    from hudi_index.spark.build.faults import FaultNotes
    from hudi_index.validation.queries import Query, Subject
    from hudi_index.validation.report import QueryResult
    from hudi_index.validation.validate import Request

__all__ = ["OnSpark"]

_VALUES_WANTED = 200


@dataclass(frozen=True)
class OnSpark:
    """Runs the checks on a session."""

    spark: SparkSession
    computes_expressions: bool = True

    def compare(self, work: ContentWork, *, limit: int) -> Comparison:
        """See hudi_index.validation.Checks."""
        plan, description = work.without_items(), work.description
        shards = self._rows(list(work.shards.items()), tasks_for(self.spark, description.items))
        stored = shards.mapInArrow(_read_stored(plan), from_arrow_schema(ROWS))
        done, faults = self.spark.sparkContext.accumulator(0), fault_notes(self.spark)
        for_spark, others = split_by_reader(description)
        past = [item.context.group for item in for_spark if item.context.group in work.outdated]
        if past:
            return Comparison(gone=dict.fromkeys(past, "only Hudi on Spark reads it, and only as it is now"))
        items = self._rows(others, tasks_for(self.spark, others))
        if description.expressions:
            runs = runs_with_expressions(self.spark, plan.description, items, done, faults)
            rebuilt = runs.mapInArrow(_read_changed(plan), from_arrow_schema(ROWS))
        else:
            rebuilt = items.mapInArrow(_rebuilt(plan, faults), from_arrow_schema(ROWS))
        if for_spark:
            tasks = tasks_for(self.spark, for_spark)
            runs = runs_of_slices(self.spark, description, for_spark, tasks, done)
            # In this order: of several sessions, that of the slices counts.
            rebuilt = runs.mapInArrow(_read_changed(plan), from_arrow_schema(ROWS)).unionAll(rebuilt)
        with naming_slices(description, for_spark):
            found = self._compare(work, rebuilt.unionAll(stored), limit)
        try:
            raise_faults([each for each in faults.value if not isinstance(each, MissingSliceFileError)])
        except SlicesRefusedError as error:
            return self.compare(work.with_refused(error.refused), limit=limit)
        if faults.value:
            slices = [item.after for item in description.items if item.after is not None]
            lost = description.reader.losses(slices)
            found.gone.update({group: str(error) for group, error in lost.items()})
            if not found.gone:
                raise faults.value[0]
        return found

    def compare_with_hudi(self, state: IndexedState, *, limit: int) -> Comparison:
        """See hudi_index.validation.Checks."""
        storage = state.metadata_storage
        partitions = sorted(state.view.partitions)
        kinds = state.kinds(each for each in state.ready() if each.partition in partitions)
        # One target for all shards: Hudi does not say which one an entry is in.
        targets = tuple(Target(name, 0, is_new=False) for name in partitions)
        description = Description(state.snapshot.reader, (), kinds, (), targets)
        work = ContentWork(description, storage, {}, None, {}, {})
        shards = [
            (position, each) for position, name in enumerate(partitions) for each in state.view.slices(name)
        ]
        ours = self._rows(shards, self.spark.sparkContext.defaultParallelism).mapInArrow(
            _read_stored(work), from_arrow_schema(ROWS)
        )
        names = [
            KEY,
            PARTITION,
            TYPE,
            *sorted({files.PAYLOAD, *(p for kind in kinds for p in kind.payloads)}),
        ]
        seen = self.spark.read.format("hudi").option("hoodie.metadata.enable", "false").load(storage.location)
        theirs = seen.select(*names).mapInArrow(_seen_by_hudi(work), from_arrow_schema(ROWS))
        return self._compare(work, ours.unionAll(theirs), limit)

    def _rows(self, work: Sequence[object], tasks: int) -> DataFrame:
        pickled = [(pickle.dumps(each),) for each in work]
        rows = self.spark.sparkContext.parallelize(pickled, max(1, min(len(work), tasks)))
        return self.spark.createDataFrame(rows, "work binary")

    def _compare(self, work: ContentWork, rows: DataFrame, limit: int) -> Comparison:
        """Bring equal keys together; only notes and some of what differs come to the driver."""
        of_stored = functions.when(functions.col(SIDE) == STORED, functions.col(CONTENT))
        of_rebuilt = functions.when(functions.col(SIDE) == REBUILT, functions.col(CONTENT))
        grouped = rows.groupBy(TARGET, LABEL, KEY).agg(
            functions.count("*").alias("count"),
            functions.count(of_stored).alias("times"),
            functions.max(of_stored).alias("stored"),
            functions.min(of_stored).alias("least"),
            functions.max(of_rebuilt).alias("rebuilt"),
        )
        stored, rebuilt = functions.col("stored"), functions.col("rebuilt")
        is_note = functions.col(TARGET) == NO_SHARD
        differs = stored.isNull() | rebuilt.isNull() | (stored != rebuilt) | (functions.col("times") > 1)
        groups = Window.partitionBy(TARGET, LABEL, stored.isNull(), rebuilt.isNull())
        shown = (
            grouped.where(is_note | differs)
            .withColumn("alike", functions.count("*").over(groups))
            .withColumn("rank", functions.row_number().over(groups.orderBy(KEY)))
            .where(is_note | (functions.col("rank") <= limit))
        )
        found = Comparison()
        for row in shown.orderBy(TARGET, LABEL, KEY).collect():
            if row[TARGET] == NO_SHARD:
                found.note(row[KEY], count=row["count"])
                continue
            target = work.description.targets[row[TARGET]]
            what = difference_of(row["times"], row["stored"], row["rebuilt"])
            assert what is not None
            difference = EntryDifference(
                target.partition, target.shard, row[LABEL], row[KEY], what, row["stored"], row["rebuilt"]
            )
            # The last one shown stands for all that are not.
            rest = row["alike"] - limit if row["rank"] == limit else 0
            found.add(difference, limit=limit, count=1 + max(0, rest))
        return found

    def values_of(
        self, state: IndexedState, subjects: Sequence[Subject], *, seed: int
    ) -> dict[str, list[Any]]:
        """See hudi_index.validation.Checks."""
        found = values_by_reading(state.snapshot, subjects, seed=seed)
        missing = [each.text for each in subjects if not found.get(each.text)]
        if missing and state.snapshot.slices:
            rows = (
                Readings(self.spark, state.storage).full.selectExpr(*missing).limit(_VALUES_WANTED).collect()
            )
            found |= {text: [row[position] for row in rows] for position, text in enumerate(missing)}
        return found

    def ask(
        self, _metadata_table: MetadataTable, state: IndexedState, queries: Iterable[Query], request: Request
    ) -> Iterator[QueryResult]:
        """See hudi_index.validation.Checks."""
        return answers(self.spark, IndexedLooks(self.spark, state.storage), queries, request)


def _read_stored(work: ContentWork) -> Any:
    def stored(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for position, shard_slice in _unpickle(batches):
            yield from read_stored_rows(work, position, shard_slice)

    return stored


def _rebuilt(work: ContentWork, faults: FaultNotes) -> Any:
    def rebuilt(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for item in _unpickle(batches):
            try:
                yield from rebuilt_rows(work, item)
            except HudiIndexError as error:
                faults.add([error])

    return rebuilt


def _read_changed(work: ContentWork) -> Any:
    def changed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rebuilt_rows_of(work, (Run(**row) for batch in batches for row in batch.to_pylist()))

    return changed


def _seen_by_hudi(work: ContentWork) -> Any:
    positions = {target.partition: position for position, target in enumerate(work.description.targets)}

    def seen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = batch.column(PARTITION)
            for name in pc.unique(names).to_pylist():
                mine = pa.Table.from_batches([batch.filter(pc.equal(names, pa.scalar(str(name))))])
                target = pa.repeat(pa.scalar(positions[str(name)], pa.int32()), mine.num_rows)
                yield from rows_of(work, REBUILT, mine.append_column(TARGET, target))

    return seen


def _unpickle(batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    return (pickle.loads(data.as_buffer()) for batch in batches for data in batch.column(0))
