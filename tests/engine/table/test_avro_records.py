"""Columns of Avro records: the same as fastavro reads, and nothing of bytes that are none."""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.table.avro_records import UndecodableError, decode_columns, fields_of

if TYPE_CHECKING:
    from collections.abc import Sequence

INTS = st.integers(-(1 << 31), (1 << 31) - 1)
LONGS = st.one_of(
    INTS, st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from([63, 64, -64, -65, 8191, 8192])
)
# What a schema may say of a field, with values and the type that they get in Arrow.
KINDS: dict[str, tuple[Any, Any, pa.DataType | None]] = {
    "boolean": ("boolean", st.booleans(), pa.bool_()),
    "int": ("int", INTS, pa.int32()),
    "long": ("long", LONGS, pa.int64()),
    "float": ("float", st.floats(width=32, allow_nan=False), pa.float32()),
    "double": ("double", st.floats(allow_nan=False), pa.float64()),
    "string": ("string", st.text(max_size=300), pa.string()),
    "bytes": ("bytes", st.binary(max_size=300), pa.binary()),
    "fixed": ({"type": "fixed", "name": "six", "size": 6}, st.binary(min_size=6, max_size=6), None),
    "decimal": (
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        st.decimals(-100, 100, places=2),
        None,
    ),
}


@st.composite
def records(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, pa.DataType]]:
    """A schema, records of it, and the types of the fields that are decoded."""
    names = draw(st.permutations(sorted(KINDS)))[: draw(st.integers(1, len(KINDS)))]
    fields, values = [], {}
    for name in names:
        said, strategy, _ = KINDS[name]
        where = draw(st.sampled_from(["never", "first", "last"]))
        if where != "never":
            said = ["null", said] if where == "first" else [said, "null"]
            strategy = st.one_of(st.none(), strategy)
        fields.append({"name": name, "type": said})
        values[name] = strategy
    rows = draw(st.lists(st.fixed_dictionaries(values), max_size=12))
    types = {name: KINDS[name][2] for name in names}
    return (
        {"type": "record", "name": "r", "fields": fields},
        rows,
        {name: each for name, each in types.items() if each is not None},
    )


def written(schema: dict[str, Any], rows: Sequence[dict[str, Any]]) -> tuple[Any, Any, Any]:
    """Records with something between them, and where they begin and end."""
    parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
    data, starts, ends = b"", [], []
    for row in rows:
        sink = BytesIO()
        fastavro.schemaless_writer(sink, parsed, row)
        data += b"\xff\xff"
        starts.append(len(data))
        data += sink.getvalue()
        ends.append(len(data))
    return np.frombuffer(data, np.uint8), np.array(starts, np.int64), np.array(ends, np.int64)


@given(records())
def test_columns_are_what_fastavro_wrote(case: Any) -> None:
    schema, rows, types = case
    data, starts, ends = written(schema, rows)
    found = decode_columns(data, starts, ends, fields_of(json.dumps(schema).encode()), list(types))
    for name, data_type in types.items():
        assert found[name].type == data_type
        expected = pa.array([row[name] for row in rows], data_type)
        # By their text: 0.0 and -0.0 are equal.
        assert list(map(repr, found[name].to_pylist())) == list(map(repr, expected.to_pylist())), name


@given(records(), st.data())
def test_damaged_bytes_are_no_records(case: Any, data: st.DataObject) -> None:
    """They give other values, as long as they fit the schema, or the one error; they are never read past."""
    schema, rows, types = case
    content, starts, ends = written(schema, rows)
    damaged = content.copy()
    for _ in range(data.draw(st.integers(1, 5))):
        if damaged.size:
            damaged[data.draw(st.integers(0, damaged.size - 1))] = data.draw(st.integers(0, 255))
    cut = damaged[: data.draw(st.integers(0, damaged.size))]
    for each in (damaged, cut):
        try:
            found = decode_columns(each, starts, ends, fields_of(json.dumps(schema).encode()), list(types))
        except UndecodableError:
            continue
        for column in found.values():
            column.validate(full=True)
            assert len(column) == len(rows)


def field_schema(said: Any) -> bytes:
    return json.dumps({"type": "record", "name": "r", "fields": [{"name": "a", "type": said}]}).encode()


@pytest.mark.parametrize(
    "said",
    [
        {"type": "array", "items": "int"},
        {"type": "map", "values": "int"},
        {"type": "record", "name": "inner", "fields": []},
        {"type": "enum", "name": "colour", "symbols": ["red"]},
        ["null", "int", "string"],
        ["int", "string"],
        ["null"],
        ["long"],
        ["null", "null"],
        "somewhere.else",
        {"type": "long", "logicalType": "timestamp-nanos"},
        {"type": "string", "logicalType": "uuid"},
    ],
)
def test_other_types_are_not_decoded(said: Any) -> None:
    fields = fields_of(field_schema(said))
    assert [each.data_type for each in fields] == [None]
    with pytest.raises(UndecodableError):
        decode_columns(np.zeros(1, np.uint8), np.array([0]), np.array([1]), fields, ["a"])


def test_what_comes_before_one_of_those_is_decoded() -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "a", "type": "long"},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "b", "type": "long"},
        ],
    }
    data, starts, ends = written(schema, [{"a": 7, "tags": ["x"], "b": 8}])
    fields = fields_of(json.dumps(schema).encode())
    assert decode_columns(data, starts, ends, fields, ["a"])["a"].to_pylist() == [7]
    with pytest.raises(UndecodableError, match="tags"):
        decode_columns(data, starts, ends, fields, ["b"])


@pytest.mark.parametrize("schema", [b"", b"{}", b'"int"', b'{"fields": [1]}', b"\xff", b'{"fields": 1}'])
def test_what_is_no_schema_is_told(schema: bytes) -> None:
    with pytest.raises(UndecodableError, match="no schema"):
        fields_of(schema)


@pytest.mark.parametrize("length", [(1 << 63) - 1, (1 << 62), 1 << 32, 6, -1])
def test_a_text_longer_than_its_bytes_is_told(length: int) -> None:
    sink = BytesIO()
    fastavro.schemaless_writer(sink, {"type": "long"}, length)
    data = np.frombuffer(sink.getvalue() + b"texts", np.uint8)
    fields = fields_of(field_schema("string"))
    with pytest.raises(UndecodableError, match="beyond its block"):
        decode_columns(data, np.array([0]), np.array([len(data)]), fields, ["a"])


def test_a_number_too_large_for_its_type_is_told() -> None:
    data, starts, ends = written(json.loads(field_schema("long")), [{"a": 1 << 31}])
    with pytest.raises(UndecodableError, match="too large for an int"):
        decode_columns(data, starts, ends, fields_of(field_schema("int")), ["a"])
