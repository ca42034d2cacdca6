"""What each kind of index knows about a file group, and which predicates that refutes.

A kind does no I/O: it turns rows into entries, and entries into the set of file groups that are proven to
hold no matching row. What it can't answer it does not refute. Kinds do not know each other.

    kind = kind_of(definition, term_types)
    entries = describe(kind, context, batches)
    upserts, deletes = diff_entries(entries_before, entries)
    lookup = kind.lookup(constraint)
    refuted = kind.prune(constraint, entries_found, covered)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.catalog.definition import Kind
from hudi_index.kinds._parts import Source, sources_of
from hudi_index.kinds.bitmap import Bitmap, negated
from hudi_index.kinds.bloom_filters import BloomFilters
from hudi_index.kinds.column_stats import ColumnStats
from hudi_index.kinds.diff import diff_entries
from hudi_index.kinds.partition_stats import PartitionStats
from hudi_index.kinds.protocol import CoveredGroup, EntryBuilder, IndexKind, Lookup, SliceContext
from hudi_index.kinds.record_index import RecordIndex
from hudi_index.kinds.secondary_index import SecondaryIndex, record_keys_of
from hudi_index.predicate.values.condition import Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hudi_index.catalog.definition import IndexDefinition

__all__ = [
    "KINDS",
    "Bitmap",
    "BloomFilters",
    "ColumnStats",
    "CoveredGroup",
    "EntryBuilder",
    "IndexKind",
    "Lookup",
    "PartitionStats",
    "RecordIndex",
    "SecondaryIndex",
    "SliceContext",
    "Source",
    "describe",
    "diff_entries",
    "kind_of",
    "negated",
    "partition_stats_of",
    "record_keys_of",
]


def _column_stats(definition: IndexDefinition, sources: tuple[Source, ...]) -> IndexKind:
    return ColumnStats(definition.partition, sources)


def _bloom_filters(definition: IndexDefinition, sources: tuple[Source, ...]) -> IndexKind:
    rate = float(definition.options.get("false_positive_rate", BloomFilters.false_positive_rate))
    return BloomFilters(definition.partition, sources, rate)


def _secondary_index(definition: IndexDefinition, sources: tuple[Source, ...]) -> IndexKind:
    return SecondaryIndex(definition.partition, sources)


def _bitmap(definition: IndexDefinition, sources: tuple[Source, ...]) -> IndexKind:
    return Bitmap(definition.partition, sources, int(definition.options.get("max_values", Bitmap.max_values)))


KINDS: dict[Kind, Callable[[IndexDefinition, tuple[Source, ...]], IndexKind]] = {
    Kind.COLUMN_STATS: _column_stats,
    Kind.BLOOM_FILTERS: _bloom_filters,
    Kind.SECONDARY_INDEX: _secondary_index,
    Kind.BITMAP: _bitmap,
}
"""How the kinds over columns or an expression are made. A record_index is over neither."""


def kind_of(
    definition: IndexDefinition,
    term_types: Mapping[str, pa.DataType],
    ordering_fields: Sequence[str] = (),
    *,
    record_key_field: str | None = None,
) -> IndexKind:
    """The kind that an index definition asks for.

    Args:
        definition: What the catalog says.
        term_types: Types by column path, for an index over an expression by the expression.
        ordering_fields: The table's, for a record_index.
        record_key_field: The one field whose text is the record key. Only to be given if the key generator is
            known to make it so; without it a record_index answers on `_hoodie_record_key` alone.

    Raises:
        UnknownColumnError: a column without a type.
        UnsupportedTypeError: a type that can't be indexed.
    """
    if definition.kind is not Kind.RECORD_INDEX:
        return KINDS[definition.kind](definition, sources_of(definition, term_types))
    field = None
    if record_key_field is not None and record_key_field in term_types:
        kind = term_types[record_key_field]
        field = Source(record_key_field, record_key_field, Term(record_key_field), kind)
    return RecordIndex(
        definition.partition,
        tuple(ordering_fields),
        field if field and RecordIndex.may_answer(field.data_type) else None,
        is_partitioned=definition.options.get("partitioned") == "true",
    )


def partition_stats_of(
    definition: IndexDefinition, term_types: Mapping[str, pa.DataType]
) -> PartitionStats | None:
    """What merges an index's statistics over partitions; None unless it is column_stats over columns."""
    if definition.kind is not Kind.COLUMN_STATS or definition.is_functional:
        return None
    return PartitionStats(sources_of(definition, term_types))


def describe(kind: IndexKind, context: SliceContext, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """All entries of a slice."""
    builder = kind.builder(context)
    tables = [table for batch in batches for table in builder.add(batch)]
    return pa.concat_tables([*tables, *builder.finish()])
