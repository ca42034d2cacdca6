"""Columns by dotted path: types, values of a batch, values of a row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hudi_index.errors import UnknownColumnError
from hudi_index.table.paths import type_at, value_at, values_at

ROWS: list[dict[str, Any]] = [
    {"a": {"b": {"c": 1}}, "a.x": "column", "n": 5},
    {"a": {"b": None}, "a.x": "of this name", "n": None},
    {"a": None, "a.x": None, "n": 7},
]
INNER = pa.struct([pa.field("c", pa.int32())])
SCHEMA = pa.schema(
    [
        pa.field("a", pa.struct([pa.field("b", INNER), pa.field("x", pa.int64())])),
        pa.field("a.x", pa.string()),
        pa.field("n", pa.int32()),
    ]
)
FOUND: dict[str, tuple[pa.DataType, list[Any]]] = {
    "n": (pa.int32(), [5, None, 7]),
    "a.b.c": (pa.int32(), [1, None, None]),
    "a.b": (INNER, [{"c": 1}, None, None]),
    "a.x": (pa.string(), ["column", "of this name", None]),
}


@pytest.mark.parametrize("path", FOUND)
def test_column_or_field(path: str) -> None:
    kind, values = FOUND[path]
    batch = pa.RecordBatch.from_pylist(ROWS, schema=SCHEMA)
    assert type_at(SCHEMA, path) == kind
    assert values_at(batch, path).to_pylist() == values
    assert [value_at(row, path) for row in ROWS] == values


@pytest.mark.parametrize("path", ["m", "m.a", "a.z", "n.a", "a.b.c.d", ""])
def test_what_is_not_there(path: str) -> None:
    assert type_at(SCHEMA, path) is None
    with pytest.raises(UnknownColumnError):
        values_at(pa.RecordBatch.from_pylist(ROWS, schema=SCHEMA), path)
