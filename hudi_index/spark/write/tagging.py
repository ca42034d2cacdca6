"""A batch as a DataFrame of located rows. Lazy: they are tagged when Hudi, having begun to write, asks.

Rows are shuffled by the index's own hash of their record key, so that each task asks few shards, and all rows
of one key meet in one task.
"""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import functions as F  # noqa: N812  as everyone calls it
from pyspark.sql.types import StringType, StructField, StructType

from hudi_index.kind_parts.record_keys import encode_ordering
from hudi_index.writer.locations import file_name_of
from hudi_index.writer.report import TagCounts
from hudi_index.writer.tags import ARRIVAL, DELETED, META, OPERATION, ORDERING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.table import FileSlice, TableReader
    from hudi_index.writer.tagger import Tagger

    Batches = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

__all__ = ["TaskCounts", "by_bucket", "located_rows", "read_for_nothing", "total_of"]

_ROWS_AT_ONCE = 10_000
_MASK = 0xFFFFFFFF


class TaskCounts(AccumulatorParam[dict[int, TagCounts]]):
    """Counts by task: one that runs again, or twice, counts once."""

    def zero(self, value: dict[int, TagCounts]) -> dict[int, TagCounts]:  # noqa: ARG002  Spark's signature
        """No task."""
        return {}

    def addInPlace(  # noqa: N802  Spark's name
        self, value1: dict[int, TagCounts], value2: dict[int, TagCounts]
    ) -> dict[int, TagCounts]:
        """Those of both."""
        value1.update(value2)
        return value1


def total_of(counts: Accumulator[dict[int, TagCounts]]) -> TagCounts:
    """The counts of all tasks."""
    total = TagCounts()
    for each in counts.value.values():
        total.add(each)
    return total


def located_rows(
    spark: SparkSession,
    keyed: DataFrame,
    tagger: Tagger,
    *,
    uncovered: Sequence[FileSlice],
    reader: TableReader,
    tasks: int,
    counts: Accumulator[dict[int, TagCounts]],
) -> DataFrame:
    """The rows as Hudi's prepped write takes them.

    Args:
        spark: The session.
        keyed: Rows with Hudi's meta columns in front, and DELETED.
        tagger: Finds records.
        uncovered: Slices that the index does not describe: their keys are read.
        reader: Reads them.
        tasks: How many to tag in.
        counts: Where tasks count.
    """
    data = [field for field in keyed.schema.fields if field.name not in (*META, DELETED)]
    rows = keyed.withColumn(ARRIVAL, F.monotonically_increasing_id())
    if uncovered:
        names = tuple(tagger.ordering_types)
        standing = _standing_records(spark, uncovered, reader, names)
        rows = rows.unionByName(standing, allowMissingColumns=True)
    meta = [StructField(name, StringType()) for name in (*META, OPERATION)]
    return by_bucket(rows, tasks).mapInArrow(_tag(tagger, counts), StructType([*meta, *data]))


def read_for_nothing(
    spark: SparkSession, slices: Sequence[FileSlice], reader: TableReader, ordering: Iterable[str]
) -> None:
    """Read what is read of slices that the index does not describe: raises if that can't be done."""
    _standing_records(spark, slices, reader, tuple(ordering)).count()


def by_bucket(rows: DataFrame, tasks: int) -> DataFrame:
    """The rows in as many parts, by the index's hash of their record key.

    The index hashes what its entries hold, in which few characters of a key are spelled otherwise: a task
    with such keys asks more shards.
    """
    # Not the bucket itself: Spark would hash it, and put two into one task and none into another.
    named = F.array(*map(F.lit, _names_of_buckets(tasks)))
    bucket = F.expr(f"cast(crc32(encode(_hoodie_record_key, 'UTF-8')) % {tasks} as int)")
    return rows.repartition(tasks, F.element_at(named, bucket + 1))


def _tag(tagger: Tagger, counts: Accumulator[dict[int, TagCounts]]) -> Batches:
    def tag(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        started = time.perf_counter()
        tagger.refuse_if_moved()
        found = [batch for batch in batches if batch.num_rows]
        if not found:
            return
        tables, counted = tagger.tag(pa.Table.from_batches(found))
        counted.tag_seconds = time.perf_counter() - started
        context = TaskContext.get()
        assert context is not None
        counts.add({context.partitionId(): counted})
        for table in tables:
            yield from table.combine_chunks().to_batches(max_chunksize=_ROWS_AT_ONCE)

    return tag


@dataclass(frozen=True)
class _ReadRecords:
    """Reads keys, places and ordering values of slices."""

    reader: TableReader
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            pickled: list[Any] = batch.column(0).to_pylist()
            for data in pickled:
                file_slice: FileSlice = pickle.loads(data)
                for rows in self.reader.rows(file_slice, self.names).batches():
                    yield self._placed(file_slice, rows)

    def _placed(self, file_slice: FileSlice, rows: pa.RecordBatch) -> pa.RecordBatch:
        def same(text: str) -> Any:
            return pa.repeat(pa.scalar(text), rows.num_rows)

        columns: list[Any] = [
            same(file_slice.base_instant),
            same(""),
            rows.column("_hoodie_record_key"),
            same(file_slice.group.partition_path),
            same(file_name_of(file_slice)),
            encode_ordering(rows, self.names),
        ]
        return pa.RecordBatch.from_arrays(columns, names=[*META, ORDERING])


def _standing_records(
    spark: SparkSession, slices: Sequence[FileSlice], reader: TableReader, ordering: tuple[str, ...]
) -> DataFrame:
    """The records of slices that the index does not describe: as rows that have a file name already."""
    schema = StructType([StructField(name, StringType()) for name in (*META, ORDERING)])
    tasks = min(len(slices), 2 * spark.sparkContext.defaultParallelism)
    work = spark.sparkContext.parallelize([(bytearray(pickle.dumps(each)),) for each in slices], tasks)
    return work.toDF("slice binary").mapInArrow(_ReadRecords(reader, ordering), schema)


def _names_of_buckets(count: int) -> list[int]:
    """For each bucket an integer that Spark's hash partitioning puts into a task of its own."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < count:
        found.setdefault(_spark_hash(number) % count, number)
        number += 1
    return [found[each] for each in range(count)]


def _spark_hash(number: int) -> int:
    """Spark's `hash` of an int, which is Murmur3 with seed 42."""
    mixed = (number * 0xCC9E2D51) & _MASK
    mixed = ((mixed << 15 | mixed >> 17) * 0x1B873593) & _MASK
    state = 42 ^ mixed
    state = ((state << 13 | state >> 19) * 5 + 0xE6546B64) & _MASK
    state ^= 4
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _MASK
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state
