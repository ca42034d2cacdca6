"""Entries as rows to compare: those that are stored, and those that the slices would give now.

    side       STORED, REBUILT, or NOTE for a row that only tells something (its key is JSON)
    target     the shard, by its place in the description: an entry in another shard is not found by look-ups
    label      the first part of the key where several indexes share a partition, else empty
    key        as in the index metadata table
    content    type and payload, all of them, as one text; bytes as their digest

Both sides of one file group never meet in this module: whoever runs it (Spark, or a dictionary) brings rows
of equal target and key together.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.coverage import files
from hudi_index.entries import SEPARATOR
from hudi_index.entries.schema import KEY, PAYLOADS, TYPE
from hudi_index.errors import CorruptError, MissingSliceFileError
from hudi_index.kinds import SliceContext
from hudi_index.lifecycle.changes import TaskNotes, as_changes
from hudi_index.lifecycle.runs import TARGET, Counts, take_counts
from hudi_index.lifecycle.tasks import changes_of, rows_after
from hudi_index.metadata_table.reader import merge_slice
from hudi_index.table import FileGroupId

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hudi_index.lifecycle.description import Description, WorkItem
    from hudi_index.lifecycle.runs import Run
    from hudi_index.metadata_table import ShardSlice
    from hudi_index.storage import Storage
    from hudi_index.table import SliceIdentity

__all__ = [
    "CONTENT",
    "LABEL",
    "NOTE",
    "NO_SHARD",
    "REBUILT",
    "ROWS",
    "SIDE",
    "STORED",
    "ContentWork",
    "content_of",
    "read_stored_rows",
    "rebuilt_rows",
    "rebuilt_rows_of",
    "rows_of",
]

SIDE, LABEL, CONTENT = "side", "label", "content"
STORED, REBUILT, NOTE = 0, 1, -1
NO_SHARD = -1
"""The target of a NOTE."""
_FIELDS: list[pa.Field[Any]] = [
    pa.field(SIDE, pa.int32()),
    pa.field(TARGET, pa.int32()),
    pa.field(LABEL, pa.string()),
    pa.field(KEY, pa.string()),
    pa.field(CONTENT, pa.string()),
]
ROWS: pa.Schema = pa.schema(_FIELDS)

# What a file group's record was noted with, not what it says of the slice.
_NOTED = {(files.PAYLOAD, name) for name in ("baseFileSize", "instantTime", "schemaId")}


@dataclass(frozen=True)
class ContentWork:
    """What is to be compared. Plain and picklable."""

    description: Description
    """Describes its items from nothing, for all checked indexes."""
    metadata_storage: Storage
    shards: Mapping[int, ShardSlice]
    """The stored shards, by place in the description's targets."""
    only: Mapping[str, frozenset[str]] | None
    """By partition the key ends of the only owners to compare; None for all."""
    without: Mapping[str, frozenset[str]]
    """By partition the key ends of owners to leave out: their slices can't be read any more."""
    labels: Mapping[str, frozenset[str]]
    """Shared partitions, with the first key parts that belong to indexes which are not checked."""
    outdated: frozenset[FileGroupId] = frozenset()
    """File groups whose described slice is not the current one, which is all that Hudi on Spark reads."""

    def with_refused(self, refused: Mapping[SliceIdentity, str]) -> ContentWork:
        """The same, knowing of more slices that hudi-rs refuses."""
        reader = self.description.reader
        reader = replace(reader, refused={**reader.refused, **refused})
        return replace(self, description=replace(self.description, reader=reader))

    def without_items(self) -> ContentWork:
        """What every task needs; items and shards travel to the tasks that they are for."""
        return replace(self, description=self.description.without_items(), shards={})


def rebuilt_rows(work: ContentWork, item: WorkItem) -> Iterator[pa.RecordBatch]:
    """The entries that a file group's slice gives now."""
    try:
        # From the rows alone: what footers say was taken for true when the entries were made.
        description, notes = work.description, TaskNotes()
        changes = changes_of(description, item, iter(()), rows_after(description, item), notes)
        for each in as_changes(description, changes, notes):
            yield from rows_of(work, REBUILT, each.rows)
        yield _note(rows_read=notes.counts.rows_read)
    except MissingSliceFileError as error:
        group = item.context.group
        yield _note(gone=[group.partition_path, group.file_id], reason=str(error))


def rebuilt_rows_of(work: ContentWork, runs: Iterable[Run]) -> Iterator[pa.RecordBatch]:
    """The same, of runs of changes of any number of file groups that somebody else made."""
    counts = Counts()
    for run in take_counts(runs, counts):
        entries = run.entries
        target = pa.repeat(pa.scalar(run.target, pa.int32()), entries.num_rows)
        yield from rows_of(work, REBUILT, entries.append_column(TARGET, target))
    yield _note(rows_read=counts.rows_read)


