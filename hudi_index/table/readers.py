"""Who reads a slice: hudi-rs in this process, or Hudi on Spark.

The one place that knows what hudi-rs 0.5.0 gets wrong or refuses. Each reason below was seen on a real
table and is kept by a test in tests/parity/test_table_shapes.py. When in doubt the answer is Spark: slower,
never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.table.config import KeyGenerator, MergeMode
from hudi_index.table.partitions import UnreadablePartitionValueError
from hudi_index.table.record_keys import reason_against_computing

if TYPE_CHECKING:
    from hudi_index.table.config import TableConfig
    from hudi_index.table.shape import TableShape
    from hudi_index.table.slices import FileSlice

__all__ = ["ReaderChoice", "SliceReader", "slice_reader_of"]


class SliceReader(Enum):
    """The two ways to the rows of a slice."""

    HUDI_RS = "hudi-rs"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class ReaderChoice:
    """A reader, and why not hudi-rs if it isn't."""

    reader: SliceReader
    reason: str | None = None


def slice_reader_of(shape: TableShape, file_slice: FileSlice) -> ReaderChoice:
    """The reader that reads this slice as Hudi on Spark would."""
    reason = (
        _reason_of_table(shape)
        or _reason_of_partition(shape, file_slice)
        or (_reason_of_merge(shape.config) if file_slice.log_files else None)
    )
    return ReaderChoice(SliceReader.SPARK, reason) if reason else ReaderChoice(SliceReader.HUDI_RS)


def _reason_of_table(shape: TableShape) -> str | None:
    config = shape.config
    if len(config.ordering_fields) > 1:
        # HudiCoreError when the table is opened: "Multiple ordering fields 'ts,n' are not yet supported".
        return f"hudi-rs can't order by several fields ({', '.join(config.ordering_fields)})"
    if shape.schema.has_internal_schema:
        # hudi-rs finds columns by name only; schema-on-read renames them under an id.
        return "columns were changed by schema-on-read"
    if not config.populates_meta_fields:
        return reason_against_computing(config, shape.schema.stored)
    return None


def _reason_of_partition(shape: TableShape, file_slice: FileSlice) -> str | None:
    config, stored = shape.config, shape.schema.stored
    unknown = [name for name in config.partition_fields if name not in stored.names]
    if unknown:
        return f"partition field {unknown[0]!r} is no top-level column"
    if config.timestamp_partition_fields and config.drops_partition_columns:
        return "partition columns were dropped, and formatted paths don't give them back"
    if config.key_generator is KeyGenerator.TIMESTAMP:
        # Spark reads these columns as strings (`'19000'` for 19000); only integers have one spelling.
        kinds = [stored.field(name).type for name in config.partition_fields]
        odd = [
            data_type
            for data_type in kinds
            if not (pa.types.is_integer(data_type) or pa.types.is_string(data_type))
        ]
        if odd:
            return f"a partition column of type {odd[0]} is read as a string"
    try:
        shape.partitions.values_of(file_slice.group.partition_path)
    except UnreadablePartitionValueError as error:
        return str(error)
    return None


def _reason_of_merge(config: TableConfig) -> str | None:
    if config.drops_partition_columns:
        # Hudi 1.2 drops them from copy-on-write tables only, so nobody has seen such logs merged.
        return "partition columns were dropped from files that have logs"
    if config.merge_mode is None:
        return "the table does not say how its records merge"
    if config.merge_mode is MergeMode.CUSTOM:
        # HudiCoreError on reading: "needs its own merger, which no reader here implements".
        return "records merge by a class of the table's own"
    partial = config.properties.get("hoodie.table.partial.update.mode", "NONE").upper()
    if partial != "NONE":
        # IGNORE_DEFAULTS: an update's null array replaces the older value, where Hudi on Spark keeps it.
        return f"records are updated in part ({partial})"
    special = [name for name in config.properties if name.startswith("hoodie.record.merge.property.")]
    if special:
        return f"merging depends on {special[0]}"
    return None
