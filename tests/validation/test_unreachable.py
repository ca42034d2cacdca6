"""A storage that does not answer says nothing against an index: it stays in service, nothing is rebuilt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.errors import CorruptError, StorageDeniedError, StorageError, StorageUnreachableError
from hudi_index.metadata_table import MetadataTable
from tests.support.tables import T1, T2, Fabricated, write
from tests.support.unreachable import refusing

if TYPE_CHECKING:
    from pathlib import Path

ERRORS = [StorageUnreachableError, StorageDeniedError]
FILES = {
    "base file": r"/mdt/(column_stats|secondary_index_by_id)/[^/]*\.parquet$",
    "log file": r"/mdt/column_stats/[^/]*\.log\.",
    "files": r"/mdt/files/",
    "commit": r"/mdt/\.hoodie/timeline/.*\.deltacommit$",
    "catalog": r"/\.index/(index\.json|history/)",
}


@pytest.fixture
def table(tmp_path: Path) -> IndexedTable:
    files = Fabricated(tmp_path / "t")
    write(files, T1, "a", range(10))
    found = IndexedTable.open(files.path)
    found.create_all(["CREATE INDEX by_id ON t (id)", "CREATE INDEX stats ON t USING column_stats (n)"])
    write(files, T2, "a", range(100, 120))
    found.maintain()
    return IndexedTable.open(files.path)


def _states(table: IndexedTable) -> set[IndexState]:
    return {each.state for each in IndexedTable.open(table.storage.uri).indexes()}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("pattern", FILES.values(), ids=FILES)
def test_validation_says_so_and_takes_nothing_out_of_service(
    table: IndexedTable, pattern: str, error: type[StorageError]
) -> None:
    with refusing(pattern, error) as asked, pytest.raises(error, match="as a test wants it"):
        table.validate(queries=3)
    assert asked
    assert _states(table) == {IndexState.READY}
    assert table.validate(queries=3).passed


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("pattern", [FILES["files"], FILES["commit"], FILES["catalog"]])
def test_maintenance_says_so_and_mends_nothing(
    table: IndexedTable, pattern: str, error: type[StorageError]
) -> None:
    with refusing(pattern, error) as asked, pytest.raises(error, match="as a test wants it"):
        table.maintain()
    assert asked
    assert table.maintain().commit is None
    assert _states(table) == {IndexState.READY}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", ["base file", "log file"])
def test_reading_entries_calls_no_file_corrupt(
    table: IndexedTable, name: str, error: type[StorageError]
) -> None:
    reader = MetadataTable.of(table.storage).reader()
    with refusing(FILES[name], error) as asked, pytest.raises(error) as raised:
        reader.scan("column_stats").read_all()
    assert asked
    assert not isinstance(raised.value, CorruptError)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("pattern", FILES.values(), ids=FILES)
def test_plan_does_without_what_it_can_not_read(
    table: IndexedTable, pattern: str, error: type[StorageError]
) -> None:
    with refusing(pattern, error):
        assert table.plan("n = 105").kept == 1
    assert table.plan("n = 5").kept == 0
