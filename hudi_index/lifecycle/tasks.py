"""What runs on executors: rows of slices become changes of entries, changes become files.

Changes are Arrow batches, one row per entry that is new, different or gone:

    target     which shard, by its place in the job's list; METRICS for a row that only counts
    key, type, payloads, _hoodie_is_deleted      as in the index metadata table

Between the two steps somebody (Spark, or a list) brings the changes of one shard together, sorted by key.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries import owner_suffix, shards_of
from hudi_index.entries.schema import DELETED, ENTRY_SCHEMA, KEY, PAYLOADS, TYPE
from hudi_index.kinds import files
from hudi_index.kinds.diff import diff_entries
from hudi_index.metadata_table.reader import merged_slice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from hudi_index.kinds.protocol import IndexKind, SliceContext
    from hudi_index.lifecycle.job import Job, Target, WorkItem
    from hudi_index.metadata_table import FileSlice as MetadataSlice
    from hudi_index.metadata_table import ShardWriter, WriteStat
    from hudi_index.table import FileSlice

__all__ = [
    "METRICS",
    "TARGET",
    "ItemPlan",
    "changes_of",
    "changes_schema",
    "item_changes",
    "purge_of",
    "rows_after",
    "rows_before",
    "runs_of",
    "write_changes",
]

TARGET = "target"
METRICS = -1


def changes_schema(job: Job) -> pa.Schema:
    """The schema of the job's changes: only payloads that some kind writes."""
    used = {files.PAYLOAD, *(name for kind in (*job.kept_kinds, *job.new_kinds) for name in kind.payloads)}
    names = [KEY, TYPE, *(name for name in PAYLOADS if name in used), DELETED]
    leading: list[pa.Field[Any]] = [pa.field(TARGET, pa.int32())]
    return pa.schema([*leading, *(ENTRY_SCHEMA.field(name) for name in names)])


@dataclass
class _Emitter:
    """Gives changes their target and the job's schema."""

    job: Job
    schema: pa.Schema

    def upserts(self, kind: IndexKind, entries: pa.Table) -> Iterator[pa.RecordBatch]:
        keys = entries.column(KEY).combine_chunks()
        yield from self.rows(kind.partition, kind.lookup_parts(keys), entries, is_deleted=False)

    def deletes(self, kind: IndexKind, keys: pa.Array[Any]) -> Iterator[pa.RecordBatch]:
        table = pa.table({KEY: keys})
        yield from self.rows(kind.partition, kind.lookup_parts(keys), table, is_deleted=True)

    def rows(
        self, partition: str, lookups: pa.Array[Any], entries: pa.Table, *, is_deleted: bool
    ) -> Iterator[pa.RecordBatch]:
        if entries.num_rows == 0:
            return
        shards = shards_of(lookups, self.job.shards_of(partition))
        columns: dict[str, Any] = {
            TARGET: pa.array((shards + self.job.first_target_of(partition)).astype(np.int32)),
            DELETED: pa.repeat(pa.scalar(value=is_deleted), entries.num_rows),
        }
        arrays = [
            columns[field.name]
            if field.name in columns
            else entries.column(field.name).cast(field.type)
            if field.name in entries.column_names
            else pa.nulls(entries.num_rows, field.type)
            for field in self.schema
        ]
        yield from pa.Table.from_arrays(arrays, schema=self.schema).to_batches()

    def metrics(self, **counts: int) -> pa.RecordBatch:
        row = {TARGET: METRICS, KEY: json.dumps(counts), DELETED: False}
        return pa.RecordBatch.from_pylist([row], schema=self.schema)


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
    def of(cls, job: Job, item: WorkItem) -> ItemPlan:
        """The plan for an item of a job."""
        if not item.is_changed:
            return cls((), (), job.new_kinds)
        if item.after is None:
            return cls((), () if item.is_lost else job.kept_kinds, ())
        if item.before is None or item.is_lost:
            return cls((), (), (*job.kept_kinds, *job.new_kinds))
        return cls(job.kept_kinds, (), job.new_kinds)

    @property
    def kinds_before(self) -> tuple[IndexKind, ...]:
        """Those that see the rows as they were."""
        return (*self.diffed, *self.removed)

    @property
    def kinds_after(self) -> tuple[IndexKind, ...]:
        """Those that see the rows as they are."""
        return (*self.built, *self.diffed)


