"""Damage that still reads as something: stored bytes that say another thing refute nothing."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import Catalog
from hudi_index.errors import CatalogCorruptError, EntryCorruptError, TimelineCorruptError
from hudi_index.metadata_table import MetadataTable, ShardWriter
from hudi_index.metadata_table.base_file import BaseFile
from hudi_index.metadata_table.commit_metadata import decode_commit, encode_commit
from hudi_index.metadata_table.layout import parse_completed
from hudi_index.storage import Storage
from tests.repair.support import Trips
from tests.store.support import entries_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def trips(tmp_path: Path) -> Trips:
    return Trips(tmp_path / "t")


def test_commit_that_says_another_number_of_shards_refutes_nothing(trips: Trips) -> None:
    trips.sql("CREATE INDEX by_n ON t (n)")
    commit = trips.newest_commit()
    content = commit.read_bytes()
    changed = content.replace(b'"secondary_index_by_n": 1', b'"secondary_index_by_n": 7')
    assert changed != content
    commit.write_bytes(changed)
    assert trips.groups_for("n = 2") == {"a", "b", "c"}
    with pytest.raises(TimelineCorruptError, match="hudi-index repair --table"):
        MetadataTable.of(trips.storage).view()


def test_commit_copied_to_a_later_instant_refutes_nothing(trips: Trips) -> None:
    """As if the base files of a create were written again: the logs since would be left out."""
    trips.sql("CREATE INDEX stats ON t USING column_stats (region)")
    trips.sql("CREATE INDEX by_n ON t (n)")
    first = trips.newest_commit()
    trips.change({"a": (7, "q")})
    trips.table.maintain()
    later = trips.newest_commit()
    found = parse_completed(later.name)
    assert found is not None
    requested, completed = str(int(found.completed_time) + 10), str(int(found.completed_time) + 20)
    shutil.copy(first, first.with_name(f"{requested}_{completed}.deltacommit"))
    assert "a" in trips.groups_for("n = 7")
    with pytest.raises(TimelineCorruptError, match="another commit's"):
        MetadataTable.of(trips.storage).view()


def test_commit_of_before_digests_is_read(trips: Trips) -> None:
    trips.sql("CREATE INDEX by_n ON t (n)")
    commit = trips.newest_commit()
    found = decode_commit(commit.read_bytes(), action="deltacommit", path="x", name=commit.name)
    commit.write_bytes(encode_commit(found, name=None))
    assert trips.groups_for("n = 2") == {"b"}


def test_definition_over_another_column_refutes_nothing(trips: Trips) -> None:
    trips.sql("CREATE INDEX by_region ON t (region)")
    for file in [trips.index_file, *trips.index_file.parent.glob("history/*")]:
        content = json.loads(file.read_text())
        content["indexes"][0]["source_fields"] = ["id"]
        file.write_text(json.dumps(content))
    assert trips.groups_for("id = 'b1'") == {"a", "b", "c"}
    with pytest.raises(CatalogCorruptError, match="hudi-index repair --table"):
        Catalog(trips.storage).load()


def test_damaged_published_copy_is_nothing_where_the_history_is_whole(trips: Trips) -> None:
    trips.sql("CREATE INDEX by_region ON t (region)")
    for garbage in (b"", b"{", b"[]", b"\0" * 40):
        trips.index_file.write_bytes(garbage)
        assert trips.groups_for("region = 'y'") == {"b"}
    trips.sql("CREATE INDEX by_n ON t (n)")
    assert json.loads(trips.index_file.read_text())["indexes"][0]["name"] == "by_n"


def test_base_file_of_the_same_keys_and_size_in_anothers_place_is_noticed(tmp_path: Path) -> None:
    """Other values: what is read of one must not be taken for the other's."""
    storage, stats = Storage.open(tmp_path), []
    for instant, value in (("20240101000000000", "one"), ("20240102000000000", "two")):
        writer = ShardWriter(storage, instant, {("record_index", 0): "record-index-0000-20240101000000000"})
        values = {f"k${place:04d}": f"{value}{place:04d}" for place in range(3)}
        stats.append(writer.write_base("record_index", 0, [entries_of(values)]))
    assert stats[0].size == stats[1].size
    shutil.copy(tmp_path / stats[0].path, tmp_path / stats[1].path)
    with pytest.raises(EntryCorruptError, match="not what was committed"):
        BaseFile.open(storage, stats[1])


def test_ledger_decision_under_another_number_or_changed_is_an_error_that_names_repair(trips: Trips) -> None:
    trips.sql("CREATE INDEX one ON t USING column_stats (n)")
    ledger = sorted((trips.metadata_table / ".hoodie/ledger").glob("*.json"))
    trips.change({"b": (9, "y")})
    copy = ledger[-1].with_name(f"{int(ledger[-1].stem) + 5:020d}.json")
    shutil.copy(ledger[-1], copy)
    with pytest.raises(TimelineCorruptError, match="hudi-index repair --table"):
        trips.table.maintain()
    copy.unlink()
    whole = ledger[-1].read_text()
    ledger[-1].write_text(whole.replace('"last_time": "2', '"last_time": "3'))
    with pytest.raises(TimelineCorruptError, match="hudi-index repair --table"):
        trips.table.maintain()
    ledger[-1].write_text(whole)
    assert trips.table.maintain().commit


def test_stray_names_in_the_ledger_are_no_decisions(trips: Trips) -> None:
    trips.sql("CREATE INDEX one ON t USING column_stats (n)")
    for name in ("x.json", "7.json", "²³.json", "00000000000000000009 (copy).json", ".json"):
        (trips.metadata_table / ".hoodie/ledger" / name).write_text("garbage")
    trips.change({"b": (9, "y")})
    assert trips.table.maintain().commit


def test_lease_that_claims_to_last_for_years_is_not_believed(trips: Trips) -> None:
    trips.sql("CREATE INDEX one ON t USING column_stats (n)")
    for content in ('{"expires": "9999-01-01T00:00:00+00:00"}', '{"expires": "2026-01-01"}', "[]", "3"):
        for file in (trips.metadata_table / ".hoodie/ledger").glob("*.json"):
            file.with_suffix(".lease").write_text(content)
        assert IndexedTable.open(trips.path).sql("REBUILD INDEX one ON t")
