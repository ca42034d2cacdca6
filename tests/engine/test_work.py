"""What each operation reads, counted: it follows what is asked or changed, not how large the table is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest

from hudi_index import IndexedTable, ScanReport
from hudi_index.metadata_table import MetadataTable
from hudi_index.planner import plan
from hudi_index.storage import local
from hudi_index.table import Snapshot
from tests.support.counting import counted
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

T1, T2 = "20240101000000000", "20240102000000000"
STATEMENTS = [
    "CREATE INDEX by_id ON t (id)",
    "CREATE INDEX stats ON t USING column_stats (n)",
    "CREATE INDEX keys ON t USING record_index (id)",
    "CREATE INDEX bits ON t USING bitmap (region)",
]
ROWS = 20
SIZES = [30, 120]


def _rows(number: int, salt: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"k{number}-{n}", "n": number * 100 + n + salt, "region": "eu"} for n in range(ROWS)]


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size} file groups")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Fabricated:
    files = Fabricated(tmp_path_factory.mktemp("work") / "t", partition_fields="")
    files.commit(T1)
    for number in range(request.param):
        files.base_file("", f"g{number}", T1, _rows(number))
    IndexedTable.open(files.path).create_all(STATEMENTS)
    return files


def _size_of(files: Fabricated, name: str) -> int:
    return (files.path / name).stat().st_size


def test_first_plan_opens_no_data_file_and_decodes_one_row_group_per_partition_asked(
    made: Fabricated,
) -> None:
    table = IndexedTable.open(made.path)
    with counted() as work:
        assert table.plan("id = 'k7-3' AND n >= 700").kept == 1
    assert work.data_files == set()
    asked = ["column_stats", "files", "partition_stats", "record_index", "secondary_index_by_id"]
    assert sorted(work.index_partitions) == asked
    # Properties and commit of the table, that once more for the files it names; catalog, commit and files of
    # the index. The timeline of the table twice, that of the index, and the history of the catalog.
    assert (len(work.opened) <= 10, work.listed <= 4) == (True, True), work
    with counted() as again:
        assert table.plan("id = 'k7-3' AND n >= 700").kept == 1
    assert again.row_groups == []
    # The properties: a generation of the catalog that is known is not read again, nor is a commit.
    assert (len(again.opened), again.listed, again.bytes_read < 5_000) == (1, 3, True), again


def test_plan_of_a_table_that_is_as_it_was_makes_no_slices(
    made: Fabricated, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = IndexedTable.open(made.path)
    first, statted = table.plan("id = 'k7-3'"), []
    looked_at = local._facts_of
    monkeypatch.setattr(local, "_facts_of", lambda entry: statted.append(entry.name) or looked_at(entry))
    again = table.plan("id = 'k7-4'")
    assert (again.kept, again.snapshot is first.snapshot) == (1, True)
    assert statted == [".hoodie_partition_metadata"]


def test_next_dataset_of_a_table_that_is_as_it_was_looks_once(made: Fabricated) -> None:
    table, seven = IndexedTable.open(made.path), pc.field("id") == "k7-3"
    first = table.dataset().plan(seven)
    with counted() as work:
        again = table.dataset().plan(seven)
    assert (again.kept, again.snapshot is first.snapshot) == (1, True)
    # As the next plan: the properties.
    assert (len(work.opened), work.row_groups) == (1, []), work


def test_plan_of_a_known_snapshot_matches_its_slices_once(made: Fabricated) -> None:
    store, snapshot = MetadataTable.of(made.storage), Snapshot.load(made.storage)
    first = plan(store, made.storage, "id = 'k7-3'", snapshot=snapshot)
    with counted() as work:
        again = plan(store, made.storage, "id = 'k7-3'", snapshot=snapshot)
    assert (first.kept, again.kept, work.row_groups) == (1, 1, [])
    # Also for another reader of the same index, as that of another session: `files` is not read again.
    with counted() as work:
        assert plan(MetadataTable.of(made.storage), made.storage, "id = 'k7-3'", snapshot=snapshot).kept == 1
    assert "files" not in work.index_partitions
    # Another look at the table is another snapshot.
    with counted() as work:
        other = Snapshot.load(made.storage)
        assert plan(MetadataTable.of(made.storage), made.storage, "id = 'k7-3'", snapshot=other).kept == 1
    assert work.index_partitions.count("files") == 1


def test_scan_opens_the_files_that_hold_matches_and_no_other(made: Fabricated) -> None:
    table, report = IndexedTable.open(made.path), ScanReport()
    table.plan("id = 'k7-3'")
    with counted() as work:
        rows = table.scan("id = 'k7-3'", ["n"], report=report).read_all()
    assert rows.to_pylist() == [{"n": 703}]
    (name,) = work.data_files
    assert name.startswith("g7_")
    # It is so small that its footer, which is read first, is most of it.
    assert report.bytes_read <= 2 * _size_of(made, name)
    # Beside it, the small files that say what the table and the index are.
    assert work.bytes_read < 2 * _size_of(made, name) + 50_000


def test_maintenance_with_nothing_to_do_opens_no_data_file(made: Fabricated) -> None:
    table = IndexedTable.open(made.path)
    with counted() as work:
        assert table.maintain().commit is None
    assert work.data_files == set()
    assert set(work.index_partitions) <= {"files"}
    assert (len(work.opened) <= 7, work.listed <= 4) == (True, True), work


@pytest.mark.parametrize("size", SIZES)
def test_maintenance_of_one_file_group_opens_its_two_files(size: int, tmp_path: Path) -> None:
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit(T1)
    for number in range(size):
        files.base_file("", f"g{number}", T1, _rows(number))
    table = IndexedTable.open(files.path)
    table.create_all(STATEMENTS)
    snapshot, store = Snapshot.load(files.storage), MetadataTable.of(files.storage)
    assert plan(store, files.storage, "n = 705", snapshot=snapshot).kept == 1
    files.commit(T2)
    name = files.base_file("", "g7", T2, _rows(7, salt=1_000_000))
    with counted() as work:
        report = table.maintain()
    assert (report.file_groups_changed, report.rows_read) == (1, 2 * ROWS)
    assert work.data_files == {name, name.replace(T2, T1)}
    # Statistics of a partition are merged anew from those of all its file groups.
    assert set(work.index_partitions) <= {"files", "column_stats", "partition_stats"}
    assert (len(work.opened) <= 15, work.listed <= 19, work.bytes_read < 100_000) == (True, True, True), work
    # What was matched before the index moved on is matched again: the slice is another one now.
    assert plan(store, files.storage, "n = 705", snapshot=snapshot).kept == 1
    assert plan(store, files.storage, "n = 1000705", snapshot=snapshot).kept == 1
    assert table.plan("n = 1000705").kept == 1
    assert table.plan("n = 705").kept == 0
