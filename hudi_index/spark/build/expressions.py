"""Index expressions on Spark: what they are, and their values beside the rows of slices.

Spark itself computes an expression, for the index as for the query, so both agree on what it means. Rows
read in Python workers go through the JVM for it:

    read       work items become rows; one that carries `_work` opens an item, `_side` tells old from new
    compute    Spark adds one column per expression, each in the time zone and under the settings of its index
    build      rows become changes again

All three run inside the same task, so the rows of an item stay together and in order.
"""

from __future__ import annotations

import json
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import from_arrow_schema

from hudi_index.errors import (
    HudiIndexError,
    RefusedTextError,
    StaleExpressionError,
    UnsupportedExpressionError,
)
from hudi_index.lifecycle.changes import TaskNotes, as_changes
from hudi_index.lifecycle.executor import ExpressionFacts
from hudi_index.lifecycle.runs import Run, runs_of
from hudi_index.lifecycle.tasks import changes_of, rows_after, rows_before
from hudi_index.predicate.catalyst.meaning import Meaning, opaque_parts
from hudi_index.predicate.session import TIME_ZONE
from hudi_index.spark.catalyst import gate
from hudi_index.spark.catalyst.trees import Trees, in_session, session_with
from hudi_index.table import RECORD_KEY, ROW_POSITION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark import RDD
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from hudi_index.lifecycle.changes import Described, TwoStates
    from hudi_index.lifecycle.description import Description, Expression, WorkItem
    from hudi_index.lifecycle.runs import Changes
    from hudi_index.predicate.session import Settings
    from hudi_index.spark.build.faults import FaultNotes

__all__ = [
    "as_runs",
    "changes_with_expressions",
    "describe_expression",
    "runs_by",
    "runs_with_expressions",
    "with_expressions",
]

_WORK, _SIDE = "_work", "_side"
_OPEN, _BEFORE, _AFTER = 0, 1, 2
_RUN_FIELDS: list[pa.Field[Any]] = [
    pa.field("target", pa.int32()),
    pa.field("low", pa.string()),
    pa.field("data", pa.binary()),
    pa.field("rows_read", pa.int64()),
]
_RUNS = pa.schema(_RUN_FIELDS)


def describe_expression(
    spark: SparkSession, schema: pa.Schema, sql: str, time_zone: str | None, settings: Settings | None
) -> ExpressionFacts:
    """What Spark makes of an expression, under these settings or those of the session.

    Raises:
        UnsupportedExpressionError: it can't be computed from one row, or not with the same result each time.
    """
    zone = time_zone or str(spark.conf.get(TIME_ZONE))
    trees = Trees(spark)
    here, _ = trees.session(spark)
    noted = here.settings if settings is None else settings
    # An empty RDD, not an empty list: the optimizer leaves nothing of an expression over no rows.
    rows = spark.createDataFrame(spark.sparkContext.emptyRDD(), _spark_schema(schema))
    try:
        rows = in_session(rows, session_with(spark, noted, zone))
        value = rows.select(gate.expression(rows.sparkSession, sql).alias("value"))
        gate.check_expression(rows, sql, value)
    except (PySparkException, RefusedTextError) as error:
        reason = str(error).splitlines()[0]
        raise UnsupportedExpressionError(expression=sql, reason=f"Spark says: {reason}") from error
    plan = value._jdf.queryExecution().analyzed()
    if plan.nodeName() != "Project" or not plan.child().children().isEmpty():
        reason = "it is not computed from one row alone"
        raise UnsupportedExpressionError(expression=sql, reason=reason)
    if not plan.deterministic():
        reason = "it does not have the same value each time"
        raise UnsupportedExpressionError(expression=sql, reason=reason)
    tree = _tree_of_last(trees, plan)
    if opaque := opaque_parts(json.loads(tree)):
        reason = f"{opaque[0]} is a function of somebody's own, whose meaning may change"
        raise UnsupportedExpressionError(expression=sql, reason=reason)
    optimized = value._jdf.queryExecution().optimizedPlan()
    is_whole = optimized.nodeName() == "Project" and optimized.child().children().isEmpty()
    both = [tree, *([_tree_of_last(trees, optimized)] if is_whole else [])]
    meaning = Meaning(tuple(dict.fromkeys(both)), noted, str(here.zone_data), str(here.spark))
    return ExpressionFacts(value.schema[0].dataType.simpleString(), zone, meaning)


def _tree_of_last(trees: Trees, plan: Any) -> str:
    """The tree of what a projection computes last."""
    named = plan.projectList().last()
    is_alias = named.getClass().getSimpleName() == "Alias"
    return trees.of(named.child() if is_alias else named, plan.child().output())


def _spark_schema(schema: pa.Schema) -> StructType:
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def changes_with_expressions(
    spark: SparkSession,
    description: Description,
    work: RDD[WorkItem],
    done: Accumulator[int],
    faults: FaultNotes,
) -> RDD[Run]:
    """The changes of work items whose kinds see expressions."""
    pickled = spark.createDataFrame(work.map(lambda item: (pickle.dumps(item),)), "work binary")
    return as_runs(runs_with_expressions(spark, description, pickled, done, faults))


