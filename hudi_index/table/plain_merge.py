"""Merges base files with logs that hold nothing but plain records, without hudi-rs.

Most logs are such: upserts of records of primitive types. Merging those takes hudi-rs several times as long
as reading them, once for each state of a slice. Whatever else there is in a log (deletes, rollbacks, other
types, another schema), or in the table (version 6, a merger of its own), is not for this module:
`merge_plainly` gives None, and hudi-rs reads the slice. Both give the same rows
(tests/engine/table/test_plain_merge.py).

    COMMIT_TIME_ORDERING    the last record of a key stands
    EVENT_TIME_ORDERING     the one with the largest ordering value, of several the last
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.table.avro_records import UndecodableError, decode_columns, fields_of
from hudi_index.table.config import MergeMode
from hudi_index.table.log_blocks import (
    OtherBlockError,
    PlainRecords,
    fields_of_all,
    fields_of_log,
    plain_records,
)
from hudi_index.table.record_keys import RECORD_KEY
from hudi_index.table.slices import parse_log_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from hudi_index.storage import Storage
    from hudi_index.table.shape import TableShape
    from hudi_index.table.slices import FileSlice

    Batches = Iterable[pa.RecordBatch]

__all__ = ["HeldFiles", "HeldLogs", "merge_plainly"]

_FIRST_VERSION = 8
"""From here on a log file is of one commit, and part of a slice only if that commit was completed."""
_MOST_LOG_BYTES = 64 * 1024 * 1024
_MOST_BASE_BYTES = 64 * 1024 * 1024
"""So many of a base file's rows are held; of more, only what finds the records."""
_ROWS_AT_ONCE = 65_536
_IS_DELETED, _OPERATION = _MARKS = ("_hoodie_is_deleted", "_hoodie_operation")
_NO_DELETES = ["I", "U"]
_DELETE_FIELD = "hoodie.payload.delete.field"


class _LogRecords(NamedTuple):
    """The records of one log file."""

    schema: bytes
    """Its writer's."""
    columns: pa.Table
    """What is wanted of them, and what marks deletes."""


@dataclass
class HeldLogs:
    """Records of log files of some file groups: what is decoded together costs little more than one."""

    ahead: tuple[str, ...] = ()
    """Logs of which the records are wanted next."""
    records: dict[tuple[str, tuple[str, ...]], _LogRecords | None] = field(default_factory=dict)
    """By path and columns; None of logs that are not for this module."""
    fields: dict[str, frozenset[str] | None] = field(default_factory=dict)
    """Which fields all records of a log have, by its path; None if that can't be told."""


@dataclass
class HeldFiles:
    """What was read of files that two states of a file group share."""

    logs: HeldLogs = field(default_factory=HeldLogs)
    bases: dict[tuple[str, tuple[str, ...]], _Base] = field(default_factory=dict)
    is_other: bool = False
    """Whether something was found that is not for this module."""


class _OtherMergeError(Exception):
    """A merge that is not for this module."""


@dataclass(frozen=True)
class _Merge:
    """How the rows of a table are merged."""

    shape: TableShape
    columns: tuple[str, ...]
    """What is wanted, the record key among it."""
    ordering: str | None
    """The ordering field; None if the last record stands."""

    @property
    def names(self) -> tuple[str, ...]:
        """What has to be read of bases and logs."""
        return tuple(dict.fromkeys([RECORD_KEY, *self.columns, *([self.ordering] if self.ordering else [])]))

    def type_of(self, name: str) -> pa.DataType:
        """The table's type of a column."""
        data_type: pa.DataType = self.shape.columns_with_meta.field(name).type
        return data_type


@dataclass(frozen=True)
class _Base:
    """The rows of a base file."""

    keys: pa.ChunkedArray[Any]
    ordering: pa.ChunkedArray[Any] | None
    rows: list[pa.RecordBatch] | None
    """None if they are too large to be held: they are read again."""
    is_distinct: bool
    """Whether no record key stands twice. Of those that do, hudi-rs puts the rows together."""

    @classmethod
    def of(cls, merge: _Merge, batches: Batches) -> _Base:
        """Reads them, and holds what is asked of all of them."""
        keys: list[Any] = []
        ordering: list[Any] = []
        rows: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            keys.append(batch.column(RECORD_KEY))
            if merge.ordering:
                ordering.append(_as_type(batch.column(merge.ordering), merge.type_of(merge.ordering)))
            size += batch.nbytes
            rows.append(batch)
            if size > _MOST_BASE_BYTES:
                rows.clear()
        all_keys = pa.chunked_array(keys, pa.string())
        return cls(
            all_keys,
            _chunked(ordering, merge.type_of(merge.ordering)) if merge.ordering else None,
            rows if size <= _MOST_BASE_BYTES else None,
            len(all_keys.unique()) == len(all_keys),
        )


