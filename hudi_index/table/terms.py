"""Columns by dotted name: `a.b` is field b of struct a."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.errors import UnknownColumnError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["type_of"]


def type_of(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column. Raises UnknownColumnError, which names all that there are."""
    for known, kind in _paths(schema):
        if known == name:
            return kind
    raise UnknownColumnError(column=name, known=[known for known, _ in _paths(schema)])


def _paths(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    for field in schema:
        yield from _paths_of(field.name, field.type)


def _paths_of(name: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    yield name, kind
    if isinstance(kind, pa.StructType):
        for place in range(kind.num_fields):
            field = kind.field(place)
            yield from _paths_of(f"{name}.{field.name}", field.type)
