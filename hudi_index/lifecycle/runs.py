"""Changes on their way from who makes them to who writes them: sorted runs in pieces.

A task gathers the changes of its file groups, up to a number of bytes. Then it sorts those of each shard by
key and hands them on in pieces of Arrow, each with its first key. Whoever brings the pieces together sorts
pieces, not entries. The writer of a shard gets them in the order of their first keys and merges: an entry is
in its final place as soon as a piece begins above it, so about one piece of each run is held at a time.

A piece is bytes: its entries cost the shuffle nothing but their copy. They are compressed, since sorted keys
shrink to less than half, at less than it costs to carry them.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.schema import KEY
from hudi_index.entries.words import sort_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["METRICS", "TARGET", "Changes", "Counts", "Piece", "merged", "pieces_of", "targets_of"]

TARGET = "target"
METRICS = -1
"""The target of a piece that only counts."""

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
_GATHERED_BYTES = 64 * 1024 * 1024
_PIECE_ROWS = 32_768
_PIECE_BYTES = 1024 * 1024
_MERGED_ROWS = 8 * _PIECE_ROWS


@dataclass(frozen=True, slots=True)
class Changes:
    """Entries of one partition that are new, different or gone: TARGET, key, type, payload, deleted."""

    partition: str
    rows: pa.Table


@dataclass(frozen=True, slots=True)
class Counts:
    """What a report wants to know."""

    amounts: dict[str, int]


class Piece(NamedTuple):
    """Some changes of one shard, sorted by key. Pieces sort by shard and first key."""

    target: int
    low: str
    data: bytes

    @classmethod
    def of(cls, target: int, entries: pa.Table) -> Piece:
        """A piece of entries that are sorted."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, entries.schema, options=_COMPRESSED) as writer:
            writer.write_table(entries)
        low: Any = entries.column(KEY)[0].as_py()
        return cls(target, low, sink.getvalue().to_pybytes())

    @property
    def entries(self) -> pa.Table:
        """The entries."""
        return pa.ipc.open_stream(pa.py_buffer(self.data)).read_all()


def pieces_of(changes: Iterable[Changes | Counts]) -> Iterator[Piece]:
    """All changes in sorted pieces; counts are added up."""
    gathered: dict[str, list[pa.Table]] = defaultdict(list)
    held, total = 0, dict[str, int]()
    for each in changes:
        if isinstance(each, Counts):
            for name, amount in each.amounts.items():
                total[name] = total.get(name, 0) + amount
            continue
        gathered[each.partition].append(each.rows)
        held += each.rows.nbytes
        if held >= _GATHERED_BYTES:
            yield from _sorted_pieces(gathered)
            held = 0
    yield from _sorted_pieces(gathered)
    yield Piece(METRICS, "", json.dumps(total).encode())


def _sorted_pieces(gathered: dict[str, list[pa.Table]]) -> Iterator[Piece]:
    while gathered:
        _, tables = gathered.popitem()
        rows = pa.concat_tables(tables).combine_chunks()
        entries = rows.drop_columns([TARGET])
        order = sort_order(entries.column(KEY).combine_chunks())
        targets = rows.column(TARGET).to_numpy()[order]
        # Short numbers sort by radix, and keys stay in order.
        short = targets.astype(np.uint16) if targets.max() < 1 << 16 else targets
        by_target = np.argsort(short, kind="stable")
        order, targets = order[by_target], targets[by_target]
        ends = np.flatnonzero(np.diff(targets)) + 1
        for start, stop in pairwise([0, *ends.tolist(), len(order)]):
            yield from _cut(int(targets[start]), entries.take(order[start:stop]))


def _by_key(entries: pa.Table) -> pa.Table:
    # Arrow's sort makes use of runs that are sorted already.
    return entries.take(pc.sort_indices(entries.column(KEY)))


def _cut(target: int, entries: pa.Table) -> Iterator[Piece]:
    step = max(1, min(_PIECE_ROWS, entries.num_rows * _PIECE_BYTES // max(1, entries.nbytes)))
    for start in range(0, entries.num_rows, step):
        yield Piece.of(target, entries.slice(start, step))


def targets_of(pieces: Iterable[Piece]) -> Iterator[tuple[int, Iterator[Piece]]]:
    """Sorted pieces target by target, to be consumed in order."""
    return groupby(pieces, key=lambda piece: piece.target)


def merged(pieces: Iterable[Piece]) -> Iterator[pa.Table]:
    """The entries of one target's pieces, which come by their first key, sorted by key."""
    waiting: list[pa.Table] = []
    rows, limit = 0, _MERGED_ROWS
    for piece in pieces:
        if rows >= limit:
            final = [_split(table, piece.low) for table in waiting]
            waiting = [rest for _, rest in final if rest.num_rows]
            done = [begin for begin, _ in final if begin.num_rows]
            if done:
                yield _by_key(pa.concat_tables(done))
            rows = sum(table.num_rows for table in waiting)
            # Where runs overlap so much that little gets its place, asking as often would only cost.
            limit = max(_MERGED_ROWS, 2 * rows)
        waiting.append(piece.entries)
        rows += waiting[-1].num_rows
    if waiting:
        yield _by_key(pa.concat_tables(waiting))


def _split(entries: pa.Table, low: str) -> tuple[pa.Table, pa.Table]:
    """The entries below a key, and the others."""
    keys: Any = entries.column(KEY)
    place = bisect_left(range(len(keys)), low, key=lambda row: keys[row].as_py())
    return entries.slice(0, place), entries.slice(place)
