"""Creating, rebuilding and dropping indexes.

An index is `building` from before its first entry is written until after the commit that holds them all;
queries ignore it meanwhile. A build that dies leaves it `building`, and creating it again starts over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.catalog import Catalog, IndexState, Kind
from hudi_index.entries import SEPARATOR, encode_text
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY
from hudi_index.errors import ConflictError, IndexExistsError, InvalidDefinitionError
from hudi_index.jobs import JobReport
from hudi_index.lifecycle.maintain import bring_up_to_date, described
from hudi_index.lifecycle.partitions import PARTITION_STATS, is_merged
from hudi_index.lifecycle.state import IndexedState
from hudi_index.metadata_table import MetadataTable

if TYPE_CHECKING:
    import pyarrow as pa

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.executor import Executor
    from hudi_index.storage import Storage

__all__ = ["create", "drop", "rebuild"]


def create(
    storage: Storage, executor: Executor, definition: IndexDefinition, *, if_not_exists: bool = False
) -> JobReport:
    """Make an index: all others are brought up to date, the new one is built at the same snapshot."""
    report = JobReport("create", storage.uri)
    catalog, metadata_table = Catalog(storage), MetadataTable.of(storage)
    with report.phase("look"):
        state = IndexedState.load(storage, metadata_table)
        existing = catalog.load().find(definition.name)
        if existing and existing.state is not IndexState.BUILDING:
            if if_not_exists:
                report.notes.append(f"index {existing.name} exists already")
                return report
            raise IndexExistsError(name=existing.name)
        _refuse_overlap(definition, state)
        wanted = described(definition, state, executor)
        state.kind(wanted)  # refuses what can't be indexed before anything is written
        if existing:
            catalog.remove(existing.name, index_id=existing.id)
        stored = catalog.add(wanted)
    try:
        _build(storage, executor, report, stored)
    except ConflictError:
        # Nothing was built, and the caller will come again: leave nothing that looks like a build under way.
        catalog.remove(stored.name, index_id=stored.id)
        raise
    return report


def _refuse_overlap(definition: IndexDefinition, state: IndexedState) -> None:
    """Entries are named by column: two indexes of a kind may share them only if both write the same."""
    if definition.kind in (Kind.COLUMN_STATS, Kind.SECONDARY_INDEX) or definition.is_functional:
        return
    for other in state.definitions:
        if other.partition != definition.partition or other.key == definition.key:
            continue
        common = [name for name in definition.source_fields if name in other.source_fields]
        if common or definition.kind is Kind.RECORD_INDEX:
            reason = (
                f"index {other.name} is a {other.kind} over {', '.join(common) or 'the record key'} already"
            )
            raise InvalidDefinitionError(name=definition.name, reason=reason)


def rebuild(storage: Storage, executor: Executor, name: str) -> JobReport:
    """Make an index anew, whatever its state."""
    report = JobReport("rebuild", storage.uri)
    catalog = Catalog(storage)
    with report.phase("look"):
        old = catalog.load().definition_of(name)
        state = IndexedState.load(storage, MetadataTable.of(storage))
        wanted = described(old, state, executor)
        catalog.remove(old.name, index_id=old.id)
        stored = catalog.add(wanted.with_state(IndexState.BUILDING))
    _build(storage, executor, report, stored)
    return report


def _build(storage: Storage, executor: Executor, report: JobReport, stored: IndexDefinition) -> None:
    state = IndexedState.load(storage, MetadataTable.of(storage))
    shares = any(each.partition == stored.partition for each in state.ready())
    is_left = stored.partition in state.view.state.shards
    # What an earlier build left there belongs to nobody. A shared partition is built anew with all who share
    # it.
    is_renewed = is_left and (not shares or report.verb == "rebuild")
    replaced = _partitions_of(stored, state) if is_renewed else []
    bring_up_to_date(storage, executor, report, new=[stored], replaced=replaced)
    Catalog(storage).change_state(stored.name, IndexState.READY, index_id=stored.id)
    report.indexes.append(stored.name)


def drop(storage: Storage, name: str, *, if_exists: bool = False) -> JobReport:
    """Take an index away: at once for new queries; those under way finish on files that stay a while."""
    report = JobReport("drop", storage.uri)
    catalog, metadata_table = Catalog(storage), MetadataTable.of(storage)
    found = catalog.load().find(name)
    if found is None and if_exists:
        report.notes.append(f"no index {name}")
        return report
    definition = catalog.load().definition_of(name)
    catalog.change_state(name, IndexState.DROPPING, index_id=definition.id)
    with report.phase("drop"):
        state = IndexedState.load(storage, metadata_table)
        if definition.partition in state.view.state.shards:
            _drop_entries(metadata_table, state, definition, report)
        catalog.remove(name, index_id=definition.id)
    report.indexes = [name]
    return report


def _drop_entries(
    metadata_table: MetadataTable, state: IndexedState, definition: IndexDefinition, report: JobReport
) -> None:
    others = [
        each
        for each in state.definitions
        if each.partition == definition.partition and each.id != definition.id
    ]
    if not others:
        with metadata_table.begin(replaced=_partitions_of(definition, state)) as transaction:
            report.commit = transaction.commit().file_name
        return
    used = {column for each in others for column in each.source_fields}
    ranges = [
        KeyRange.prefix(encode_text(column) + SEPARATOR)
        for column in definition.source_fields
        if column not in used
    ]
    with metadata_table.begin() as transaction:
        for partition in _partitions_of(definition, state):
            for piece in transaction.view.slices(partition):
                gone = _keys_in(metadata_table, partition, piece.shard, ranges)
                if len(gone):
                    transaction.add([transaction.writer.write_log(partition, piece.shard, deletes=gone)])
                    report.entries_removed += len(gone)
        report.commit = transaction.commit().file_name


def _partitions_of(definition: IndexDefinition, state: IndexedState) -> list[str]:
    """The partitions with its entries, as far as they exist."""
    names = [definition.partition, *([PARTITION_STATS] if is_merged(definition) else [])]
    return [name for name in names if name in state.view.state.shards]


def _keys_in(
    metadata_table: MetadataTable, partition: str, shard: int, ranges: list[KeyRange]
) -> pa.Array[Any]:
    found = metadata_table.reader().lookup(partition, ranges, columns=[], shard=shard)
    return found.column(KEY).combine_chunks()
