from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hudi_index.table import (
    FileGroupId,
    FileSlice,
    SliceReader,
    TableConfig,
    TableSchema,
    TableShape,
    slice_reader_of,
)
from hudi_index.table.partitions import PartitionColumns
from tests.support.tables import schema_of

SCHEMA = schema_of(
    pa.field("id", pa.string()),
    pa.field("ts", pa.int64()),
    pa.field("day", pa.date32()),
    pa.field("f", pa.float64()),
)
BASE = FileSlice(FileGroupId("p", "a"), "a_0-1-2_20240101000000000.parquet")
MERGED = FileSlice(BASE.group, BASE.base_file, (".a_20240102000000000.log.1_0-1-2",), 1, (1,))


def reason_for(file_slice: FileSlice, *, internal: bool = False, **properties: str) -> str | None:
    named = {name.replace("__", "."): value for name, value in properties.items()}
    config = TableConfig.parse(
        {
            "hoodie.table.version": "9",
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
            "hoodie.table.recordkey.fields": "id",
            **named,
        }
    )
    schema = TableSchema(SCHEMA, SCHEMA, has_internal_schema=internal)
    partitions = PartitionColumns.of(config, schema, [file_slice.group.partition_path])
    choice = slice_reader_of(TableShape(config, schema, partitions), file_slice)
    assert (choice.reader is SliceReader.HUDI_RS) == (choice.reason is None)
    return choice.reason


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({}, None),
        ({"hoodie__record__merge__mode": "COMMIT_TIME_ORDERING"}, None),
        ({"hoodie__record__merge__mode": "CUSTOM"}, "class of the table's own"),
        ({"hoodie__record__merge__mode": ""}, "does not say"),
        ({"hoodie__table__partial__update__mode": "IGNORE_DEFAULTS"}, "in part"),
        ({"hoodie__table__partial__update__mode": "NONE"}, None),
        ({"hoodie__record__merge__property__x": "y"}, "depends on"),
        ({"hoodie__datasource__write__drop__partition__columns": "true"}, "dropped"),
    ],
)
def test_merging_that_hudi_rs_gets_wrong_is_for_spark(properties: dict[str, Any], reason: str | None) -> None:
    found = reason_for(MERGED, **properties)
    assert found is None if reason is None else reason in str(found)
    assert reason_for(BASE, **properties) is None


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"hoodie__table__ordering__fields": "ts,id"}, "several fields"),
        ({"hoodie__table__partition__fields": "a.b"}, "no top-level column"),
        ({"hoodie__table__partition__fields": "f"}, "not certain"),
        (
            {"hoodie__table__partition__fields": "day", "hoodie__table__keygenerator__type": "TIMESTAMP"},
            "read as a string",
        ),
        (
            {"hoodie__populate__meta__fields": "false", "hoodie__table__recordkey__fields": "f"},
            "strings and integers",
        ),
    ],
)
def test_tables_that_hudi_rs_reads_otherwise_are_for_spark(properties: dict[str, Any], reason: str) -> None:
    assert reason in str(reason_for(BASE, **properties))


def test_schema_on_read_is_for_spark() -> None:
    assert "schema-on-read" in str(reason_for(BASE, internal=True))
