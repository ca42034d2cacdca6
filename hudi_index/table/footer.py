"""What a base file's Parquet footer proves: its row count, and column statistics where those are exact.

Only a slice without logs is described by its base file's footer. Statistics are given where minimum,
maximum and null count are certain, and None is given where they are not:

- floating point: writers leave NaN out of the bounds and may write 0.0 for -0.0;
- INT96, unsigned integers, fixed bytes that are no decimal: their order in the footer is not the order of
  values;
- lists and maps: the footer counts elements, not rows;
- bounds or null count missing in a row group (writers drop long bounds);
- writers that cut long bounds and don't say so in what pyarrow shows: only the ones known to keep them
  whole count;
- a column stored as another type than the table's, but for a narrower integer;
- dates and timestamps in another calendar, see `calendar`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_index.errors import MissingSliceFileError
from hudi_index.predicate.values.numbers import decimal_of
from hudi_index.table.calendar import columns_for_spark
from hudi_index.table.damage import naming_table_file
from hudi_index.table.partitions import UnreadablePartitionValueError
from hudi_index.table.paths import type_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.storage import Storage
    from hudi_index.table.shape import TableShape
    from hudi_index.table.slices import FileSlice

__all__ = ["FOOTER", "ColumnStatistics", "Footer", "footer_statistics"]

FOOTER = 512 * 1024
"""So much of a base file's end is asked for first, far away: Hudi's footers hold a Bloom filter of 400 kB."""

_WRITERS_OF_WHOLE_BOUNDS = ("parquet-mr ", "parquet-cpp-arrow ")
_INTEGERS = ("INT32", "INT64")


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Exact statistics of a column over the rows of a slice."""

    minimum: pa.Scalar[Any] | None
    """None if all rows are null."""
    maximum: pa.Scalar[Any] | None
    null_count: int
    value_count: int
    """All rows, null or not."""


def row_count_of(storage: Storage, path: str) -> int:
    """Rows of a base file. Raises MissingSliceFileError."""
    return int(_open_end(storage, path)[0].num_rows)


def footer_statistics(
    storage: Storage, shape: TableShape, file_slice: FileSlice, columns: Iterable[str]
) -> dict[str, ColumnStatistics | None]:
    """Statistics by column (nested ones as `a.b`); None for a column of which the footer proves nothing."""
    if file_slice.log_files or file_slice.base_path is None:
        return dict.fromkeys(columns)
    return Footer.load(storage, shape, file_slice).statistics(columns)


@dataclass(frozen=True)
class Footer:
    """The footer of a slice's base file, read once."""

    shape: TableShape
    file_slice: FileSlice
    metadata: Any
    """pyarrow's FileMetaData, which has no useful type."""
    source: pa.NativeFile | None = field(default=None, repr=False, compare=False)
    """The open file, where to open it again would be one more journey."""

    @classmethod
    def load(cls, storage: Storage, shape: TableShape, file_slice: FileSlice) -> Footer:
        """The footer of a slice that has a base file. Raises MissingSliceFileError."""
        assert file_slice.base_path is not None
        return cls(shape, file_slice, *_open_end(storage, file_slice.base_path))

    @property
    def row_count(self) -> int:
        """Rows of the base file."""
        return int(self.metadata.num_rows)

    def statistics(
        self, columns: Iterable[str], row_group: int | None = None
    ) -> dict[str, ColumnStatistics | None]:
        """See `footer_statistics`; for a slice without logs, over all its rows or those of one row group."""
        constants, uncertain = _path_values_of(self.shape, self.file_slice)
        footer = self.metadata
        groups = range(footer.num_row_groups) if row_group is None else range(row_group, row_group + 1)
        rows = sum(footer.row_group(group).num_rows for group in groups)
        leaves = {footer.schema.column(i).path: i for i in range(footer.num_columns)}
        schema = self.shape.columns_with_meta
        found: dict[str, ColumnStatistics | None] = {}
        shifted = columns_for_spark(footer)
        for name in columns:
            if name in uncertain or (name.partition(".")[0] in shifted and name not in constants):
                found[name] = None
            elif name in constants:
                found[name] = _constant_statistics(constants[name], rows)
            else:
                data_type = type_at(schema, name)
                # Statistics are of leaves, which hold one value per row only outside of lists and maps.
                if data_type is None or pa.types.is_nested(data_type):
                    found[name] = None
                else:
                    found[name] = _statistics_of(footer, leaves, name, data_type, groups)
        return found


