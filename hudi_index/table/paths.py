"""Columns by dotted path: `a.b` is the field b of struct a, unless a column is called `a.b`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.errors import UnknownColumnError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["type_at", "value_at", "values_at"]


def _names_of(path: str, columns: Collection[str]) -> list[str]:
    return [path] if path in columns else path.split(".")


def type_at(schema: pa.Schema, path: str) -> pa.DataType | None:
    """The type of a column or field; None if there is no such one."""
    first, *rest = _names_of(path, schema.names)
    if first not in schema.names:
        return None
    found: pa.DataType = schema.field(first).type
    for name in rest:
        if not isinstance(found, pa.StructType) or found.get_field_index(name) < 0:
            return None
        found = found.field(name).type
    return found


def values_at(batch: pa.RecordBatch, path: str) -> pa.Array[Any]:
    """A column, or a field within structs: null where a struct around it is. Raises UnknownColumnError."""
    first, *rest = _names_of(path, batch.schema.names)
    if first not in batch.schema.names:
        raise UnknownColumnError(column=path, known=batch.schema.names)
    values: pa.Array[Any] = batch.column(first)
    for name in rest:
        position = values.type.get_field_index(name) if pa.types.is_struct(values.type) else -1
        if position < 0:
            raise UnknownColumnError(column=path, known=batch.schema.names)
        values = pc.struct_field(values, [position])
    return values


def value_at(row: Mapping[str, Any], path: str) -> Any:
    """A row's value of a column or field: None where a struct around it is."""
    found: Any = row
    for name in _names_of(path, row):
        found = None if found is None else found[name]
    return found
