"""Rows as parts of entry keys: which columns an index is over, and what stands for their values.

A value stands in a key as `entries.encoding` encodes it. Where that is longer than 1,000 characters, its
beginning and a digest stand for it:

    <the first 1,000 characters, fewer if they would end inside a %XX>%~<SHA-256 of all of them, hex>

No encoded value holds `%~`. Equal values still have equal parts and different values different ones. Order
holds between a shortened value and every value of up to 1,000 characters: where their common beginning ends,
the long value goes on with a character that is cut off, and `%~` stands on the same side of what the other
has there, be it the end, an escape or a plain character (the cut is before 1,000 only if an escape follows,
and then the other, having no room for an escape, has a plain character, which is above any `%`). Among
shortened values of one beginning order is lost.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.encoding import encode_array
from hudi_index.entries.schema import KEY, PAYLOADS, TYPE
from hudi_index.errors import UnknownColumnError
from hudi_index.kind_parts.source import Source
from hudi_index.predicate.values.condition import Term
from hudi_index.table.paths import values_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.kind_parts.protocol import IndexKind
    from hudi_index.kind_specs import KindSpec

__all__ = [
    "CUT",
    "as_array",
    "beginning_of",
    "entry_table",
    "is_long",
    "key_parts",
    "shorten",
    "sources_of",
    "values_of",
]

CUT = "%~"
"""Stands where a long value was cut; no encoded value holds it."""

_LIMIT = 1_000
_ESCAPE_LENGTH = 3


def sources_of(
    kind: type[IndexKind], definition: IndexDefinition, term_types: Mapping[str, pa.DataType]
) -> tuple[Source, ...]:
    """What an index is over, with types by the term's text: column paths, or the expression.

    An expression's values come in a column named like the index's partition, which no kind of another index
    reads; keys name it by the index.

    Raises:
        UnknownColumnError: a column without a type.
        UnsupportedTypeError: a type that the kind can't be over.
    """
    if definition.expression is not None:
        text = definition.expression
        data_type = _type_of(kind, text, term_types)
        return (Source(definition.name, definition.partition, Term(text, is_expression=True), data_type),)
    return tuple(
        Source(path, path, Term(path), _type_of(kind, path, term_types)) for path in definition.source_fields
    )


def _type_of(kind: type[IndexKind], text: str, term_types: Mapping[str, pa.DataType]) -> pa.DataType:
    if text not in term_types:
        raise UnknownColumnError(column=text, known=term_types)
    kind.check_type(term_types[text], text)
    return term_types[text]


def values_of(batch: pa.RecordBatch, column: str) -> pa.Array[Any]:
    """A column, or a field within structs (null where a struct around it is).

    Raises:
        UnknownColumnError: the batch has no such column or field.
    """
    values = values_at(batch, column)
    # A batch may share its dictionary with others: only what its own rows hold may count.
    return values.cast(values.type.value_type) if isinstance(values, pa.DictionaryArray) else values


def key_parts(values: pa.Array[Any], column: str) -> pa.Array[Any]:
    """The key part of every value, the long ones shortened.

    Raises:
        UnencodableValueError: for a value that no key can hold.
    """
    # As Any: pyarrow's stubs want the array's type to be known.
    parts: Any = encode_array(values, column)
    # Bytes are counted first, which is cheaper: there are at least as many as characters.
    if (pc.max(pc.binary_length(parts)).as_py() or 0) <= _LIMIT:
        return as_array(parts)
    long_ones: Any = pc.greater(pc.utf8_length(parts), pa.scalar(_LIMIT, pa.int32()))
    texts: list[Any] = parts.filter(long_ones).to_pylist()
    return as_array(pc.replace_with_mask(parts, long_ones, pa.array(map(shorten, texts), pa.string())))


def as_array(values: Any) -> pa.Array[Any]:
    """What pyarrow computed, for its stubs often don't say that it is an array."""
    array: pa.Array[Any] = values
    return array


def is_long(part: str) -> bool:
    """Whether keys hold a shortened form of this part."""
    return len(part) > _LIMIT


def shorten(part: str) -> str:
    """What keys hold for an encoded value."""
    if not is_long(part):
        return part
    return beginning_of(part) + CUT + hashlib.sha256(part.encode()).hexdigest()


def beginning_of(part: str) -> str:
    """What is kept of a long part: whole encoded characters."""
    escape = part.rfind("%", _LIMIT - _ESCAPE_LENGTH + 1, _LIMIT)
    return part[: _LIMIT if escape < 0 else escape]


def entry_table(
    keys: pa.Array[Any] | pa.ChunkedArray[Any],
    spec: KindSpec,
    payloads: Sequence[Mapping[str, Any] | None] | pa.Array[Any] | None = None,
) -> pa.Table:
    """Entries of a kind, with their payloads if it has one."""
    columns: dict[str, Any] = {
        KEY: keys,
        TYPE: pa.repeat(pa.scalar(spec.payload_type, pa.int32()), len(keys)),
    }
    if spec.payload is not None and payloads is not None:
        is_array = isinstance(payloads, pa.Array)
        columns[spec.payload] = payloads if is_array else pa.array(payloads, PAYLOADS[spec.payload])
    return pa.table(columns)
