"""Record keys, stored or computed as Hudi's key generators do (`hoodie.populate.meta.fields=false`).

One field: its text. Several fields: `name:text` joined by commas, with `__null__` and `__empty__` for what
has no text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.table.config import KeyGenerator

if TYPE_CHECKING:
    from hudi_index.table.config import TableConfig

__all__ = ["reason_against_computing", "record_key_field", "record_keys_of"]

RECORD_KEY = "_hoodie_record_key"

_SINGLE_FIELD = {KeyGenerator.SIMPLE, KeyGenerator.TIMESTAMP, KeyGenerator.NON_PARTITION, KeyGenerator.CUSTOM}


def record_key_field(config: TableConfig) -> str | None:
    """The one field whose text is the record key; None if there is none, or if that is not certain."""
    fields = config.record_key_fields
    return fields[0] if len(fields) == 1 and config.key_generator in _SINGLE_FIELD else None


def reason_against_computing(config: TableConfig, schema: pa.Schema) -> str | None:
    """Why keys can't be computed, if they can't."""
    fields = config.record_key_fields
    if not fields:
        return "the table has no record key fields"
    if any(name not in schema.names for name in fields):
        return f"record key field {fields[0]!r} is no top-level column"
    if config.drops_partition_columns and not set(fields).isdisjoint(config.partition_fields):
        return "a record key field was dropped from the files"
    kinds = [schema.field(name).type for name in fields]
    if not all(pa.types.is_string(data_type) or pa.types.is_integer(data_type) for data_type in kinds):
        return "only strings and integers have a certain text as record key"
    # Whether one field's name is part of its key changed between Hudi versions for the other generators.
    if len(fields) == 1 and config.key_generator not in _SINGLE_FIELD:
        return f"a {config.key_generator.value} key generator of one field has no certain record key"
    return None


def record_keys_of(rows: pa.RecordBatch | pa.Table, config: TableConfig) -> Any:
    """The record keys of rows that hold the stored key or the key fields; chunked if the rows are."""
    if config.populates_meta_fields:
        return rows.column(RECORD_KEY)
    fields = config.record_key_fields
    texts: list[Any] = [pc.cast(rows.column(name), pa.string()) for name in fields]
    if len(fields) == 1:
        return texts[0]
    parts = [_name_value(name, text) for name, text in zip(fields, texts, strict=True)]
    return pc.binary_join_element_wise(*parts, ",")


def _name_value(name: str, text: Any) -> Any:
    spelled = pc.if_else(pc.equal(text, pa.scalar("")), "__empty__", text)
    return pc.binary_join_element_wise(f"{name}:", pc.fill_null(spelled, "__null__"), "")
