"""Dropping an index: its entries, as far as no other index has a use for them, and then its definition."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hudi_index.catalog import IndexState
from hudi_index.coverage import files
from hudi_index.entries import SEPARATOR, encode_text
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY
from hudi_index.errors import ConflictError, IndexesMovedError, UserError
from hudi_index.jobs import JobReport
from hudi_index.lifecycle.decide import decide_drop
from hudi_index.lifecycle.mending import mend_if_damaged
from hudi_index.lifecycle.state import Kept, definitions_text, parse_noted_definitions

if TYPE_CHECKING:
    import pyarrow as pa

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.decide import Drop
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import MetadataTable, Transaction
    from hudi_index.storage import Storage

__all__ = ["drop"]

_ATTEMPTS = 3


def drop(storage: Storage, name: str, *, if_exists: bool = False, kept: Kept | None = None) -> JobReport:
    """Take an index away: at once for new queries; those under way finish on files that stay a while."""
    report = JobReport("drop", storage.uri)
    kept = kept or Kept.of(storage)
    mend_if_damaged(storage, lambda: _drop(kept, name, report, if_exists=if_exists), report.notes)
    return report


def _drop(kept: Kept, name: str, report: JobReport, *, if_exists: bool) -> None:
    catalog = kept.catalog
    known = catalog.load()
    if known.find(name) is None and if_exists:
        report.notes.append(f"no index {name}")
        return
    definition = known.definition_of(name)
    with report.phase("drop"):
        # Before anything is changed: what can't be read or is written by others is found out here.
        state = kept.look()
        catalog.change_state(name, IndexState.DROPPING, index_id=definition.id)
        try:
            _drop_entries(state, definition, report)
        except Exception:
            # No entry is gone yet: the commit takes them all. It may go on as it was.
            with suppress(ConflictError, UserError):
                catalog.put_back(definition, index_id=definition.id)
            raise
        catalog.remove(name, index_id=definition.id)
    report.indexes = [name]


def _drop_entries(state: IndexedState, definition: IndexDefinition, report: JobReport) -> None:
    for _ in range(_ATTEMPTS):
        if definition.partition not in state.view.state.shards:
            return
        goes = decide_drop(definition, state.definitions, state.view.state.shards)
        try:
            _commit(state, goes, definition, report)
        except IndexesMovedError:
            # Somebody committed, or a drop that died with its commit decided became visible.
            state = state.look_again()
        else:
            return
    raise IndexesMovedError(uri=state.metadata_table.storage.uri)


def _commit(state: IndexedState, goes: Drop, definition: IndexDefinition, report: JobReport) -> None:
    metadata_table = state.metadata_table
    ranges = [KeyRange.prefix(encode_text(column) + SEPARATOR) for column in goes.columns]
    with metadata_table.begin(replaced=goes.replaced, seen=state.view) as transaction:
        for partition in goes.thinned:
            for shard_slice in transaction.view.slices(partition):
                gone = _keys_in(metadata_table, partition, shard_slice.shard, ranges)
                if len(gone):
                    stat = transaction.writer.write_log(partition, shard_slice.shard, deletes=gone)
                    transaction.add([stat])
                    report.entries_removed += stat.tombstones
                    report.bytes_written += stat.size
        report.commit = transaction.commit(_snapshot_without(definition, transaction)).file_name


def _snapshot_without(definition: IndexDefinition, transaction: Transaction) -> dict[str, str]:
    """What the commit describes, with one index less: a plan that still knows it must not ask it."""
    snapshot = transaction.view.state.data_snapshot
    left = files.describing_indexes(snapshot) - {definition.id}
    noted = definitions_text(each for each in parse_noted_definitions(snapshot) if each.key != definition.key)
    return {**snapshot, files.INDEXES: ",".join(sorted(left)), files.DEFINITIONS: noted}


def _keys_in(
    metadata_table: MetadataTable, partition: str, shard: int, ranges: list[KeyRange]
) -> pa.Array[Any]:
    found = metadata_table.reader().lookup(partition, ranges, columns=[], shard=shard)
    return found.column(KEY).combine_chunks()
