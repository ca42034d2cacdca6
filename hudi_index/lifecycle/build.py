"""What one commit writes: a description of the slices that changed, and where the entries go."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from hudi_index.coverage import files
from hudi_index.errors import SliceRefusedError
from hudi_index.lifecycle.description import Description, Target, items_of
from hudi_index.table import FileSlice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hudi_index.lifecycle.decide import Decision
    from hudi_index.lifecycle.description import WorkItem
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import ShardSlice, ShardWriter, Transaction
    from hudi_index.table import FileGroupId, TableReader

__all__ = ["Build", "estimate_shards", "has_moved", "items_to_describe", "plan_build"]

_ROWS_PER_SHARD = 2_000_000
_MOST_SHARDS = 9999
_SAMPLED = 3


@dataclass(frozen=True)
class Build:
    """Everything that executors need to write the entries of a description."""

    description: Description
    writer: ShardWriter
    purges: Mapping[int, ShardSlice] = field(default_factory=dict)
    """The shards that may hold entries of lost slices, by place in the description's targets."""
    next_number: int = 0
    """The number of the next new file group after this one."""


def plan_build(state: IndexedState, decision: Decision, transaction: Transaction) -> Build:
    """What a decision means for a table's file groups."""
    kept_kinds, new_kinds = state.kinds(decision.kept), state.kinds(decision.built)
    items, next_number = items_to_describe(state, all_groups=bool(new_kinds))
    partitions = {files.PARTITION, *(kind.partition for kind in (*kept_kinds, *new_kinds))}
    known = state.view.state.shards
    computed = decision.built
    if any(item.is_changed for item in items) or any(each.is_functional for each in computed):
        # Otherwise kept ones have nothing to compute: no Spark is needed for them.
        computed = decision.indexes
    description = Description(
        reader=state.snapshot.reader,
        kept_kinds=kept_kinds,
        new_kinds=new_kinds,
        items=tuple(items),
        targets=tuple(
            Target(name, shard, is_new=name not in known or name in decision.replaced)
            for name in sorted(partitions)
            for shard in range(transaction.shards_of(name))
        ),
        expressions=state.expressions(computed),
        schema_id=state.schema_id,
        instant=state.instant,
    )
    return Build(description, transaction.writer, _purges(state, description), next_number)


def has_moved(state: IndexedState) -> bool:
    """Whether there are file groups to describe."""
    indexed, current = state.indexed, state.snapshot.slices
    return any(not each.unsettled for each in indexed.uncovered(current)) or bool(indexed.gone(current))


def items_to_describe(state: IndexedState, *, all_groups: bool) -> tuple[list[WorkItem], int]:
    """The file groups that changed, or all of them, and the number of the next new one."""
    indexed, current = state.indexed, state.snapshot.slices
    uncovered, gone = indexed.uncovered(current), indexed.gone(current)
    changed = [
        FileSlice.of_identity(indexed[group].identity)
        for group in (*(each.group for each in uncovered if each.group in indexed), *gone)
    ]
    lost = set(state.snapshot.reader.losses(changed))
    lost.update(each.group for each in changed if not state.reads_as_before(each))
    lost.update(_unreadable(state, changed))
    return items_of(
        indexed,
        current if all_groups else uncovered,
        gone,
        next_number=state.next_number,
        lost=frozenset(lost),
    )


def _unreadable(state: IndexedState, changed: Iterable[FileSlice]) -> Iterator[FileGroupId]:
    """File groups that Hudi on Spark reads, which does not read slices that are no longer current."""
    for file_slice in changed:
        now = state.snapshot.groups.get(file_slice.group)
        if any(state.snapshot.slice_reader_of(each).reason for each in (file_slice, now) if each):
            yield file_slice.group


def _purges(state: IndexedState, description: Description) -> dict[int, ShardSlice]:
    """The shards that may hold entries of lost slices."""
    if not any(item.is_lost for item in description.items):
        return {}
    kept = {kind.partition for kind in description.kept_kinds}
    return {
        position: shard_slice
        for position, target in enumerate(description.targets)
        if target.partition in kept
        and (shard_slice := state.view.partitions.get(target.partition, {}).get(target.shard))
    }


def estimate_shards(state: IndexedState) -> int:
    """Enough shards that each holds about two million rows' entries; opens the largest file slices."""
    slices, reader = state.snapshot.slices, state.snapshot.reader
    sample = sorted(slices, key=lambda each: -each.size)[:_SAMPLED]
    rows = sum(map(partial(_estimate_rows, reader), sample))
    size = sum(each.size for each in sample)
    total = sum(each.size for each in slices)
    estimated = rows * total // size if size else 0
    return min(_MOST_SHARDS, 1 + estimated // _ROWS_PER_SHARD)


def _estimate_rows(reader: TableReader, file_slice: FileSlice) -> int:
    """The rows of a slice; those of its base file where only Spark could count."""
    try:
        if reader.choice_of(file_slice).reason is None:
            return reader.row_count(file_slice)
    except SliceRefusedError:
        pass
    base = file_slice.without_logs()
    return reader.row_count(base) if base else 0
