"""The record of the index metadata table: one schema for every partition, shaped like Hudi's own.

    key                     text, the entry's key; unique inside its partition
    partition               the partition the entry lives in (constant per file, Hudi's partition column)
    type                    which payload is set, in Hudi's numbering (`payload_type` of kinds)
    filesystemMetadata …    one nullable struct per payload; all others are null
    _hoodie_is_deleted      true in log files only: the key is gone (a tombstone)

Values inside payloads (`minValue`, `orderingValue`) are text in the encoding of `entries.encoding`, so they
compare as bytes whatever the column's type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "DELETED",
    "ENTRY_SCHEMA",
    "KEY",
    "ORDERING_VALUE",
    "PARTITION",
    "PAYLOADS",
    "TYPE",
    "as_entries",
    "avro_schema_of",
    "payload_fields",
    "stored_schema",
    "tombstones",
]

KEY = "key"
PARTITION = "partition"
TYPE = "type"
DELETED = "_hoodie_is_deleted"
ORDERING_VALUE = "orderingValue"
"""The payload field that decides which of two rows with one record key stands."""


def _struct(**fields: pa.DataType) -> pa.StructType:
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


PAYLOADS: dict[str, pa.StructType] = {
    "filesystemMetadata": _struct(
        partitionPath=pa.string(),
        fileId=pa.string(),
        baseFile=pa.string(),
        baseFileSize=pa.int64(),
        logFiles=pa.list_(pa.string()),
        logFileSizes=pa.list_(pa.int64()),
        logFileTimes=pa.list_(pa.int64()),
        asOf=pa.string(),
        instantTime=pa.string(),
        rowCount=pa.int64(),
        schemaId=pa.string(),
        number=pa.int64(),
    ),
    "ColumnStatsMetadata": _struct(
        columnName=pa.string(),
        minValue=pa.string(),
        maxValue=pa.string(),
        valueCount=pa.int64(),
        nullCount=pa.int64(),
        nanCount=pa.int64(),
        isExact=pa.bool_(),
        groupCount=pa.int64(),
    ),
    "BloomFilterMetadata": _struct(type=pa.string(), bloomFilter=pa.binary()),
    "recordIndexMetadata": _struct(orderingValue=pa.string(), instantTime=pa.string()),
    "BitmapIndexMetadata": _struct(bitmap=pa.binary()),
}
"""Payload structs by field name. They are the stored format: kinds choose among them, or need none."""

_FIELDS: list[pa.Field[Any]] = [
    pa.field(KEY, pa.string(), nullable=False),
    pa.field(PARTITION, pa.string()),
    pa.field(TYPE, pa.int32()),
    *(pa.field(name, struct) for name, struct in PAYLOADS.items()),
    pa.field(DELETED, pa.bool_()),
]
ENTRY_SCHEMA: pa.Schema = pa.schema(_FIELDS)


def stored_schema(columns: Collection[str]) -> pa.Schema:
    """ENTRY_SCHEMA without the payloads that are not among some columns.

    Base files are written so: for every reader a column that a file lacks is null there, and the many fields
    of absent payloads would be most of the work of writing a file, and most of its footer.
    """
    return pa.schema([each for each in ENTRY_SCHEMA if each.name not in PAYLOADS or each.name in columns])


def as_entries(entries: pa.Table, partition: str, schema: pa.Schema = ENTRY_SCHEMA) -> pa.Table:
    """`entries` with every column of the schema, in its order; what is absent becomes null."""
    length, given = entries.num_rows, entries.column_names
    unknown = [name for name in given if name in PAYLOADS and name not in schema.names]
    if unknown:
        raise ValueError(f"entries of {partition} have {unknown}, others of the same file do not")
    columns: list[pa.Array[Any] | pa.ChunkedArray[Any]] = []
    for field in schema:
        if field.name == PARTITION:
            columns.append(pa.repeat(pa.scalar(partition, pa.string()), length))
        elif field.name == DELETED and DELETED not in given:
            columns.append(pa.repeat(pa.scalar(value=False), length))
        elif field.name in given:
            columns.append(entries.column(field.name).cast(field.type))
        else:
            columns.append(pa.nulls(length, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def payload_fields(entries: pa.Table, payload: str) -> dict[str, pa.Array[Any]]:
    """The fields of a payload by name, all null where the payload is."""
    struct: Any = entries.column(payload).combine_chunks()
    # Not `field`: what it gives below a null struct is undefined.
    names = [struct.type.field(position).name for position in range(struct.type.num_fields)]
    return dict(zip(names, struct.flatten(), strict=True))


def tombstones(keys: pa.Array[Any], partition: str) -> pa.Table:
    """Entries that say of each key that it is gone."""
    deleted = pa.repeat(pa.scalar(value=True), len(keys))
    return as_entries(pa.table({KEY: keys, DELETED: deleted}), partition)


def avro_schema_of(schema: pa.Schema, *, name: str) -> dict[str, Any]:
    """The Avro form of an Arrow schema, as log blocks and commit metadata carry it."""
    return _avro_record(list(schema), name)


def _avro_record(fields: list[pa.Field[Any]], name: str) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "namespace": "hoodie.hudi_index",
        "fields": [_avro_field(field, name) for field in fields],
    }


def _avro_field(field: pa.Field[Any], parent: str) -> dict[str, Any]:
    inner = _avro_type(field.type, f"{parent}_{field.name}")
    if not field.nullable:
        return {"name": field.name, "type": inner}
    return {"name": field.name, "type": ["null", inner], "default": None}


_AVRO_PRIMITIVES = {
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.bool_(): "boolean",
}


def _avro_type(arrow: pa.DataType, name: str) -> str | dict[str, Any]:
    if isinstance(arrow, pa.StructType):
        return _avro_record([arrow.field(position) for position in range(arrow.num_fields)], name)
    if isinstance(arrow, pa.ListType):
        return {"type": "array", "items": ["null", _avro_type(arrow.value_type, f"{name}_item")]}
    return _AVRO_PRIMITIVES[arrow]