def merge_plainly(
    storage: Storage,
    shape: TableShape,
    file_slice: FileSlice,
    columns: Sequence[str],
    read_base: Callable[[list[str]], Batches],
    held: HeldFiles | None = None,
) -> Iterator[pa.RecordBatch] | None:
    """The merged rows of a slice with logs: those of the base file in its order, then others by record key.

    Args:
        storage: The table.
        shape: What it is like.
        file_slice: The slice, which somebody else than Spark can read.
        columns: Top-level columns.
        read_base: Gives the rows of the slice's base file with some columns.
        held: What was read of another state of the file group.

    Returns:
        None if the slice is not for this module.
    """
    held = held or HeldFiles()
    if held.is_other:
        return None
    try:
        merge = _merge_of(shape, file_slice, columns)
        records = _latest(merge, _read_logs(storage, merge, file_slice.log_paths, held.logs))
    except (OtherBlockError, UndecodableError, _OtherMergeError):
        held.is_other = True
        return None

    def read() -> Batches:
        return read_base(list(merge.names)) if file_slice.base_path is not None else ()

    key = (file_slice.base_path or "", merge.names)
    base = held.bases.get(key) or _Base.of(merge, read())
    if base.rows is not None:
        held.bases[key] = base
    try:
        replaced_by, others = _places(merge, base, records)
    except _OtherMergeError:
        held.is_other = True
        return None
    return _merged(merge, read() if base.rows is None else base.rows, records, replaced_by, others)


def _merge_of(shape: TableShape, file_slice: FileSlice, columns: Sequence[str]) -> _Merge:
    config = shape.config
    if (
        config.version < _FIRST_VERSION
        or not config.populates_meta_fields
        or _DELETE_FIELD in config.properties
        or sum(file_slice.log_sizes) > _MOST_LOG_BYTES
    ):
        raise _OtherMergeError
    if config.merge_mode is MergeMode.COMMIT_TIME_ORDERING:
        return _Merge(shape, tuple(columns), None)
    if config.merge_mode is not MergeMode.EVENT_TIME_ORDERING or len(config.ordering_fields) != 1:
        raise _OtherMergeError
    (ordering,) = config.ordering_fields
    if ordering not in shape.columns_with_meta.names:
        raise _OtherMergeError
    merge = _Merge(shape, tuple(columns), ordering)
    data_type = merge.type_of(ordering)
    # Their order is that of one number: of other types several orders are known.
    if not (pa.types.is_signed_integer(data_type) or pa.types.is_timestamp(data_type)):
        raise _OtherMergeError
    return merge


def _read_logs(storage: Storage, merge: _Merge, paths: Sequence[str], held: HeldLogs) -> pa.Table:
    """The records of some logs in the order of the commits."""
    names = merge.names
    missing = [path for path in dict.fromkeys([*paths, *held.ahead]) if (path, names) not in held.records]
    if missing:
        _hold_logs(storage, merge, missing, held)
    found = [held.records[path, names] for path in paths]
    known = [each for each in found if each]
    if len(known) < len(found) or len({each.schema for each in known}) != 1:
        raise OtherBlockError(f"{len(found) - len(known)} of {len(found)} logs, or several schemas")
    records = pa.concat_tables([each.columns for each in known])
    for name in _MARKS:
        if name in records.column_names:
            _refuse_deletes(records.column(name), name)
    if any(records.column(name).null_count for name in (RECORD_KEY, merge.ordering) if name):
        raise _OtherMergeError
    return records.select(names)


def _hold_logs(storage: Storage, merge: _Merge, paths: Sequence[str], held: HeldLogs) -> None:
    by_schema: dict[bytes, list[tuple[str, list[PlainRecords]]]] = defaultdict(list)
    for path, content in zip(paths, storage.read_many(paths), strict=True):
        held.records[path, merge.names] = None
        try:
            blocks = _plain_records(path, content)
        except OtherBlockError:
            held.fields[path] = fields_of_log(content or b"")
            continue
        schemas = {block.schema for block in blocks}
        held.fields[path] = fields_of_all(schemas)
        if len(schemas) == 1:
            by_schema[schemas.pop()].append((path, blocks))
    for schema, logs in by_schema.items():
        with suppress(UndecodableError, _OtherMergeError):
            records, begin = _decoded(merge, schema, [block for _, blocks in logs for block in blocks]), 0
            for path, blocks in logs:
                count = sum(len(block.starts) for block in blocks)
                held.records[path, merge.names] = _LogRecords(schema, records.slice(begin, count))
                begin += count


def _plain_records(path: str, content: bytes | None) -> list[PlainRecords]:
    parsed = parse_log_file(path.rpartition("/")[2], 0)
    if content is None or parsed is None:
        raise OtherBlockError(path)
    return plain_records(content, parsed.instant)