def runs_with_expressions(
    spark: SparkSession,
    description: Description,
    pickled: DataFrame,
    done: Accumulator[int],
    faults: FaultNotes,
) -> DataFrame:
    """The same as rows with the fields of a Run, of pickled work items."""
    plan = description.without_items()
    rows = pickled.mapInArrow(_read(plan, faults), _spark_schema(_rows_schema(plan)))
    return runs_by(with_expressions(spark, plan, rows), _build(plan, done))


def with_expressions(spark: SparkSession, description: Description, rows: DataFrame) -> DataFrame:
    """Rows with a column for each expression of a description, computed as its index says.

    Raises:
        StaleExpressionError: Spark would compute one otherwise than it was.
    """
    for expression in description.expressions:
        session = session_with(spark, expression.meaning.settings, expression.time_zone)
        rows = in_session(rows, session)
        rows = rows.withColumn(expression.column, gate.expression(session, expression.sql))
        _refuse_other_meaning(spark, expression, rows)
    return rows


def _refuse_other_meaning(spark: SparkSession, expression: Expression, rows: DataFrame) -> None:
    trees = Trees(spark)
    here, _ = trees.session(rows.sparkSession)
    reason = expression.meaning.reason_against(here)
    if reason is None and _tree_of_last(trees, rows._jdf.queryExecution().analyzed()) not in (
        expression.meaning.trees
    ):
        reason = f"Spark {here.spark} understands {expression.sql} otherwise than when it was computed"
    if reason:
        raise StaleExpressionError(index=expression.index, reason=reason)


def runs_by(
    rows: DataFrame, changes: Callable[[Iterable[pa.RecordBatch], TaskNotes], Iterator[Changes]]
) -> DataFrame:
    """The changes that a function makes of rows, as rows with the fields of a Run."""

    def build(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        notes = TaskNotes()
        for run in runs_of(changes(batches, notes), notes.counts):
            yield pa.RecordBatch.from_pylist([run._asdict()], schema=_RUNS)

    return rows.mapInArrow(build, from_arrow_schema(_RUNS))


def as_runs(rows: DataFrame) -> RDD[Run]:
    """Rows with the fields of a Run as runs."""
    runs: RDD[Run] = rows.rdd.map(lambda row: Run(row[0], row[1], bytes(row[2]), row[3]))
    return runs


def _rows_schema(description: Description) -> pa.Schema:
    names = description.columns_to_read(description.kinds)
    columns = dict.fromkeys(description.reader.column_of(name) for name in names)
    known = description.reader.shape.columns_with_meta
    fields: list[pa.Field[Any]] = [
        pa.field(_WORK, pa.binary()),
        pa.field(_SIDE, pa.int32()),
        pa.field(RECORD_KEY, pa.string()),
        pa.field(ROW_POSITION, pa.int64()),
        *(known.field(name).with_nullable(nullable=True) for name in columns if name != RECORD_KEY),
    ]
    return pa.schema(fields)


def _read(description: Description, faults: FaultNotes) -> Any:
    schema = _rows_schema(description)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(0):
                item = pickle.loads(data.as_buffer())
                yield pa.RecordBatch.from_pylist([{_WORK: data.as_py(), _SIDE: _OPEN}], schema=schema)
                try:
                    for rows in rows_before(description, item):
                        yield _with_side(rows, _BEFORE, schema)
                    for rows in rows_after(description, item):
                        yield _with_side(rows, _AFTER, schema)
                except HudiIndexError as error:
                    faults.add([error])

    return read


def _with_side(rows: pa.RecordBatch, side: int, schema: pa.Schema) -> pa.RecordBatch:
    length = rows.num_rows
    arrays = [
        pa.repeat(pa.scalar(side, pa.int32()), length)
        if field.name == _SIDE
        else rows.column(field.name)
        if field.name in rows.schema.names
        else pa.nulls(length, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _build(description: Description, done: Accumulator[int]) -> Any:
    def of_items(rows: _Sides, notes: TaskNotes) -> Iterator[Described | TwoStates]:
        while rows.opened is not None:
            item = pickle.loads(rows.opened)
            rows.advance()
            yield from changes_of(description, item, rows.take(_BEFORE), rows.take(_AFTER), notes)
            done.add(1)

    def changes(batches: Iterable[pa.RecordBatch], notes: TaskNotes) -> Iterator[Changes]:
        return as_changes(description, of_items(_Sides(batches), notes), notes)

    return changes


class _Sides:
    """Rows of items, one after the other, as runs of one side each."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._runs = (run for batch in batches for run in _runs_of(batch))
        self.advance()

    def advance(self) -> None:
        """Go on to the next run."""
        found = next(self._runs, None)
        self._side = found[0] if found else None
        self._rows = found[1] if found else None

    @property
    def opened(self) -> Any:
        """The item that begins here, None at the end."""
        return self._rows.column(_WORK)[0].as_buffer() if self._rows is not None else None

    def take(self, side: int) -> Iterator[pa.RecordBatch]:
        """The rows of one side, up to where another begins."""
        while self._side == side and self._rows is not None:
            rows = self._rows
            self.advance()
            yield rows


def _runs_of(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    sides = batch.column(_SIDE).to_numpy()
    if not len(sides):
        return
    begins = np.flatnonzero((np.diff(sides, prepend=-1) != 0) | (sides == _OPEN)).tolist()
    for start, stop in pairwise([*begins, len(sides)]):
        yield int(sides[start]), batch.slice(start, stop - start)
