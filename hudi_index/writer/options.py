"""What Hudi's writer is told: what the table says of itself, then what the caller adds.

An option that would have Hudi write the table otherwise than it is, or find records by itself, is refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hudi_index.arguments import check_options
from hudi_index.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.table import TableConfig

__all__ = ["BATCH", "KEY_GENERATOR", "UNLESS_GIVEN", "batch_options", "table_options", "write_options"]

BATCH = "hudi_index.batch"
"""Where a commit's extra metadata name the batch that it holds."""
UNLESS_GIVEN = {
    # Located rows don't know their positions; but to note which base file those were of, every task of a
    # write to a merge-on-read table would list its partition.
    "hoodie.write.record.positions": "false",
}
"""What makes a write cheaper and changes nothing else."""

_META_PREFIX = "hoodie.datasource.write.commitmeta.key.prefix"
KEY_GENERATOR = "hoodie.datasource.write.keygenerator.class"
_PARTITION_FIELDS = "hoodie.datasource.write.partitionpath.field"
_OPERATION = "hoodie.datasource.write.operation"
_METADATA = "hoodie.metadata.enable"
_PREPPED = "_hoodie.spark.sql.writes.prepped"
_TIME_BASED = ("hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased.")

_SAME_AS = {
    "hoodie.datasource.write.table.name": "hoodie.table.name",
    "hoodie.table.type": "hoodie.datasource.write.table.type",
    "hoodie.table.recordkey.fields": "hoodie.datasource.write.recordkey.field",
    "hoodie.table.partition.fields": _PARTITION_FIELDS,
    "hoodie.table.precombine.field": "hoodie.datasource.write.precombine.field",
    "hoodie.table.ordering.fields": "hoodie.datasource.write.precombine.field",
    "hoodie.table.version": "hoodie.write.table.version",
}
"""Options that say what another one says."""

_BY_THE_TABLE = "the table says otherwise, and a table has one way of being written"
_MOVES = "a record moves to the partition that its row names"
_WRONG_VALUES = {
    "hoodie.populate.meta.fields": ("true", "rows are handed to Hudi by their meta columns"),
    "hoodie.datasource.write.drop.partition.columns": ("false", "located rows need their partition columns"),
    "hoodie.datasource.write.slash.separated.date.partitioning": (
        "false",
        "of Spark's rows Hudi's key generators make no such paths; write with Hudi's own writer",
    ),
    "hoodie.combine.before.upsert": ("true", "of several rows with one key one is written"),
    "hoodie.datasource.write.insert.drop.duplicates": ("false", "records that are there are updated"),
    "hoodie.write.auto.upgrade": ("false", "an upgrade is a step of its own, which readers have to know of"),
    "hoodie.record.index.update.partition.path": ("true", _MOVES),
    "hoodie.global.simple.index.update.partition.path": ("true", _MOVES),
    "hoodie.simple.index.update.partition.path": ("true", _MOVES),
    "hoodie.bloom.index.update.partition.path": ("true", _MOVES),
}
_NEVER = {
    _PREPPED: "this writer sets it",
    "_hoodie.spark.sql.merge.into.prepped": "this writer hands rows to Hudi in another way",
    "hoodie.index.type": "records are found by the table's record index here, Hudi looks for none",
    "hoodie.write.record.merge.custom.implementation.classes": "it can't take located rows",
    _META_PREFIX: "it is taken for the batch that a commit holds; a commit knows one such prefix",
    BATCH: "say it by `writer` and `batch`",
}
_PAYLOADS = ("hoodie.datasource.write.payload.class", "hoodie.compaction.payload.class")
_MERGE_MODES = ("hoodie.write.record.merge.mode", "hoodie.record.merge.mode")
_MERGE_STRATEGIES = ("hoodie.write.record.merge.strategy.id", "hoodie.record.merge.strategy.id")
_MERGES = frozenset({*_PAYLOADS, *_MERGE_MODES, *_MERGE_STRATEGIES})
"""How records are merged: may be said again, and Hudi takes it from the table."""


