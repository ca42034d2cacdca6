"""A base file without logs, read in part: only the row groups that may match, only the columns asked for.

A row group is left out when its statistics prove that no row of it meets the predicate. They count only
where `footer` says that they are certain; for floating point, where it says nothing, bounds still hold for
all values but NaN, so they decide about domains without it. Pages are not skipped: pyarrow reads column
chunks whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_index.errors import MissingSliceFileError
from hudi_index.predicate import Constraint, Domain, Marker, Never, Range, fold
from hudi_index.predicate.values.domain import Bound
from hudi_index.table.calendar import columns_for_spark, int96_columns, is_as_stored
from hudi_index.table.damage import naming_table_file
from hudi_index.table.footer import FOOTER, Footer
from hudi_index.table.paths import type_at, values_at
from hudi_index.table.refusals import refuse_columns
from hudi_index.table.types import type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_index.predicate import Tree
    from hudi_index.predicate.tree import Leaf
    from hudi_index.storage import Storage
    from hudi_index.table.shape import TableShape
    from hudi_index.table.slices import FileSlice

__all__ = ["BaseFileRows", "RowGroup"]

_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Some consecutive rows of a base file."""

    number: int
    first_row: int
    rows: int


class _CountedInput:
    """A file for pyarrow that counts the bytes it gives."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        self.bytes_read = 0

    @property
    def closed(self) -> bool:
        return bool(self._source.closed)

    def read(self, size: int = -1) -> Any:
        found = self._source.read(None if size < 0 else size)
        self.bytes_read += len(found)
        return found

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._source.seek(offset, whence))

    def tell(self) -> int:
        return int(self._source.tell())

    def size(self) -> int:
        return int(self._source.size())

    def close(self) -> None:
        self._source.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class BaseFileRows:
    """The rows of one base file, open until `close`.

    Columns are asked for by path (`a.b` is a field of struct a) and come one by one under that name, with the
    types the table has, the partition path's values and nulls for what the file lacks.

    Raises:
        MissingSliceFileError: the file is gone.
        TableFileError: it is damaged.
    """

    def __init__(self, storage: Storage, shape: TableShape, file_slice: FileSlice) -> None:
        self._storage, self._shape, self._slice = storage, shape, file_slice
        self._path = path = file_slice.base_path or ""
        try:
            self._source = _CountedInput(storage.open_input(path, FOOTER))
        except FileNotFoundError as error:
            raise MissingSliceFileError(
                path=storage.uri_of(path), reason="it was cleaned or rolled back"
            ) from error
        # One request for all columns of a row group, where each request is a journey.
        is_far = not storage.is_local
        source: Any = self._source
        self._storage, self._path = storage, path
        with naming_table_file(storage, path):
            self._file = pq.ParquetFile(source, pre_buffer=is_far, coerce_int96_timestamp_unit="us")
        self._constants: dict[str, Any] = shape.partitions.values_of(file_slice.group.partition_path)

    def close(self) -> None:
        """Close the file."""
        self._file.close(force=True)

    @property
    def bytes_read(self) -> int:
        """Bytes that came from the storage so far."""
        return self._source.bytes_read

    @property
    def row_groups(self) -> list[RowGroup]:
        """All row groups in their order."""
        found, first, footer = [], 0, self._file.metadata
        for number in range(footer.num_row_groups):
            rows = footer.row_group(number).num_rows
            found.append(RowGroup(number, first, rows))
            first += rows
        return found

    def may_match(self, tree: Tree, group: RowGroup) -> bool:
        """Whether a row of the row group may be admitted by the tree, by its statistics."""

        def leaf_may(leaf: Leaf) -> bool:
            if not isinstance(leaf, Constraint):
                return not isinstance(leaf, Never)
            if leaf.term.is_expression or leaf.domain is None:
                return True
            bounds = self._bounds_of(leaf.term.text, group)
            return bounds is None or bounds.overlaps(leaf.domain)

        return fold(tree, leaf_may, lambda _, parts: all(parts), lambda _, parts: any(parts))

    def _bounds_of(self, column: str, group: RowGroup) -> Domain | None:
        """A domain that holds every value of a column in a row group; None if nothing is certain."""
        footer = self._file.metadata
        floating = _floating_bounds(footer, column, group, type_of(self._shape.columns_with_meta, column))
        if floating is not None and column not in self._constants:
            return floating
        try:
            found = Footer(self._shape, self._slice, footer).statistics([column], group.number)[column]
            if found is None:
                return None
            low = None if found.minimum is None else found.minimum.as_py()
            high = None if found.maximum is None else found.maximum.as_py()
        except (ValueError, OverflowError):
            # Years that Python has no date for, bytes that are no text.
            return None
        ranges = [] if low is None or high is None else [_between(low, high)]
        return Domain.of(ranges, has_null=found.null_count > 0)

    def refuse_for_spark(self, paths: Sequence[str]) -> None:
        """Refuse columns whose values only Spark reads right. Raises SliceRefusedError."""
        columns = columns_for_spark(self._file.metadata, paths) - self._constants.keys()
        refuse_columns(self._storage, self._slice, columns)

    def reads_plainly(self, paths: Sequence[str]) -> bool:
        """Whether the file's columns become the table's by casts that change no value."""
        int96 = int96_columns(self._file.metadata)
        known = self._shape.columns_with_meta
        return all(
            stored is None
            or _is_plain_cast(stored, type_of(known, path))
            or (path in int96 and is_as_stored(stored, type_of(known, path), is_int96=True))
            for path in paths
            if path not in self._constants
            for stored in [type_at(self._file.schema_arrow, path)]
        )

    def batches(self, group: RowGroup, paths: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, some columns of them."""
        schema = self._file.schema_arrow
        stored = [path for path in paths if path not in self._constants and type_at(schema, path) is not None]
        with naming_table_file(self._storage, self._path):
            for batch in self._file.iter_batches(_BATCH_ROWS, row_groups=[group.number], columns=stored):
                arrays = [self._array(batch, path) for path in paths]
                yield pa.RecordBatch.from_arrays(arrays, names=list(paths))

    def _array(self, batch: pa.RecordBatch, path: str) -> Any:
        data_type: Any = type_of(self._shape.columns_with_meta, path)
        rows = batch.num_rows
        if path in self._constants:
            return pa.repeat(self._constants[path], rows)
        if type_at(batch.schema, path) is None:
            return pa.nulls(rows, data_type)
        found = values_at(batch, path)
        return found if found.type == data_type else found.cast(data_type)


