"""The rows of a batch as they come: the columns they must have, which of them delete, how many tasks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  as everyone calls it

from hudi_index.errors import UnknownColumnError
from hudi_index.writer.tags import DELETED

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """
    config = snapshot.config
    known = {name.lower() for name in frame.columns}
    needed = [*config.record_key_fields, *(() if is_delete else config.ordering_fields)]
    needed += config.partition_fields if needs_partition else ()
    for name in needed:
        if name.partition(".")[0].lower() not in known:
            raise UnknownColumnError(column=name, known=frame.columns)
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
        raise UnknownColumnError(column=column, known=frame.columns)
    frame = frame.withColumn(DELETED, found | _is_true(names[column.lower()]))
    is_data = column.lower() in (name.lower() for name in snapshot.schema.names)
    return frame if is_data else frame.drop(names[column.lower()])


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
