"""What has to be done to the entries, as plain values that travel to executors.

A job is a list of items, one per file group that changed or is new to an index, and the shards that the
changes go to. There is nothing in it about how it is run, and nothing about timeline actions: what was done
to the table does not matter, only which slices it left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.kinds.protocol import SliceContext
from hudi_index.table import FileSlice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hudi_index.kinds.files import IndexedSlice
    from hudi_index.kinds.protocol import IndexKind
    from hudi_index.metadata_table import ShardWriter
    from hudi_index.table import FileGroupId, TableReader

__all__ = ["Expression", "Job", "Target", "WorkItem", "items_of"]


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


@dataclass(frozen=True)
class Job:
    """Everything that executors need."""

    reader: TableReader
    writer: ShardWriter
    kept_kinds: tuple[IndexKind, ...]
    """Kinds that describe `before` already."""
    new_kinds: tuple[IndexKind, ...]
    """Kinds that are built from nothing, for all file groups."""
    items: tuple[WorkItem, ...]
    targets: tuple[Target, ...]
    expressions: tuple[Expression, ...] = ()
    schema_id: str = ""

    def columns_to_read(self, kinds: Iterable[IndexKind]) -> list[str]:
        """The table's columns that the kinds see, or that their expressions are computed from."""
        sources = {each.column: each.source_fields for each in self.expressions}
        names = (name for kind in kinds for name in kind.columns)
        found = dict.fromkeys(source for name in names for source in sources.get(name, (name,)))
        # A table may have no meta columns; kinds do without.
        known = self.reader.shape.columns_with_meta.names
        return [name for name in found if not name.startswith("_hoodie_") or name in known]

    def first_target_of(self, partition: str) -> int:
        """Where the partition's shards begin in `targets`."""
        return next(place for place, target in enumerate(self.targets) if target.partition == partition)

    def shards_of(self, partition: str) -> int:
        """How many shards the partition has."""
        return sum(target.partition == partition for target in self.targets)


def items_of(
    indexed: Mapping[FileGroupId, IndexedSlice],
    current: Sequence[FileSlice],
    *,
    next_number: int,
    lost: frozenset[FileGroupId],
    all_groups: bool,
) -> tuple[list[WorkItem], int]:
    """The items that bring the indexes from `indexed` to `current`, and the next free number.

    Args:
        indexed: What the indexes describe.
        current: The table's slices.
        next_number: The number of the next new file group.
        lost: File groups of which old files are gone.
        all_groups: Whether unchanged file groups are items too, because an index is new.
    """
    items = []
    seen = set()
    for piece in current:
        seen.add(piece.group)
        known = indexed.get(piece.group)
        if piece.unsettled:
            continue  # somebody is writing to it: it stays uncovered until the next run
        if known is None:
            context, before = SliceContext(piece.group, next_number), None
            next_number += 1
        else:
            context = SliceContext(piece.group, known.number)
            before = FileSlice.of_identity(known.identity)
        is_lost = piece.group in lost and before is not None and before.identity != piece.identity
        item = WorkItem(context, before, piece, is_lost=is_lost)
        if item.is_changed or all_groups:
            items.append(item)
    for group, known in indexed.items():
        if group not in seen:
            before = FileSlice.of_identity(known.identity)
            items.append(WorkItem(SliceContext(group, known.number), before, None, is_lost=group in lost))
    return items, next_number