def table_options(config: TableConfig) -> dict[str, str]:
    """What a writer has to say to go on writing a table as it is."""
    properties = config.properties
    found = {
        "hoodie.table.name": config.name,
        "hoodie.datasource.write.table.type": config.table_type.value,
        "hoodie.datasource.write.recordkey.field": ",".join(config.record_key_fields),
        # As it stands there: a custom key generator's fields have their kinds behind them.
        _PARTITION_FIELDS: properties.get("hoodie.table.partition.fields", ""),
        "hoodie.datasource.write.hive_style_partitioning": _flag(
            properties, "hoodie.datasource.write.hive_style_partitioning"
        ),
        "hoodie.datasource.write.partitionpath.urlencode": _flag(
            properties, "hoodie.datasource.write.partitionpath.urlencode"
        ),
        "hoodie.write.table.version": str(config.version),
        "hoodie.write.auto.upgrade": "false",
        # Switching off what a table has would delete it; switching on what it lacks would build it.
        _METADATA: "true" if properties.get("hoodie.table.metadata.partitions") else "false",
    }
    if config.ordering_fields:
        found["hoodie.datasource.write.precombine.field"] = ",".join(config.ordering_fields)
    found.update((name, text) for name, text in properties.items() if name.startswith(_TIME_BASED))
    return found


def write_options(config: TableConfig, verb: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """All options of a write.

    Args:
        config: The table's.
        verb: Hudi's word for the operation, `upsert` or `delete`.
        given: The caller's own; whatever they don't contradict stays.

    Raises:
        InvalidOptionError: one of them contradicts the table or this way of writing.
    """
    own = {**table_options(config), _OPERATION: verb, _PREPPED: "true"}
    added: dict[str, str] = {}
    for name, value in check_options("options", given or {}).items():
        if name in _MERGES:
            _refuse_other_merge(config, name, value)
            continue
        _refuse_contradiction(own, name, value)
        # What says the same as the table is said in the table's spelling, or in one that says more.
        if name == _METADATA or (name not in own and name not in _SAME_AS) or _tells_kinds(name, value):
            added[name] = value
    return {**own, **added}


def batch_options(writer: str, batch: str) -> dict[str, str]:
    """What has a commit name the batch that it holds."""
    return {
        _META_PREFIX: "hudi_index.",
        BATCH: json.dumps({"writer": writer, "batch": batch}, sort_keys=True),
    }


def _refuse_contradiction(own: Mapping[str, str], name: str, value: str) -> None:
    if name in _NEVER:
        raise InvalidOptionError(option=name, value=value, reason=_NEVER[name])
    expected, reason = _WRONG_VALUES.get(name, (None, ""))
    if expected is not None and value.strip().lower() != expected:
        raise InvalidOptionError(option=name, value=value, reason=reason)
    mine = own.get(_SAME_AS.get(name, name))
    if mine is not None and _tells_kinds(name, value) and ":" not in mine:
        value = ",".join(part.partition(":")[0] for part in value.split(","))
    if mine is not None and name != _METADATA and not _is_same(mine, value):
        raise InvalidOptionError(option=name, value=value, reason=f"here it is {mine!r}; {_BY_THE_TABLE}")


def _refuse_other_merge(config: TableConfig, name: str, value: str) -> None:
    if name in _PAYLOADS:
        is_same = config.merges_by(value.strip())
    elif name in _MERGE_MODES:
        is_same = config.merge_mode is not None and value.strip().upper() == config.merge_mode.value
    else:
        is_same = value.strip() == config.properties.get(_MERGE_STRATEGIES[1])
    if not is_same:
        raise InvalidOptionError(option=name, value=value, reason=_BY_THE_TABLE)


def _is_same(mine: str, value: str) -> bool:
    def parts(text: str) -> list[str]:
        return [part.strip().lower() for part in text.split(",")]

    return parts(mine) == parts(value)


def _tells_kinds(name: str, value: str) -> bool:
    """Whether it names the kinds of a custom key generator's fields, which version 6 does not keep."""
    return name == _PARTITION_FIELDS and ":" in value


def _flag(properties: Mapping[str, str], name: str) -> str:
    return properties.get(name, "false").strip().lower()
