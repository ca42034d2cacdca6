"""Repair: look at everything, say what is damaged, keep what is whole, build the rest anew.

    1. look      every file of the catalog and of the index metadata table, all bytes of current ones
    2. mend      what needs no rows (hudi_index.lifecycle.mending); damaged files are set aside
    3. finish    what others left half done: indexes that are dropping are dropped; those that are building,
                 or invalid, are built anew together with whatever was thrown away, in one commit
    4. clean     temporary files of killed writers, what was set aside long ago

A repair that is killed can be run again. Queries are right all along: what is damaged, or not built yet,
refutes nothing.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog, IndexState
from hudi_index.errors import ConflictError, NeedsSparkError, UnsupportedKindError, UserError
from hudi_index.jobs import JobReport, align
from hudi_index.lifecycle.create import build_anew, with_recorded_facts
from hudi_index.lifecycle.drop import drop
from hudi_index.lifecycle.maintain import maintain
from hudi_index.lifecycle.mending import look, mend, sweep
from hudi_index.lifecycle.state import Kept

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.executor import Executor
    from hudi_index.lifecycle.mending import Damage
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.storage import Storage

__all__ = ["RepairReport", "repair"]

_STILL_DAMAGED = 3


@dataclass
class RepairReport(JobReport):
    """What was damaged, and what became of it."""

    is_check: bool = False
    """Whether it was only looked."""
    damage: list[Damage] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)
    """Indexes whose entries were built anew."""
    kept: list[str] = field(default_factory=list)
    """Indexes whose entries were whole."""
    dropped: list[str] = field(default_factory=list)
    """Indexes whose DROP had not been finished."""
    left: dict[str, str] = field(default_factory=dict)
    """Indexes that are not in service after all, and why."""
    temporaries_removed: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged any more."""
        return not self.left and not (self.is_check and self.damage)

    @property
    def exit_code(self) -> int:
        """0 if all is whole now, else 3."""
        return 0 if self.is_whole else _STILL_DAMAGED

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self) | {"is_whole": self.is_whole}

    def __str__(self) -> str:
        lines = [super().__str__()]
        worked_on = (("rebuilt", self.rebuilt), ("kept", self.kept), ("dropped", self.dropped))
        lines += [f"  {what:<15} {', '.join(names)}" for what, names in worked_on if names]
        lines += [f"  {'not in service':<15} {name}: {reason}" for name, reason in self.left.items()]
        if not self.damage:
            return "\n".join(lines)
        rows = [("damaged", "why", "to be" if self.is_check else "was")]
        rows += [(each.path, each.reason, each.remedy) for each in self.damage]
        return "\n".join([*lines, "", align(rows, indent="  ")])


def repair(storage: Storage, executor: Executor, *, check: bool = False) -> RepairReport:
    """Mend whatever is damaged, or with `check` only look.

    Raises:
        LeaseHeldError: Another process writes to the indexes.
    """
    report = RepairReport("repair", storage.uri, is_check=check)
    with report.phase("look" if check else "mend"):
        found = look(storage) if check else mend(storage)
        report.damage = found.damage
    if check:
        # Of definitions that are damaged nothing more is known.
        _note_states(() if found.catalog.damage else found.catalog.newest, report)
        report.notes += ["nothing is damaged"] if report.is_whole else []
        return report
    _finish_drops(storage, report)
    _build(storage, executor, report)
    with report.phase("clean"):
        report.temporaries_removed = sweep(storage)
    return report


def _note_states(definitions: Iterable[IndexDefinition], report: RepairReport) -> None:
    """What is not in service."""
    for each in definitions:
        if each.state is not IndexState.READY:
            report.left[each.name] = f"it is {each.state}" + (f": {each.reason}" if each.reason else "")
        else:
            report.indexes.append(each.name)


def _finish_drops(storage: Storage, report: RepairReport) -> None:
    for each in Catalog(storage).load():
        if each.state is IndexState.DROPPING:
            drop(storage, each.name, if_exists=True)
            report.dropped.append(each.name)


def _build(storage: Storage, executor: Executor, report: RepairReport) -> None:
    """Everything that has no entries, or none to be trusted, in one commit, with all others brought along."""
    state = Kept.of(storage).look()
    if not state.definitions:
        return
    ready = {each.name for each in state.ready() if each.id in state.describing}
    try:
        _build_what_can_be(state, executor, report)
    except NeedsSparkError as error:
        report.notes.append(str(error))
    now = state.look_again()
    for each in now.definitions:
        if reason := now.reason_against_kind(each):
            # Not damaged, and nobody's to change here.
            report.left.pop(each.name, None)
            report.notes.append(f"index {each.name} is not used: {reason}")
        elif each.state is not IndexState.READY:
            _take_out_of_building(storage, each, report)
        elif each.id not in now.describing:
            report.left.setdefault(each.name, "its entries are to be built anew: repair with a Spark session")
        else:
            (report.kept if each.name in ready else report.rebuilt).append(each.name)
    report.indexes = sorted(each.name for each in now.definitions)


def _build_what_can_be(state: IndexedState, executor: Executor, report: RepairReport) -> None:
    """Build what is not ready, as far as that can be done here, and bring the rest up to date."""
    failing: set[str] = set()
    while True:
        wanted = [each for each in state.definitions if each.state is not IndexState.READY]
        wanted = [each for each in wanted if each.kind not in failing]
        possible = [each for each in wanted if not _hindrance(each, state, executor, report)]
        try:
            if possible:
                build_anew(state.storage, executor, report, possible)
            else:
                maintain(state.storage, executor, report)
        except UnsupportedKindError as error:
            if not any(each.kind == error.kind for each in possible):
                raise
            # Its kind fails as it describes rows, which is no reason to leave the others as they are.
            failing.add(error.kind)
            report.left.update({each.name: error.reason for each in possible if each.kind == error.kind})
        else:
            return
        state = state.look_again()


def _hindrance(
    definition: IndexDefinition, state: IndexedState, executor: Executor, report: RepairReport
) -> str | None:
    """Why an index can't be built here; None if it can."""
    try:
        state.check_indexable(with_recorded_facts(definition, state, executor))
    except UserError as error:
        report.left[definition.name] = str(error)
        return str(error)
    return None


def _take_out_of_building(storage: Storage, definition: IndexDefinition, report: RepairReport) -> None:
    reason = report.left.setdefault(definition.name, definition.reason or f"it is {definition.state}")
    if definition.state is IndexState.BUILDING:
        with suppress(ConflictError, UserError):
            Catalog(storage).change_state(definition.name, IndexState.INVALID, reason, index_id=definition.id)