def rows_before(job: Job, item: WorkItem) -> Iterator[pa.RecordBatch]:
    """The rows as they were, as far as anybody wants them."""
    kinds = ItemPlan.of(job, item).kinds_before
    return _rows(job, item.before, kinds) if kinds and item.before else iter(())


def rows_after(job: Job, item: WorkItem) -> Iterator[pa.RecordBatch]:
    """The rows as they are."""
    return _rows(job, item.after, ItemPlan.of(job, item).kinds_after) if item.after else iter(())


def _rows(job: Job, piece: FileSlice, kinds: Sequence[IndexKind]) -> Iterator[pa.RecordBatch]:
    return job.reader.rows(piece, job.columns_to_read(kinds)).batches()


def changes_of(
    job: Job, item: WorkItem, before: Iterable[pa.RecordBatch], after: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The changes that one file group needs; each of its two states is read once, for all kinds."""
    emitter, plan = _Emitter(job, changes_schema(job)), ItemPlan.of(job, item)
    counted = _Counted()
    old = _collected(plan.kinds_before, item.context, counted.through(before))
    for kind, entries in zip(plan.removed, old, strict=False):
        yield from emitter.deletes(kind, entries.column(KEY).combine_chunks())
    rows_seen = counted.rows
    builders = [kind.builder(item.context) for kind in plan.built]
    held = [(kind.builder(item.context), list[pa.Table]()) for kind in plan.diffed]
    for batch in counted.through(after):
        for kind, builder in zip(plan.built, builders, strict=True):
            for entries in builder.add(batch):
                yield from emitter.upserts(kind, entries)
        for builder, kept in held:
            kept.extend(builder.add(batch))
    for kind, builder in zip(plan.built, builders, strict=True):
        for entries in builder.finish():
            yield from emitter.upserts(kind, entries)
    for kind, known, (builder, kept) in zip(plan.diffed, old, held, strict=False):
        kept.extend(builder.finish())
        upserts, deletes = diff_entries(known, _joined(kept))
        yield from emitter.upserts(kind, upserts)
        yield from emitter.deletes(kind, deletes)
    if item.is_changed:
        yield from _files_changes(job, item, emitter, counted.rows - rows_seen)
    yield emitter.metrics(rows_read=counted.rows)


def item_changes(job: Job, item: WorkItem) -> Iterator[pa.RecordBatch]:
    """The changes that one file group needs, its rows read here."""
    return changes_of(job, item, rows_before(job, item), rows_after(job, item))


@dataclass
class _Counted:
    rows: int = 0

    def through(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.rows += batch.num_rows
            yield batch


def _collected(
    kinds: Sequence[IndexKind], context: SliceContext, batches: Iterable[pa.RecordBatch]
) -> list[pa.Table]:
    """All entries of a slice, by kind."""
    builders = [kind.builder(context) for kind in kinds]
    found: list[list[pa.Table]] = [[] for _ in kinds]
    for batch in batches:
        for builder, kept in zip(builders, found, strict=True):
            kept.extend(builder.add(batch))
    for builder, kept in zip(builders, found, strict=True):
        kept.extend(builder.finish())
    return [_joined(kept) for kept in found]


def _files_changes(job: Job, item: WorkItem, emitter: _Emitter, rows: int) -> Iterator[pa.RecordBatch]:
    if item.after is None:
        group = item.context.group
        gone: pa.Array[Any] = pa.array([owner_suffix(group.partition_path, group.file_id)], pa.string())
        yield from emitter.rows(files.PARTITION, gone, pa.table({KEY: gone}), is_deleted=True)
        return
    noted = files.IndexedSlice.of(
        item.after, number=item.context.number, row_count=rows, schema_id=job.schema_id
    )
    entries = files.entries_of([noted])
    keys = entries.column(KEY).combine_chunks()
    yield from emitter.rows(files.PARTITION, keys, entries, is_deleted=False)


def purge_of(job: Job, place: int, piece: MetadataSlice) -> Iterator[pa.RecordBatch]:
    """Deletes a shard's entries of owners whose old slice is lost; their present ones are written anew."""
    partition = job.targets[place].partition
    kinds = [kind for kind in job.kept_kinds if kind.partition == partition]
    suffixes = {kind.owner_suffix(item.context) for kind in kinds for item in job.items if item.is_lost}
    emitter = _Emitter(job, changes_schema(job))
    for table in merged_slice(job.writer.storage, piece, []):
        keys = table.column(KEY).combine_chunks()
        mine = [key.endswith(tuple(suffixes)) for key in cast("list[str]", keys.to_pylist())]
        gone = keys.filter(pa.array(mine, pa.bool_()))
        yield from emitter.rows(
            partition, kinds[0].lookup_parts(gone), pa.table({KEY: gone}), is_deleted=True
        )


def _joined(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables) if tables else pa.table({KEY: pa.array([], pa.string())})


def write_changes(
    writer: ShardWriter, target: Target, changes: Iterable[pa.Table], *, write_token: str
) -> WriteStat:
    """Write one shard's changes, which come sorted by key; of a key that comes and goes, what comes wins."""
    if target.is_new:
        return writer.write_base(
            target.partition, target.shard, _entries_alone(changes), write_token=write_token
        )
    joined = _newest_of_each(pa.concat_tables(changes))
    gone = joined.filter(pc.field(DELETED)).column(KEY).combine_chunks()
    kept = joined.filter(~pc.field(DELETED)).drop_columns([TARGET, DELETED])
    return writer.write_log(
        target.partition, target.shard, upserts=kept, deletes=gone, write_token=write_token
    )


def _entries_alone(changes: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The entries of changes sorted by key, each once: two indexes over one column say the same of it."""
    last = None
    for table in changes:
        distinct = table.filter(pa.array(_is_first_of_its_key(table, last)))
        last = table.column(KEY)[-1].as_py()
        yield distinct.drop_columns([TARGET, DELETED])


def _newest_of_each(changes: pa.Table) -> pa.Table:
    ordered = changes.sort_by([(KEY, "ascending"), (DELETED, "ascending")])
    return ordered.filter(pa.array(_is_first_of_its_key(ordered, None)))


def _is_first_of_its_key(ordered: pa.Table, before: str | None) -> npt.NDArray[np.bool_]:
    """By row whether its key is another than that of the row before, the first row's against `before`."""
    keys = ordered.column(KEY).combine_chunks()
    found = np.ones(len(keys), dtype=np.bool_)
    if len(keys):
        found[0] = keys[0].as_py() != before
        found[1:] = pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(zero_copy_only=False)
    return found


def runs_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Iterator[pa.Table]]]:
    """Batches sorted by target as runs of one target each, to be consumed in order."""
    pieces = (piece for batch in batches for piece in _pieces_of(batch))
    for target, run in groupby(pieces, key=lambda piece: piece[0]):
        yield target, (table for _, table in run)


def _pieces_of(batch: pa.RecordBatch) -> Iterator[tuple[int, pa.Table]]:
    targets = batch.column(TARGET).to_numpy()
    if not len(targets):
        return
    starts = np.flatnonzero(np.diff(targets, prepend=targets[:1] - 1)).tolist()
    for start, stop in pairwise([*starts, len(targets)]):
        yield int(targets[start]), pa.Table.from_batches([batch.slice(start, stop - start)])
