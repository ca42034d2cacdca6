"""What changed between two states of a slice: which columns at all, and which rows, told record by record.

An index of whose columns none changed, with the same records in the same places, has the same entries.

An upsert changes few rows of a file group, and describing a row costs more than seeing that it is the same.
For a kind whose row says `is_by_record`, rows of records that did not change give the same entries before and
after, so neither state needs them: `before` and `after` differ by the same entries without them.

A row is the same if every column is. Values of types that can't be compared, such as nested ones, count as
changed. Of a record key that stands several times all rows count as changed if one does: its entry is made of
all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.table.record_keys import RECORD_KEY

__all__ = ["changed_rows", "same_columns"]

_FLOATS: dict[Any, Any] = {pa.types.is_float32: pa.int32(), pa.types.is_float64: pa.int64()}


def same_columns(before: pa.Table, after: pa.Table) -> frozenset[str]:
    """The columns that hold the same in both, row by row. Of types that can't be compared there are none."""
    if before.num_rows != after.num_rows:
        return frozenset()
    shared = set(before.column_names).intersection(after.column_names)
    pairs = ((name, before.column(name), after.column(name)) for name in shared)
    return frozenset(
        name
        for name, old, new in pairs
        if old.type == new.type and _is_comparable(old.type) and _bits(old).equals(_bits(new))
    )


def changed_rows(before: pa.Table, after: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of records that are not the same in both states.

    Args:
        before: The record key, and all that entries are made of.
        after: The same columns.
    """
    if before.schema.types != after.schema.types or before.column_names != after.column_names:
        return before, after
    before, after = before.combine_chunks(), after.combine_chunks()
    old_keys, new_keys = before.column(RECORD_KEY), after.column(RECORD_KEY)
    length = min(before.num_rows, after.num_rows)
    if old_keys.slice(0, length).equals(new_keys.slice(0, length)):
        # As upserts leave a file group: records stand where they stood, new ones at the end.
        old_rows = new_rows = np.arange(length)
        differs = _differ(before.slice(0, length), after.slice(0, length))
    else:
        found: Any = pc.index_in(new_keys, value_set=old_keys)
        is_known = found.is_valid().to_numpy()
        new_rows = np.flatnonzero(is_known)
        old_rows = found.drop_null().to_numpy()
        differs = _differ(before.take(old_rows), after.take(new_rows))
    is_old, is_new = np.ones(before.num_rows, np.bool_), np.ones(after.num_rows, np.bool_)
    is_old[old_rows], is_new[new_rows] = differs, differs
    keys = pa.chunked_array(
        [*old_keys.filter(pa.array(is_old)).chunks, *new_keys.filter(pa.array(is_new)).chunks], pa.string()
    )
    return _of_keys(before, keys), _of_keys(after, keys)


def _of_keys(rows: pa.Table, keys: pa.ChunkedArray[Any]) -> pa.Table:
    return rows.filter(pc.is_in(rows.column(RECORD_KEY), value_set=keys))


def _differ(before: pa.Table, after: pa.Table) -> Any:
    """For each row whether it is another one in the other table."""
    found = np.zeros(before.num_rows, np.bool_)
    for one, other in zip(before.columns, after.columns, strict=True):
        if not _is_comparable(one.type):
            return np.ones(before.num_rows, np.bool_)
        old, new = _bits(one), _bits(other)
        if old.equals(new):
            continue
        both_null: Any = pc.and_(old.is_null(), new.is_null())
        equal: Any = pc.equal(old, new)
        same: Any = equal.fill_null(False)  # noqa: FBT003  pyarrow's signature
        found |= ~np.asarray(pc.or_(same, both_null))
    return found


def _is_comparable(data_type: pa.DataType) -> bool:
    """Whether equal values surely have equal entries, and can be compared."""
    # As Any: pyarrow's stubs take no function of any type.
    types: Any = pa.types
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    others = (types.is_integer, types.is_boolean, types.is_temporal, types.is_decimal, *_FLOATS)
    return any(is_of(data_type) for is_of in (*texts, *others))


def _bits(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    """Floating point numbers by their bits: 0.0 and -0.0 are equal, a NaN is no value's equal."""
    for is_of, bits in _FLOATS.items():
        if is_of(column.type):
            return pa.chunked_array([chunk.view(bits) for chunk in column.chunks], bits)
    return column
