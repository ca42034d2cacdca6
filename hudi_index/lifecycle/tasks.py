"""What runs on executors: rows of slices become changes of entries, changes become files.

Changes are Arrow tables of one partition each, one row per entry that is new, different or gone:

    target     which shard, by its place in the description's list
    key, type, the partition's payloads, _hoodie_is_deleted      as in the index metadata table

Between the two steps somebody (Spark, or a list) brings the changes of one shard together, sorted by key, as
`hudi_index.lifecycle.runs` says.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from hudi_index.coverage import files
from hudi_index.entries import SEPARATOR, owner_suffix, shards_of
from hudi_index.entries.schema import DELETED, ENTRY_SCHEMA, KEY, PAYLOADS, TYPE
from hudi_index.errors import HudiIndexError
from hudi_index.kind_parts.diff import diff_entries
from hudi_index.lifecycle.description import ItemPlan
from hudi_index.lifecycle.footers import FROM_ROWS, Known, look_ahead, look_at_footer
from hudi_index.lifecycle.runs import TARGET, Changes, Counts
from hudi_index.lifecycle.states import States, describe
from hudi_index.metadata_table.reader import merge_slice
from hudi_index.side_by_side import side_by_side
from hudi_index.table import HeldFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hudi_index.coverage.files import IndexedSlice
    from hudi_index.kind_parts.protocol import IndexKind
    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.description import Description, WorkItem
    from hudi_index.metadata_table import ShardSlice
    from hudi_index.table import FileSlice
    from hudi_index.table.footer import Footer

__all__ = [
    "Described",
    "NoteFault",
    "TaskNotes",
    "TwoStates",
    "all_changes",
    "as_changes",
    "changes_of",
    "changes_schema",
    "item_changes",
    "purge_of",
    "rows_after",
    "rows_before",
]


_BYTES_TOGETHER = 8 * 1024 * 1024

NoteFault: TypeAlias = "Callable[[HudiIndexError], object]"
"""Takes in why a file group could not be described."""


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


def rows_before(description: Description, item: WorkItem) -> Iterator[pa.RecordBatch]:
    """The rows as they were, as far as anybody wants them."""
    return _rows(description, item.before, ItemPlan.of(description, item).kinds_before)


def rows_after(description: Description, item: WorkItem) -> Iterator[pa.RecordBatch]:
    """The rows as they are."""
    return _rows(description, item.after, ItemPlan.of(description, item).kinds_after, is_counted=True)


def _rows(
    description: Description,
    file_slice: FileSlice | None,
    kinds: Sequence[IndexKind],
    *,
    is_counted: bool = False,
    footer: Footer | None = None,
    held: HeldFiles | None = None,
) -> Iterator[pa.RecordBatch]:
    if file_slice is None or not (kinds or is_counted):
        return iter(())
    return description.reader.rows(file_slice, description.columns_to_read(kinds), footer, held).batches()


def changes_of(
    description: Description,
    item: WorkItem,
    before: Iterable[pa.RecordBatch],
    after: Iterable[pa.RecordBatch],
    notes: TaskNotes,
    known_before: Known = FROM_ROWS,
    known_after: Known = FROM_ROWS,
) -> Iterator[Described | TwoStates]:
    """The changes that one file group needs; each of its two states is read once, for all kinds.

    The two states of a file group of up to `rows_at_once` rows are given together. Of a larger one all that
    was is sent as removed, with its content, and all that is as added; the write stage, which gets both side
    by side, drops what is equal. So entries of no more than that many rows are held, apart from kinds that
    sum rows up.
    """
    plan = ItemPlan.of(description, item)
    compared = _Compared(plan.diffed)
    counted, limit = _Counted(), description.rows_at_once
    states = States.of(plan, before, after, limit)
    for position, entries in describe(
        plan.kinds_before,
        item.context,
        counted.through(states.before),
        limit,
        known_before,
        states.old,
        states.same,
    ):
        if position < len(plan.diffed):
            yield from compared.take(position, old=entries, is_large=counted.rows > limit)
        else:
            keys = entries.column(KEY).combine_chunks()
            yield Described.gone(plan.kinds_before[position].partition, keys)
    seen = counted.rows
    for position, entries in describe(
        plan.kinds_after,
        item.context,
        counted.through(states.after),
        limit,
        known_after,
        states.new,
        states.same,
        len(plan.built),
    ):
        if position < len(plan.built):
            yield Described(plan.built[position].partition, entries)
        else:
            is_large = counted.rows - seen > limit
            yield from compared.take(position - len(plan.built), new=entries, is_large=is_large)
    yield from compared.finish()
    if item.after is None:
        group = item.context.group
        yield Described.gone(
            files.PARTITION, pa.array([owner_suffix(group.partition_path, group.file_id)], pa.string())
        )
    elif item.is_changed:
        rows = counted.rows - seen if known_after.row_count is None else known_after.row_count
        number, schema_id = item.context.number, description.schema_id
        covered = files.IndexedSlice.of(item.after, number=number, row_count=rows, schema_id=schema_id)
        notes.covered.append(covered)
    notes.counts.rows_read += counted.rows


class _Compared:
    """The entries of a slice as it was and as it is: held for both, or passed on if they are many."""

    def __init__(self, kinds: Sequence[IndexKind]) -> None:
        self._kinds, self._is_large = kinds, False
        self._old: list[list[pa.Table]] = [[] for _ in kinds]
        self._new: list[list[pa.Table]] = [[] for _ in kinds]

    def take(
        self, position: int, *, old: pa.Table | None = None, new: pa.Table | None = None, is_large: bool
    ) -> Iterator[Described]:
        """Take in entries of one kind.

        What was is passed on with its content: the write stage drops what comes again as it was.
        """
        self._old[position] += [] if old is None else [old]
        self._new[position] += [] if new is None else [new]
        self._is_large |= is_large
        if not self._is_large:
            return
        for kind, was, becomes in zip(self._kinds, self._old, self._new, strict=True):
            for entries in was:
                yield Described(kind.partition, entries, is_deleted=True)
            for entries in becomes:
                yield Described(kind.partition, entries)
            was.clear()
            becomes.clear()

    def finish(self) -> Iterator[TwoStates]:
        """Both states, if the entries were not passed on."""
        if not self._is_large:
            for position, (was, becomes) in enumerate(zip(self._old, self._new, strict=True)):
                if was or becomes:
                    yield TwoStates(position, was, becomes)


def look_at_item(description: Description, item: WorkItem) -> tuple[Known, Known]:
    """What footers tell of one file group as it was and as it is."""
    plan = ItemPlan.of(description, item)
    return side_by_side(
        lambda: look_at_footer(description, item.before, plan.kinds_before),
        lambda: look_at_footer(description, item.after, plan.kinds_after),
        is_local=description.reader.storage.is_local,
    )


def item_changes(
    description: Description, item: WorkItem, notes: TaskNotes, before: Known, after: Known
) -> Iterator[Described | TwoStates]:
    """The changes that one file group needs, its rows read here, as far as footers don't tell."""
    plan = ItemPlan.of(description, item)
    old, new = before.of_rows(plan.kinds_before), after.of_rows(plan.kinds_after)
    is_counted = after.row_count is None
    held = HeldFiles(item.after.log_paths if item.before and item.after else ())
    return changes_of(
        description,
        item,
        _rows(description, item.before, old, footer=before.footer, held=held),
        _rows(description, item.after, new, footer=after.footer, held=held, is_counted=is_counted),
        notes,
        before,
        after,
    )


