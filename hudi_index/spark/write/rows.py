"""The rows of a batch as they come: the columns they must have, which of them delete, how many tasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyarrow import types
from pyspark.sql import functions as F  # noqa: N812  as everyone calls it
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import BinaryType, DataType, StructType, TimestampType

from hudi_index.errors import RowsRefusedError, UnknownColumnError
from hudi_index.table.types import type_of
from hudi_index.writer.fit import orders_by_event_time
from hudi_index.writer.tags import DELETED

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from hudi_index.table import Snapshot

__all__ = ["check_columns", "deletes_of", "tasks_of"]

_IS_DELETED = "_hoodie_is_deleted"
_DELETE_FIELD, _DELETE_MARKER = "hoodie.payload.delete.field", "hoodie.payload.delete.marker"
_MERGE_PROPERTY = "hoodie.record.merge.property."
_BYTES_PER_TASK = 64 * 1024 * 1024
_MOST_BYTES = 1 << 50
"""What Spark estimates above is no estimate."""


def check_columns(
    frame: DataFrame, snapshot: Snapshot, *, needs_partition: bool, is_delete: bool
) -> DataFrame:
    """The rows, with null for partition columns that they lack and that nobody needs.

    Raises:
        UnknownColumnError: a column is missing that says which record a row is.
        RowsRefusedError: one of them is of a type that Hudi has several texts for, or orders otherwise.
    """
    config = snapshot.config
    known = {name.lower() for name in frame.columns}
    needed = [*config.record_key_fields, *(() if is_delete else config.ordering_fields)]
    needed += config.partition_fields if needs_partition else ()
    for name in needed:
        if name.partition(".")[0].lower() not in known:
            raise UnknownColumnError(column=name, known=frame.columns, of="batch")
    spelled = [*config.record_key_fields]
    if needs_partition:
        spelled += [each for each in config.partition_fields if each not in config.timestamp_partition_fields]
    for name in spelled:
        _refuse_several_texts(frame, name, snapshot.storage.uri)
    if not is_delete and orders_by_event_time(config):
        for name in config.ordering_fields:
            _refuse_wider_order(frame, name, snapshot)
    for name in config.partition_fields:
        if name.partition(".")[0].lower() not in known:
            # The place decides where a record is deleted, not the row.
            frame = frame.withColumn(name, F.lit(None).cast("string"))
    return frame


def deletes_of(
    frame: DataFrame, snapshot: Snapshot, column: str | None, options: Mapping[str, str]
) -> DataFrame:
    """The rows with DELETED: by `_hoodie_is_deleted`, the table's delete marker, or a column of one's own.

    That column is for the writer and goes, unless the table has one of that name.

    Raises:
        UnknownColumnError: the rows have no such column.
    """
    names = {name.lower(): name for name in frame.columns}
    found = F.lit(False)  # noqa: FBT003  pyspark's signature
    if _IS_DELETED in names:
        found = found | _is_true(names[_IS_DELETED])
    said = {**snapshot.config.properties, **options}
    marked = said.get(_DELETE_FIELD) or said.get(_MERGE_PROPERTY + _DELETE_FIELD)
    marker = said.get(_DELETE_MARKER) or said.get(_MERGE_PROPERTY + _DELETE_MARKER)
    if marked and marker and marked.lower() in names:
        text = F.col(_quoted(names[marked.lower()])).cast("string")
        found = found | F.coalesce(text == F.lit(marker), F.lit(False))  # noqa: FBT003
    if column is None:
        return frame.withColumn(DELETED, found)
    if column.lower() not in names:
        raise UnknownColumnError(column=column, known=frame.columns, of="batch")
    frame = frame.withColumn(DELETED, found | _is_true(names[column.lower()]))
    is_data = column.lower() in (name.lower() for name in snapshot.schema.names)
    return frame if is_data else frame.drop(names[column.lower()])


def _refuse_several_texts(frame: DataFrame, name: str, uri: str) -> None:
    """Raise RowsRefusedError for a field that Hudi's key generators spell in more than one way.

    From Spark's rows, which is what a bulk insert and this writer do, a timestamp gives a text of
    milliseconds, so that two of them may become one record, and bytes give the name of a Java object.
    From Avro, as in Hudi's upserts, they give microseconds and digits.
    """
    kind = _type_of(frame, name)
    if isinstance(kind, TimestampType | BinaryType):
        reason = (
            f"{name}, a {kind.simpleString()}, is part of record keys or partition paths, and Hudi's bulk "
            "inserts and upserts spell such values differently; write with Hudi's own writer, or keep the "
            "value as text"
        )
        raise RowsRefusedError(uri=uri, reason=reason)


def _refuse_wider_order(frame: DataFrame, name: str, snapshot: Snapshot) -> None:
    """Raise RowsRefusedError for an ordering field that would make the table's another kind of value.

    Hudi would widen the column. What the index says of records that are there would be in another order.
    """
    here, there = _type_of(frame, name), type_of(snapshot.schema, name)
    if here is not None and _width(to_arrow_type(here)) > _width(there):
        reason = (
            f"{name} orders records, and is {there} in the table and {here.simpleString()} in these rows; "
            "cast it, or widen the column by Hudi's own writer and rebuild the record index"
        )
        raise RowsRefusedError(uri=snapshot.storage.uri, reason=reason)


def _width(kind: pa.DataType) -> int:
    """Of the types that Hudi widens, each kind holds the ones before it."""
    if types.is_integer(kind):
        return 0
    if types.is_floating(kind):
        return 1
    return 2 if types.is_string(kind) else 0


def _type_of(frame: DataFrame, name: str) -> DataType | None:
    kind: DataType | None = frame.schema
    for part in name.split("."):
        fields = kind.fields if isinstance(kind, StructType) else []
        kind = next((each.dataType for each in fields if each.name.lower() == part.lower()), None)
    return kind


def _is_true(name: str) -> Column:
    return F.coalesce(F.col(_quoted(name)).cast("boolean"), F.lit(False))  # noqa: FBT003


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def tasks_of(spark: SparkSession, frame: DataFrame, shards: int) -> int:
    """How many tasks tag a batch: one per core or more, as many for each shard of the index."""
    size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
    by_size = size // _BYTES_PER_TASK if size < _MOST_BYTES else 0
    wanted = max(spark.sparkContext.defaultParallelism, by_size, 1)
    return math.ceil(wanted / shards) * shards
