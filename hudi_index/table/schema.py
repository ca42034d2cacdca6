"""The table's columns as Arrow types, from the Avro schema that commits carry.

The latest commit that carries a schema decides, of those that an earlier instant saw if that is what is
read; a table without one has the schema it was created with.
Types are the ones Hudi on Spark reads: a partition column of the timestamp key generator is a string,
whatever its files hold.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.errors import UnsupportedTableError
from hudi_index.table.config import KeyGenerator

if TYPE_CHECKING:
    from hudi_index.table.config import TableConfig
    from hudi_index.table.timeline import Timeline

__all__ = ["META_COLUMNS", "TableSchema"]

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)

_PRIMITIVES: dict[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_LOGICAL: dict[str, pa.DataType] = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}


@dataclass(frozen=True)
class TableSchema:
    """Columns of a table."""

    columns: pa.Schema
    """As Hudi on Spark reads them, without meta columns."""
    stored: pa.Schema
    """As commits declare them; differs only in the columns of `columns` that Spark reads as another type."""
    has_internal_schema: bool = False
    """Whether schema-on-read renamed or dropped columns, so that files and schema disagree by name."""

    @classmethod
    def load(cls, timeline: Timeline, as_of: str | None = None) -> TableSchema:
        """The schema of the table as of its latest commit, or of the latest until an instant."""
        config, uri = timeline.config, timeline.storage.uri
        internal, text = None, None
        for number, extra in enumerate(timeline.extra_metadata_backwards(as_of)):
            if number == 0:
                internal = extra.get("latest_schema")
            if text := extra.get("schema"):
                break
        text = text or config.properties.get("hoodie.table.create.schema")
        if not text:
            raise UnsupportedTableError(
                uri=uri, reason="no commit carries a schema; write to the table first"
            )
        try:
            stored = parse_avro_schema(text)
        except (ValueError, KeyError) as error:
            raise UnsupportedTableError(uri=uri, reason=f"its schema can't be read: {error}") from error
        # Dropped from the files and from the schema alike; Hudi gives them back as strings.
        dropped = [name for name in config.partition_fields if name not in stored.names and "." not in name]
        for name in dropped:
            stored = stored.append(pa.field(name, pa.string()))
        columns = _as_spark_reads(stored, config)
        return cls(columns, stored, bool(internal))

    def with_meta_columns(self, config: TableConfig) -> pa.Schema:
        """The columns with Hudi's in front, where the table has them."""
        if not config.populates_meta_fields:
            return self.columns
        meta = [pa.field(name, pa.string()) for name in META_COLUMNS]
        return pa.schema([*meta, *self.columns])


def parse_avro_schema(text: str) -> pa.Schema:
    """The Arrow schema of an Avro record, meta columns left out. Raises ValueError, KeyError."""
    record = json.loads(text)
    fields = _fields_of(record, {})
    return pa.schema([field for field in fields if field.name not in META_COLUMNS])


def _fields_of(record: dict[str, Any], named: dict[str, pa.DataType]) -> list[pa.Field[Any]]:
    return [_field_of(field["name"], field["type"], named) for field in record["fields"]]


def _field_of(name: str, avro: Any, named: dict[str, pa.DataType]) -> pa.Field[Any]:
    if isinstance(avro, list):
        others = [part for part in avro if part != "null"]
        if len(others) != 1:
            raise ValueError(f"field {name!r} is a union of several types")
        return pa.field(name, _type_of(others[0], named), nullable="null" in avro)
    return pa.field(name, _type_of(avro, named), nullable=False)


def _type_of(avro: Any, named: dict[str, pa.DataType]) -> pa.DataType:
    if isinstance(avro, str):
        return _PRIMITIVES[avro] if avro in _PRIMITIVES else named[avro.rpartition(".")[2]]
    data_type, logical = avro["type"], avro.get("logicalType")
    if logical == "decimal":
        found: pa.DataType = pa.decimal128(avro["precision"], avro.get("scale", 0))
    elif logical in _LOGICAL:
        found = _LOGICAL[logical]
    elif data_type == "record":
        found = pa.struct(_fields_of(avro, named))
    elif data_type == "array":
        found = pa.list_(_field_of("element", avro["items"], named))
    elif data_type == "map":
        value: Any = _field_of("value", avro["values"], named)
        found = pa.map_(pa.string(), value)
    elif data_type == "fixed":
        found = pa.binary(avro["size"])
    else:
        found = _type_of(data_type, named)
    if "name" in avro:
        named[avro["name"].rpartition(".")[2]] = found
    return found


def _as_spark_reads(stored: pa.Schema, config: TableConfig) -> pa.Schema:
    if config.key_generator is not KeyGenerator.TIMESTAMP:
        return stored
    partition = set(config.partition_fields)
    return pa.schema([pa.field(f.name, pa.string()) if f.name in partition else f for f in stored])
