from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from hudi_index.table import TableConfig
from hudi_index.table.partitions import PartitionColumns, UnreadablePartitionValueError
from hudi_index.table.schema import TableSchema
from tests.support.tables import schema_of

SCHEMA = schema_of(
    pa.field("s", pa.string()),
    pa.field("n", pa.int32()),
    pa.field("d", pa.date32()),
    pa.field("b", pa.bool_()),
    pa.field("f", pa.float64()),
)


def columns_of(fields: str, *paths: str, **properties: str) -> PartitionColumns:
    named = {name.replace("__", "."): value for name, value in properties.items()}
    config = TableConfig.parse(
        {"hoodie.table.partition.fields": fields, "hoodie.table.version": "9", **named}
    )
    return PartitionColumns.of(config, TableSchema(SCHEMA, SCHEMA), paths)


@pytest.mark.parametrize(
    ("fields", "path", "expected"),
    [
        ("s", "eu", {"s": "eu"}),
        ("s", "s=eu", {"s": "eu"}),
        ("s", "x=y", {"s": "y"}),
        ("s", "a%2Fb%", {"s": "a/b%"}),
        ("s", "zürich", {"s": "zürich"}),
        ("s", "__HIVE_DEFAULT_PARTITION__", {"s": None}),
        ("s", "a/b%20", {"s": "a/b%20"}),
        ("s", "s=a/b", {"s": "a/b"}),
        ("s,n", "eu/-7", {"s": "eu", "n": -7}),
        ("s,n", "s=eu/n=__HIVE_DEFAULT_PARTITION__", {"s": "eu", "n": None}),
        ("d", "2024-02-29", {"d": date(2024, 2, 29)}),
        ("b", "b=true", {"b": True}),
        ("", "", {}),
    ],
)
def test_path_says_what_spark_reads(fields: str, path: str, expected: dict[str, Any]) -> None:
    found = columns_of(fields, path).values_of(path)
    assert {name: value.as_py() for name, value in found.items()} == expected


@pytest.mark.parametrize(
    ("fields", "path"), [("n", "x"), ("n", "1/2"), ("d", "19723"), ("f", "1.5"), ("b", "yes")]
)
def test_uncertain_value_is_not_guessed(fields: str, path: str) -> None:
    with pytest.raises(UnreadablePartitionValueError):
        columns_of(fields, path).values_of(path)


def test_table_with_one_unaligned_path_has_its_values_in_the_files() -> None:
    assert columns_of("s,n", "eu/1", "a/b/1").from_path == frozenset()
    assert columns_of("s,d", "s=a/b/d=2024-01-01").from_path == {"s", "d"}


def test_fields_that_the_path_cannot_say_come_from_the_files() -> None:
    custom = {"hoodie__table__keygenerator__type": "CUSTOM"}
    assert columns_of("s:simple,n:timestamp", "eu/1", **custom).from_path == {"s"}
    assert columns_of("s", "eu", hoodie__table__keygenerator__type="TIMESTAMP").from_path == frozenset()
    assert columns_of("s,n", "eu/1", hoodie__table__ordering__fields="n").from_path == {"s"}
