"""What changed between two descriptions of a slice: the entries to write and the keys to take away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.schema import KEY

__all__ = ["diff_entries", "differ"]


def diff_entries(before: pa.Table, after: pa.Table) -> tuple[pa.Table, pa.Array[Any]]:
    """Entries of `after` that `before` lacks or has with other content, and keys that only `before` has.

    Both come from one kind and one owner, and hold a key once. Applied to `before`, the result is `after`.
    """
    old_keys, new_keys = before.column(KEY).combine_chunks(), after.column(KEY).combine_chunks()
    deletes = old_keys.filter(pc.invert(pc.is_in(old_keys, value_set=new_keys)))
    positions = pc.index_in(new_keys, value_set=old_keys)
    is_new = positions.is_null().to_numpy(zero_copy_only=False)
    kept = after.filter(pa.array(~is_new))
    previous = before.take(positions.drop_null())
    is_written = is_new
    is_written[~is_new] = differ(previous, kept)
    return after.filter(pa.array(is_written)), deletes


def differ(before: pa.Table, after: pa.Table) -> Any:
    """For each row whether it is another one in the other table, apart from the key."""
    found = np.zeros(after.num_rows, dtype=np.bool_)
    for name in after.column_names:
        if name == KEY:
            continue
        if name not in before.column_names:
            return np.ones(after.num_rows, dtype=np.bool_)
        found |= _values_differ(before.column(name).combine_chunks(), after.column(name).combine_chunks())
    return found


def _values_differ(before: Any, after: Any) -> Any:
    found = (before.is_null().to_numpy(zero_copy_only=False)) != (
        after.is_null().to_numpy(zero_copy_only=False)
    )
    if isinstance(after, pa.StructArray):
        # `flatten` hands a struct's nulls down; what fields hold below a null struct must not count.
        for old, new in zip(before.flatten(), after.flatten(), strict=True):
            found = found | _values_differ(old, new)
        return found
    if pa.types.is_nested(after.type):
        pairs = zip(before.to_pylist(), after.to_pylist(), strict=True)
        return np.fromiter((old != new for old, new in pairs), dtype=np.bool_, count=len(after))
    different = pc.fill_null(pc.not_equal(before, after), False)  # noqa: FBT003
    return found | different.to_numpy(zero_copy_only=False)
