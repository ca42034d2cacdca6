from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index.errors import UnsupportedTableError
from hudi_index.table import Snapshot
from hudi_index.table.schema import parse_avro_schema
from tests.support.tables import COLUMNS, Fabricated

if TYPE_CHECKING:
    from pathlib import Path

T1, T2 = "20240101000000000", "20240102000000000"


@pytest.mark.parametrize(
    ("avro", "expected"),
    [
        ("boolean", pa.bool_()),
        ("int", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("bytes", pa.binary()),
        ({"type": "string", "avro.java.string": "String"}, pa.string()),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
        ({"type": "fixed", "name": "f", "size": 4}, pa.binary(4)),
        (
            {"type": "fixed", "name": "d", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 4},
            None,
        ),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", tz="UTC")),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, pa.timestamp("ms")),
        ({"type": "long", "logicalType": "unheard-of"}, pa.int64()),
        ({"type": "array", "items": ["null", "string"]}, pa.list_(pa.field("element", pa.string()))),
        ({"type": "map", "values": ["null", "long"]}, pa.map_(pa.string(), pa.int64())),
        (
            {"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "int"]}]},
            pa.struct([("a", pa.int32())]),
        ),
    ],
)
def test_avro_types_become_arrow_types(avro: Any, expected: pa.DataType | None) -> None:
    fields = [{"name": "_hoodie_commit_time", "type": "string"}, {"name": "c", "type": ["null", avro]}]
    schema = parse_avro_schema(json.dumps({"type": "record", "name": "t", "fields": fields}))
    assert schema == pa.schema([("c", expected or pa.decimal128(20, 4))])


def test_named_type_is_found_again() -> None:
    point = {"type": "record", "name": "point", "namespace": "x", "fields": [{"name": "a", "type": "int"}]}
    fields = [{"name": "from", "type": point}, {"name": "to", "type": ["null", "x.point"]}]
    schema = parse_avro_schema(json.dumps({"type": "record", "name": "t", "fields": fields}))
    assert schema.field("to").type == schema.field("from").type
    assert schema.field("to").nullable
    assert not schema.field("from").nullable


def test_latest_commit_with_a_schema_decides(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    table.commit(T1)
    table.commit(T2, extra={})
    snapshot = Snapshot.load(table.storage)
    assert snapshot.schema == COLUMNS
    assert snapshot.schema_with_meta_columns.names[:5] == [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    ]


def test_table_without_any_schema_is_refused(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    table.commit(T1, extra={})
    with pytest.raises(UnsupportedTableError, match="no commit carries a schema"):
        Snapshot.load(table.storage)


def test_union_of_several_types_is_refused(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    odd = {"type": "record", "name": "t", "fields": [{"name": "c", "type": ["int", "string"]}]}
    table.commit(T1, extra={"schema": json.dumps(odd)})
    with pytest.raises(UnsupportedTableError, match="union"):
        Snapshot.load(table.storage)
