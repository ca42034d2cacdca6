"""Looks at all files of a table's indexes, and makes them whole as far as no rows have to be read for it.

An index can always be made again from the table; only its definition must not be lost. So:

    catalog              the newest whole generation, wherever it stands; if none is, what the newest commit
                         of the index metadata table noted of its indexes. What may be older than the truth
                         is taken out of service.
    index metadata table commits from the ledger; if some are lost for good, all of it is thrown away
    partitions           one with a damaged file is thrown away; with `files`, all are: nobody knows any more
                         what the entries describe

What was thrown away is no longer said to be described, so no plan asks for it and the next maintenance
builds it anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog
from hudi_index.catalog.aside import INDEX_FOLDER, Aside, forget_damaged
from hudi_index.catalog.catalog import INDEX_FILE
from hudi_index.catalog.mending import CatalogCheck
from hudi_index.coverage import files
from hudi_index.errors import CorruptError, way_back
from hudi_index.kind_specs import specs
from hudi_index.lifecycle.state import parse_noted_definitions
from hudi_index.metadata_table import MetadataTable
from hudi_index.metadata_table.cleaning import remove_temporaries

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from hudi_index.catalog import IndexDefinition
    from hudi_index.metadata_table import View
    from hudi_index.metadata_table.check import TableCheck
    from hudi_index.storage import Storage

    T = TypeVar("T")

__all__ = ["Damage", "Findings", "look", "mend", "mend_if_damaged", "sweep"]

_TEMPORARY_FOR = timedelta(minutes=30)
"""A living writer has such a file for moments."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it was made."""

    path: str
    """Below the table."""
    reason: str
    remedy: str


@dataclass(frozen=True)
class Findings:
    """What a look at all files found."""

    catalog: CatalogCheck
    table: TableCheck
    recovered: list[IndexDefinition] = field(default_factory=list)
    """Definitions that only the index metadata table has."""

    @property
    def damage(self) -> list[Damage]:
        """All of it, with what becomes of it."""
        found = [Damage(path, reason, "made whole") for path, reason in self.catalog.damage.items()]
        if self.recovered and INDEX_FILE not in self.catalog.damage:
            names = ", ".join(each.name for each in self.recovered)
            found.append(Damage(INDEX_FILE, f"is missing with all its copies; defined were {names}", "found"))
        folder = MetadataTable.folder
        for path, reason in self.table.damage.items():
            found.append(Damage(f"{folder}/{path}".rstrip("/"), reason, self._remedy(path)))
        for path, reason in self.table.strays.items():
            found.append(Damage(f"{folder}/{path}", reason, "set aside"))
        return found

    def _remedy(self, path: str) -> str:
        if self.table.is_lost:
            return "all entries are built anew"
        if path in self.table.rewritten:
            return "put back"
        partition = path.partition("/")[0]
        if partition in self.table.lost_partitions:
            lost = "all partitions" if files.PARTITION in self.table.lost_partitions else partition
            return f"{lost} built anew"
        return "set aside"

    @property
    def is_whole(self) -> bool:
        """Whether nothing was found."""
        return not self.damage


def look(storage: Storage) -> Findings:
    """Look at all files; changes nothing."""
    catalog = CatalogCheck.of(storage)
    table = MetadataTable.of(storage).check()
    recovered = []
    if not catalog.is_certain or not catalog.newest.generation:
        known = {each.key for each in catalog.newest}
        recovered = [
            each for each in parse_noted_definitions(table.state.data_snapshot) if each.key not in known
        ]
    return Findings(catalog, table, recovered)


def mend(storage: Storage) -> Findings:
    """Make whole what can be without reading rows; returns what was found.

    Raises:
        LeaseHeldError: Another process writes to the index metadata table.
        IndexesMovedError: Another process did meanwhile.
    """
    found, aside = look(storage), Aside(storage)
    if found.catalog.damage or found.recovered:
        found.catalog.mend(aside, recovered=found.recovered)
    metadata_table = MetadataTable.of(storage)
    table = metadata_table.mend(lambda path: aside.move(f"{MetadataTable.folder}/{path}".rstrip("/")))
    if table.lost_partitions:
        _forget(storage, metadata_table, table)
    return replace(found, table=table)


def _forget(storage: Storage, metadata_table: MetadataTable, found: TableCheck) -> None:
    """Throw away the partitions whose damaged files are still in use."""
    view = metadata_table.view()
    gone = {name for name, path in found.lost_partitions.items() if path in view.live_paths}
    if not gone:
        return
    names = _with_those_that_depend(gone, view)
    snapshot = dict(view.state.data_snapshot)
    lost = {each.id for each in Catalog(storage).load() if each.partition in names}
    left = () if files.PARTITION in gone else files.describing_indexes(snapshot) - lost
    metadata_table.forget(names, {**snapshot, files.INDEXES: ",".join(sorted(left))}, view)


def _with_those_that_depend(gone: set[str], view: View) -> list[str]:
    shards = view.state.shards
    if files.PARTITION in gone:
        return sorted(shards)
    names = set(gone)
    for spec in specs().values():
        both = {spec.folder, specs()[spec.summary].folder} if spec.summary else set()
        # A summary is kept up by what changes: it can't be made anew without what it sums up.
        names |= both if gone & both else set()
    return sorted(name for name in names if name in shards)


def sweep(storage: Storage) -> int:
    """Delete temporary files of killed writers, counted, and what was set aside long ago."""
    now = datetime.now(timezone.utc)
    forget_damaged(storage, now=now)
    return remove_temporaries(storage, INDEX_FOLDER, before=now - _TEMPORARY_FOR)


def mend_if_damaged(storage: Storage, run: Callable[[], T], notes: list[str]) -> T:
    """What `run` gives; if it meets damage to the indexes' files, that is mended and it runs again."""
    try:
        return run()
    except CorruptError as error:
        if not way_back(str(getattr(error, "path", ""))):
            raise
        notes += [f"mended: {each.path} {each.reason}" for each in mend(storage).damage]
    return run()
