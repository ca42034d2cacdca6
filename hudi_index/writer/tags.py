"""From rows and the places where their records stand to rows as Hudi writes them: pure Arrow, no I/O.

    nowhere                         insert, unless it is a delete
    in the partition it names       update or delete there
    in another partition            delete there, and insert in the partition it names: a move
    with a larger ordering value    nothing: the row is late

A row with a smaller ordering value than a record neither updates nor moves nor deletes it. Where a key stands
at several places each is decided for itself, and nothing is inserted beside a record that stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt

    from hudi_index.writer.report import TagCounts

    Positions = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]

__all__ = ["ARRIVAL", "DELETED", "META", "OPERATION", "ORDERING", "Rows", "settle", "tag_rows"]

COMMIT_TIME, SEQUENCE, RECORD_KEY, PARTITION_PATH, FILE_NAME = META = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""Hudi's own columns, in Hudi's order."""
OPERATION = "_hoodie_operation"
"""Says what to do with a located row: I, U or D."""
ARRIVAL = "_hudi_index_arrival"
"""Rises with the order in which rows of one part of the batch came."""
DELETED = "_hudi_index_deleted"
"""Whether a row deletes its record."""
ORDERING = "_hudi_index_ordering"
"""The encoded ordering value of a record that stands in the table."""


@dataclass(frozen=True)
class Rows:
    """Rows of a batch with all that decides about them."""

    table: pa.Table
    """Hudi's columns, the data columns, ARRIVAL and DELETED."""
    ordering: pa.Array[Any] | None
    """Encoded ordering values; None where arrival decides."""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def keys(self) -> pa.Array[Any]:
        """Record keys."""
        return _flat(self.table, RECORD_KEY)

    @property
    def paths(self) -> pa.Array[Any]:
        """The partition paths that rows name."""
        return _flat(self.table, PARTITION_PATH)

    @property
    def is_deleted(self) -> Mask:
        """Which rows delete."""
        column: Any = _flat(self.table, DELETED)
        return _mask(column.fill_null(False))  # noqa: FBT003  pyarrow's signature

    def take(self, positions: Positions) -> Rows:
        """Some of the rows."""
        chosen = _places(positions)
        return Rows(self.table.take(chosen), None if self.ordering is None else self.ordering.take(chosen))


def settle(rows: Rows, *, by_partition: bool) -> Rows:
    """One row of each key: that with the largest ordering value, of several such the last that came.

    Args:
        rows: All rows of the keys in them.
        by_partition: Whether a key is one within its partition only.
    """
    names = ["key", "path"] if by_partition else ["key"]
    columns: dict[str, Any] = {"key": rows.keys}
    if by_partition:
        columns["path"] = rows.paths
    if pa.table(columns).group_by(names).aggregate([]).num_rows == len(rows):
        return rows
    # A null is no value, so any is larger. Sorting puts nulls last, whichever way it sorts.
    columns["ordering"] = pa.nulls(len(rows), pa.string()) if rows.ordering is None else rows.ordering
    columns["arrival"] = _flat(rows.table, ARRIVAL)
    columns["position"] = np.arange(len(rows))
    order: Any = [*((name, "ascending") for name in names)]
    order += [("ordering", "descending"), ("arrival", "descending")]
    table = pa.table(columns).sort_by(order)
    is_first: Mask = np.zeros(len(rows), dtype=np.bool_)
    is_first[0] = True
    for name in names:
        column = _flat(table, name)
        differs: Any = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1))
        is_first[1:] |= differs.to_numpy(zero_copy_only=False)
    return rows.take(np.sort(table.column("position").to_numpy()[is_first]))


def tag_rows(rows: Rows, located: pa.Table, counts: TagCounts) -> list[pa.Table]:
    """The rows as Hudi writes them.

    Args:
        rows: One of each key.
        located: A table of LOCATED: where their records stand.
        counts: What became of the rows is counted here.
    """
    at = located.column("position").to_numpy()
    deletes, count = rows.is_deleted, len(rows)
    is_here = _equal(_flat(located, "path"), rows.paths.take(_places(at)))
    is_late = _late(rows, located, at)
    stands = _any_at(count, at)
    has_newer = _any_at(count, at[is_late])
    stands_here = _any_at(count, at[is_here])

    updated = np.flatnonzero(is_here & ~is_late)
    left = np.flatnonzero(~is_here & ~is_late)
    arriving = _any_at(count, at[left]) & ~stands_here & ~has_newer & ~deletes
    new = ~stands & ~deletes

    counts.inserted += int(new.sum())
    counts.moved += int(arriving.sum())
    counts.late += int(has_newer.sum())
    counts.absent += int((~stands & deletes).sum())
    counts.deleted += int(deletes[at[updated]].sum() + deletes[at[left]].sum())
    counts.updated += int((~deletes[at[updated]]).sum())
    return [
        _insert(rows, np.flatnonzero(new | arriving)),
        _write_at(rows, at[updated], located.take(_places(updated)), deletes[at[updated]]),
        _write_at(rows, at[left], located.take(_places(left)), np.ones(len(left), dtype=np.bool_)),
    ]


def _late(rows: Rows, located: pa.Table, at: Positions) -> Mask:
    """Which places hold a larger ordering value than the row. Where one is not known arrival decides."""
    if rows.ordering is None:
        return np.zeros(len(at), dtype=np.bool_)
    less: Any = pc.less(rows.ordering.take(_places(at)), _flat(located, "ordering"))
    return _mask(pc.fill_null(less, False))  # noqa: FBT003  pyarrow's signature


def _insert(rows: Rows, positions: Positions) -> pa.Table:
    nothing: pa.Array[Any] = pa.nulls(len(positions), pa.string())
    table = rows.table.take(_places(positions))
    table = _with(table, {COMMIT_TIME: nothing, FILE_NAME: nothing})
    return _with_operation(table, np.full(len(positions), "I"))


def _write_at(rows: Rows, positions: Positions, located: pa.Table, is_deleted: Mask) -> pa.Table:
    table = rows.table.take(_places(positions))
    places = {
        COMMIT_TIME: _flat(located, "instant"),
        PARTITION_PATH: _flat(located, "path"),
        FILE_NAME: _flat(located, "name"),
    }
    return _with_operation(_with(table, places), np.where(is_deleted, "D", "U"))


def _with(table: pa.Table, columns: dict[str, pa.Array[Any]]) -> pa.Table:
    for name, column in columns.items():
        # All that a task gives Spark is of one schema, and Spark may send large texts.
        text = table.schema.field(name).type
        table = table.set_column(table.schema.get_field_index(name), name, column.cast(text))
    return table


def _with_operation(table: pa.Table, operations: npt.NDArray[Any]) -> pa.Table:
    column: pa.Array[Any] = pa.array(operations, pa.string())
    return table.drop_columns([ARRIVAL, DELETED]).add_column(len(META), OPERATION, column)


def _equal(left: pa.Array[Any], right: pa.Array[Any]) -> Mask:
    found: Any = pc.equal(left, right)
    return _mask(found)


def _mask(found: Any) -> Mask:
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _places(positions: Positions) -> Any:
    # As Any: pyarrow's stubs take every array of numpy's for one of truth values.
    return pa.array(positions)


def _any_at(count: int, positions: Positions) -> Mask:
    found: Mask = np.zeros(count, dtype=np.bool_)
    found[positions] = True
    return found


def _flat(table: pa.Table, name: str) -> pa.Array[Any]:
    column: Any = table.column(name)
    found: pa.Array[Any] = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return found
