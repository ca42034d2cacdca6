"""Maintenance: bring the indexes from the slices they describe to the slices that are.

    work = difference between `files` (what is indexed) and the table's current slices (what is)

There is no rule per timeline action. Creating an index is maintenance that also describes all file groups for
it; rebuilding is creating again; a table that lost everything is maintenance to nothing. One commit moves all
indexes together.

The table and the indexes are looked at twice: before the lease, to see what is to be done, and under it, when
nobody else writes to the indexes. The second look lists no files if nobody has written to the table since.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from hudi_index.catalog import IndexState
from hudi_index.coverage import files
from hudi_index.errors import (
    ConflictError,
    IndexesMovedError,
    SlicesRefusedError,
    StaleExpressionError,
    UnsupportedKindError,
    UserError,
)
from hudi_index.jobs import JobReport
from hudi_index.lifecycle.build import estimate_shards, has_moved, plan_build
from hudi_index.lifecycle.decide import Facts, decide
from hudi_index.lifecycle.partitions import merge_partitions
from hudi_index.lifecycle.state import Kept, definitions_text

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.decide import Decision
    from hudi_index.lifecycle.executor import Executor
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.lifecycle.writing import TaskResult
    from hudi_index.metadata_table import Transaction
    from hudi_index.storage import Storage

__all__ = ["bring_up_to_date", "maintain"]

log = logging.getLogger(__name__)

_ATTEMPTS = 3


def maintain(
    storage: Storage,
    executor: Executor,
    report: JobReport | None = None,
    *,
    kept: Kept | None = None,
    seen: IndexedState | None = None,
) -> JobReport:
    """Describe the table as it is now. Does nothing, at the cost of a listing, when that is done already.

    Args:
        storage: The table.
        executor: Where to run.
        report: Where to count.
        kept: What this process keeps of the table.
        seen: The table and its indexes, if they were looked at a moment ago.
    """
    report = report or JobReport("maintain", storage.uri)
    with report.phase("look"):
        state = seen or (kept or Kept.of(storage)).look()
        if _retire_unfit(state, report):
            state = state.load_definitions()
        _note_abandoned(state, report)
        is_idle = not has_moved(state) and not decide(Facts.of(state)).built
    if is_idle or not (state.view.commits or state.ready() or state.metadata_table.exists()):
        _note_state(report, state)
        return report
    bring_up_to_date(state, executor, report)
    return report


def bring_up_to_date(
    seen: IndexedState,
    executor: Executor,
    report: JobReport,
    *,
    new: Sequence[IndexDefinition] = (),
    again: Collection[str] = frozenset(),
) -> None:
    """Move all ready indexes to the table's present, and build `new` ones there, in one commit.

    Args:
        seen: The table and its indexes as they were looked at.
        executor: Where to run.
        report: Where to count.
        new: Indexes to build from nothing.
        again: The ids of those among them of which entries may be there already.
    """
    if not seen.view.commits:
        seen.metadata_table.create()
    attempts = _ATTEMPTS
    while attempts:
        try:
            _commit(seen, executor, report, new, again)
        except IndexesMovedError:
            # Somebody committed, or a dead one's commit became visible: decide again by what is there now.
            attempts -= 1
        except StaleExpressionError as error:
            if error.index in (each.name for each in new):
                raise
            # It would not be computed as it was, and must not keep the others behind.
            _retire(seen.named(error.index), str(error), seen, report)
        except UnsupportedKindError as error:
            # The same for a kind that fails as it describes rows.
            failing = [each for each in seen.ready() if each.kind == error.kind]
            if not failing or any(each.kind == error.kind for each in new):
                raise
            for each in failing:
                _retire(each, error.reason, seen, report)
        else:
            return
        seen = seen.look_again()
    raise IndexesMovedError(uri=seen.metadata_table.storage.uri)


def _commit(
    seen: IndexedState,
    executor: Executor,
    report: JobReport,
    new: Sequence[IndexDefinition],
    again: Collection[str],
) -> None:
    metadata_table = seen.metadata_table
    with report.phase("plan"):
        opened = decide(Facts.of(seen), new, again=again)
        shards = opened.shards_for(estimate_shards(seen) if opened.sized_by_rows else 1)
        transaction = metadata_table.begin(shards=shards, replaced=opened.replaced, seen=seen.view)
    with transaction:
        with report.phase("plan"):
            # Again, now that nobody else writes: the table may have moved, and so may the catalog.
            state = seen.look_under_lease(transaction.view)
            decision = decide(Facts.of(state), new, again=again)
            if not decision.writes_like(opened):
                raise IndexesMovedError(uri=metadata_table.storage.uri)
            report.notes += decision.notes
        _note_state(report, state)
        with report.phase("build"):
            state, build, result = _run(state, decision, transaction, executor, report)
        with report.phase("commit"):
            transaction.add(result.stats)
            merged = merge_partitions(state, transaction, build.description, decision.indexes)
            transaction.add(merged)
            result.stats += merged
            snapshot = {
                "instant": report.instant or "",
                "completed_time": state.completed_time,
                "next_number": str(build.next_number),
                files.INDEXES: ",".join(sorted(each.id for each in decision.indexes)),
                files.DEFINITIONS: definitions_text(decision.indexes),
            }
            report.commit = transaction.commit(snapshot).file_name
    report.rows_read += result.counts.rows_read
    report.entries_added += sum(stat.entries - stat.tombstones for stat in result.stats)
    report.entries_removed += sum(stat.tombstones for stat in result.stats)
    report.bytes_written += sum(stat.size for stat in result.stats)


def _run(
    state: IndexedState,
    decision: Decision,
    transaction: Transaction,
    executor: Executor,
    report: JobReport,
) -> tuple[IndexedState, Build, TaskResult]:
    """Run the build that a state needs; returns what the state and the build turned out to be."""
    while True:
        build = plan_build(state, decision, transaction)
        report.file_groups_changed = sum(item.is_changed for item in build.description.items)
        log.debug(
            "%s: %d of %d file groups changed; kept %s; built %s; replaced partitions %s",
            *(state.storage.uri, report.file_groups_changed, len(state.snapshot.slices)),
            *([each.name for each in each_of] for each_of in (decision.kept, decision.built)),
            list(decision.replaced),
        )
        try:
            return state, build, executor.run(build)
        except SlicesRefusedError as error:
            if error.refused.keys() <= state.snapshot.refused.keys():
                raise
            # All of it again, and nothing written so far counts: who reads a slice decides about its old
            # entries too.
            state = state.with_refused(error.refused)
            report.notes.append(str(error))
            log.info("%s", error)


def _note_state(report: JobReport, state: IndexedState) -> None:
    report.instant = state.instant
    report.indexes = [definition.name for definition in state.ready()]
    report.file_groups = len(state.snapshot.slices)


def _retire_unfit(state: IndexedState, report: JobReport) -> bool:
    """Take indexes out of service whose columns changed: their keys no longer mean what they say."""
    unfit = [(each, reason) for each in state.ready() if (reason := state.reason_against(each))]
    for definition, reason in unfit:
        _retire(definition, reason, state, report)
    return bool(unfit)


def _retire(definition: IndexDefinition, reason: str, state: IndexedState, report: JobReport) -> None:
    state.catalog.change_state(definition.name, IndexState.INVALID, reason, index_id=definition.id)
    report.notes.append(f"index {definition.name} is invalid: {reason}")
    log.warning(
        "index %s of %s is invalid: %s; REBUILD INDEX %s makes it anew",
        *(definition.name, state.storage.uri, reason, definition.name),
    )


def _note_abandoned(state: IndexedState, report: JobReport) -> None:
    """Say of indexes whose builder or dropper is dead that they are not under way any more."""
    for definition in state.find_abandoned():
        reason = f"it was {definition.state} when its process ended"
        if definition.state is IndexState.BUILDING:
            with suppress(ConflictError, UserError):
                state.catalog.change_state(
                    definition.name, IndexState.INVALID, reason, index_id=definition.id
                )
        way_out = f"hudi-index repair --table {state.storage.uri} finishes that"
        report.notes.append(f"index {definition.name}: {reason}; {way_out}")
