"""Which file groups the indexes speak for, and which indexes there are to ask.

A file group is covered when its current slice is the one that `files` notes. Nothing else may be refuted by
an index, so whatever happened to the table since merely covers less. What can't be loaded is no error here: a
query without indexes is right, only slower, and the reason is kept for `explain`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.catalog import Catalog, IndexState
from hudi_index.errors import CorruptError, UserError
from hudi_index.kinds import files, kind_of, partition_stats_of
from hudi_index.planner.covered import Covered
from hudi_index.predicate import Term, bound_expression, derivation_of, parse_type
from hudi_index.predicate.calendar import STORED
from hudi_index.table import record_key_field
from hudi_index.table.calendar import has_times
from hudi_index.table.terms import spark_type, type_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hudi_index.catalog import IndexDefinition
    from hudi_index.kinds.partition_stats import PartitionStats
    from hudi_index.kinds.protocol import IndexKind
    from hudi_index.metadata_table import MetadataTable, Reader
    from hudi_index.predicate import Calendar, Derivation, Schema, SqlType
    from hudi_index.table import Snapshot

__all__ = ["FIRST_WEIGHED_TIER", "LAST_TIER", "READ_ERRORS", "Coverage", "UsableIndex"]


@dataclass(frozen=True)
class UsableIndex:
    """An index that a plan may ask."""

    name: str
    kind: IndexKind | PartitionStats
    terms: Mapping[Term, Term]
    """How the index calls what a predicate calls otherwise: its expression, or its name for it."""
    derived: Derivation | None = None
    """Of an index over an expression: how its values follow from a column's."""

    @property
    def tier(self) -> int:
        """Cheap ones are asked before dear ones."""
        return _TIERS[type(self.kind).__name__]


@dataclass
class Coverage:
    """What a plan can know."""

    covered: Covered
    indexes: list[UsableIndex] = field(default_factory=list)
    """Cheapest to ask first."""
    unusable: dict[str, str] = field(default_factory=dict)
    """Why the others aren't asked, by name."""
    expression_types: dict[str, SqlType] = field(default_factory=dict)
    """Of expressions that usable indexes are over, by their text."""
    expression_names: dict[str, str] = field(default_factory=dict)
    """The same expressions by the name of their index, which a query may use (RFC-63)."""
    reader: Reader | None = None
    only: frozenset[str] | None = None
    """The indexes to ask, whatever that costs; None for all, as it pays."""

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        metadata_table: MetadataTable,
        schema: Schema,
        *,
        time_zone: str,
        only: Collection[str] | None = None,
        calendar: Calendar = STORED,
    ) -> Coverage:
        """What the indexes of a table know of a snapshot. Raises NoSuchIndexError."""
        found = cls(Covered.none(snapshot.slices))
        try:
            catalog = Catalog(snapshot.storage).load()
            definitions = tuple(catalog)
            if only is not None:
                found.only = frozenset(catalog.definition_of(name).name for name in only)
            if not definitions or not metadata_table.exists():
                return found
            found.reader = metadata_table.reader()
            found.covered = Covered.of(snapshot, found.reader)
            if calendar.is_other and has_times(snapshot.schema, snapshot.config.ordering_fields):
                # Which of two records stands is decided by values that the query's reader sees otherwise.
                found.covered = found.covered.without_logs()
        except READ_ERRORS as error:
            found.unusable["all indexes"] = str(error)
            found.reader = None
            return found
        described_by = files.describing_indexes(found.reader.view.state.data_snapshot)
        for definition in definitions:
            if definition.state is IndexState.READY and definition.id not in described_by:
                # Created or dropped between our two looks, or its entries are lost.
                found.unusable[definition.name] = "the indexed slices are not described by it"
            else:
                found._add(definition, snapshot, schema, time_zone, calendar)
        found.indexes.sort(key=lambda index: index.tier)
        return found

    def _add(
        self,
        definition: IndexDefinition,
        snapshot: Snapshot,
        schema: Schema,
        time_zone: str,
        calendar: Calendar,
    ) -> None:
        reason = _reason_against(definition, snapshot.schema, time_zone, calendar)
        if not reason and self.reader and definition.partition not in self.reader.view.state.shards:
            # A partition that isn't there has no entries, which would refute everything.
            reason = f"the index metadata table has no partition {definition.partition}"
        if reason:
            self.unusable[definition.name] = reason
            return
        try:
            types = _types_of(definition, snapshot.schema)
            kind = kind_of(
                definition,
                types,
                snapshot.config.ordering_fields,
                record_key_field=record_key_field(snapshot.config),
            )
        except UserError as error:
            self.unusable[definition.name] = str(error)
            return
        terms: dict[Term, Term] = {}
        derived = None
        if definition.expression is not None:
            own = Term(definition.expression, is_expression=True)
            bound = bound_expression(definition.expression, schema)
            terms[bound] = own
            derived = derivation_of(bound.text, schema, time_zone=time_zone)
            self.expression_types[definition.expression] = parse_type(definition.expression_type or "")
            self.expression_names[definition.name] = definition.expression
        if self.only is not None and definition.name not in self.only:
            # A query may still call its expression by its name.
            self.unusable[definition.name] = "only others are to be asked"
            return
        self.indexes.append(UsableIndex(definition.name, kind, terms, derived))
        merged = partition_stats_of(definition, types) if not definition.is_functional else None
        if merged is not None and self.reader and merged.partition in self.reader.view.state.shards:
            self.indexes.append(UsableIndex(f"{definition.name} by partition", merged, {}))


_TIERS = {
    "PartitionStats": 0,
    "ColumnStats": 1,
    "BloomFilters": 2,
    "Bitmap": 2,
    "RecordIndex": 3,
    "SecondaryIndex": 3,
}
FIRST_WEIGHED_TIER = 2
"""From here on a look-up must pay."""
LAST_TIER = max(_TIERS.values())
READ_ERRORS = (CorruptError, OSError, pa.ArrowException)
"""What reading a damaged index may raise; to a plan it is a reason, never an error."""


def _reason_against(
    definition: IndexDefinition, schema: pa.Schema, time_zone: str, calendar: Calendar
) -> str | None:
    if definition.state is not IndexState.READY:
        return f"it is {definition.state}" + (f": {definition.reason}" if definition.reason else "")
    zone = definition.options.get("time_zone")
    if definition.is_functional and zone != time_zone:
        return f"its expression was computed in time zone {zone}, the query runs in {time_zone}"
    try:
        types = [str(type_of(schema, name)) for name in definition.source_fields]
    except UserError as error:
        return str(error)
    if types != list(definition.source_types):
        return "its columns have another type in this snapshot"
    if calendar.is_other and definition.is_functional:
        sources = [name.partition(".")[0] for name in definition.source_fields]
        if has_times(schema, [*sources, *definition.source_fields]):
            return calendar.reason
    return None


def _types_of(definition: IndexDefinition, schema: pa.Schema) -> dict[str, pa.DataType]:
    if definition.expression is not None:
        text = definition.expression_type or ""
        return {definition.expression: spark_type(text, column=definition.expression)}
    return {name: type_of(schema, name) for name in definition.source_fields}
