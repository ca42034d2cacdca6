"""Creating, rebuilding and dropping indexes.

An index is `building` from before its first entry is written until after the commit that holds them all;
queries ignore it meanwhile. A build that fails leaves nothing `building`: the index is as it was, or not
there. One that is killed can't see to that; creating it again, `repair` and, after a while, maintenance do.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hudi_index.catalog import Catalog, IndexState, Kind
from hudi_index.coverage import files
from hudi_index.entries import SEPARATOR, encode_text
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY
from hudi_index.errors import (
    ConflictError,
    CorruptError,
    IndexExistsError,
    InvalidDefinitionError,
    StatementRefusedError,
    UserError,
)
from hudi_index.jobs import JobReport
from hudi_index.lifecycle.maintain import bring_up_to_date, described
from hudi_index.lifecycle.mending import mended_if_damaged
from hudi_index.lifecycle.partitions import partitions_of
from hudi_index.lifecycle.state import IndexedState, definitions_text, noted_definitions
from hudi_index.metadata_table import MetadataTable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import pyarrow as pa

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.executor import Executor
    from hudi_index.metadata_table import Transaction
    from hudi_index.storage import Storage

__all__ = ["build_anew", "create", "create_all", "drop", "rebuild"]


def create(
    storage: Storage, executor: Executor, definition: IndexDefinition, *, if_not_exists: bool = False
) -> JobReport:
    """Make an index: all others are brought up to date, the new one is built at the same snapshot."""
    return create_all(storage, executor, [(definition, if_not_exists)])


def create_all(
    storage: Storage, executor: Executor, wanted: Sequence[tuple[IndexDefinition, bool]]
) -> JobReport:
    """Make several indexes, each with its IF NOT EXISTS, in one pass over the table and one commit.

    All are refused if one is, before anything is written. Until the commit all are `building`.
    """
    report = JobReport("create", storage.uri)
    catalog, metadata_table = Catalog(storage), MetadataTable.of(storage)
    with report.phase("look"):
        state = IndexedState.load(storage, metadata_table)
        asked: list[IndexDefinition] = []
        for definition, if_not_exists in wanted:
            try:
                others = [*asked, *state.definitions]
                if not _is_there(definition, others, report, if_not_exists=if_not_exists):
                    spelled = state.spelled(definition)
                    _refuse_overlap(spelled, others)
                    found = described(spelled, state, executor)
                    state.kind(found)  # refuses what can't be indexed
                    asked.append(found)
            except UserError as error:
                if len(wanted) == 1:
                    raise
                raise StatementRefusedError(name=definition.name, reason=str(error)) from error
        if not asked:
            return report
        stored = [_stored(catalog, state, definition) for definition in asked]
        left = {each.key for each in state.definitions}
        again = {each.id for each in stored if each.key in left}
    try:
        _build(storage, executor, report, stored, again=again)
    except Exception:
        # Leave nothing that looks like a build under way.
        for each in stored:
            with suppress(ConflictError, UserError):
                _settle(catalog, metadata_table, each, None)
        raise
    return report


def _settle(
    catalog: Catalog, metadata_table: MetadataTable, stored: IndexDefinition, old: IndexDefinition | None
) -> None:
    """Take an index out of `building` after a failure: done if its entries are there, else as it was."""
    try:
        is_built = stored.id in files.describing_indexes(metadata_table.view().state.data_snapshot)
    except CorruptError as error:
        catalog.change_state(stored.name, IndexState.INVALID, str(error), index_id=stored.id)
        return
    if is_built:
        catalog.change_state(stored.name, IndexState.READY, index_id=stored.id)
    elif old is None:
        catalog.remove(stored.name, index_id=stored.id)
    else:
        catalog.put_back(old, index_id=stored.id)


def _is_there(
    definition: IndexDefinition, known: Iterable[IndexDefinition], report: JobReport, *, if_not_exists: bool
) -> bool:
    """Whether the index exists and that is fine; one that an earlier create left unfinished does not."""
    existing = next((each for each in known if each.key == definition.key), None)
    if existing is None or (existing.id and existing.state is IndexState.BUILDING):
        return False
    if not if_not_exists:
        raise IndexExistsError(name=existing.name)
    report.notes.append(f"index {existing.name} exists already")
    return True


def _stored(catalog: Catalog, state: IndexedState, definition: IndexDefinition) -> IndexDefinition:
    for left in state.definitions:
        if left.key == definition.key:
            catalog.remove(left.name, index_id=left.id)
    return catalog.add(definition)


def _refuse_overlap(definition: IndexDefinition, others: Iterable[IndexDefinition]) -> None:
    """Entries are named by column: two indexes of a kind may share them only if both write the same."""
    if definition.kind in (Kind.COLUMN_STATS, Kind.SECONDARY_INDEX) or definition.is_functional:
        return
    for other in others:
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

    def run() -> None:
        old = Catalog(storage).load().definition_of(name)
        build_anew(storage, executor, report, [old])

    mended_if_damaged(storage, run, report.notes)
    return report


def build_anew(
    storage: Storage, executor: Executor, report: JobReport, wanted: Sequence[IndexDefinition]
) -> None:
    """Make indexes anew, in one commit. A failure leaves them as they were, or invalid, never `building`."""
    catalog, metadata_table = Catalog(storage), MetadataTable.of(storage)
    with report.phase("look"):
        state = IndexedState.load(storage, metadata_table)
        found = [described(state.spelled(each), state, executor) for each in wanted]
    renewed: list[tuple[IndexDefinition, IndexDefinition]] = []
    try:
        for old, new in zip(wanted, found, strict=True):
            renewed.append((old, catalog.renew(new.with_state(IndexState.BUILDING))))
        stored = [new for _, new in renewed]
        _build(storage, executor, report, stored, again={each.id for each in stored})
    except Exception as error:
        for old, new in renewed:
            with suppress(ConflictError, UserError):
                _settle(catalog, metadata_table, new, _as_it_was(old, error))
        raise


def _as_it_was(definition: IndexDefinition, error: Exception) -> IndexDefinition:
    """An index that was building when it was to be built anew is not any more: nobody builds it."""
    if definition.state is not IndexState.BUILDING:
        return definition
    return definition.with_state(IndexState.INVALID, f"it could not be built: {error}")


def _build(
    storage: Storage,
    executor: Executor,
    report: JobReport,
    stored: Sequence[IndexDefinition],
    *,
    again: Collection[str],
) -> None:
    """Build indexes, some of them `again`, by id."""
    state = IndexedState.load(storage, MetadataTable.of(storage))
    bring_up_to_date(
        state, executor, report, new=stored, replaced=lambda seen: _partitions_in_the_way(seen, stored, again)
    )
    for definition in stored:
        Catalog(storage).change_state(definition.name, IndexState.READY, index_id=definition.id)
        report.indexes.append(definition.name)


def _partitions_in_the_way(
    state: IndexedState, stored: Sequence[IndexDefinition], again: Collection[str]
) -> list[str]:
    """The partitions that can't be added to."""
    replaced: dict[str, None] = {}
    for definition in stored:
        shares = any(each.partition == definition.partition for each in state.ready())
        is_left = definition.partition in state.view.state.shards
        # What an earlier build or an index out of service left there is of nobody knows which slices. A
        # shared partition is built anew with all who share it.
        if is_left and (
            not shares or definition.id in again or _overlaps_unmaintained(definition, stored, state)
        ):
            replaced.update(dict.fromkeys(partitions_of(definition, state)))
    return list(replaced)


