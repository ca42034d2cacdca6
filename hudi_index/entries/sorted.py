"""Entries in the order of their keys."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.schema import KEY

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["first_of_each", "is_as_before", "last_key", "newest_of_each", "search_sorted"]


def is_as_before(values: pa.ChunkedArray[Any]) -> npt.NDArray[np.bool_]:
    """By row whether it has the value of the row before."""
    flat: Any = values.combine_chunks()
    found = np.zeros(len(flat), dtype=np.bool_)
    if len(flat) > 1:
        found[1:] = pc.equal(flat.slice(1), flat.slice(0, len(flat) - 1)).to_numpy(zero_copy_only=False)
    return found


def first_of_each(entries: pa.Table) -> pa.Table:
    """The first entry of each key, of entries that are sorted by key."""
    return entries.filter(pa.array(~is_as_before(entries.column(KEY))))


def newest_of_each(changes: list[pa.Table]) -> pa.Table:
    """The newest row of each key, sorted by key, of one or more tables that are sorted, oldest first."""
    changes = [each for each in changes if each.num_rows] or changes[:1]
    if len(changes) == 1:
        return changes[0]
    joined = pa.concat_tables(changes)
    age = np.repeat(np.arange(len(changes), 0, -1), [each.num_rows for each in changes])
    order = pc.sort_indices(
        pa.table({KEY: joined.column(KEY), "age": age}), [(KEY, "ascending"), ("age", "ascending")]
    )
    return first_of_each(joined.take(order))


def search_sorted(texts: pa.Array[Any], wanted: pa.Array[Any]) -> npt.NDArray[np.int64]:
    """For each wanted text how many of some sorted ones are below it, by bytes. Neither may hold nulls."""
    if not len(texts):
        return np.zeros(len(wanted), dtype=np.int64)
    # Newer than the oldest pyarrow that is good enough for all else, and not known to the stubs.
    kernel: Any = getattr(pc, "search_sorted", None)
    if kernel is not None:
        found: npt.NDArray[np.uint64] = kernel(texts, wanted).to_numpy()
        return found.astype(np.int64)
    # Python compares texts by code points, whose order is that of the bytes.
    known: list[Any] = texts.to_pylist()
    return np.array([bisect_left(known, each) for each in wanted.to_pylist()], dtype=np.int64)


def last_key(keys: pa.ChunkedArray[Any], before: str | None, where: str) -> str | None:
    """The last key, after proving that every key is above the one before it. Raises ValueError."""
    flat: Any = keys.combine_chunks()
    if not len(flat):
        return before
    is_risen = pc.all(pc.less(flat.slice(0, len(flat) - 1), flat.slice(1))).as_py()
    if is_risen is False or (before is not None and flat[0].as_py() <= before):
        raise ValueError(f"entries for {where} are not sorted by key, or a key stands twice")
    return str(flat[-1].as_py())
