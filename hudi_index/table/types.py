"""Types of what can be indexed: columns by dotted name (`a.b` is a field of struct a), Spark's type words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.errors import AmbiguousColumnError, UnknownColumnError, UnsupportedTypeError
from hudi_index.predicate import Schema, parse_type
from hudi_index.table.paths import type_at

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["spark_type", "spelling_of", "sql_schema", "type_of"]

_SPARK_TYPES: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_ARRAY = re.compile(r"array<(.+)>")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def spark_type(text: str, *, column: str) -> pa.DataType:
    """The Arrow type of a Spark type such as `decimal(10,2)`. Raises UnsupportedTypeError."""
    if text in _SPARK_TYPES:
        return _SPARK_TYPES[text]
    if match := _DECIMAL.fullmatch(text):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _ARRAY.fullmatch(text):
        return pa.list_(pa.field("element", spark_type(match[1], column=column)))
    raise UnsupportedTypeError(column=column, type_name=text, reason="its values have no order")


def type_of(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column. Raises UnknownColumnError, which names all that there are."""
    found = type_at(schema, name)
    if found is None:
        raise UnknownColumnError(column=name, known=[known for known, _ in _paths(schema)])
    return found


def spelling_of(schema: pa.Schema, name: str) -> str:
    """A column as the table spells it: the one of exactly this name, or else the only one but for case.

    Raises:
        UnknownColumnError: there is none.
        AmbiguousColumnError: there are several.
    """
    known = [path for path, _ in _paths(schema)]
    if name in known:
        return name
    found = [path for path in known if path.lower() == name.lower()]
    if len(found) > 1:
        raise AmbiguousColumnError(column=name, candidates=found)
    if not found:
        raise UnknownColumnError(column=name, known=known)
    return found[0]


def _paths(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    for field in schema:
        yield from _paths_of(field.name, field.type)


def _paths_of(name: str, data_type: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    yield name, data_type
    if isinstance(data_type, pa.StructType):
        for position in range(data_type.num_fields):
            field = data_type.field(position)
            yield from _paths_of(f"{name}.{field.name}", field.type)


def sql_schema(schema: pa.Schema) -> Schema:
    """The columns as predicates see them: by Spark's types."""
    return Schema({field.name: parse_type(_sql_text(field.type)) for field in schema})


def _sql_text(data_type: pa.DataType) -> str:
    if isinstance(data_type, pa.StructType):
        fields = (data_type.field(position) for position in range(data_type.num_fields))
        return f"struct<{','.join(f'`{each.name}`:{_sql_text(each.type)}' for each in fields)}>"
    if isinstance(data_type, pa.Decimal128Type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if isinstance(data_type, pa.TimestampType):
        return "timestamp_ntz" if data_type.tz is None else "timestamp"
    if isinstance(data_type, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return f"array<{_sql_text(data_type.value_type)}>"
    # What has no word here has no order either, and no predicate on it is understood.
    return next((text for text, known in _SPARK_TYPES.items() if known == data_type), "unknown")
