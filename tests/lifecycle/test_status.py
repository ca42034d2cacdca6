"""How far the indexes are behind a table, in commits, file groups, rows, bytes and time."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import Catalog, IndexState
from hudi_index.cli import main
from hudi_index.storage import Storage
from hudi_index.table.footer import row_count_of
from tests.support.storage import path_of
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path


def _rows(group: str, count: int = 3) -> list[dict[str, object]]:
    return [{"id": f"{group}{place}", "n": place, "region": "eu"} for place in range(count)]


def _day(day: int) -> str:
    return f"202401{day:02d}000000000"


@pytest.fixture
def files(tmp_path: Path) -> Fabricated:
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit(_day(1))
    for group in "abc":
        files.base_file("", group, _day(1), _rows(group))
    return files


@pytest.fixture
def table(files: Fabricated) -> IndexedTable:
    table = IndexedTable.open(files.path)
    table.sql("CREATE INDEX by_n ON t (n)")
    return table


def test_lag_counts_commits_file_groups_rows_and_bytes(files: Fabricated, table: IndexedTable) -> None:
    fresh = table.status()
    assert fresh.is_fresh
    assert (fresh.commits_behind, fresh.rows_uncovered, fresh.bytes_uncovered) == (0, 0, 0)
    assert fresh.seconds_behind == 0
    sizes = 0
    for day, group, count in ((2, "a", 5), (3, "d", 7)):
        files.commit(_day(day))
        sizes += (files.path / files.base_file("", group, _day(day), _rows(group, count))).stat().st_size
    lagging = table.status()
    assert not lagging.is_fresh
    assert (lagging.indexed_instant, lagging.latest_instant) == (_day(1), _day(3))
    assert (lagging.commits_behind, lagging.file_groups, lagging.file_groups_uncovered) == (2, 4, 2)
    assert (lagging.rows_uncovered, lagging.bytes_uncovered) == (12, sizes)
    assert lagging.seconds_behind > 86_400
    table.maintain()
    assert table.status().is_fresh


def test_commit_that_was_requested_earlier_and_completed_later_is_behind(
    files: Fabricated, table: IndexedTable
) -> None:
    files.commit(_day(5))
    files.base_file("", "e", _day(5), _rows("e"))
    table.maintain()
    files.commit(_day(4), completed=_day(6))
    files.base_file("", "d", _day(4), _rows("d"))
    lagging = table.status()
    assert (lagging.indexed_instant, lagging.latest_instant) == (_day(5), _day(5))
    assert (lagging.commits_behind, lagging.file_groups_uncovered) == (1, 1)
    assert lagging.seconds_behind > 0


def test_archived_commits_are_behind_too(files: Fabricated, table: IndexedTable) -> None:
    files.commit(_day(4))
    files.base_file("", "a", _day(4), _rows("a", 4))
    (files.path / ".hoodie/timeline" / f"{_day(1)}_{_day(1)}.commit").unlink()
    archived = {
        "instantTime": [_day(1), _day(2), _day(2), _day(3)],
        "completionTime": [_day(1), _day(2), _day(2), _day(3)],
        "action": ["commit", "commit", "clean", "deltacommit"],
    }
    folder = files.path / ".hoodie/timeline/history"
    folder.mkdir(parents=True)
    pq.write_table(pa.table(archived), folder / f"{_day(1)}_{_day(3)}_0.parquet")
    assert table.status().commits_behind == 3


def test_file_groups_that_are_gone_are_lag(files: Fabricated, table: IndexedTable) -> None:
    files.commit(_day(2), "replacecommit", replaced={"": ["c"]})
    lagging = table.status()
    assert (lagging.file_groups_uncovered, lagging.file_groups_gone, lagging.commits_behind) == (0, 1, 1)
    assert not lagging.is_fresh
    table.maintain()
    assert table.status().is_fresh


def test_one_index_out_of_service_is_told_beside_a_fresh_table(
    table: IndexedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    table.sql("CREATE INDEX by_region ON t (region)")
    Catalog(table.storage).change_state("by_n", IndexState.INVALID, "seen to be wrong")
    status = table.status()
    assert status.is_fresh
    told = {each.name: (each.state, each.reason, each.is_used) for each in status.indexes}
    assert told == {"by_n": ("invalid", "seen to be wrong", False), "by_region": ("ready", None, True)}
    assert main(["status", "--table", str(path_of(table.storage)), "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["rows_uncovered"] == plain["file_groups_gone"] == 0
    assert main(["status", "--table", str(path_of(table.storage))]) == 0
    text = capsys.readouterr().out
    assert "rows uncovered" in text
    assert "deepest_log" in text
    assert "seen to be wrong" in text


def test_table_without_an_index_is_all_behind(files: Fabricated) -> None:
    status = IndexedTable.open(files.path).status()
    assert (status.commits_behind, status.file_groups_uncovered, status.rows_uncovered) == (1, 3, 9)
    assert status.indexed_instant is None


def test_files_cleaned_between_listing_and_counting_do_not_fail_the_status(
    files: Fabricated, table: IndexedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.commit(_day(2))
    cleaned = files.base_file("", "a", _day(2), _rows("a", 5))
    files.base_file("", "d", _day(2), _rows("d", 7))

    def clean_and_count(storage: Storage, path: str) -> int:
        # After the listing, before the footers are read: Hudi's cleaner.
        (files.path / cleaned).unlink(missing_ok=True)
        return row_count_of(storage, path)

    # The package exports a function of the module's name.
    module = importlib.import_module("hudi_index.lifecycle.status")
    monkeypatch.setattr(module, "row_count_of", clean_and_count)

    status = table.status()

    assert not (files.path / cleaned).exists()
    assert (status.file_groups_uncovered, status.rows_uncovered) == (2, 7)
    assert not status.is_fresh


def test_text_of_a_status_has_a_line_per_fact_and_one_per_index(
    files: Fabricated, table: IndexedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = str(table.status()).splitlines()
    assert lines[0] == f"table                  {table.storage.uri}"
    assert lines[5] == "file groups            3"
    assert lines[10:12] == ["", lines[11]]
    assert lines[11].split()[:6] == ["name", "kind", "on", "state", "reason", "is_used"]
    assert lines[12].split()[:4] == ["by_n", "secondary_index", "n", "ready"]

    assert main(["show", "--table", str(files.path)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "kind", "source_fields", "expression", "state", "reason"]
    assert row.split() == ["by_n", "secondary_index", "n", "ready"]

    table.drop("by_n")
    assert str(table.status()).splitlines()[-1] == "no indexes"
    assert main(["show", "--table", str(files.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
