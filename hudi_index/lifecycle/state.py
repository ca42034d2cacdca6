"""Everything a lifecycle verb looks at, loaded once: the table, its catalog, its index metadata table."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog, IndexDefinition, IndexState
from hudi_index.coverage import files
from hudi_index.entries.ranges import KeyRange
from hudi_index.errors import CorruptError, StaleExpressionError
from hudi_index.kinds import (
    kind_in,
    reason_against_here,
    reason_against_ordering,
    reason_against_schema,
)
from hudi_index.lifecycle.description import Expression
from hudi_index.metadata_table import MetadataTable
from hudi_index.side_by_side import side_by_side
from hudi_index.table import Snapshot
from hudi_index.table.slices import parse_log_file
from hudi_index.table.types import spelling_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa

    from hudi_index.coverage.files import IndexedSlices
    from hudi_index.kind_parts.protocol import IndexKind
    from hudi_index.metadata_table import Reader, View
    from hudi_index.storage import Storage
    from hudi_index.table import FileSlice, SliceIdentity, TableConfig

_LONG = timedelta(minutes=5)
"""Between noting that an index is building and taking the lease to build it lie moments."""

__all__ = ["IndexedState", "Kept", "definitions_text", "parse_noted_definitions"]


def definitions_text(definitions: Iterable[IndexDefinition]) -> str:
    """Definitions as a commit of the index metadata table keeps them."""
    found = {each.id: each.as_dict() for each in definitions}
    return json.dumps([found[each] for each in sorted(found)])


def parse_noted_definitions(data_snapshot: Mapping[str, str]) -> list[IndexDefinition]:
    """The definitions that a commit keeps, as far as they can be read."""
    with suppress(ValueError, CorruptError):
        noted = json.loads(data_snapshot.get(files.DEFINITIONS, "[]"))
        return [IndexDefinition.from_dict(each, path=files.DEFINITIONS) for each in noted]
    return []


@dataclass
class Kept:
    """What a process keeps of a table between verbs. Each verb looks whether it is still so."""

    storage: Storage
    catalog: Catalog
    metadata_table: MetadataTable
    snapshot: Snapshot | None = None
    """The table as it was seen last."""
    config: TableConfig | None = None
    """Its properties, if it was opened and not yet looked at."""

    @classmethod
    def of(cls, storage: Storage, config: TableConfig | None = None) -> Kept:
        """Nothing yet, for the table at `storage`."""
        return cls(storage, Catalog(storage), MetadataTable.of(storage), config=config)

    def look(self) -> IndexedState:
        """The table and its indexes now.

        The catalog is read before the view: an index that is ready has its entries in a view that is loaded
        afterwards. The table is looked at beside both: its slices are compared with what is noted.
        """
        known = self.snapshot
        snapshot, (definitions, view) = side_by_side(
            lambda: Snapshot.load(self.storage, known=known, expected=self.config),
            lambda: (tuple(self.catalog.load()), self.metadata_table.view()),
            is_local=self.storage.is_local,
        )
        self.snapshot = snapshot
        return IndexedState(self.storage, snapshot, definitions, view, self)


@dataclass(frozen=True)
class IndexedState:
    """A table and its indexes at one moment."""

    storage: Storage
    snapshot: Snapshot
    definitions: tuple[IndexDefinition, ...]
    view: View
    kept: Kept = field(repr=False, compare=False)
    """What it was looked at with."""

    @property
    def metadata_table(self) -> MetadataTable:
        """The index metadata table."""
        return self.kept.metadata_table

    @property
    def catalog(self) -> Catalog:
        """The catalog."""
        return self.kept.catalog

    def look_again(self) -> IndexedState:
        """The state now."""
        return self.kept.look()

    def look_under_lease(self, view: View) -> IndexedState:
        """The state now, with a view of its entries. The table is not listed if nobody has written to it."""
        snapshot, definitions = side_by_side(
            self.snapshot.reload_if_moved, self.catalog.load, is_local=self.storage.is_local
        )
        self.kept.snapshot = snapshot
        return replace(self, snapshot=snapshot, definitions=tuple(definitions), view=view)

    def load_definitions(self) -> IndexedState:
        """The same look at table and entries, with the catalog as it is now."""
        return replace(self, definitions=tuple(self.catalog.load()))

    @property
    def metadata_storage(self) -> Storage:
        """Where the index metadata table is."""
        return self.metadata_table.storage

    @cached_property
    def reader(self) -> Reader:
        """Reads the entries of the state's view."""
        return self.metadata_table.reader_of(self.view)

    @cached_property
    def indexed(self) -> IndexedSlices:
        """What `files` says."""
        found = self.reader.lookup(files.PARTITION, [KeyRange.all()], columns=[files.PAYLOAD])
        return files.parse_indexed_slices(found)

    @property
    def instant(self) -> str | None:
        """The latest instant of the table's snapshot; None if there is none."""
        return self.snapshot.instant.requested_time if self.snapshot.instant else None

    @property
    def next_number(self) -> int:
        """The number of the next new file group."""
        return int(self.view.state.data_snapshot.get("next_number", "0"))

    @property
    def completed_time(self) -> str:
        """When the table was last changed. Requested times don't tell: the earlier one may complete later."""
        return max((each.completed_time for each in self.snapshot.timeline.changes), default="")

    def with_refused(self, refused: Mapping[SliceIdentity, str]) -> IndexedState:
        """The same state, knowing of more slices that hudi-rs refuses."""
        return replace(self, snapshot=self.snapshot.with_refused(refused))

    def reads_as_before(self, file_slice: FileSlice) -> bool:
        """Whether the files of an indexed slice, as far as they exist, still give the rows they gave.

        Readers leave out log records of commits that are not completed. A restore takes a commit back first
        and deletes its logs afterwards; in between the same files are read as fewer rows.
        """
        timeline = self.snapshot.timeline
        if not file_slice.log_files:
            return True
        if self.snapshot.config.version < 8:
            # Their logs do not name the commits in them.
            return not timeline.has_removed_since(self.view.state.data_snapshot.get("completed_time", ""))
        logs = (parse_log_file(name, 0) for name in file_slice.log_files)
        return all(log is not None and timeline.is_completed(log.instant) for log in logs)

    @property
    def describing(self) -> frozenset[str]:
        """The ids of the indexes whose entries describe what `files` says."""
        return files.describing_indexes(self.view.state.data_snapshot)

    @property
    def schema_id(self) -> str:
        """Names the table's schema."""
        return hashlib.sha256(str(self.snapshot.schema).encode()).hexdigest()[:16]

    def find_abandoned(self) -> list[IndexDefinition]:
        """Indexes that are building or dropping, though nobody has written for long."""
        before = (datetime.now(timezone.utc) - _LONG).isoformat(timespec="milliseconds")
        found = [
            each
            for each in self.definitions
            if each.state in (IndexState.BUILDING, IndexState.DROPPING) and (each.changed_time or "") < before
        ]
        return found if found and not self.metadata_table.writers() else []

    def named(self, name: str) -> IndexDefinition:
        """The index of a name that is known to be one."""
        return next(each for each in self.definitions if each.name == name)

    def ready(self) -> list[IndexDefinition]:
        """The indexes that are kept up and that queries may use; not those that nobody here can use."""
        return [
            each
            for each in self.definitions
            if each.state is IndexState.READY and self.reason_against_kind(each) is None
        ]

    def spelled(self, definition: IndexDefinition) -> IndexDefinition:
        """The definition with its columns as the table spells them: SQL does not look at case.

        Raises:
            UnknownColumnError: the table has no such column.
            AmbiguousColumnError: it has several that differ in case.
            InvalidDefinitionError: two of its columns are the same one.
        """
        return definition.with_columns_as(lambda name: spelling_of(self.snapshot.schema, name))

    def types_of(self, definition: IndexDefinition) -> dict[str, pa.DataType]:
        """The types of its source fields. Raises UnknownColumnError."""
        return {name: type_of(self.snapshot.schema, name) for name in definition.source_fields}

    def kind(self, definition: IndexDefinition) -> IndexKind:
        """The index as a kind. Raises UnknownColumnError, UnsupportedTypeError."""
        return kind_in(definition, self.snapshot)

    def check_indexable(self, definition: IndexDefinition) -> None:
        """Refuse what can't be indexed. Raises UnknownColumnError, UnsupportedTypeError."""
        self.kind(definition)

    def expressions(self, definitions: Iterable[IndexDefinition]) -> tuple[Expression, ...]:
        """What Spark has to compute for these indexes."""
        found = []
        for each in definitions:
            if each.expression is None:
                continue
            if each.meaning is None:
                reason = "it does not say what Spark made of its expression"
                raise StaleExpressionError(index=each.name, reason=reason)
            zone = each.options["time_zone"]
            found.append(
                Expression(each.partition, each.expression, each.source_fields, zone, each.meaning, each.name)
            )
        return tuple(found)

    def reason_against(self, definition: IndexDefinition) -> str | None:
        """Why the index can't be used here or no longer fits the table's schema, None if neither is so."""
        return (
            self.reason_against_kind(definition)
            or reason_against_schema(definition, self.snapshot.schema)
            or reason_against_ordering(definition, self.snapshot)
        )

    def reason_against_kind(self, definition: IndexDefinition) -> str | None:
        """Why nobody here can build or ask the index, whatever its state; None if that is not so."""
        return reason_against_here(definition, self.snapshot)

    def kinds(self, definitions: Iterable[IndexDefinition]) -> tuple[IndexKind, ...]:
        """Several indexes as kinds."""
        return tuple(map(self.kind, definitions))
