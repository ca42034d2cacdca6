"""The merged rows of a slice as Arrow batches, with record key and position.

Positions count the rows of a slice from 0 in reading order, and two readers of the same slice, in any
process, count alike: rows of the base file in the base file's order, then rows that only logs hold by
record key. Batches stream: at most the records of the logs are held at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hudi import HudiReadOptions

from hudi_index.errors import (
    HudiIndexError,
    MissingSliceFileError,
    SliceRefusedError,
    UnknownColumnError,
)
from hudi_index.table.calendar import columns_for_spark, has_times, int96_columns, is_as_stored
from hudi_index.table.damage import naming_table_file
from hudi_index.table.footer import FOOTER, Footer, footer_statistics, row_count_of
from hudi_index.table.opening import READ_OPTIONS, open_reader
from hudi_index.table.plain_merge import HeldFiles, HeldLogs, merge_plainly
from hudi_index.table.readers import ReaderChoice, SliceReader, slice_reader_of
from hudi_index.table.record_keys import RECORD_KEY, record_keys_of
from hudi_index.table.refusals import failure_of, is_of_hudi_rs, refusal_of, refuse_columns
from hudi_index.table.row_order import BATCH_ROWS, in_base_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hudi import HudiFileGroupReader

    from hudi_index.storage import Storage, StoredFile
    from hudi_index.table.footer import ColumnStatistics
    from hudi_index.table.shape import TableShape
    from hudi_index.table.slices import FileGroupId, FileSlice, SliceIdentity

__all__ = ["ROW_POSITION", "SliceRows", "TableReader"]

ROW_POSITION = "_row_position"
"""Column of a row's position in its slice."""


