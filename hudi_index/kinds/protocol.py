"""What an index kind is: how it describes the rows of a file group, and what those descriptions refute.

A kind does no I/O. It sees rows as Arrow batches, entries as Arrow tables and predicates as constraints on
one term, so it is tested with literal tables. Its entries name their owner, so a file group's entries can be
added, changed and removed without looking at any other file group.

An instance is a frozen dataclass made from an index definition and the types of its terms. It is picklable,
since it travels to executors, and holds options only.

Laws, which every kind's tests inherit (tests/engine/kinds/laws.py):

1. `prune` never refutes a file group that holds a matching row.
2. What it refutes is a part of what is covered.
3. The entries of a slice depend on its rows, its owner and nothing else: not on batch boundaries, not on
   earlier slices.
4. Picklable, and equal after a round trip.
5. After a commit applied through the real store, law 1 still holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hudi_index.coverage.covered import CoveredGroup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pyarrow as pa

    from hudi_index.entries.ranges import KeyRange
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.slices import FileGroupId

__all__ = ["CoveredGroup", "EntryBuilder", "IndexKind", "Lookup", "SliceContext"]


@dataclass(frozen=True, slots=True)
class SliceContext:
    """Whose rows are described."""

    group: FileGroupId
    number: int
    """A short name of the file group, given by the `files` partition and never used again for another."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Which entries answer a constraint: key ranges, each with the part that names its shard, if any."""

    ranges: Sequence[tuple[str | None, KeyRange]]
    columns: Sequence[str] = ()
    """Payload columns wanted beside the key."""


class EntryBuilder(Protocol):
    """Describes one slice, batch by batch."""

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; yields the entries that are complete already."""
        ...

    def finish(self) -> Iterator[pa.Table]:
        """Yields the rest of the entries, after the last batch."""
        ...


class IndexKind(Protocol):
    """One way of knowing which file groups can't match."""

    @property
    def partition(self) -> str:
        """The partition of the index metadata table where its entries live."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The term columns it reads from a batch, beside record key and row position.

        Meta columns (`_hoodie_…`) may be missing in batches of a table that has none.
        """
        ...

    @property
    def payloads(self) -> tuple[str, ...]:
        """The payload fields of ENTRY_SCHEMA that its entries set."""
        ...

    @property
    def is_divisible(self) -> bool:
        """Whether a large slice may be described in parts: its entries are those of the parts."""
        ...

    def owner_suffix(self, context: SliceContext) -> str:
        """How every key of a file group ends, from the last `$` before the owner on."""
        ...

    def builder(self, context: SliceContext) -> EntryBuilder:
        """What describes one slice. Every table it yields has `key`, `type` and at most one payload."""
        ...

    @property
    def key_tail(self) -> int:
        """How many parts at the end of a key don't decide its shard."""
        ...

    def lookup(self, constraint: Constraint) -> Lookup | None:
        """What to read to answer a constraint; None if this index can't."""
        ...

    def prune(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups PROVEN to hold no matching row, by the entries that `lookup` asked for."""
        ...
