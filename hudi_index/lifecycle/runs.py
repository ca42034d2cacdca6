"""Changes on their way from who makes them to who writes them: short sorted runs.

A task gathers the changes of its file groups, up to a number of bytes. Then it sorts those of each shard by
key and hands them on in runs of Arrow, each with its first key. Whoever brings the runs together sorts runs,
not entries. The writer of a shard gets them in the order of their first keys and merges: an entry is in its
final place as soon as a run begins above it, so few runs are held at a time.

A run is bytes: its entries cost the shuffle nothing but their copy. They are compressed, since sorted keys
shrink to less than half, at less than it costs to carry them.

What a task counts goes with its last run, which holds no entries. So counts go where the entries go: those
of an attempt that failed are dropped with its runs, while an accumulator of Spark's would count them too.
"""

from __future__ import annotations

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

__all__ = ["TARGET", "Changes", "Counts", "Run", "merged", "runs_of", "take_counts", "targets_of"]

TARGET = "target"

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
_GATHERED_BYTES = 64 * 1024 * 1024
_RUN_ROWS = 32_768
_RUN_BYTES = 1024 * 1024
_MERGED_ROWS = 8 * _RUN_ROWS


@dataclass(frozen=True, slots=True)
class Changes:
    """Entries of one partition that are new, different or gone: TARGET, key, type, payload, deleted."""

    partition: str
    rows: pa.Table


@dataclass(slots=True)
class Counts:
    """What a report wants to know. The stages of a task add to it as they go."""

    rows_read: int = 0

    def add(self, other: Counts) -> None:
        """Add what somebody else counted."""
        self.rows_read += other.rows_read


class Run(NamedTuple):
    """Some changes of one shard, sorted by key. Runs sort by shard and first key."""

    target: int
    low: str
    data: bytes
    rows_read: int = 0
    """What its task counted, in the last run of a task, which holds nothing else."""

    @classmethod
    def of(cls, target: int, entries: pa.Table) -> Run:
        """A run of entries that are sorted."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, entries.schema, options=_COMPRESSED) as writer:
            writer.write_table(entries)
        low: Any = entries.column(KEY)[0].as_py()
        return cls(target, low, sink.getvalue().to_pybytes())

    @property
    def entries(self) -> pa.Table:
        """The entries."""
        return pa.ipc.open_stream(pa.py_buffer(self.data)).read_all()


def runs_of(changes: Iterable[Changes], counts: Counts) -> Iterator[Run]:
    """All changes of a task in sorted runs, and at last what it has counted until then."""
    gathered: dict[str, list[pa.Table]] = defaultdict(list)
    held = 0
    for each in changes:
        gathered[each.partition].append(each.rows)
        held += each.rows.nbytes
        if held >= _GATHERED_BYTES:
            yield from _sorted_runs(gathered)
            held = 0
    yield from _sorted_runs(gathered)
    yield Run(0, "", b"", counts.rows_read)


def take_counts(runs: Iterable[Run], counts: Counts) -> Iterator[Run]:
    """The runs that hold entries; what their tasks counted is added to `counts`."""
    for run in runs:
        counts.rows_read += run.rows_read
        if run.data:
            yield run


def _sorted_runs(gathered: dict[str, list[pa.Table]]) -> Iterator[Run]:
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


def _cut(target: int, entries: pa.Table) -> Iterator[Run]:
    step = max(1, min(_RUN_ROWS, entries.num_rows * _RUN_BYTES // max(1, entries.nbytes)))
    for start in range(0, entries.num_rows, step):
        yield Run.of(target, entries.slice(start, step))


def targets_of(runs: Iterable[Run]) -> Iterator[tuple[int, Iterator[Run]]]:
    """Sorted runs target by target, to be consumed in order."""
    return groupby(runs, key=lambda run: run.target)


def merged(runs: Iterable[Run]) -> Iterator[pa.Table]:
    """The entries of one target's runs, which come by their first key, sorted by key."""
    waiting: list[pa.Table] = []
    rows, limit = 0, _MERGED_ROWS
    for run in runs:
        if rows >= limit:
            final = [_split(table, run.low) for table in waiting]
            waiting = [rest for _, rest in final if rest.num_rows]
            done = [begin for begin, _ in final if begin.num_rows]
            if done:
                yield _by_key(pa.concat_tables(done))
            rows = sum(table.num_rows for table in waiting)
            # Where runs overlap so much that little gets its place, asking as often would only cost.
            limit = max(_MERGED_ROWS, 2 * rows)
        waiting.append(run.entries)
        rows += waiting[-1].num_rows
    if waiting:
        yield _by_key(pa.concat_tables(waiting))


def _split(entries: pa.Table, low: str) -> tuple[pa.Table, pa.Table]:
    """The entries below a key, and the others."""
    keys: Any = entries.column(KEY)
    position = bisect_left(range(len(keys)), low, key=lambda row: keys[row].as_py())
    return entries.slice(0, position), entries.slice(position)
