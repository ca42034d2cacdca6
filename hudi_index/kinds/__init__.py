"""What each kind of index knows about a file group, and which predicates that refutes.

A kind does no I/O: it turns rows into entries, and entries into the set of file groups that are proven to
hold no matching row. What it can't answer it does not refute. Kinds do not know each other, and nobody else
knows one of them: each is found by its row in `hudi_index.kind_specs`.

    kind = kind_of(definition, term_types)
    entries = describe(kind, context, batches)
    upserts, deletes = diff_entries(entries_before, entries)
    question = kind.ask(constraint, candidates)
    refuted = question.refute(entries found in question.ranges)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.entries.encoding import key_type
from hudi_index.entries.schema import ORDERING_VALUE, PAYLOADS
from hudi_index.errors import UnknownColumnError, UnsupportedKindError, UserError
from hudi_index.kind_parts.diff import diff_entries
from hudi_index.kind_parts.foreign import GuardedBuilder, check_kind, guard_kind
from hudi_index.kind_parts.protocol import (
    Answering,
    EntryBuilder,
    IndexKind,
    Question,
    RowQuestion,
    SliceContext,
    Summary,
    TableFacts,
)
from hudi_index.kind_parts.source import Source
from hudi_index.kind_parts.values import sources_of
from hudi_index.kind_specs import specs
from hudi_index.predicate.values.condition import Term
from hudi_index.table import record_key_field
from hudi_index.table.types import spark_type, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.kind_specs import KindSpec
    from hudi_index.table import Snapshot

__all__ = [
    "Answering",
    "EntryBuilder",
    "IndexKind",
    "Question",
    "RowQuestion",
    "SliceContext",
    "Source",
    "Summary",
    "TableFacts",
    "builder_of",
    "class_of",
    "describe",
    "diff_entries",
    "kind_in",
    "kind_of",
    "ordering_types_of",
    "reason_against",
    "reason_against_here",
    "reason_against_ordering",
    "reason_against_schema",
    "summary_of",
    "term_types_of",
]


def class_of(spec: KindSpec) -> Any:
    """The class that a kind's row names.

    Raises:
        UnsupportedKindError: it can't be loaded.
    """
    module, _, name = spec.implementation.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        # Whatever another package raises when it is imported must not stop this one.
        raise UnsupportedKindError(kind=spec.name, reason=f"{type(error).__name__}: {error}") from error


def reason_against(definition: IndexDefinition) -> str | None:
    """Why nobody here can build or ask an index, whatever its state; None if that is not so.

    That is no fault of the index: it stays as it is for those who can.
    """
    if definition.unsupported is not None:
        return definition.unsupported
    spec = definition.spec
    try:
        class_of(spec)
    except UnsupportedKindError as error:
        return f"{spec.implementation} can't be loaded: {error.reason}; mend its package, or drop the index"
    if spec.payload is not None and spec.payload not in PAYLOADS:
        return f"its kind wants a payload {spec.payload}, and there are {', '.join(PAYLOADS)}"
    return None


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
        ordering_fields: The table's.
        record_key_field: The one field whose text is the record key. Only to be given if the key generator is
            known to make it so.

    Raises:
        UnknownColumnError: a column without a type.
        UnsupportedTypeError: a type that can't be indexed.
        UnsupportedKindError: nobody here can use the index.
    """
    if reason := reason_against(definition):
        raise UnsupportedKindError(kind=definition.kind, reason=reason)
    spec = definition.spec
    kind: type[IndexKind] = class_of(spec)
    name = record_key_field
    field = Source(name, name, Term(name), term_types[name]) if name and name in term_types else None
    with guard_kind(spec):
        sources = sources_of(kind, definition, term_types) if spec.has_columns else ()
        found = kind.of(definition, sources, TableFacts(tuple(ordering_fields), field))
        check_kind(found)
    return found


def kind_in(definition: IndexDefinition, snapshot: Snapshot) -> IndexKind:
    """The same for a table as it is at a snapshot."""
    config = snapshot.config
    types = term_types_of(definition, snapshot.schema)
    return kind_of(definition, types, config.ordering_fields, record_key_field=record_key_field(config))


def reason_against_here(definition: IndexDefinition, snapshot: Snapshot) -> str | None:
    """Why nobody here can build or ask an index of a table, tried on the table; None if that is not so."""
    reason = reason_against(definition)
    if reason is not None or definition.spec.is_built_in:
        return reason
    try:
        kind_in(definition, snapshot)
    except UnsupportedKindError as error:
        return error.reason
    except UserError:
        # Its columns: `reason_against_schema` tells.
        return None
    return None


def builder_of(kind: IndexKind, context: SliceContext) -> EntryBuilder:
    """What describes a slice for a kind; one of another package that fails raises UnsupportedKindError."""
    return kind.builder(context) if kind.spec.is_built_in else GuardedBuilder(kind, context)


def term_types_of(definition: IndexDefinition, schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of what an index is over: of its columns, or of its expression. Raises UnknownColumnError."""
    if definition.expression is not None and definition.expression_type is not None:
        return {definition.expression: spark_type(definition.expression_type, column=definition.expression)}
    return {name: type_of(schema, name) for name in definition.source_fields}


def reason_against_schema(definition: IndexDefinition, schema: pa.Schema) -> str | None:
    """Why an index does not fit a table's columns as they are, None if it does."""
    if len(definition.source_fields) != len(definition.source_types):
        return "the types of its columns are not recorded"
    for name, recorded in zip(definition.source_fields, definition.source_types, strict=True):
        try:
            found = str(type_of(schema, name))
        except UnknownColumnError as error:
            return str(error)
        if found != recorded:
            return f"column {name!r} was {recorded} when it was indexed and is {found} in this snapshot"
    return None


def ordering_types_of(definition: IndexDefinition, snapshot: Snapshot) -> tuple[str, ...] | None:
    """By which types of which columns an index's entries spell ordering values; None if they hold none.

    Raises:
        UnknownColumnError: the table has no such column.
        UnsupportedTypeError: its values have no order that keys can hold.
    """
    if ORDERING_VALUE not in definition.spec.preference:
        return None
    types = {name: type_of(snapshot.schema, name) for name in snapshot.config.ordering_fields}
    return tuple(f"{name} {key_type(each, name)}" for name, each in types.items())


def reason_against_ordering(definition: IndexDefinition, snapshot: Snapshot) -> str | None:
    """Why an index's ordering values can't be compared with those of the table's rows, None if they can."""
    was = definition.ordering_types
    if was is None:
        return None
    try:
        found = ordering_types_of(definition, snapshot)
    except UserError as error:
        return str(error)
    if found == was:
        return None
    noted, now = (", ".join(each or ()) or "none" for each in (was, found))
    return f"its entries hold ordering values by {noted}, and the table has them by {now}"


def summary_of(definition: IndexDefinition, term_types: Mapping[str, pa.DataType]) -> Summary | None:
    """What sums an index's entries up by partition; None if nothing does."""
    spec = definition.spec
    if spec.summary is None or definition.is_functional:
        return None
    with guard_kind(spec):
        summary: Summary = class_of(specs()[spec.summary])(sources_of(class_of(spec), definition, term_types))
    return summary


def describe(kind: IndexKind, context: SliceContext, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """All entries of a slice."""
    builder = builder_of(kind, context)
    tables = [table for batch in batches for table in builder.add(batch)]
    return pa.concat_tables([*tables, *builder.finish()])
