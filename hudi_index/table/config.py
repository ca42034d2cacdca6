"""What a Hudi table says of itself: `.hoodie/hoodie.properties` as one frozen value.

Version 6 names classes where later versions name types and modes; both come out as the same words here. A
table of a kind that nobody could read right is refused when its configuration is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from hudi_index.errors import NoSuchTableError, StoragePlaceError, UnsupportedTableError
from hudi_index.table.properties import parse_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.storage import Storage

__all__ = ["KeyGenerator", "MergeMode", "TableConfig", "TableType"]

SUPPORTED_VERSIONS = (6, 8, 9)
_PROPERTIES = ".hoodie/hoodie.properties"
_PAYLOAD = "hoodie.compaction.payload.class"
_LEGACY_PAYLOAD = "hoodie.table.legacy.payload.class"
"""Of tables of version 9 that had one before."""
_BACKUP = ".hoodie/hoodie.properties.backup"


class TableType(Enum):
    """How updates reach the files."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class MergeMode(Enum):
    """Which of two records of one key stands."""

    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


class KeyGenerator(Enum):
    """How record keys and partition paths come from columns."""

    SIMPLE = "SIMPLE"
    COMPLEX = "COMPLEX"
    TIMESTAMP = "TIMESTAMP"
    CUSTOM = "CUSTOM"
    NON_PARTITION = "NON_PARTITION"
    GLOBAL_DELETE = "GLOBAL_DELETE"
    OTHER = "OTHER"


_KEY_GENERATOR_CLASSES = {
    "SimpleKeyGenerator": KeyGenerator.SIMPLE,
    "SimpleAvroKeyGenerator": KeyGenerator.SIMPLE,
    "ComplexKeyGenerator": KeyGenerator.COMPLEX,
    "ComplexAvroKeyGenerator": KeyGenerator.COMPLEX,
    "TimestampBasedKeyGenerator": KeyGenerator.TIMESTAMP,
    "TimestampBasedAvroKeyGenerator": KeyGenerator.TIMESTAMP,
    "CustomKeyGenerator": KeyGenerator.CUSTOM,
    "CustomAvroKeyGenerator": KeyGenerator.CUSTOM,
    "NonpartitionedKeyGenerator": KeyGenerator.NON_PARTITION,
    "NonpartitionedAvroKeyGenerator": KeyGenerator.NON_PARTITION,
    "GlobalDeleteKeyGenerator": KeyGenerator.GLOBAL_DELETE,
    "GlobalAvroDeleteKeyGenerator": KeyGenerator.GLOBAL_DELETE,
}

_PAYLOAD_MODES = {
    "OverwriteWithLatestAvroPayload": MergeMode.COMMIT_TIME_ORDERING,
    "DefaultHoodieRecordPayload": MergeMode.EVENT_TIME_ORDERING,
    "EventTimeAvroPayload": MergeMode.EVENT_TIME_ORDERING,
}


