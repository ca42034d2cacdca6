"""RFC-77's worked example of merging secondary index records, through log and compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudi_index.entries.ranges import KeyRange
from hudi_index.metadata_table.table import MetadataTable
from hudi_index.storage import Storage
from tests.store.support import by_hudi_rs

if TYPE_CHECKING:
    from pathlib import Path

PARTITION = "secondary_index_idx_city"
OWNER = ".$4e4cbc27-6b6e-4b31-8a4f-3d3f3b6f0001-0"
BASE = [
    ("chennai", "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa"),
    ("los-angeles", "9909a8b1-2d15-4d3d-8ec9-efc48c536a01"),
    ("los-angeles", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"),
    ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df330"),
    ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df329"),
]
DELETED = [
    ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df329"),
    ("los-angeles", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"),
]
ADDED = [
    ("chennai", "e3cf430c-889d-4015-bc98-59bdce1e530c"),
    ("austin", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"),
]
MERGED = [
    ("austin", "9809a8b1-2d15-4d3d-8ec9-efc48c536a01"),
    ("chennai", "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa"),
    ("chennai", "e3cf430c-889d-4015-bc98-59bdce1e530c"),
    ("los-angeles", "9909a8b1-2d15-4d3d-8ec9-efc48c536a01"),
    ("sfo", "334e26e9-8355-45cc-97c6-c31daf0df330"),
]


def _keys(pairs: list[tuple[str, str]]) -> list[str]:
    return [f"{city}${record}${OWNER}" for city, record in pairs]


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    table = MetadataTable(Storage.open(tmp_path / "mdt"))
    table.create()
    with table.begin(shards={PARTITION: 1}) as transaction:
        base = pa.table({"key": sorted(_keys(BASE))})
        transaction.add([transaction.writer.write_base(PARTITION, 0, [base])])
        transaction.commit()
    with table.begin() as transaction:
        added, deleted = pa.table({"key": _keys(ADDED)}), pa.array(_keys(DELETED))
        transaction.add([transaction.writer.write_log(PARTITION, 0, upserts=added, deletes=deleted)])
        transaction.commit()
    return table


@pytest.mark.parametrize("compacted", [False, True], ids=["log", "compaction"])
def test_rfc77_example_merges_as_the_rfc_says(table: MetadataTable, tmp_path: Path, compacted: bool) -> None:
    if compacted:
        assert table.compact(force=True)
        (shard_slice,) = table.view().slices(PARTITION)
        assert not shard_slice.logs
        assert shard_slice.base is not None
        assert shard_slice.base.entries == len(MERGED)
    reader = table.reader()
    assert reader.scan(PARTITION).read_all().column("key").to_pylist() == _keys(MERGED)
    assert sorted(by_hudi_rs(tmp_path / "mdt")[PARTITION]) == _keys(MERGED)
    found = reader.lookup(PARTITION, [KeyRange.prefix("los-angeles$")], within="los-angeles")
    assert found.column("key").to_pylist() == _keys(MERGED[3:4])
