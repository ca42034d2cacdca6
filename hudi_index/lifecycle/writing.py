"""The write stage: one shard's changes, sorted by key, become one file.

A key may come several times: as it was (deleted, with its content) and as it is, if its file group was too
large to be compared in memory; twice alike, if two indexes over one column say the same of it or a large
file group was described in parts. Of what comes, one stays; what comes as it was is not written.

Held are what is being merged and the compressed log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.schema import DELETED, KEY
from hudi_index.entries.sorted import is_as_before
from hudi_index.kind_parts.diff import differ
from hudi_index.kind_specs import specs
from hudi_index.lifecycle.runs import Counts, merged, take_counts, targets_of
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.description import Target
    from hudi_index.lifecycle.runs import Run
    from hudi_index.metadata_table import ShardWriter, WriteStat

__all__ = ["TaskResult", "surviving_changes", "write_changes", "write_held_runs", "write_runs"]


@dataclass
class TaskResult:
    """What a task has written, or several together, and what they have counted."""

    stats: list[WriteStat] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)

    def add(self, other: TaskResult) -> None:
        """Add the result of another task."""
        self.stats += other.stats
        self.counts.add(other.counts)


def write_runs(build: Build, runs: Iterable[Run], *, write_token: str) -> TaskResult:
    """Write sorted runs of changes, a file for each target that has any."""
    result = TaskResult()
    for position, of_target in targets_of(take_counts(runs, result.counts)):
        target = build.description.targets[position]
        written = write_changes(build.writer, target, merged(of_target), write_token=write_token)
        if written:
            result.stats.append(written)
    return result


def write_held_runs(build: Build, runs: Sequence[Run], *, write_token: str) -> TaskResult:
    """The same for runs that are all in memory; files of a far storage are written side by side."""
    counts = Counts()
    by_target = [list(of_target) for _, of_target in targets_of(take_counts(runs, counts))]
    written = each_of(
        lambda held: write_runs(build, held, write_token=write_token),
        by_target,
        is_local=build.writer.storage.is_local,
    )
    result = TaskResult(counts=counts)
    for each in written:
        result.stats += each.stats
    return result


def write_changes(
    writer: ShardWriter, target: Target, changes: Iterable[pa.Table], *, write_token: str
) -> WriteStat | None:
    """Write one shard's changes; None if nothing is left to write."""
    surviving = surviving_changes(changes)
    first = next(surviving, None)
    if first is None:
        return None
    kept = chain([first], surviving)
    if target.is_new:
        entries = (table.drop_columns([DELETED]) for table in kept)
        return writer.write_base(target.partition, target.shard, entries, write_token=write_token)
    return writer.write_sorted_log(target.partition, target.shard, kept, write_token=write_token)


def surviving_changes(changes: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """What has to be written, sorted by key, each key once.

    Args:
        changes: Sorted by key; all rows of a key stand in one table.
    """
    for table in changes:
        found = _survivors(table)
        if found.num_rows:
            yield found


def _survivors(table: pa.Table) -> pa.Table:
    if not np.any(is_as_before(table.column(KEY))):
        return table
    ordered = _one_of_each(table)
    is_key_again = is_as_before(ordered.column(KEY))
    # What is comes before what was; both are there where a key comes again.
    was: npt.NDArray[np.int64] = np.flatnonzero(is_key_again)
    is_kept = ~is_key_again
    contents = ordered.drop_columns([DELETED])
    is_kept[was - 1] = differ(contents.take(was), contents.take(was - 1))
    return ordered.filter(pa.array(is_kept))


def _one_of_each(table: pa.Table) -> pa.Table:
    """Of each key at most one row that is and one that was."""
    order: list[Any] = [(KEY, "ascending"), (DELETED, "ascending")]
    keys = table.select([KEY, DELETED])
    for payload, fields in _preferences().items():
        for name in fields if payload in table.column_names else ():
            keys = keys.append_column(name, pc.struct_field(table.column(payload), name))
            order.append((name, "descending"))
    positions: pa.Array[Any] = pc.sort_indices(keys, sort_keys=order)
    ordered = table.take(positions)
    again = is_as_before(ordered.column(KEY)) & is_as_before(ordered.column(DELETED))
    return ordered.filter(pa.array(~again))


@cache
def _preferences() -> dict[str, tuple[str, ...]]:
    """By payload the fields of which the largest counts, the first one first."""
    return {spec.payload: spec.preference for spec in specs().values() if spec.payload and spec.preference}