@dataclass(frozen=True)
class TableConfig:
    """One table's configuration."""

    name: str
    table_type: TableType
    version: int
    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    """Names only, without the `:simple` and `:timestamp` of a custom key generator."""
    timestamp_partition_fields: frozenset[str]
    """Those whose path is formatted from the column, so that the path does not hold the value."""
    ordering_fields: tuple[str, ...]
    merge_mode: MergeMode | None
    """None when the table does not say."""
    key_generator: KeyGenerator
    populates_meta_fields: bool
    drops_partition_columns: bool
    properties: Mapping[str, str] = field(repr=False, compare=False)
    """Everything in the file, unescaped."""

    @classmethod
    def load(cls, storage: Storage) -> TableConfig:
        """The configuration of the table at the storage's root.

        Raises:
            NoSuchTableError: nothing there says it is a Hudi table.
            UnsupportedTableError: a table that can't be read.
        """
        properties = _load_properties(storage)
        try:
            config = cls.parse(properties)
        except ValueError as error:
            raise UnsupportedTableError(uri=storage.uri, reason=str(error)) from error
        reason = config._reason_against()
        if reason:
            raise UnsupportedTableError(uri=storage.uri, reason=reason)
        return config

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> TableConfig:
        """The configuration that properties spell. Raises ValueError."""
        declared = _split(properties.get("hoodie.table.partition.fields"))
        key_generator = _key_generator_of(properties)
        return cls(
            name=properties.get("hoodie.table.name", ""),
            table_type=TableType(properties.get("hoodie.table.type", TableType.COPY_ON_WRITE.value)),
            version=int(properties.get("hoodie.table.version", "0")),
            record_key_fields=_split(properties.get("hoodie.table.recordkey.fields")),
            partition_fields=tuple(name.partition(":")[0] for name in declared),
            timestamp_partition_fields=_timestamp_fields_of(declared, key_generator),
            ordering_fields=_split(
                properties.get("hoodie.table.ordering.fields")
                or properties.get("hoodie.table.precombine.field")
            ),
            merge_mode=_merge_mode_of(properties),
            key_generator=key_generator,
            populates_meta_fields=_flag(properties, "hoodie.populate.meta.fields", default=True),
            drops_partition_columns=_flag(
                properties, "hoodie.datasource.write.drop.partition.columns", default=False
            ),
            properties=dict(properties),
        )

    @property
    def timeline_folder(self) -> str:
        """Where the active timeline is."""
        if self.version < 8:
            return ".hoodie"
        return f".hoodie/{self.properties.get('hoodie.timeline.path', 'timeline')}"

    @property
    def history_folder(self) -> str:
        """Where instants go that the active timeline no longer holds (versions 8 and later)."""
        return f"{self.timeline_folder}/{self.properties.get('hoodie.timeline.history.path', 'history')}"

    @property
    def uses_utc_instants(self) -> bool:
        """Whether instant times are in UTC; else in the writers' local time."""
        return self.properties.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC"

    def merges_by(self, payload: str) -> bool:
        """Whether a payload class is the table's, or, where it names none, one that merges as it says."""
        stored = self.properties.get(_PAYLOAD) or self.properties.get(_LEGACY_PAYLOAD)
        if stored:
            return payload == stored
        mode = _PAYLOAD_MODES.get(payload.rpartition(".")[2])
        return mode is not None and mode is self.merge_mode

    def _reason_against(self) -> str | None:
        if self.version not in SUPPORTED_VERSIONS:
            known = ", ".join(map(str, SUPPORTED_VERSIONS))
            return f"table version {self.version}; versions {known} are supported, so upgrade the table"
        base_format = self.properties.get("hoodie.table.base.file.format", "PARQUET").upper()
        if base_format != "PARQUET":
            return f"base files are {base_format}; only PARQUET is supported"
        if _flag(self.properties, "hoodie.table.multiple.base.file.formats.enable", default=False):
            return "base files of several formats; only PARQUET is supported"
        if self.properties.get("hoodie.bootstrap.base.path"):
            return "it was bootstrapped, so its rows are partly in files outside the table"
        return None


def _load_properties(storage: Storage) -> dict[str, str]:
    try:
        return parse_properties(storage.read(_PROPERTIES))
    except FileNotFoundError:
        pass
    except StoragePlaceError as error:
        raise NoSuchTableError(uri=storage.uri, reason=error.reason) from error
    try:
        # Hudi swaps the file by way of a backup, so for a moment there may be only the backup.
        return parse_properties(storage.read(_BACKUP))
    except FileNotFoundError as error:
        raise NoSuchTableError(uri=storage.uri, reason=f"there is no {_PROPERTIES}") from error


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _flag(properties: Mapping[str, str], key: str, *, default: bool) -> bool:
    text = properties.get(key)
    return default if text is None else text.strip().lower() == "true"


def _key_generator_of(properties: Mapping[str, str]) -> KeyGenerator:
    name = properties.get("hoodie.table.keygenerator.type", "").upper().removesuffix("_AVRO")
    if name in KeyGenerator.__members__:
        return KeyGenerator[name]
    class_name = properties.get("hoodie.table.keygenerator.class", "").rpartition(".")[2]
    return _KEY_GENERATOR_CLASSES.get(class_name, KeyGenerator.OTHER)


def _timestamp_fields_of(declared: tuple[str, ...], key_generator: KeyGenerator) -> frozenset[str]:
    names = [name.partition(":") for name in declared]
    if key_generator is KeyGenerator.TIMESTAMP:
        return frozenset(name for name, _, _ in names)
    if key_generator is KeyGenerator.CUSTOM:
        # Tables before version 8 don't record which of the fields are timestamps.
        return frozenset(name for name, _, kind in names if kind.lower() in ("timestamp", ""))
    return frozenset()


def _merge_mode_of(properties: Mapping[str, str]) -> MergeMode | None:
    mode = properties.get("hoodie.record.merge.mode", "").upper()
    if mode in MergeMode.__members__:
        return MergeMode[mode]
    payload = properties.get(_PAYLOAD, "").rpartition(".")[2]
    if payload:
        return _PAYLOAD_MODES.get(payload, MergeMode.CUSTOM)
    return None
