"""From described file groups to changes of entries.

Changes are Arrow tables of one partition each, one row per entry that is new, different or gone:

    target     which shard, by its place in the description's list
    key, type, the partition's payloads, _hoodie_is_deleted      as in the index metadata table
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from hudi_index.coverage import files
from hudi_index.entries import shards_of
from hudi_index.entries.schema import DELETED, ENTRY_SCHEMA, KEY, PAYLOADS, TYPE
from hudi_index.kind_parts.diff import diff_entries
from hudi_index.lifecycle.runs import TARGET, Changes, Counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hudi_index.coverage.files import IndexedSlice
    from hudi_index.lifecycle.description import Description

__all__ = ["Described", "TaskNotes", "TwoStates", "as_changes", "changes_schema"]


_BYTES_TOGETHER = 8 * 1024 * 1024


def changes_schema(description: Description, partition: str) -> pa.Schema:
    """The schema of a partition's changes: only payloads that its kinds write."""
    kinds = (kind for kind in description.kinds if kind.partition == partition)
    used = {files.PAYLOAD} if partition == files.PARTITION else {n for kind in kinds for n in kind.payloads}
    names = [KEY, TYPE, *(name for name in PAYLOADS if name in used), DELETED]
    leading: list[pa.Field[Any]] = [pa.field(TARGET, pa.int32())]
    return pa.schema([*leading, *(ENTRY_SCHEMA.field(name) for name in names)])


@dataclass
class TaskNotes:
    """What the stages of one task note beside the entries."""

    counts: Counts = field(default_factory=Counts)
    covered: list[IndexedSlice] = field(default_factory=list)
    """The slices that were described, to be noted in `files`."""


class Described(NamedTuple):
    """Entries of one partition that are new or different, or gone."""

    partition: str
    entries: pa.Table
    is_deleted: bool = False

    @classmethod
    def gone(cls, partition: str, keys: pa.Array[Any]) -> Described:
        """Entries that are gone, by their keys."""
        return cls(partition, pa.table({KEY: keys}), is_deleted=True)


class TwoStates(NamedTuple):
    """All entries of one kind for a file group as it was and as it is, of which the difference is wanted."""

    position: int
    """Of the kind, among those that are kept."""
    before: list[pa.Table]
    after: list[pa.Table]


def as_changes(
    description: Description, described: Iterable[Described | TwoStates], notes: TaskNotes
) -> Iterator[Changes]:
    """Entries with their targets and their partition's schema; at last those that note what is covered.

    Those of many file groups together, up to some bytes: a call costs more than an entry. Keys name their
    file group, so what differs between the states of several is what differs between those of each.
    """
    schema_of = cache(partial(changes_schema, description))
    tails = {kind.partition: kind.key_tail for kind in description.kinds}
    held: dict[tuple[str, bool, tuple[str, ...]], list[pa.Table]] = defaultdict(list)
    before: dict[int, list[pa.Table]] = defaultdict(list)
    after: dict[int, list[pa.Table]] = defaultdict(list)
    size = 0

    def hold(each: Described) -> None:
        if each.entries.num_rows:
            held[each.partition, each.is_deleted, tuple(each.entries.column_names)].append(each.entries)

    def released() -> Iterator[Changes]:
        for position in sorted({*before, *after}):
            partition = description.kept_kinds[position].partition
            upserts, deletes = diff_entries(_join(before[position]), _join(after[position]))
            hold(Described(partition, upserts))
            hold(Described.gone(partition, deletes))
        before.clear()
        after.clear()
        for (partition, is_deleted, _), tables in held.items():
            entries = pa.concat_tables(tables).combine_chunks()
            positions = description.positions[partition]
            targets = _targets(entries.column(KEY), *positions, tails.get(partition, 0))
            yield Changes(
                partition, _make_changes(schema_of(partition), entries, targets, is_deleted=is_deleted)
            )
        held.clear()

    for each in described:
        if isinstance(each, TwoStates):
            before[each.position] += each.before
            after[each.position] += each.after
            size += sum(entries.nbytes for entries in (*each.before, *each.after))
        else:
            hold(each)
            size += each.entries.nbytes
        if size >= _BYTES_TOGETHER:
            yield from released()
            size = 0
    if notes.covered:
        entries = files.entries_of(notes.covered)
        held[files.PARTITION, False, tuple(entries.column_names)].append(entries)
    yield from released()


def _targets(keys: pa.ChunkedArray[Any], first: int, shards: int, tail: int) -> pa.Array[Any]:
    if shards == 1:
        return pa.repeat(pa.scalar(first, pa.int32()), len(keys))
    found = shards_of(keys.combine_chunks(), shards, tail) + first
    return pa.array(found.astype(np.int32))


def _make_changes(
    schema: pa.Schema, entries: pa.Table, targets: pa.Array[Any], *, is_deleted: bool
) -> pa.Table:
    length = entries.num_rows
    columns: dict[str, Any] = {TARGET: targets, DELETED: pa.repeat(pa.scalar(value=is_deleted), length)}
    arrays = [
        columns[field.name]
        if field.name in columns
        else _as_type(entries.column(field.name), field.type)
        if field.name in entries.column_names
        else pa.nulls(length, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _as_type(values: pa.ChunkedArray[Any], kind: pa.DataType) -> pa.ChunkedArray[Any]:
    return values if values.type == kind else values.cast(kind)


def _join(tables: list[pa.Table]) -> pa.Table:
    if not tables:
        return pa.table({KEY: pa.array([], pa.string())})
    # Tables without entries may lack columns.
    return pa.concat_tables(tables, promote_options="default")
