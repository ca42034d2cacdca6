"""What an index kind is: how it describes the rows of a file group, and what those descriptions refute.

A kind does no I/O. It sees rows as Arrow batches, entries as Arrow tables and predicates as constraints on
one term, so it is tested with literal tables. Its entries name their owner, so a file group's entries can be
added, changed and removed without looking at any other file group.

An instance is a frozen dataclass made from an index definition and the types of its terms. It is picklable,
since it travels to executors, and holds options only. What others have to know of the kind as such stands in
its row of `hudi_index.kind_specs`.

Planner and maintenance call the methods below and no others. Laws, which every kind's tests inherit
(tests/engine/kinds/laws.py):

1. A question never refutes a file group that holds a matching row.
2. What it refutes is covered; where it knows rows, every matching row is among them.
3. The entries of a slice depend on its rows, its owner and nothing else: not on batch boundaries, not on
   earlier slices.
4. Picklable, and equal after a round trip.
5. After a commit applied through the real store, all that still holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from hudi_index.entries.encoding import key_type
from hudi_index.entries.keys import OWNER_PARTS, SEPARATOR, owner_suffix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyroaring import BitMap
    from typing_extensions import Self

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.coverage.covered import Candidates, Mask
    from hudi_index.entries.ranges import KeyRange
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.footer import ColumnStatistics
    from hudi_index.table.slices import FileGroupId

__all__ = [
    "Answering",
    "EntryBuilder",
    "FromFooters",
    "IndexKind",
    "Question",
    "RowOwners",
    "RowQuestion",
    "SliceContext",
    "Summary",
    "TableFacts",
    "TogetherAnswering",
]


@dataclass(frozen=True, slots=True)
class SliceContext:
    """Whose rows are described."""

    group: FileGroupId
    number: int
    """A short name of the file group, given by the `files` partition and never used again for another."""

    def text_for_rows(self, text_of: Callable[[SliceContext], str]) -> str:
        """What a file group is called, for all of its rows."""
        return text_of(self)


@dataclass(frozen=True, slots=True)
class RowOwners:
    """Whose the rows of one batch are that holds rows of several file groups, one after the other."""

    contexts: tuple[SliceContext, ...]
    counts: tuple[int, ...]
    """How many rows each of them has."""

    def text_for_rows(self, text_of: Callable[[SliceContext], str]) -> pa.Array[Any]:
        """What their file groups are called, row by row."""
        places: Any = pa.array(np.repeat(np.arange(len(self.counts)), self.counts))
        found: pa.Array[Any] = pa.array(list(map(text_of, self.contexts)), pa.string()).take(places)
        return found


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What a kind may have to know of the table."""

    ordering_fields: tuple[str, ...] = ()
    record_key: Source | None = None
    """The one field whose text is the record key; None unless the key generator is known to make it so."""


@dataclass(frozen=True)
class Question(ABC):
    """A constraint as one index answers it: which entries to read, and what they prove."""

    candidates: Candidates
    ranges: Sequence[tuple[str | None, KeyRange]]
    """Where to look, each with the part of the keys that names its shard, if it is in one."""
    payloads: tuple[str, ...] = ()
    """Payload columns that are needed beside the key."""
    tests: int = 0
    """How many values are tested entry by entry, where that is most of the work."""

    @abstractmethod
    def refute(self, entries: pa.Table) -> Mask:
        """By row of `candidates.covered`: whether the file group is PROVEN to hold no matching row.

        Args:
            entries: What is stored in `ranges`, and nothing else.
        """


class RowQuestion(Question):
    """One that tells rows as well."""

    @abstractmethod
    def rows(self, entries: pa.Table) -> dict[int, BitMap | None]:
        """By row of `candidates.covered` that is left: positions of the rows that may match; None for any."""

    def refute(self, entries: pa.Table) -> Mask:
        """The file groups without such a row."""
        refuted = np.zeros(len(self.candidates.covered), np.bool_)
        refuted[[row for row, found in self.rows(entries).items() if found is not None and not found]] = True
        return refuted