@dataclass(frozen=True)
class TableReader:
    """Reads slices of one table. Picklable: executors open the table for themselves."""

    storage: Storage
    shape: TableShape
    state: str
    """Names the timeline's state, so that a process never reads with a timeline older than the slice."""
    instant: str | None = None
    """Log records of later commits are left out, whatever the timeline is when a process opens the table."""
    delta_commits: frozenset[str] | None = None
    """Those that count, where log files don't tell (version 6); None where they do."""
    refused: Mapping[SliceIdentity, str] = field(default_factory=dict, hash=False)
    """Slices that hudi-rs was seen to refuse, and why: they are for Spark."""

    def rows(
        self,
        file_slice: FileSlice,
        columns: Sequence[str] | None = None,
        footer: Footer | None = None,
        held: HeldFiles | None = None,
    ) -> SliceRows:
        """The rows of a slice, current or not, with these columns (all data columns by default).

        A nested column (`a.b`) brings its top-level column. Raises UnknownColumnError.

        Args:
            file_slice: The slice.
            columns: Their names.
            footer: That of its base file, if it was read before.
            held: What was read of another state of its file group.
        """
        names = self.shape.schema.columns.names if columns is None else map(self.column_of, columns)
        return SliceRows(self, file_slice, tuple(dict.fromkeys(names)), footer, held)

    def row_count(self, file_slice: FileSlice) -> int:
        """How many rows a slice holds: from the footer where that is the truth, else counted."""
        if file_slice.base_path is not None and not file_slice.log_files:
            return row_count_of(self.storage, file_slice.base_path)
        self._refuse_if_for_spark(file_slice)
        return sum(batch.num_rows for batch in self._stream(file_slice, []))

    def statistics(self, file_slice: FileSlice, columns: Iterable[str]) -> dict[str, ColumnStatistics | None]:
        """Exact statistics by column (nested ones as `a.b`); None where the footer does not prove them."""
        return footer_statistics(self.storage, self.shape, file_slice, columns)

    def footer(self, file_slice: FileSlice) -> Footer:
        """The footer of a slice that has a base file. Raises MissingSliceFileError."""
        return Footer.load(self.storage, self.shape, file_slice)

    def column_of(self, name: str) -> str:
        """The top-level column that a column name is, or is within."""
        known = self.shape.columns_with_meta.names
        for candidate in (name, name.partition(".")[0]):
            if candidate in known:
                return candidate
        raise UnknownColumnError(column=name, known=self.shape.schema.columns.names)

    def choice_of(self, file_slice: FileSlice) -> ReaderChoice:
        """Who reads a slice, as far as is known before, and why not hudi-rs if it is Spark."""
        seen = self.refused.get(file_slice.identity) if self.refused else None
        return ReaderChoice(SliceReader.SPARK, seen) if seen else slice_reader_of(self.shape, file_slice)

    def _refuse_if_for_spark(self, file_slice: FileSlice) -> None:
        choice = self.choice_of(file_slice)
        if choice.reason is not None:
            raise refusal_of(self.storage, file_slice, choice.reason)

    def _stream(self, file_slice: FileSlice, projection: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self._refuse_changed_logs(file_slice)
        self._refuse_other_calendar(file_slice, projection)
        asked = HudiReadOptions(projection=list(projection), hudi_options=READ_OPTIONS).with_batch_size(
            BATCH_ROWS
        )
        try:
            reader = self._open_reader(file_slice.as_of or self.instant)
            # An empty base path is how hudi-rs takes a slice of logs only.
            yield from reader.read_file_slice_from_paths_stream(
                file_slice.base_path or "", list(file_slice.log_paths), asked
            )
        except BaseException as error:
            if isinstance(error, HudiIndexError) or not is_of_hudi_rs(error):
                raise
            self._refuse_missing_files(file_slice)
            raise failure_of(self.storage, file_slice, error) from error
        # Again: a restore takes records back by writing to a log.
        self._refuse_changed_logs(file_slice)

    def _stream_base(
        self, file_slice: FileSlice, path: str, projection: Sequence[str], footer: Footer | None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a slice that is a base file.

        As they stand there, if its columns have the table's types: pyarrow opens a file in half the time.
        """
        try:
            with naming_table_file(self.storage, path):
                if footer is None and not self.storage.is_local:
                    footer = self.footer(file_slice)
                source = footer.source if footer else None
                # Far away, one request for the columns of a row group.
                file = pq.ParquetFile(
                    self.storage.open_input(path) if source is None else source,
                    metadata=footer.metadata if footer else None,
                    coerce_int96_timestamp_unit="us",
                    pre_buffer=not self.storage.is_local,
                )
        except FileNotFoundError:
            self._refuse_missing_files(file_slice)
            raise
        stored, known = file.schema_arrow, self.shape.columns_with_meta
        int96 = int96_columns(file.metadata)
        for name in projection:
            ordinals = stored.get_all_field_indices(name)
            if not ordinals and name.lower() in map(str.lower, stored.names):
                refuse_columns(self.storage, file_slice, {name}, "spelled in another case in its base file")
            is_plain = "." not in name and len(ordinals) == 1
            if not is_plain or not is_as_stored(
                stored.field(ordinals[0]).type, known.field(name).type, is_int96=name in int96
            ):
                yield from self._stream(file_slice, projection)
                return
        refuse_columns(self.storage, file_slice, columns_for_spark(file.metadata, projection))
        with naming_table_file(self.storage, path):
            yield from file.iter_batches(BATCH_ROWS, columns=list(projection), use_threads=False)

    def _refuse_other_calendar(self, file_slice: FileSlice, projection: Sequence[str]) -> None:
        # Which of two records stands is decided by the ordering fields.
        columns = [*projection, *(self.shape.config.ordering_fields if file_slice.log_files else ())]
        if file_slice.base_path is not None and has_times(self.shape.columns_with_meta, columns):
            footer = self.footer(file_slice).metadata
            refuse_columns(self.storage, file_slice, columns_for_spark(footer, columns))
            unread = int96_columns(footer).intersection(columns)
            refuse_columns(self.storage, file_slice, unread, "INT96, of which hudi-rs reads some wrong")

    def _open_reader(self, as_of: str | None) -> HudiFileGroupReader:
        table = {}
        if self.shape.config.drops_partition_columns:
            # hudi-rs refuses tables without their partition columns, but reads the other columns right.
            table["hoodie.internal.skip.config.validation"] = "true"
        uri, options = self.storage.for_hudi_rs()
        storage = tuple(sorted(options.items()))
        return open_reader(uri, storage, tuple(table.items()), self.state, as_of, self.delta_commits)

    def losses(self, slices: Iterable[FileSlice]) -> dict[FileGroupId, MissingSliceFileError]:
        """Which of some slices can't be read any more, and why; all files are asked for at once."""
        expected = [(file_slice, *file) for file_slice in slices for file in _files_of(file_slice)]
        files = self.storage.stat([path for _, path, _, _ in expected])
        found: dict[FileGroupId, MissingSliceFileError] = {}
        for (file_slice, path, size, time), file in zip(expected, files, strict=True):
            reason = _reason_of_loss(file, size, time)
            if reason:
                found[file_slice.group] = MissingSliceFileError(path=self.storage.uri_of(path), reason=reason)
        return found

    def _refuse_missing_files(self, file_slice: FileSlice) -> None:
        for error in self.losses([file_slice]).values():
            raise error

    def _refuse_changed_logs(self, file_slice: FileSlice) -> None:
        # Only in version 6 may a log change under its name.
        if file_slice.log_times:
            self._refuse_missing_files(file_slice)


def _files_of(file_slice: FileSlice) -> Iterator[tuple[str, int | None, int | None]]:
    """The files of a slice, with size and modification time where another file could have the name."""
    if file_slice.base_path is not None:
        yield file_slice.base_path, None, None
    for ordinal, path in enumerate(file_slice.log_paths):
        if file_slice.log_times:
            yield path, file_slice.log_sizes[ordinal], file_slice.log_times[ordinal]
        else:
            yield path, None, None


def _reason_of_loss(file: StoredFile | None, size: int | None, time: int | None) -> str | None:
    if file is None:
        return "it was cleaned or rolled back"
    if size is not None and file.size != size:
        return f"{size} bytes became {file.size}"
    if time is not None and file.facts[1] != time:
        return "it was written again"
    return None


@dataclass(frozen=True)
class SliceRows:
    """The rows of one slice: record key, row position, then `columns`."""

    table: TableReader
    file_slice: FileSlice
    columns: tuple[str, ...]
    footer: Footer | None = field(default=None, repr=False, compare=False)
    """That of the base file, if it was read before."""
    held: HeldFiles | None = field(default=None, repr=False, compare=False)
    """What was read of another state of the file group."""

    @property
    def group(self) -> FileGroupId:
        """The file group the rows belong to."""
        return self.file_slice.group

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        known = self.table.shape.columns_with_meta
        leading: list[pa.Field[Any]] = [pa.field(RECORD_KEY, pa.string()), pa.field(ROW_POSITION, pa.int64())]
        chosen = [known.field(name) for name in self.columns if name != RECORD_KEY]
        return pa.schema([*leading, *(field.with_nullable(nullable=True) for field in chosen)])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Stream the rows in order of their positions.

        Raises:
            SliceRefusedError: only Spark can read the slice.
            MissingSliceFileError: a file of the slice is gone, or is no longer what it was.
            TableFileError: a file of the slice is damaged.
        """
        table = self.table
        table._refuse_if_for_spark(self.file_slice)
        constants: dict[str, Any] = {**table.shape.partitions.values_of(self.file_slice.group.partition_path)}
        try:
            yield from self._add_positions(self._merge(self._projection_without(constants)), constants)
        except SliceRefusedError as error:
            # Even if its base file alone was refused: this slice is what others know.
            raise refusal_of(table.storage, self.file_slice, error.reason) from error

    def arrange(self, rows: Iterable[pa.RecordBatch], extra: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """The same for rows that Hudi on Spark merged, given in its order of reading.

        Args:
            rows: Batches with the columns, and those of the record key.
            extra: Columns of `rows` that come after the others, as they are.
        """
        ordered = (
            in_base_order(rows, self._read_base_keys(), self.table.shape.config)
            if self.file_slice.log_files
            else rows
        )
        return self._add_positions(ordered, {}, extra)

    def _add_positions(
        self, rows: Iterable[pa.RecordBatch], constants: dict[str, Any], extra: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        schema, position = self.schema, 0
        for batch in rows:
            count = batch.num_rows
            leading = [record_keys_of(batch, self.table.shape.config), _positions(position, count)]
            arrays = [
                pa.repeat(constants[field.name], count)
                if field.name in constants
                else _as_type(batch.column(field.name), field.type)
                for field in list(schema)[2:]
            ]
            more = [batch.schema.field(name) for name in extra]
            position += count
            yield pa.RecordBatch.from_arrays(
                [*leading, *arrays, *map(batch.column, extra)], schema=pa.schema([*schema, *more])
            )

    def _projection_without(self, constants: dict[str, Any]) -> list[str]:
        config = self.table.shape.config
        keys = (RECORD_KEY,) if config.populates_meta_fields else config.record_key_fields
        return list(dict.fromkeys([*keys, *(name for name in self.columns if name not in constants)]))

    def _merge(self, projection: list[str]) -> Iterator[pa.RecordBatch]:
        base_path = self.file_slice.base_path
        if not self.file_slice.log_files and base_path is not None:
            yield from self.table._stream_base(self.file_slice, base_path, projection, self.footer)
            return
        held = self.held or HeldFiles()
        merged = merge_plainly(
            self.table.storage, self.table.shape, self.file_slice, projection, self._read_base, held
        )
        if merged is not None:
            yield from merged
            return
        self._refuse_left_out(projection, held.logs)
        batches = self.table._stream(self.file_slice, projection)
        yield from in_base_order(batches, self._base_keys(), self.table.shape.config)

    def _base_keys(self) -> pa.ChunkedArray[Any]:
        config = self.table.shape.config
        keys = [RECORD_KEY] if config.populates_meta_fields else list(config.record_key_fields)
        batches = self._read_base(keys)
        return pa.chunked_array([record_keys_of(batch, config) for batch in batches], pa.string())

    def _read_base(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        base = self.file_slice.without_logs()
        if base is None or base.base_path is None:
            return
        try:
            yield from self.table._stream_base(base, base.base_path, columns, self.footer)
        except SliceRefusedError as error:
            # It is the slice with its logs that is for Spark.
            raise refusal_of(self.table.storage, self.file_slice, error.reason) from error

    def _refuse_left_out(self, projection: Sequence[str], logs: HeldLogs) -> None:
        """Refuse a slice of which a log leaves out a column that files before it have.

        To Hudi its records have no value there. hudi-rs takes the value of the record that they replace.
        """
        fields = [logs.fields.get(path) for path in self.file_slice.log_paths]
        if not any(known is not None and not known.issuperset(projection) for known in fields):
            return
        known_before: set[str] = set()
        if self.file_slice.base_path is not None:
            known_before.update(self.table.footer(self.file_slice).metadata.schema.to_arrow_schema().names)
        left_out: set[str] = set()
        for known in fields:
            if known is not None:
                left_out |= known_before.intersection(projection) - known
                known_before |= known
        refuse_columns(
            self.table.storage, self.file_slice, left_out, "left out by a log over files with them"
        )

    def _read_base_keys(self) -> pa.ChunkedArray[Any]:
        """The same where hudi-rs may not even open the table."""
        if self.file_slice.base_path is None:
            return pa.chunked_array([], pa.string())
        config = self.table.shape.config
        keys = [RECORD_KEY] if config.populates_meta_fields else list(config.record_key_fields)
        path = self.file_slice.base_path
        storage = self.table.storage
        with naming_table_file(storage, path), storage.open_input(path, FOOTER) as source:
            file = pq.ParquetFile(source, pre_buffer=not storage.is_local)
            batches = file.iter_batches(BATCH_ROWS, columns=keys)
            return pa.chunked_array([record_keys_of(batch, config) for batch in batches], pa.string())


def _positions(start: int, count: int) -> pa.Array[Any]:
    return pa.array(np.arange(start, start + count))


def _as_type(array: pa.Array[Any], data_type: pa.DataType) -> pa.Array[Any]:
    return array if array.type == data_type else pc.cast(array, data_type)
