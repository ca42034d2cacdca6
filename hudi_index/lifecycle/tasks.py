"""What runs on executors: rows of slices become changes of entries, changes become files.

Between the two steps somebody (Spark, or a list) brings the changes of one shard together, sorted by key, as
`hudi_index.lifecycle.runs` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from hudi_index.coverage import files
from hudi_index.entries import SEPARATOR, owner_suffix
from hudi_index.entries.schema import KEY, PAYLOADS, TYPE
from hudi_index.errors import HudiIndexError
from hudi_index.lifecycle.changes import Described, TaskNotes, TwoStates, as_changes, changes_schema
from hudi_index.lifecycle.description import ItemPlan
from hudi_index.lifecycle.footers import FROM_ROWS, Known, look_ahead, look_at_footer
from hudi_index.lifecycle.states import States, describe
from hudi_index.lifecycle.together import ChangedRows
from hudi_index.metadata_table.reader import merge_slice
from hudi_index.side_by_side import side_by_side
from hudi_index.table import HeldFiles, HeldLogs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hudi_index.kind_parts.protocol import IndexKind
    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.description import Description, WorkItem
    from hudi_index.lifecycle.runs import Changes
    from hudi_index.metadata_table import ShardSlice
    from hudi_index.table import FileSlice
    from hudi_index.table.footer import Footer

__all__ = [
    "NoteFault",
    "all_changes",
    "changes_of",
    "item_changes",
    "purge_of",
    "rows_after",
    "rows_before",
]


_LOG_BYTES_TOGETHER, _ITEMS_TOGETHER = 8 * 1024 * 1024, 32

NoteFault: TypeAlias = "Callable[[HudiIndexError], object]"
"""Takes in why a file group could not be described."""


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
    changed: ChangedRows | None = None,
) -> Iterator[Described | TwoStates]:
    """The changes that one file group needs; each of its two states is read once, for all kinds.

    The two states of a file group of up to `rows_at_once` rows are given together. Of a larger one all that
    was is sent as removed, with its content, and all that is as added; the write stage, which gets both side
    by side, drops what is equal. So entries of no more than that many rows are held, apart from kinds that
    sum rows up.

    Args:
        description: What is described.
        item: The file group.
        before: Its rows as they were.
        after: And as they are.
        notes: Where to count.
        known_before: What is known of it without rows, as it was.
        known_after: And as it is.
        changed: Takes the rows that changed, for the kinds that describe those of many file groups at once.
    """
    plan = ItemPlan.of(description, item)
    compared = _Compared(plan.diffed)
    counted, limit = _Counted(), description.rows_at_once
    states = States.of(plan, before, after, limit)
    elsewhere = states.same
    if changed and states.old is not None and states.new is not None:
        others = [place for place in range(len(plan.diffed)) if place not in states.same]
        elsewhere |= changed.take(others, item.context, states.old, states.new)
    for position, entries in describe(
        plan.kinds_before,
        item.context,
        counted.through(states.before),
        limit,
        known_before,
        states.old,
        elsewhere,
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
        elsewhere,
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
    description: Description,
    item: WorkItem,
    notes: TaskNotes,
    before: Known,
    after: Known,
    changed: ChangedRows | None = None,
    logs: HeldLogs | None = None,
) -> Iterator[Described | TwoStates]:
    """The changes that one file group needs, its rows read here, as far as footers don't tell."""
    plan = ItemPlan.of(description, item)
    old, new = before.of_rows(plan.kinds_before), after.of_rows(plan.kinds_after)
    is_counted = after.row_count is None
    held = HeldFiles(logs or HeldLogs())
    return changes_of(
        description,
        item,
        _rows(description, item.before, old, footer=before.footer, held=held),
        _rows(description, item.after, new, footer=after.footer, held=held, is_counted=is_counted),
        notes,
        before,
        after,
        changed,
    )


def all_changes(
    description: Description, items: Iterable[WorkItem], notes: TaskNotes, note_fault: NoteFault
) -> Iterator[Changes]:
    """The changes that several file groups need; what can't be read is noted, and others go on.

    A file group that is noted may have given a part of its changes: no outcome of that run counts.
    """
    changed = ChangedRows(description.kept_kinds)

    def together() -> Iterator[TwoStates]:
        try:
            yield from (TwoStates(*of_kind) for of_kind in changed.described())
        except HudiIndexError as error:
            note_fault(error)

    def described() -> Iterator[Described | TwoStates]:
        look = partial(look_at_item, description)
        for some in _some_of(items):
            logs = HeldLogs(tuple(path for item in some for path in _logs_of(item)))
            for item, looked in look_ahead(look, some, is_local=description.reader.storage.is_local):
                try:
                    yield from item_changes(description, item, notes, *looked(), changed, logs)
                except HudiIndexError as error:
                    note_fault(error)
                if changed.is_full:
                    yield from together()
        yield from together()

    return as_changes(description, described(), notes)


def _some_of(items: Iterable[WorkItem]) -> Iterator[list[WorkItem]]:
    """File groups whose logs are decoded together."""
    some: list[WorkItem] = []
    size = 0
    for item in items:
        added = sum(_logs_of(item).values())
        if size + added > _LOG_BYTES_TOGETHER or len(some) == _ITEMS_TOGETHER:
            yield some
            some, size = [], 0
        some.append(item)
        size += added
    yield some


def _logs_of(item: WorkItem) -> dict[str, int]:
    """The logs that both states of a file group are made of, if it has two, with their sizes."""
    if not item.before or not item.after or sum(item.after.log_sizes) > _LOG_BYTES_TOGETHER:
        return {}
    return dict(zip(item.after.log_paths, item.after.log_sizes, strict=True))


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