def _path_values_of(
    shape: TableShape, file_slice: FileSlice
) -> tuple[dict[str, pa.Scalar[Any]], frozenset[str]]:
    """Values of partition columns, and the columns whose value in the path nobody can tell."""
    try:
        return shape.partitions.values_of(file_slice.group.partition_path), frozenset()
    except UnreadablePartitionValueError:
        return {}, shape.partitions.from_path


def _open_end(storage: Storage, path: str) -> tuple[Any, pa.NativeFile | None]:
    """Pyarrow's FileMetaData of a base file; of one that is far away, the file with the end that was read."""
    try:
        with naming_table_file(storage, path):
            if not storage.is_local:
                source = storage.open_input(path, FOOTER)
                return pq.read_metadata(source), source
            with storage.open_input(path) as source:
                return pq.read_metadata(source), None
    except FileNotFoundError as error:
        raise MissingSliceFileError(
            path=storage.uri_of(path), reason="it was cleaned or rolled back"
        ) from error


def _constant_statistics(value: pa.Scalar[Any], rows: int) -> ColumnStatistics:
    bound = value if value.is_valid else None
    return ColumnStatistics(bound, bound, 0 if value.is_valid else rows, rows)


def _statistics_of(
    footer: Any, leaves: dict[str, int], name: str, kind: pa.DataType, groups: range
) -> ColumnStatistics | None:
    rows = sum(footer.row_group(group).num_rows for group in groups)
    if name not in leaves:
        # Added to the table after this file was written. A struct that is there without its leaf is left
        # alone.
        is_absent = not any(path.partition(".")[0] == name.partition(".")[0] for path in leaves)
        return ColumnStatistics(None, None, rows, rows) if is_absent else None
    index = leaves[name]
    column = footer.schema.column(index)
    if column.max_repetition_level > 0 or not _has_certain_order(column, kind, footer.created_by or ""):
        return None
    nulls, bounds = 0, []
    for group in groups:
        chunk = footer.row_group(group).column(index)
        statistics = chunk.statistics if chunk.is_stats_set else None
        if statistics is None or not statistics.has_null_count:
            return None
        nulls += statistics.null_count
        if statistics.has_min_max:
            bounds.append(
                (_value_of(statistics.min_raw, column, kind), _value_of(statistics.max_raw, column, kind))
            )
        elif statistics.null_count < chunk.num_values:
            return None
    if not bounds:
        return ColumnStatistics(None, None, nulls, rows)
    low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
    return ColumnStatistics(_as_scalar(low, kind), _as_scalar(high, kind), nulls, rows)


def _has_certain_order(column: Any, kind: pa.DataType, created_by: str) -> bool:
    physical, logical = column.physical_type, column.logical_type.type
    if physical == "BOOLEAN":
        return pa.types.is_boolean(kind)
    if physical in _INTEGERS:
        return _is_certain_integer(column, kind)
    if physical == "BYTE_ARRAY":
        is_text = pa.types.is_string(kind) and logical in ("STRING", "ENUM")
        is_bytes = pa.types.is_binary(kind) and logical == "NONE"
        return (is_text or is_bytes) and created_by.startswith(_WRITERS_OF_WHOLE_BOUNDS)
    if physical == "FIXED_LEN_BYTE_ARRAY":
        return logical == "DECIMAL" and pa.types.is_decimal(kind) and column.scale == kind.scale
    return False


def _is_certain_integer(column: Any, kind: pa.DataType) -> bool:
    logical, text = column.logical_type.type, str(column.logical_type)
    if logical == "DECIMAL":
        return bool(pa.types.is_decimal(kind) and column.scale == kind.scale)
    if logical == "DATE":
        return bool(pa.types.is_date32(kind))
    if logical == "TIMESTAMP":
        unit = {"us": "microseconds", "ms": "milliseconds", "ns": "nanoseconds"}
        is_utc = "isAdjustedToUTC=true" in text
        return bool(
            pa.types.is_timestamp(kind)
            and f"timeUnit={unit.get(kind.unit)}," in text
            and is_utc == (kind.tz is not None)
        )
    if logical == "INT" and "isSigned=false" in text:
        return False
    return logical in ("NONE", "INT") and bool(pa.types.is_signed_integer(kind))


def _value_of(raw: Any, column: Any, kind: pa.DataType) -> Any:
    """A bound as a Python value whose order is the column's."""
    if pa.types.is_decimal(kind):
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return decimal_of(unscaled, column.scale)
    return raw


def _as_scalar(value: Any, kind: pa.DataType) -> pa.Scalar[Any]:
    if pa.types.is_string(kind):
        return pa.scalar(value.decode(), kind)
    if pa.types.is_date32(kind):
        return pa.scalar(value, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(value, pa.int64()).cast(kind)
    return pa.scalar(value, kind)
