"""Which slices are described by which indexes, as plain values that travel to executors.

A description is a list of items, one per file group that changed or is new to an index, and the shards that
their entries belong to. There is nothing in it about how it is run or whether the entries are written or only
compared, and nothing about timeline actions: what was done to the table does not matter, only which slices it
left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hudi_index.kind_parts.protocol import SliceContext
from hudi_index.table import FileSlice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_index.coverage.files import IndexedSlice
    from hudi_index.kind_parts.protocol import IndexKind
    from hudi_index.predicate.catalyst.meaning import Meaning
    from hudi_index.table import FileGroupId, TableReader

__all__ = ["ROWS_AT_ONCE", "Description", "Expression", "ItemPlan", "Target", "WorkItem", "items_of"]


ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Target:
    """A shard that changes go to."""

    partition: str
    shard: int
    is_new: bool
    """Whether this commit makes the partition: its shards get base files, not logs."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One file group."""

    context: SliceContext
    before: FileSlice | None
    """The slice that the indexes describe now; None if they know nothing of the file group."""
    after: FileSlice | None
    """The slice they are to describe; None if the file group is gone."""
    is_lost: bool = False
    """Whether files of `before` are gone, so that its entries have to be found in the index itself."""

    @property
    def is_changed(self) -> bool:
        """Whether existing indexes have work to do."""
        if self.before is None or self.after is None:
            return True
        return self.before.identity != self.after.identity


@dataclass(frozen=True, slots=True)
class Expression:
    """A column of rows that Spark computes from others."""

    column: str
    """What kinds call it."""
    sql: str
    source_fields: tuple[str, ...]
    time_zone: str
    meaning: Meaning
    index: str
    """The name of the index."""


@dataclass(frozen=True)
class Description:
    """Everything that executors need to describe file groups."""

    reader: TableReader
    kept_kinds: tuple[IndexKind, ...]
    """Kinds that describe `before` already."""
    new_kinds: tuple[IndexKind, ...]
    """Kinds that are built from nothing, for all file groups."""
    items: tuple[WorkItem, ...]
    targets: tuple[Target, ...]
    expressions: tuple[Expression, ...] = ()
    schema_id: str = ""
    instant: str | None = None
    """The data table's instant whose slices are described."""
    rows_at_once: int = ROWS_AT_ONCE
    """A file group of more rows is not compared in memory: see hudi_index.lifecycle.tasks."""

    @property
    def kinds(self) -> tuple[IndexKind, ...]:
        """All kinds."""
        return (*self.kept_kinds, *self.new_kinds)

    def without_items(self) -> Description:
        """What every task needs; items travel to the tasks that they are for."""
        return replace(self, items=())

    def reason_for_spark(self, item: WorkItem) -> str | None:
        """Why only Hudi on Spark can read the item's present slice, None if hudi-rs can."""
        return self.reader.choice_of(item.after).reason if item.after else None

    def columns_to_read(self, kinds: Iterable[IndexKind]) -> list[str]:
        """The table's columns that the kinds see, or that their expressions are computed from."""
        sources = {each.column: each.source_fields for each in self.expressions}
        names = (name for kind in kinds for name in kind.columns)
        found = dict.fromkeys(source for name in names for source in sources.get(name, (name,)))
        # A table may have no meta columns; kinds do without.
        known = self.reader.shape.columns_with_meta.names
        return [name for name in found if not name.startswith("_hoodie_") or name in known]

    @cached_property
    def positions(self) -> dict[str, tuple[int, int]]:
        """Where the shards of each partition begin in `targets`, and how many they are."""
        found: dict[str, tuple[int, int]] = {}
        for position, target in enumerate(self.targets):
            first, count = found.get(target.partition, (position, 0))
            found[target.partition] = (first, count + 1)
        return found


@dataclass(frozen=True)
class ItemPlan:
    """What each kind needs of one file group."""

    diffed: tuple[IndexKind, ...]
    """Compared: described as it was and as it is."""
    removed: tuple[IndexKind, ...]
    """Described as it was, to be deleted."""
    built: tuple[IndexKind, ...]
    """Described as it is, all entries new."""

    @classmethod
    def of(cls, description: Description, item: WorkItem) -> ItemPlan:
        """The plan for an item."""
        if not item.is_changed:
            return cls((), (), description.new_kinds)
        if item.after is None:
            return cls((), () if item.is_lost else description.kept_kinds, ())
        if item.before is None or item.is_lost:
            return cls((), (), description.kinds)
        return cls(description.kept_kinds, (), description.new_kinds)

    @property
    def kinds_before(self) -> tuple[IndexKind, ...]:
        """Those that see the rows as they were."""
        return (*self.diffed, *self.removed)

    @property
    def kinds_after(self) -> tuple[IndexKind, ...]:
        """Those that see the rows as they are."""
        return (*self.built, *self.diffed)


def items_of(
    indexed: Mapping[FileGroupId, IndexedSlice],
    current: Iterable[FileSlice],
    gone: Iterable[FileGroupId],
    *,
    next_number: int,
    lost: frozenset[FileGroupId],
) -> tuple[list[WorkItem], int]:
    """The items that bring the indexes to `current`, and the next free number.

    Args:
        indexed: What the indexes describe.
        current: The table's slices that are to be described: all if an index is new, else those that changed.
        gone: File groups that are described and no longer there.
        next_number: The number of the next new file group.
        lost: File groups of which old files are gone.
    """
    items = []
    for file_slice in current:
        known = indexed.get(file_slice.group)
        if file_slice.unsettled:
            continue  # somebody is writing to it: it stays uncovered until the next run
        if known is None:
            context, before = SliceContext(file_slice.group, next_number), None
            next_number += 1
        else:
            context = SliceContext(file_slice.group, known.number)
            before = FileSlice.of_identity(known.identity)
        is_lost = file_slice.group in lost and before is not None and before.identity != file_slice.identity
        items.append(WorkItem(context, before, file_slice, is_lost=is_lost))
    for group in gone:
        known = indexed[group]
        before = FileSlice.of_identity(known.identity)
        items.append(WorkItem(SliceContext(group, known.number), before, None, is_lost=group in lost))
    return items, next_number