class EntryBuilder(Protocol):
    """Describes one slice, batch by batch."""

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; yields the entries that are complete already."""
        ...

    def finish(self) -> Iterator[pa.Table]:
        """Yields the rest of the entries, after the last batch."""
        ...


class Answering(Protocol):
    """What a plan needs of an index."""

    spec: ClassVar[KindSpec]

    @property
    def partition(self) -> str:
        """The partition of the index metadata table where its entries live."""
        ...

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """What answers a constraint; None if this index can't."""
        ...


@dataclass(frozen=True)
class IndexKind(ABC):
    """One way of knowing which file groups can't match."""

    spec: ClassVar[KindSpec]
    partition: str
    """The partition of the index metadata table where its entries live."""
    sources: tuple[Source, ...] = ()

    @classmethod
    def of(cls, definition: IndexDefinition, sources: tuple[Source, ...], _: TableFacts, /) -> Self:
        """The index that a definition asks for. A kind with options reads them here."""
        return cls(definition.partition, sources)

    @classmethod
    def check_type(cls, data_type: pa.DataType, column: str) -> None:
        """Raise UnsupportedTypeError for a column that this kind can't be over."""
        key_type(data_type, column)

    @property
    def columns(self) -> tuple[str, ...]:
        """The term columns it reads from a batch, beside record key and row position.

        Meta columns (`_hoodie_…`) may be missing in batches of a table that has none.
        """
        return tuple(source.column for source in self.sources)

    @property
    def payloads(self) -> tuple[str, ...]:
        """The payload fields of ENTRY_SCHEMA that its entries set."""
        return (self.spec.payload,) if self.spec.payload else ()

    @property
    def key_tail(self) -> int:
        """How many parts at the end of a key don't decide its shard: as a rule those of the owner."""
        return 1 if self.spec.names_owner_by_number else OWNER_PARTS

    def owner_of(self, context: SliceContext) -> str:
        """What every key of a file group ends with."""
        group = context.group
        if self.spec.names_owner_by_number:
            return str(context.number)
        return owner_suffix(group.partition_path, group.file_id)

    def owners_of(self, whose: SliceContext | RowOwners) -> pa.Array[Any] | str:
        """The same for the rows of a batch: one text for all of them, or one for each."""
        return whose.text_for_rows(self.owner_of)

    def owner_suffix(self, context: SliceContext) -> str:
        """The same, from the last `$` before it on."""
        return SEPARATOR + self.owner_of(context)

    @abstractmethod
    def builder(self, context: SliceContext) -> EntryBuilder:
        """What describes one slice. Every table it yields has `key`, `type` and at most one payload."""

    def builder_of_rows(self, owners: RowOwners) -> EntryBuilder | None:  # noqa: ARG002
        """What describes one batch of rows of several file groups, as `builder` would each; None if nothing.

        For kinds whose row says `is_by_record`: whose a row is must be all that a batch does not tell.
        """
        return None

    @abstractmethod
    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """What answers a constraint; None if this index can't."""


class TogetherAnswering(Answering, Protocol):
    """Of a kind whose row says `asks_together`."""

    def ask_together(
        self, constraints: Sequence[Constraint], candidates: Candidates
    ) -> tuple[Question, Sequence[Constraint]] | None:
        """What answers several constraints at once, and which of them; None if not more than one."""
        ...


class FromFooters(Protocol):
    """Of a kind whose row says `answers_from_footers`."""

    def entries_of_statistics(
        self, context: SliceContext, statistics: Mapping[str, ColumnStatistics | None]
    ) -> pa.Table:
        """The entries that are known without reading rows: the same that rows would give."""
        ...

    def without(self, statistics: Mapping[str, ColumnStatistics | None]) -> IndexKind | None:
        """The kind for the columns of which these statistics are not enough; None if there are none."""
        ...


class Summary(Answering, Protocol):
    """What sums an index's entries up by partition."""

    def source_ranges(self, partition_path: str) -> list[tuple[str, KeyRange]]:
        """Where the index has what is summed up for a partition, each with its shard's part."""
        ...

    def all_ranges(self) -> list[tuple[str, KeyRange]]:
        """The same for all partitions."""
        ...

    def merge(self, entries: pa.Table) -> pa.Table:
        """The summary's entries of all partitions whose entries are given, all of them."""
        ...

    def keys_of(self, partition_path: str) -> list[tuple[str, str]]:
        """The keys of a partition's entries, each with its shard's part."""
        ...
