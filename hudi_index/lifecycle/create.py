"""Creating and rebuilding indexes.

An index is `building` from before its first entry is written until after the commit that holds them all;
queries ignore it meanwhile. A build that fails leaves nothing `building`: the index is as it was, or not
there. One that is killed can't see to that; creating it again, `repair` and, after a while, maintenance do.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog, IndexState
from hudi_index.coverage import files
from hudi_index.errors import (
    ConflictError,
    CorruptError,
    IndexExistsError,
    InvalidDefinitionError,
    StatementRefusedError,
    UnsupportedKindError,
    UserError,
)
from hudi_index.jobs import JobReport
from hudi_index.kind_specs import Sharing
from hudi_index.kinds import ordering_types_of
from hudi_index.lifecycle.maintain import bring_up_to_date
from hudi_index.lifecycle.mending import mend_if_damaged
from hudi_index.lifecycle.state import Kept

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.executor import Executor
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.predicate import Meaning
    from hudi_index.storage import Storage

__all__ = ["build_anew", "create", "create_all", "rebuild", "with_recorded_facts"]


def create(
    storage: Storage,
    executor: Executor,
    definition: IndexDefinition,
    *,
    if_not_exists: bool = False,
    kept: Kept | None = None,
) -> JobReport:
    """Make an index: all others are brought up to date, the new one is built at the same snapshot."""
    return create_all(storage, executor, [(definition, if_not_exists)], kept=kept)


def create_all(
    storage: Storage,
    executor: Executor,
    wanted: Sequence[tuple[IndexDefinition, bool]],
    *,
    kept: Kept | None = None,
) -> JobReport:
    """Make several indexes, each with its IF NOT EXISTS, in one pass over the table and one commit.

    All are refused if one is, before anything is written. Until the commit all are `building`.
    """
    report = JobReport("create", storage.uri)
    with report.phase("look"):
        state = (kept or Kept.of(storage)).look()
        asked: list[IndexDefinition] = []
        for definition, if_not_exists in wanted:
            try:
                others = [*asked, *state.definitions]
                if not _is_there(definition, others, report, if_not_exists=if_not_exists):
                    spelled = state.spelled(definition)
                    _refuse_overlap(spelled, others)
                    found = with_recorded_facts(spelled, state, executor)
                    state.check_indexable(found)
                    asked.append(found)
            except UserError as error:
                if len(wanted) == 1:
                    raise
                raise StatementRefusedError(name=definition.name, reason=str(error)) from error
        if not asked:
            return report
        if not state.view.commits:
            # Before anything is said in the catalog: a storage that can't hold indexes is refused here.
            state.metadata_table.create()
        keys = {each.key for each in asked}
        left = [each for each in state.definitions if each.key in keys]
        stored = state.catalog.add_all(asked, instead_of=left)
        again = {each.id for each in stored if each.key in {each.key for each in left}}
    try:
        _build(state, executor, report, stored, again=again)
    except Exception:
        # Leave nothing that looks like a build under way.
        for each in stored:
            with suppress(ConflictError, UserError):
                _settle(state, each, None)
        raise
    return report


def _settle(state: IndexedState, stored: IndexDefinition, old: IndexDefinition | None) -> None:
    """Take an index out of `building` after a failure: done if its entries are there, else as it was."""
    catalog = state.catalog
    try:
        is_built = stored.id in files.describing_indexes(state.metadata_table.view().state.data_snapshot)
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


def _refuse_overlap(definition: IndexDefinition, others: Iterable[IndexDefinition]) -> None:
    """Entries are named by column: two indexes of a kind may share them only if both write the same."""
    sharing = definition.spec.sharing
    if sharing in (Sharing.OWN, Sharing.ALIKE) or definition.is_functional:
        return
    for other in others:
        if other.partition != definition.partition or other.key == definition.key:
            continue
        common = [name for name in definition.source_fields if name in other.source_fields]
        if common or sharing is Sharing.ONE:
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

    mend_if_damaged(storage, run, report.notes)
    return report


def build_anew(
    storage: Storage, executor: Executor, report: JobReport, wanted: Sequence[IndexDefinition]
) -> None:
    """Make indexes anew, in one commit. A failure leaves them as they were, or invalid, never `building`."""
    with report.phase("look"):
        state = Kept.of(storage).look()
        for each in wanted:
            if reason := state.reason_against_kind(each):
                raise UnsupportedKindError(kind=each.kind, reason=reason)
        found = [with_recorded_facts(state.spelled(each), state, executor) for each in wanted]
    renewed: list[tuple[IndexDefinition, IndexDefinition]] = []
    try:
        for old, new in zip(wanted, found, strict=True):
            renewed.append((old, state.catalog.renew(new.with_state(IndexState.BUILDING))))
        stored = [new for _, new in renewed]
        _build(state, executor, report, stored, again={each.id for each in stored})
    except Exception as error:
        for old, new in renewed:
            with suppress(ConflictError, UserError):
                _settle(state, new, _as_it_was(old, error))
        raise


def _as_it_was(definition: IndexDefinition, error: Exception) -> IndexDefinition:
    """An index that was building when it was to be built anew is not any more: nobody builds it."""
    if definition.state is not IndexState.BUILDING:
        return definition
    return definition.with_state(IndexState.INVALID, f"it could not be built: {error}")


def _build(
    looked: IndexedState,
    executor: Executor,
    report: JobReport,
    stored: Sequence[IndexDefinition],
    *,
    again: Collection[str],
) -> None:
    """Build indexes that are in the catalog since the table was looked at, some of them `again`, by id."""
    bring_up_to_date(looked.load_definitions(), executor, report, new=stored, again=again)
    looked.catalog.change_states(stored, IndexState.READY)
    report.indexes += (definition.name for definition in stored)


def with_recorded_facts(
    definition: IndexDefinition, state: IndexedState, executor: Executor
) -> IndexDefinition:
    """The definition with what is recorded of its columns and its expression now."""
    source_types = tuple(map(str, state.types_of(definition).values()))
    ordering_types = ordering_types_of(definition, state.snapshot)
    found = replace(definition, source_types=source_types, ordering_types=ordering_types)
    if definition.expression is None:
        return found
    noted = definition.meaning.settings if definition.meaning else None
    facts = executor.describe_expression(
        state.snapshot.schema, definition.expression, definition.options.get("time_zone"), noted
    )
    _refuse_other_settings(definition, facts.meaning, state)
    found = replace(found, expression_type=facts.type_text, meaning=facts.meaning)
    return found.with_options({"time_zone": facts.time_zone})


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