def _overlaps_unmaintained(
    definition: IndexDefinition, new: Sequence[IndexDefinition], state: IndexedState
) -> bool:
    """Whether entries of its columns are there that nobody has kept up."""
    built = {each.id for each in new}
    return any(
        each.partition == definition.partition and set(each.source_fields) & set(definition.source_fields)
        for each in state.definitions
        if each.id not in built and each.state is not IndexState.READY
    )


def drop(storage: Storage, name: str, *, if_exists: bool = False) -> JobReport:
    """Take an index away: at once for new queries; those under way finish on files that stay a while."""
    report = JobReport("drop", storage.uri)
    mended_if_damaged(storage, lambda: _drop(storage, name, report, if_exists=if_exists), report.notes)
    return report


def _drop(storage: Storage, name: str, report: JobReport, *, if_exists: bool) -> None:
    catalog, metadata_table = Catalog(storage), MetadataTable.of(storage)
    found = catalog.load().find(name)
    if found is None and if_exists:
        report.notes.append(f"no index {name}")
        return
    definition = catalog.load().definition_of(name)
    with report.phase("drop"):
        # Before anything is changed: what can't be read or is written by others is found out here.
        state = IndexedState.load(storage, metadata_table)
        catalog.change_state(name, IndexState.DROPPING, index_id=definition.id)
        try:
            if definition.partition in state.view.state.shards:
                _drop_entries(metadata_table, state, definition, report)
        except Exception:
            # No entry is gone yet: the commit takes them all. It may go on as it was.
            with suppress(ConflictError, UserError):
                catalog.put_back(definition, index_id=definition.id)
            raise
        catalog.remove(name, index_id=definition.id)
    report.indexes = [name]


def _drop_entries(
    metadata_table: MetadataTable, state: IndexedState, definition: IndexDefinition, report: JobReport
) -> None:
    others = [
        each
        for each in state.definitions
        if each.partition == definition.partition and each.id != definition.id
    ]
    if not others:
        with metadata_table.begin(replaced=partitions_of(definition, state)) as transaction:
            report.commit = transaction.commit(_snapshot_without(definition, transaction)).file_name
        return
    used = {column for each in others for column in each.source_fields}
    ranges = [
        KeyRange.prefix(encode_text(column) + SEPARATOR)
        for column in definition.source_fields
        if column not in used
    ]
    with metadata_table.begin() as transaction:
        for partition in partitions_of(definition, state):
            for piece in transaction.view.slices(partition):
                gone = _keys_in(metadata_table, partition, piece.shard, ranges)
                if len(gone):
                    stat = transaction.writer.write_log(partition, piece.shard, deletes=gone)
                    transaction.add([stat])
                    report.entries_removed += stat.tombstones
                    report.bytes_written += stat.size
        report.commit = transaction.commit(_snapshot_without(definition, transaction)).file_name


def _snapshot_without(definition: IndexDefinition, transaction: Transaction) -> dict[str, str]:
    """What the commit describes, with one index less: a plan that still knows it must not ask it."""
    snapshot = transaction.view.state.data_snapshot
    left = files.describing_indexes(snapshot) - {definition.id}
    noted = definitions_text(each for each in noted_definitions(snapshot) if each.key != definition.key)
    return {**snapshot, files.INDEXES: ",".join(sorted(left)), files.DEFINITIONS: noted}


def _keys_in(
    metadata_table: MetadataTable, partition: str, shard: int, ranges: list[KeyRange]
) -> pa.Array[Any]:
    found = metadata_table.reader().lookup(partition, ranges, columns=[], shard=shard)
    return found.column(KEY).combine_chunks()