def _decoded(merge: _Merge, schema: bytes, blocks: Sequence[PlainRecords]) -> pa.Table:
    fields = fields_of(schema)
    types = {each.name: each.data_type for each in fields}
    if any(types.get(name) != merge.type_of(name) for name in merge.names):
        raise _OtherMergeError
    wanted = [*merge.names, *(name for name in _MARKS if name in types and name not in merge.names)]
    shifts = np.cumsum([0, *(len(block.data) for block in blocks)])
    data = np.frombuffer(b"".join(block.data for block in blocks), np.uint8)
    starts = np.concatenate([block.starts + shift for block, shift in zip(blocks, shifts, strict=False)])
    ends = np.concatenate([block.ends + shift for block, shift in zip(blocks, shifts, strict=False)])
    return pa.table(decode_columns(data, starts, ends, fields, wanted))


def _refuse_deletes(marks: pa.ChunkedArray[Any], name: str) -> None:
    if name == _IS_DELETED:
        is_other: Any = marks if pa.types.is_boolean(marks.type) else pa.array([True])
    else:
        is_other = pc.invert(pc.is_in(marks.drop_null(), value_set=pa.array(_NO_DELETES, marks.type)))
    if pc.any(is_other).as_py():
        raise _OtherMergeError


def _latest(merge: _Merge, records: pa.Table) -> pa.Table:
    """Of each record key the record that stands."""
    keys: Any = records.column(RECORD_KEY).combine_chunks().dictionary_encode()
    codes = keys.indices.to_numpy()
    if len(keys.dictionary) == len(codes):
        return records
    places = np.arange(len(codes))
    order = np.lexsort(
        [places, *([_numbers(records.column(merge.ordering))] if merge.ordering else []), codes]
    )
    is_last = np.append(np.diff(codes[order]) != 0, True)
    return records.take(_as_places(order[is_last]))


def _numbers(chunked: pa.ChunkedArray[Any]) -> npt.NDArray[np.int64]:
    """Ordering values as numbers of their order."""
    values: Any = chunked.combine_chunks()
    wide = values.cast(pa.int64()) if pa.types.is_integer(values.type) else values.view(pa.int64())
    found: npt.NDArray[np.int64] = wide.to_numpy(zero_copy_only=False)
    return found


def _places(
    merge: _Merge, base: _Base, records: pa.Table
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each row of the base file the record that stands in its place or -1; and the others, by key."""
    if not base.is_distinct:
        raise _OtherMergeError
    keys = records.column(RECORD_KEY)
    found: Any = pc.index_in(base.keys, value_set=keys)
    replaced_by: npt.NDArray[np.int64] = found.fill_null(-1).to_numpy().astype(np.int64)
    rows = np.flatnonzero(replaced_by >= 0)
    known = replaced_by[rows]
    is_other = np.ones(len(records), np.bool_)
    is_other[known] = False
    if merge.ordering and base.ordering is not None and rows.size:
        before = base.ordering.take(_as_places(rows))
        if before.null_count:
            raise _OtherMergeError
        is_late = _numbers(records.column(merge.ordering))[known] < _numbers(before)
        replaced_by[rows[is_late]] = -1
    others = np.flatnonzero(is_other)
    order: Any = pc.sort_indices(keys.take(_as_places(others)))
    return replaced_by, others[order.to_numpy()]


def _merged(
    merge: _Merge,
    base: Batches,
    records: pa.Table,
    replaced_by: npt.NDArray[np.int64],
    others: npt.NDArray[np.int64],
) -> Iterator[pa.RecordBatch]:
    names, position = list(merge.columns), 0
    schema = pa.schema([(name, merge.type_of(name)) for name in names])
    for batch in base:
        places = replaced_by[position : position + batch.num_rows]
        position += batch.num_rows
        columns = [_as_type(batch.column(name), merge.type_of(name)) for name in names]
        rows = np.flatnonzero(places >= 0)
        if rows.size:
            new = records.take(_as_places(places[rows]))
            order = np.arange(batch.num_rows)
            order[rows] = batch.num_rows + np.arange(rows.size)
            chosen = _as_places(order)
            columns = [
                pa.concat_arrays([column, *new.column(name).chunks]).take(chosen)
                for name, column in zip(names, columns, strict=True)
            ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
    if others.size:
        rest = records.select(names).take(_as_places(others))
        yield from rest.cast(schema).to_batches(max_chunksize=_ROWS_AT_ONCE)


def _as_type(values: pa.Array[Any], data_type: pa.DataType) -> pa.Array[Any]:
    return values if values.type == data_type else values.cast(data_type)


def _chunked(arrays: list[Any], data_type: Any) -> pa.ChunkedArray[Any]:
    # As Any: pyarrow's stubs want the type to be known.
    return pa.chunked_array(arrays, data_type)


def _as_places(numbers: npt.NDArray[np.int64]) -> Any:
    # As Any: pyarrow's stubs take an array of NumPy for one of truth values.
    return pa.array(numbers)