def all_changes(
    description: Description, items: Iterable[WorkItem], notes: TaskNotes, note_fault: NoteFault
) -> Iterator[Changes]:
    """The changes that several file groups need; what can't be read is noted, and others go on.

    A file group that is noted may have given a part of its changes: no outcome of that run counts.
    """

    def described() -> Iterator[Described | TwoStates]:
        look = partial(look_at_item, description)
        for item, looked in look_ahead(look, items, is_local=description.reader.storage.is_local):
            try:
                yield from item_changes(description, item, notes, *looked())
            except HudiIndexError as error:
                note_fault(error)

    return as_changes(description, described(), notes)


@dataclass
class _Counted:
    rows: int = 0

    def through(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.rows += batch.num_rows
            yield batch


def purge_of(build: Build, position: int, shard_slice: ShardSlice) -> Iterator[Changes]:
    """Removes a shard's entries of owners whose old slice is not read; their present ones come anew."""
    return as_changes(build.description, _purge(build, position, shard_slice), TaskNotes())


def _purge(build: Build, position: int, shard_slice: ShardSlice) -> Iterator[Described]:
    description = build.description
    partition = description.targets[position].partition
    kinds = [kind for kind in description.kept_kinds if kind.partition == partition]
    lost = [item.context for item in description.items if item.is_lost]
    suffixes = {kind.owner_suffix(context) for kind in kinds for context in lost}
    if not suffixes:
        return
    # A kind's suffixes have one number of parts, so a key's own is found without trying them all.
    parts = next(iter(suffixes)).count(SEPARATOR)
    payloads = [name for name in changes_schema(description, partition).names if name in PAYLOADS]
    for table in merge_slice(build.writer.storage, shard_slice, [TYPE, *payloads]):
        keys = table.column(KEY).to_pylist()
        mine = [SEPARATOR + SEPARATOR.join(str(key).rsplit(SEPARATOR, parts)[1:]) in suffixes for key in keys]
        yield Described(partition, table.filter(pa.array(mine, pa.bool_())), is_deleted=True)


def _join(tables: list[pa.Table]) -> pa.Table:
    if not tables:
        return pa.table({KEY: pa.array([], pa.string())})
    # Tables without entries may lack columns.
    return pa.concat_tables(tables, promote_options="default")
