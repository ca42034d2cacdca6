"""Maintenance: bring the indexes from the slices they describe to the slices that are.

    work = difference between `files` (what is indexed) and the table's current slices (what is)

There is no rule per timeline action. Creating an index is maintenance that also describes all file groups for
it; rebuilding is creating again; a table that lost everything is maintenance to nothing. One commit moves all
indexes together.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog, IndexState
from hudi_index.jobs import JobReport
from hudi_index.kinds import files
from hudi_index.lifecycle.job import Job, Target, items_of
from hudi_index.lifecycle.partitions import PARTITION_STATS, is_merged, merge_partitions
from hudi_index.lifecycle.state import IndexedState
from hudi_index.metadata_table import MetadataTable
from hudi_index.table import FileSlice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.executor import Executor
    from hudi_index.lifecycle.job import WorkItem
    from hudi_index.metadata_table import FileSlice as MetadataSlice
    from hudi_index.metadata_table import Transaction
    from hudi_index.storage import Storage

__all__ = ["bring_up_to_date", "maintain"]

log = logging.getLogger(__name__)

_ROWS_PER_SHARD = 2_000_000


def maintain(storage: Storage, executor: Executor) -> JobReport:
    """Describe the table as it is now. Does nothing, at the cost of a listing, when that is done already."""
    report = JobReport("maintain", storage.uri)
    with report.phase("look"):
        metadata_table = MetadataTable.of(storage)
        state = IndexedState.load(storage, metadata_table)
        _retire_unfit(state, report)
        is_idle = not _items(state, all_groups=False)[0]
    if is_idle or not metadata_table.exists():
        _note_state(report, state)
        return report
    bring_up_to_date(storage, executor, report)
    return report


def bring_up_to_date(
    storage: Storage,
    executor: Executor,
    report: JobReport,
    *,
    new: Sequence[IndexDefinition] = (),
    replaced: Sequence[str] = (),
) -> IndexedState:
    """Move all ready indexes to the table's present, and build `new` ones there, in one commit.

    Args:
        storage: The table.
        executor: Where to run.
        report: Where to count.
        new: Indexes to build from nothing.
        replaced: Partitions that are thrown away; kept kinds in them are built anew as well.
    """
    metadata_table = MetadataTable.of(storage)
    metadata_table.create()
    with report.phase("plan"):
        state = IndexedState.load(storage, metadata_table)
        shards = _new_shards(state, new, replaced)
        transaction = metadata_table.begin(shards=shards, replaced=replaced)
    with transaction:
        with report.phase("plan"):
            # Again, now that nobody else writes: the table may have moved, and so may the indexes.
            state = IndexedState.load(storage, metadata_table, transaction.view)
            job, next_number = _job(state, transaction, new=new, replaced=replaced)
            purges = _purges(state, job)
        _note_state(report, state)
        report.file_groups_changed = sum(item.is_changed for item in job.items)
        with report.phase("build"):
            outcome = executor.run(job, purges)
        with report.phase("commit"):
            transaction.add(outcome.stats)
            merged = merge_partitions(state, transaction, job, [*_fit(state), *new])
            transaction.add(merged)
            outcome.stats.extend(merged)
            snapshot = {"instant": report.instant or "", "next_number": str(next_number)}
            report.commit = transaction.commit(snapshot).file_name
    report.rows_read += outcome.counts.get("rows_read", 0)
    report.entries_added += sum(stat.entries - stat.tombstones for stat in outcome.stats)
    report.entries_removed += sum(stat.tombstones for stat in outcome.stats)
    report.bytes_written += sum(stat.size for stat in outcome.stats)
    return state


def _note_state(report: JobReport, state: IndexedState) -> None:
    latest = state.snapshot.instant
    report.instant = latest.requested_time if latest else None
    report.indexes = [definition.name for definition in state.ready()]
    report.file_groups = len(state.snapshot.slices)


def _retire_unfit(state: IndexedState, report: JobReport) -> None:
    """Take indexes out of service whose columns changed: their keys no longer mean what they say."""
    for definition in state.ready():
        reason = state.reason_against(definition)
        if reason:
            Catalog(state.storage).change_state(
                definition.name, IndexState.INVALID, reason, index_id=definition.id
            )
            report.notes.append(f"index {definition.name} is invalid: {reason}")
            log.warning("index %s is invalid: %s", definition.name, reason)


def _fit(state: IndexedState) -> list[IndexDefinition]:
    return [each for each in state.ready() if state.reason_against(each) is None]


def _items(state: IndexedState, *, all_groups: bool) -> tuple[list[WorkItem], int]:
    changed = [
        FileSlice.of_identity(known.identity)
        for group, known in state.indexed.items()
        if (piece := state.snapshot.groups.get(group)) is None or piece.identity != known.identity
    ]
    return items_of(
        state.indexed,
        state.snapshot.slices,
        next_number=state.next_number,
        lost=frozenset(state.snapshot.reader.losses(changed)),
        all_groups=all_groups,
    )


def _job(
    state: IndexedState,
    transaction: Transaction,
    *,
    new: Sequence[IndexDefinition],
    replaced: Sequence[str],
) -> tuple[Job, int]:
    kept = [each for each in _fit(state) if each.partition not in replaced]
    rebuilt = [each for each in _fit(state) if each.partition in replaced]
    new_kinds = state.kinds([*new, *rebuilt])
    items, next_number = _items(state, all_groups=bool(new_kinds))
    kept_kinds = state.kinds(kept)
    partitions = {files.PARTITION, *(kind.partition for kind in (*kept_kinds, *new_kinds))}
    targets = tuple(
        Target(name, shard, is_new=name not in state.view.state.shards or name in replaced)
        for name in sorted(partitions)
        for shard in range(transaction.shards_of(name))
    )
    job = Job(
        reader=state.snapshot.reader,
        writer=transaction.writer,
        kept_kinds=kept_kinds,
        new_kinds=new_kinds,
        items=tuple(items),
        targets=targets,
        expressions=state.expressions([*kept, *new, *rebuilt]),
        schema_id=state.schema_id,
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
    rows, size = sum(map(reader.row_count, sample)), sum(piece.size for piece in sample)
    total = sum(piece.size for piece in state.snapshot.slices)
    estimated = rows * total // size if size else 0
    return min(9999, 1 + estimated // _ROWS_PER_SHARD)


def described(definition: IndexDefinition, state: IndexedState, executor: Executor) -> IndexDefinition:
    """The definition with what is recorded of its columns and its expression now."""
    found = replace(definition, source_types=tuple(map(str, state.types_of(definition).values())))
    if definition.expression is None:
        return found
    facts = executor.describe_expression(
        state.snapshot.schema, definition.expression, definition.options.get("time_zone")
    )
    return replace(found, expression_type=facts.type_text).with_options({"time_zone": facts.time_zone})
