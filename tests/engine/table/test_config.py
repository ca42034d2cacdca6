from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from hudi_index.errors import NoSuchTableError, UnsupportedTableError
from hudi_index.storage import Storage
from hudi_index.table import KeyGenerator, MergeMode, TableConfig, TableType
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

PAYLOAD = "org.apache.hudi.common.model."


def test_version_9_table_names_types_and_modes() -> None:
    config = TableConfig.parse(
        {
            "hoodie.table.name": "trips",
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.table.version": "9",
            "hoodie.table.recordkey.fields": "id, day",
            "hoodie.table.partition.fields": "region:simple,day:timestamp",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.table.keygenerator.type": "CUSTOM",
            "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
        }
    )
    assert config.table_type is TableType.MERGE_ON_READ
    assert config.record_key_fields == ("id", "day")
    assert config.partition_fields == ("region", "day")
    assert config.timestamp_partition_fields == {"day"}
    assert config.ordering_fields == ("ts",)
    assert config.merge_mode is MergeMode.EVENT_TIME_ORDERING
    assert config.key_generator is KeyGenerator.CUSTOM
    assert config.populates_meta_fields
    assert config.timeline_folder == ".hoodie/timeline"
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("payload", "mode"),
    [
        (f"{PAYLOAD}OverwriteWithLatestAvroPayload", MergeMode.COMMIT_TIME_ORDERING),
        (f"{PAYLOAD}DefaultHoodieRecordPayload", MergeMode.EVENT_TIME_ORDERING),
        (f"{PAYLOAD}PartialUpdateAvroPayload", MergeMode.CUSTOM),
        ("com.example.Mine", MergeMode.CUSTOM),
        ("", None),
    ],
)
def test_version_6_table_names_a_payload_class(payload: str, mode: MergeMode | None) -> None:
    config = TableConfig.parse(
        {
            "hoodie.table.version": "6",
            "hoodie.compaction.payload.class": payload,
            "hoodie.table.precombine.field": "ts",
            "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
            "hoodie.table.partition.fields": "ts",
        }
    )
    assert config.merge_mode is mode
    assert config.ordering_fields == ("ts",)
    assert config.key_generator is KeyGenerator.TIMESTAMP
    assert config.timestamp_partition_fields == {"ts"}
    assert config.timeline_folder == ".hoodie"


def test_folder_without_properties_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(NoSuchTableError, match=r"hoodie\.properties"):
        TableConfig.load(Storage.open(tmp_path))


def test_backup_stands_in_while_properties_are_swapped(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    (tmp_path / ".hoodie/hoodie.properties").rename(tmp_path / ".hoodie/hoodie.properties.backup")
    assert TableConfig.load(table.storage).version == 9


@pytest.mark.parametrize(
    ("version", "properties", "reason"),
    [
        (5, {}, "table version 5"),
        (7, {}, "table version 7"),
        (10, {}, "table version 10"),
        (9, {"hoodie.table.base.file.format": "ORC"}, "ORC"),
        (9, {"hoodie.table.multiple.base.file.formats.enable": "true"}, "several formats"),
        (9, {"hoodie.bootstrap.base.path": "elsewhere"}, "bootstrapped"),
        (9, {"hoodie.table.type": "SOMETHING"}, "SOMETHING"),
    ],
)
def test_table_that_cannot_be_read_is_refused_with_the_reason(
    tmp_path: Path, version: int, properties: dict[str, str], reason: str
) -> None:
    table = Fabricated(tmp_path, version=version, properties=properties)
    with pytest.raises(UnsupportedTableError, match=reason):
        TableConfig.load(table.storage)
