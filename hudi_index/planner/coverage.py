"""Which file groups the indexes speak for, and which indexes there are to ask.

A file group is covered when its current slice is the one that `files` notes. Nothing else may be refuted by
an index, so whatever happened to the table since merely covers less. What can't be loaded is no error here: a
query without indexes is right, only slower, and the reason is kept for `explain`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_index.catalog import Catalog, IndexState
from hudi_index.entries.ranges import KeyRange
from hudi_index.errors import CorruptError, UserError
from hudi_index.kinds import files, kind_of, partition_stats_of
from hudi_index.predicate import Term, bound_expression, parse_type
from hudi_index.table import record_key_field
from hudi_index.table.terms import spark_type, type_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from hudi_index.catalog import IndexDefinition
    from hudi_index.kinds.partition_stats import PartitionStats
    from hudi_index.kinds.protocol import CoveredGroup, IndexKind
    from hudi_index.metadata_table import MetadataTable, Reader
    from hudi_index.predicate import Schema, SqlType
    from hudi_index.table import FileGroupId, Snapshot

__all__ = ["Coverage", "UsableIndex"]


@dataclass(frozen=True)
class UsableIndex:
    """An index that a plan may ask."""

    name: str
    kind: IndexKind | PartitionStats
    terms: Mapping[Term, Term]
    """How the index calls what a predicate calls otherwise: its expression, or its name for it."""


@dataclass
class Coverage:
    """What a plan can know."""

    covered: dict[FileGroupId, CoveredGroup] = field(default_factory=dict)
    indexes: list[UsableIndex] = field(default_factory=list)
    """Cheapest to ask first."""
    unusable: dict[str, str] = field(default_factory=dict)
    """Why the others aren't asked, by name."""
    expression_types: dict[str, SqlType] = field(default_factory=dict)
    """Of expressions that usable indexes are over, by their text."""
    expression_names: dict[str, str] = field(default_factory=dict)
    """The same expressions by the name of their index, which a query may use (RFC-63)."""
    reader: Reader | None = None

    @classmethod
    def of(
        cls, snapshot: Snapshot, metadata_table: MetadataTable, schema: Schema, *, time_zone: str
    ) -> Coverage:
        """What the indexes of a table know of a snapshot."""
        found = cls()
        try:
            definitions = tuple(Catalog(snapshot.storage).load())
            if not definitions or not metadata_table.exists():
                return found
            found.reader = metadata_table.reader()
            entries = found.reader.lookup(files.PARTITION, [KeyRange.all()], columns=[files.PAYLOAD])
        except CorruptError as error:
            found.unusable["all indexes"] = str(error)
            return found
        for group, known in files.indexed_slices(entries).items():
            current = snapshot.groups.get(group)
            if current is not None and current.identity == known.identity:
                found.covered[group] = known.covered
        for definition in definitions:
            found._add(definition, snapshot, schema, time_zone)
        found.indexes.sort(key=lambda index: _ORDER.index(type(index.kind).__name__))
        return found

    def _add(self, definition: IndexDefinition, snapshot: Snapshot, schema: Schema, time_zone: str) -> None:
        reason = _reason_against(definition, snapshot.schema, time_zone)
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
        if definition.expression is not None:
            own = Term(definition.expression, is_expression=True)
            terms[bound_expression(definition.expression, schema)] = own
            self.expression_types[definition.expression] = parse_type(definition.expression_type or "")
            self.expression_names[definition.name] = definition.expression
        self.indexes.append(UsableIndex(definition.name, kind, terms))
        merged = partition_stats_of(definition, types) if not definition.is_functional else None
        if merged is not None:
            self.indexes.append(UsableIndex(f"{definition.name} by partition", merged, {}))


_ORDER: Sequence[str] = (
    "PartitionStats",
    "ColumnStats",
    "BloomFilters",
    "Bitmap",
    "RecordIndex",
    "SecondaryIndex",
)


def _reason_against(definition: IndexDefinition, schema: pa.Schema, time_zone: str) -> str | None:
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
        return "its columns have another type now"
    return None


def _types_of(definition: IndexDefinition, schema: pa.Schema) -> dict[str, pa.DataType]:
    if definition.expression is not None:
        text = definition.expression_type or ""
        return {definition.expression: spark_type(text, column=definition.expression)}
    return {name: type_of(schema, name) for name in definition.source_fields}