def read_stored_rows(work: ContentWork, position: int, shard_slice: ShardSlice) -> Iterator[pa.RecordBatch]:
    """The entries that a shard holds, as far as they are to be compared."""
    partition = work.description.targets[position].partition
    try:
        for table in merge_slice(work.metadata_storage, shard_slice):
            chosen = _choose(work, partition, table)
            target = pa.repeat(pa.scalar(position, pa.int32()), chosen.num_rows)
            yield from rows_of(work, STORED, chosen.append_column(TARGET, target))
            yield _note(entries=chosen.num_rows)
    except CorruptError as error:
        yield _note(unreadable=partition, reason=str(error))


def _note(**facts: Any) -> pa.RecordBatch:
    row = {SIDE: NOTE, TARGET: NO_SHARD, LABEL: "", KEY: json.dumps(facts)}
    return pa.RecordBatch.from_pylist([row], schema=ROWS)


def _choose(work: ContentWork, partition: str, table: pa.Table) -> pa.Table:
    left = work.without.get(partition)
    if work.only is not None:
        wanted = pa.array(sorted(work.only.get(partition, ())), pa.string())
        table = table.filter(pc.is_in(_owners(partition, table, work), value_set=wanted))
    elif left:
        unwanted = pa.array(sorted(left), pa.string())
        table = table.filter(pc.invert(pc.is_in(_owners(partition, table, work), value_set=unwanted)))
    if foreign := work.labels.get(partition):
        firsts = _first_parts(table.column(KEY).combine_chunks())
        table = table.filter(pc.invert(pc.is_in(firsts, value_set=pa.array(sorted(foreign), pa.string()))))
    return table


def _owners(partition: str, table: pa.Table, work: ContentWork) -> Any:
    """How each key ends: the owner that it names."""
    keys: Any = table.column(KEY).combine_chunks()
    if partition == files.PARTITION:
        return keys
    kind = next(each for each in work.description.new_kinds if each.partition == partition)
    parts = kind.owner_suffix(_ANYBODY).count(SEPARATOR)
    return pc.replace_substring_regex(keys, rf"\A.*?((?:\$[^$]*){{{parts}}})\z", r"\1")


_ANYBODY = SliceContext(FileGroupId("p", "f"), 0)
"""Stands for a file group where only the shape of its key end matters."""


def _first_parts(keys: Any) -> Any:
    return pc.replace_substring_regex(keys, r"\$.*", "")


def rows_of(work: ContentWork, side: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Entries of one partition, with their targets, as rows to compare."""
    if not table.num_rows:
        return
    keys, targets = table.column(KEY).combine_chunks(), table.column(TARGET).combine_chunks()
    partition = work.description.targets[targets[0].as_py()].partition
    is_shared = partition in work.labels
    columns: list[Any] = [
        pa.repeat(pa.scalar(side, pa.int32()), table.num_rows),
        targets.cast(pa.int32()),
        _first_parts(keys) if is_shared else pa.repeat("", table.num_rows),
        keys,
        content_of(table, _payloads(work, partition)),
    ]
    yield from pa.Table.from_arrays(columns, schema=ROWS).to_batches()


def _payloads(work: ContentWork, partition: str) -> list[str]:
    if partition == files.PARTITION:
        return [files.PAYLOAD]
    kinds = work.description.new_kinds
    # What is derived, as partition_stats is, has the payload of another partition's kind.
    mine = [kind for kind in kinds if kind.partition == partition] or kinds
    used = {name for kind in mine for name in kind.payloads}
    return [name for name in PAYLOADS if name in used]


def content_of(entries: pa.Table, payloads: Sequence[str]) -> pa.Array[Any]:
    """What each entry says beside its key, as one text that no other content has."""
    parts: list[Any] = [_texts(entries.column(TYPE).combine_chunks())]
    for payload in payloads:
        struct = cast("pa.StructArray", entries.column(payload).combine_chunks())
        names = [struct.type.field(position).name for position in range(struct.type.num_fields)]
        for name, values in zip(names, struct.flatten(), strict=True):
            if (payload, name) not in _NOTED:
                label = pa.scalar(f" {name}=", pa.string())
                parts += [label, _texts(values)]
    joined: Any = pc.binary_join_element_wise(*parts, pa.scalar("", pa.string()))
    return cast("pa.Array[Any]", joined)


def _texts(values: Any) -> Any:
    """Values as texts, each with its length, so that no two rows of values read alike."""
    if pa.types.is_binary(values.type):
        found = [None if one is None else hashlib.sha256(one).hexdigest() for one in values.to_pylist()]
        values = pa.array(found, pa.string())
    elif pa.types.is_nested(values.type):
        listed = [None if one is None else json.dumps(one) for one in values.to_pylist()]
        values = pa.array(listed, pa.string())
    texts = values.cast(pa.string())
    lengths = pc.utf8_length(texts).cast(pa.string())
    joined: Any = pc.binary_join_element_wise(lengths, texts, pa.scalar(":", pa.string()))
    return pc.fill_null(joined, "null")
