"""Maintenance: bring the indexes from the slices they describe to the slices that are.

    work = difference between `files` (what is indexed) and the table's current slices (what is)

There is no rule per timeline action. Creating an index is maintenance that also describes all file groups for
it; rebuilding is creating again; a table that lost everything is maintenance to nothing. One commit moves all
indexes together.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog, IndexState
from hudi_index.coverage import files
from hudi_index.errors import (
    ConflictError,
    IndexesMovedError,
    InvalidDefinitionError,
    SliceRefusedError,
    StaleExpressionError,
    UserError,
)
from hudi_index.jobs import JobReport
from hudi_index.lifecycle.executor import SlicesRefusedError
from hudi_index.lifecycle.job import Job, Target, items_of
from hudi_index.lifecycle.mending import sweep
from hudi_index.lifecycle.partitions import PARTITION_STATS, is_merged, merge_partitions, partitions_of
from hudi_index.lifecycle.state import IndexedState, definitions_text
from hudi_index.metadata_table import MetadataTable
from hudi_index.table import FileSlice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.executor import Executor, JobOutcome
    from hudi_index.lifecycle.job import WorkItem
    from hudi_index.metadata_table import FileSlice as MetadataSlice
    from hudi_index.metadata_table import Transaction
    from hudi_index.predicate import Meaning
    from hudi_index.storage import Storage
    from hudi_index.table import FileGroupId, TableReader

__all__ = ["bring_up_to_date", "maintain"]

log = logging.getLogger(__name__)

_ROWS_PER_SHARD = 2_000_000
_ATTEMPTS = 3


def maintain(storage: Storage, executor: Executor, report: JobReport | None = None) -> JobReport:
    """Describe the table as it is now. Does nothing, at the cost of a listing, when that is done already."""
    report = report or JobReport("maintain", storage.uri)
    with report.phase("look"):
        metadata_table = MetadataTable.of(storage)
        state = IndexedState.load(storage, metadata_table)
        if _retire_unfit(state, report):
            state = IndexedState.load(storage, metadata_table)
        _note_abandoned(state, metadata_table, report)
        is_idle = not _items(state, all_groups=False)[0] and not _undescribed(state)
    if is_idle or not (metadata_table.exists() or state.ready()):
        _note_state(report, state)
        return report
    bring_up_to_date(state, executor, report)
    sweep(storage)
    return report


def _nothing(_: IndexedState) -> Sequence[str]:
    return ()


def bring_up_to_date(
    seen: IndexedState,
    executor: Executor,
    report: JobReport,
    *,
    new: Sequence[IndexDefinition] = (),
    replaced: Callable[[IndexedState], Sequence[str]] = _nothing,
) -> IndexedState:
    """Move all ready indexes to the table's present, and build `new` ones there, in one commit.

    Args:
        seen: The table and its indexes as they were looked at.
        executor: Where to run.
        report: Where to count.
        new: Indexes to build from nothing.
        replaced: Which partitions are thrown away; kept kinds in them are built anew as well.
    """
    metadata_table = MetadataTable.of(seen.storage)
    metadata_table.create()
    attempts = _ATTEMPTS
    while attempts:
        try:
            return _brought_up_to_date(seen, executor, report, new, replaced(seen))
        except IndexesMovedError:
            # Somebody committed, or a dead one's commit became visible: decide again by what is there now.
            attempts -= 1
        except StaleExpressionError as error:
            if error.index in (each.name for each in new):
                raise
            # It would not be computed as it was, and must not keep the others behind.
            _retire(seen.named(error.index), str(error), seen, report)
        seen = IndexedState.load(seen.storage, metadata_table)
    raise IndexesMovedError(uri=metadata_table.storage.uri)


def _brought_up_to_date(
    seen: IndexedState,
    executor: Executor,
    report: JobReport,
    new: Sequence[IndexDefinition],
    replaced: Sequence[str],
) -> IndexedState:
    storage, metadata_table = seen.storage, MetadataTable.of(seen.storage)
    with report.phase("plan"):
        new, replaced, notes = _with_those_to_renew(seen, new, replaced)
        shards = _new_shards(seen, new, replaced)
        transaction = metadata_table.begin(shards=shards, replaced=replaced, seen=seen.view)
        report.notes += notes
    with transaction:
        with report.phase("plan"):
            # Again, now that nobody else writes: the table may have moved, and so may the indexes.
            state = IndexedState.load(storage, metadata_table, transaction.view)
            plan = partial(_job, transaction=transaction, new=new, replaced=replaced)
        _note_state(report, state)
        with report.phase("build"):
            state, job, next_number, outcome = _built(state, executor, report, plan)
        with report.phase("commit"):
            transaction.add(outcome.stats)
            merged = merge_partitions(state, transaction, job, [*_fit(state), *new])
            transaction.add(merged)
            outcome.stats.extend(merged)
            snapshot = {
                "instant": report.instant or "",
                "completed_time": state.completed_time,
                "next_number": str(next_number),
                files.INDEXES: ",".join(sorted(job.index_ids)),
                files.DEFINITIONS: definitions_text(
                    each for each in (*state.definitions, *new) if each.id in job.index_ids
                ),
            }
            report.commit = transaction.commit(snapshot).file_name
    report.rows_read += outcome.counts.get("rows_read", 0)
    report.entries_added += sum(stat.entries - stat.tombstones for stat in outcome.stats)
    report.entries_removed += sum(stat.tombstones for stat in outcome.stats)
    report.bytes_written += sum(stat.size for stat in outcome.stats)
    return state


def _built(
    state: IndexedState,
    executor: Executor,
    report: JobReport,
    plan: Callable[[IndexedState], tuple[Job, int]],
) -> tuple[IndexedState, Job, int, JobOutcome]:
    """Run the job that a state needs, and what the state, the job and the next number turned out to be."""
    while True:
        job, next_number = plan(state)
        report.file_groups_changed = sum(item.is_changed for item in job.items)
        try:
            return state, job, next_number, executor.run(job, _purges(state, job))
        except SlicesRefusedError as error:
            if error.refused.keys() <= state.snapshot.refused.keys():
                raise
            # All of it again, and nothing written so far counts: who reads a slice decides about its old
            # entries too.
            state = state.with_refused(error.refused)
            report.notes.append(str(error))
            log.info("%s", error)


def _note_state(report: JobReport, state: IndexedState) -> None:
    latest = state.snapshot.instant
    report.instant = latest.requested_time if latest else None
    report.indexes = [definition.name for definition in state.ready()]
    report.file_groups = len(state.snapshot.slices)


def _retire_unfit(state: IndexedState, report: JobReport) -> bool:
    """Take indexes out of service whose columns changed: their keys no longer mean what they say."""
    unfit = [(each, reason) for each in state.ready() if (reason := state.reason_against(each))]
    for definition, reason in unfit:
        _retire(definition, reason, state, report)
    return bool(unfit)


def _retire(definition: IndexDefinition, reason: str, state: IndexedState, report: JobReport) -> None:
    Catalog(state.storage).change_state(definition.name, IndexState.INVALID, reason, index_id=definition.id)
    report.notes.append(f"index {definition.name} is invalid: {reason}")
    log.warning(
        "index %s of %s is invalid: %s; REBUILD INDEX %s makes it anew",
        *(definition.name, state.storage.uri, reason, definition.name),
    )


def _note_abandoned(state: IndexedState, metadata_table: MetadataTable, report: JobReport) -> None:
    """Say of indexes whose builder or dropper is dead that they are not under way any more."""
    for definition in state.abandoned(metadata_table):
        reason = f"it was {definition.state} when its process ended"
        if definition.state is IndexState.BUILDING:
            with suppress(ConflictError, UserError):
                Catalog(state.storage).change_state(
                    definition.name, IndexState.INVALID, reason, index_id=definition.id
                )
        way_out = f"hudi-index repair --table {state.storage.uri} finishes that"
        report.notes.append(f"index {definition.name}: {reason}; {way_out}")


def _fit(state: IndexedState) -> list[IndexDefinition]:
    return [each for each in state.ready() if state.reason_against(each) is None]


def _undescribed(state: IndexedState) -> list[IndexDefinition]:
    """Ready indexes that can't answer: somebody else's commit came before they were ready, or all is lost."""
    return [each for each in _fit(state) if each.id not in state.describing]


def _with_those_to_renew(
    state: IndexedState, new: Sequence[IndexDefinition], replaced: Sequence[str]
) -> tuple[Sequence[IndexDefinition], Sequence[str], list[str]]:
    """New indexes and thrown-away partitions, with those added that have to be built anew, and why."""
    notes = []
    known = {each.id for each in new}
    renewed = [each for each in _undescribed(state) if each.id not in known]
    if renewed:
        notes.append(f"built anew, entries were missing: {', '.join(each.name for each in renewed)}")
    slices = state.snapshot.slices
    if state.indexed and slices and not any(piece.group in state.indexed for piece in slices):
        # Taking all old entries out one by one would cost more than writing the partitions anew.
        renewed = [each for each in _fit(state) if each.id not in known]
        notes.append("none of the indexed file groups is left: all indexes were built anew")
    gone = [name for each in renewed for name in partitions_of(each, state)]
    return [*new, *renewed], list(dict.fromkeys([*replaced, *gone])), notes


def _items(state: IndexedState, *, all_groups: bool) -> tuple[list[WorkItem], int]:
    indexed, current = state.indexed, state.snapshot.slices
    uncovered, gone = indexed.uncovered(current), indexed.gone(current)
    changed = [
        FileSlice.of_identity(indexed[group].identity)
        for group in (*(piece.group for piece in uncovered if piece.group in indexed), *gone)
    ]
    lost = set(state.snapshot.reader.losses(changed))
    lost.update(piece.group for piece in changed if not state.reads_as_before(piece))
    lost.update(_unreadable(state, changed))
    return items_of(
        indexed,
        current if all_groups else uncovered,
        gone,
        next_number=state.next_number,
        lost=frozenset(lost),
    )


def _unreadable(state: IndexedState, changed: Iterable[FileSlice]) -> Iterator[FileGroupId]:
    """File groups that Hudi on Spark reads, which does not read slices that are no longer current."""
    for piece in changed:
        now = state.snapshot.groups.get(piece.group)
        if any(state.snapshot.slice_reader_of(each).reason for each in (piece, now) if each):
            yield piece.group


def _job(
    state: IndexedState,
    transaction: Transaction,
    *,
    new: Sequence[IndexDefinition],
    replaced: Sequence[str],
) -> tuple[Job, int]:
    named = {each.id for each in new}
    others = [each for each in _fit(state) if each.id not in named]
    kept = [each for each in others if each.partition not in replaced and each.id in state.describing]
    rebuilt = [each for each in others if each.partition in replaced]
    new_kinds = state.kinds([*new, *rebuilt])
    items, next_number = _items(state, all_groups=bool(new_kinds))
    kept_kinds = state.kinds(kept)
    partitions = {files.PARTITION, *(kind.partition for kind in (*kept_kinds, *new_kinds))}
    targets = tuple(
        Target(name, shard, is_new=name not in state.view.state.shards or name in replaced)
        for name in sorted(partitions)
        for shard in range(transaction.shards_of(name))
    )
    computed = [*new, *rebuilt]
    log.debug(
        "%s: %d of %d file groups changed; kept %s; built %s; replaced partitions %s",
        *(state.storage.uri, sum(item.is_changed for item in items), len(state.snapshot.slices)),
        *([each.name for each in kept], [each.name for each in computed], list(replaced)),
    )
    if any(item.is_changed for item in items) or any(each.is_functional for each in computed):
        # Otherwise kept ones have nothing to compute: no Spark is needed for them.
        computed = [*kept, *computed]
    job = Job(
        reader=state.snapshot.reader,
        writer=transaction.writer,
        kept_kinds=kept_kinds,
        new_kinds=new_kinds,
        items=tuple(items),
        targets=targets,
        expressions=state.expressions(computed),
        schema_id=state.schema_id,
        index_ids=tuple(each.id for each in (*kept, *new, *rebuilt)),
        instant=state.snapshot.instant.requested_time if state.snapshot.instant else None,
    )
    return job, next_number


def _purges(state: IndexedState, job: Job) -> dict[int, MetadataSlice]:
    """The shards that may hold entries of lost slices."""
    if not any(item.is_lost for item in job.items):
        return {}
    kept = {kind.partition for kind in job.kept_kinds}
    return {
        place: piece
        for place, target in enumerate(job.targets)
        if target.partition in kept
        and (piece := state.view.partitions.get(target.partition, {}).get(target.shard))
    }


def _new_shards(
    state: IndexedState, new: Sequence[IndexDefinition], replaced: Sequence[str]
) -> dict[str, int]:
    """The partitions that the commit makes, with their shards."""
    known = state.view.state.shards
    shards = {} if files.PARTITION in known else {files.PARTITION: 1}
    for definition in new:
        name = definition.partition
        if name not in known or name in replaced:
            wanted = definition.options.get("shards")
            shards[name] = max(shards.get(name, 1), int(wanted) if wanted else _shards_for(state))
    if any(map(is_merged, new)) and (PARTITION_STATS not in known or PARTITION_STATS in replaced):
        shards[PARTITION_STATS] = 1
    for name in replaced:
        if name in known and any(each.partition == name for each in state.ready()):
            shards.setdefault(name, known[name])
    return shards


def _shards_for(state: IndexedState) -> int:
    """Enough shards that each holds about two million rows' entries."""
    reader = state.snapshot.reader
    sample = sorted(state.snapshot.slices, key=lambda piece: -piece.size)[:3]
    rows = sum(map(partial(_about_rows, reader), sample))
    size = sum(piece.size for piece in sample)
    total = sum(piece.size for piece in state.snapshot.slices)
    estimated = rows * total // size if size else 0
    return min(9999, 1 + estimated // _ROWS_PER_SHARD)


def _refuse_other_settings(definition: IndexDefinition, meaning: Meaning, state: IndexedState) -> None:
    """All expressions of a table are computed in one pass, and some settings hold for all of a pass."""
    for other in state.definitions:
        if other.key == definition.key or other.meaning is None or other.meaning.settings == meaning.settings:
            continue
        names = sorted(dict({*other.meaning.settings} ^ {*meaning.settings}))
        reason = (
            f"index {other.name} was created with another {', '.join(names)}; set it alike in this session, "
            f"or drop {other.name} and create both"
        )
        raise InvalidDefinitionError(name=definition.name, reason=reason)


def _about_rows(reader: TableReader, piece: FileSlice) -> int:
    """The rows of a slice; those of its base file where only Spark could count."""
    try:
        if reader.choice_of(piece).reason is None:
            return reader.row_count(piece)
    except SliceRefusedError:
        pass
    base = piece.without_logs()
    return reader.row_count(base) if base else 0


def described(definition: IndexDefinition, state: IndexedState, executor: Executor) -> IndexDefinition:
    """The definition with what is recorded of its columns and its expression now."""
    found = replace(definition, source_types=tuple(map(str, state.types_of(definition).values())))
    if definition.expression is None:
        return found
    noted = definition.meaning.settings if definition.meaning else None
    facts = executor.describe_expression(
        state.snapshot.schema, definition.expression, definition.options.get("time_zone"), noted
    )
    _refuse_other_settings(definition, facts.meaning, state)
    found = replace(found, expression_type=facts.type_text, meaning=facts.meaning)
    return found.with_options({"time_zone": facts.time_zone})
