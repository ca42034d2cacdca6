"""Entries in the order of their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.schema import KEY

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["first_of_each", "is_as_before", "last_key"]


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


def last_key(keys: pa.ChunkedArray[Any], before: str | None, where: str) -> str | None:
    """The last key, after proving that every key is above the one before it. Raises ValueError."""
    flat: Any = keys.combine_chunks()
    if not len(flat):
        return before
    is_risen = pc.all(pc.less(flat.slice(0, len(flat) - 1), flat.slice(1))).as_py()
    if is_risen is False or (before is not None and flat[0].as_py() <= before):
        raise ValueError(f"entries for {where} are not sorted by key, or a key stands twice")
    return str(flat[-1].as_py())