def _between(low: Any, high: Any) -> Range:
    return Range(Marker(low, Bound.EXACTLY), Marker(high, Bound.EXACTLY))


def _floating_bounds(footer: Any, column: str, group: RowGroup, data_type: pa.DataType) -> Domain | None:
    """Bounds of floating-point values; NaN, which writers leave out of them, always belongs to the domain."""
    physical = (
        "DOUBLE" if pa.types.is_float64(data_type) else "FLOAT" if pa.types.is_float32(data_type) else None
    )
    positions = [
        position for position in range(footer.num_columns) if footer.schema.column(position).path == column
    ]
    if physical is None or not positions or footer.schema.column(positions[0]).physical_type != physical:
        return None
    chunk = footer.row_group(group.number).column(positions[0])
    found = chunk.statistics if chunk.is_stats_set else None
    if found is None or not found.has_min_max or not found.has_null_count:
        return None
    if math.isnan(found.min) or math.isnan(found.max):
        return None
    ranges = [_between(found.min, found.max), Range.equal(math.nan)]
    return Domain.of(ranges, has_null=found.null_count > 0)


def _is_plain_cast(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast changes no value, nor how Spark would see it."""
    if stored == wanted:
        return True
    if isinstance(stored, pa.StructType) and isinstance(wanted, pa.StructType):
        fields = [
            (stored.field(position), wanted.field(position))
            for position in range(min(len(stored), len(wanted)))
        ]
        is_same = len(stored) == len(wanted) and all(one.name == other.name for one, other in fields)
        return is_same and all(_is_plain_cast(one.type, other.type) for one, other in fields)
    if isinstance(stored, pa.ListType) and isinstance(wanted, pa.ListType):
        return _is_plain_cast(stored.value_type, wanted.value_type)
    if isinstance(stored, pa.MapType) and isinstance(wanted, pa.MapType):
        keys = _is_plain_cast(stored.key_type, wanted.key_type)
        return keys and _is_plain_cast(stored.item_type, wanted.item_type)
    return _is_plain_number(stored, wanted) or _is_same_kind(stored, wanted)


def _is_plain_number(stored: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_signed_integer(stored):
        # A whole number has one spelling only.
        is_wider = pa.types.is_signed_integer(wanted) and stored.bit_width <= wanted.bit_width
        return is_wider or bool(pa.types.is_string(wanted))
    if isinstance(stored, pa.Decimal128Type) and isinstance(wanted, pa.Decimal128Type):
        return bool(stored.scale == wanted.scale and stored.precision <= wanted.precision)
    return bool(pa.types.is_float32(stored) and pa.types.is_float64(wanted))


def _is_same_kind(stored: pa.DataType, wanted: pa.DataType) -> bool:
    if isinstance(stored, pa.TimestampType) and isinstance(wanted, pa.TimestampType):
        return (stored.tz is None) == (wanted.tz is None)
    if isinstance(stored, pa.DictionaryType):
        return bool(stored.value_type == wanted)
    if pa.types.is_string(wanted):
        return bool(pa.types.is_large_string(stored))
    is_bytes = pa.types.is_large_binary(stored) or pa.types.is_fixed_size_binary(stored)
    return bool(pa.types.is_binary(wanted) and is_bytes)
