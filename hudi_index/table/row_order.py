"""The order of a slice's merged rows: those of its base file as they stand there, then others by record key.

Bitmaps number rows by it, so whoever reads a slice has to give the same one. Rows of a record key that stands
several times in the base file come together where the first of them stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.table.record_keys import record_keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hudi_index.table.config import TableConfig

__all__ = ["BATCH_ROWS", "in_base_order"]

BATCH_ROWS = 65_536


def in_base_order(
    batches: Iterable[pa.RecordBatch], base_keys: pa.ChunkedArray[Any], config: TableConfig
) -> Iterator[pa.RecordBatch]:
    """Merged rows in their order.

    hudi-rs gives updated rows after the unchanged ones of the same stretch of the base file, and rows that
    only logs hold at the end in the order of a hash map, which is another one in each process.
    """
    tail: list[pa.RecordBatch] = []
    base = _BaseKeys(base_keys)
    for batch in _coalesce(batches):
        ordinals = base.positions_of(record_keys_of(batch, config))
        if ordinals.null_count:
            tail.append(batch.filter(ordinals.is_null()))
        # Stable, and nulls come last.
        order = pc.sort_indices(ordinals)
        yield batch.take(order.slice(0, len(order) - ordinals.null_count))
    if tail:
        rest = pa.Table.from_batches(tail)
        order = pc.sort_indices(record_keys_of(rest, config))
        yield from rest.take(order).to_batches(max_chunksize=BATCH_ROWS)


class _BaseKeys:
    """The record keys of a base file in order, walked beside the merged rows, stretch by stretch."""

    def __init__(self, keys: pa.ChunkedArray[Any]) -> None:
        self._rest = keys

    def positions_of(self, keys: pa.Array[Any]) -> pa.Array[Any]:
        """Where the next merged rows stand in what is left of the base file; null for rows only logs hold."""
        reach = len(keys) + BATCH_ROWS // 16
        ordinals = self._search(keys, reach)
        while ordinals.null_count and reach < len(self._rest):
            reach *= 2
            ordinals = self._search(keys, reach)
        if ordinals.null_count < len(ordinals):
            last: Any = pc.max(ordinals).as_py()
            self._rest = self._rest.slice(last + 1)
        return ordinals

    def _search(self, keys: pa.Array[Any], reach: int) -> pa.Array[Any]:
        # Within reach only: looking a key up costs a hash table of all the keys that are searched.
        found: pa.Array[Any] = pc.index_in(keys, value_set=self._rest.slice(0, reach))
        return found


def _coalesce(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Fewer and larger batches: hudi-rs merges a thousand rows at a time."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches()
            held, rows = [], 0
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches()
