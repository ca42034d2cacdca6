"""Files that the timeline names and the storage lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index.cli import main
from hudi_index.engine import IndexedTable
from hudi_index.errors import InvalidOptionError, MissingTableFileError, TableFileError
from hudi_index.lifecycle.status import _rows_of as rows_in
from hudi_index.table import Snapshot
from hudi_index.table import written as module
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

T1, T2, T3, T4, T5 = (f"2024010{day}000000000" for day in range(1, 6))
VERSIONS = [6, 8, 9]
ROW = [{"id": "1", "n": 1, "region": "eu"}]


def base(file_id: str, instant: str, partition: str = "eu") -> str:
    return f"{partition}/{file_id}_0-1-2_{instant}.parquet"


def log(file_id: str, instant: str, version: int = 1) -> str:
    return f"eu/.{file_id}_{instant}.log.{version}_0-1-2"


def names(table: Fabricated, as_of: str | None = None) -> list[tuple[str, ...]]:
    return [file_slice.paths for file_slice in Snapshot.load(table.storage, as_of).slices]


def updated(path: Path, version: int) -> Fabricated:
    """Two file groups, one of them written twice."""
    table = Fabricated(path, version=version)
    table.commit(T1, written=[base("a", T1), base("b", T1)])
    table.base_file("eu", "a", T1, ROW)
    table.base_file("eu", "b", T1, ROW)
    table.commit(T2, written=[base("a", T2)])
    table.base_file("eu", "a", T2, ROW)
    return table


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("lost", [base("a", T2), base("b", T1)])
def test_newest_base_file_that_is_gone_is_an_error_that_names_it(
    lost: str, version: int, tmp_path: Path
) -> None:
    table = updated(tmp_path / "t", version)
    (table.path / lost).unlink()
    with pytest.raises(MissingTableFileError) as found:
        Snapshot.load(table.storage)
    assert found.value.path == (table.path / lost).as_uri()
    assert found.value.instant in lost


def test_partition_that_is_gone_is_an_error(tmp_path: Path) -> None:
    table = updated(tmp_path / "t", 9)
    for file in (table.path / "eu").iterdir():
        file.unlink()
    (table.path / "eu").rmdir()
    with pytest.raises(MissingTableFileError, match="and 1 other files like it"):
        Snapshot.load(table.storage)


def test_partition_that_lost_its_name_is_an_error(tmp_path: Path) -> None:
    table = updated(tmp_path / "t", 9)
    (table.path / "eu/.hoodie_partition_metadata").unlink()
    with pytest.raises(TableFileError, match=r"eu: it has no .hoodie_partition_metadata"):
        Snapshot.load(table.storage)


@pytest.mark.parametrize("version", VERSIONS)
def test_older_base_file_may_be_cleaned(version: int, tmp_path: Path) -> None:
    table = updated(tmp_path / "t", version)
    table.clean(T3, T2)
    (table.path / base("a", T1)).unlink()
    assert names(table) == [(base("a", T2),), (base("b", T1),)]


def test_time_travel_to_what_was_cleaned_is_refused_and_no_loss(tmp_path: Path) -> None:
    table = updated(tmp_path / "t", 9)
    # A cleaning by number of versions does not say which instant can still be read.
    table.clean(T3, None)
    (table.path / base("a", T1)).unlink()
    with pytest.raises(InvalidOptionError, match=rf"as_of.*cleaned files of that time.*a_0-1-2_{T1}"):
        Snapshot.load(table.storage, T1)
    assert len(names(table)) == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_replaced_file_group_may_be_gone(version: int, tmp_path: Path) -> None:
    table = updated(tmp_path / "t", version)
    table.commit(T3, "replacecommit", replaced={"eu": ["a", "b"]}, written=[base("c", T3)])
    table.base_file("eu", "c", T3, ROW)
    for lost in (base("a", T1), base("a", T2), base("b", T1)):
        (table.path / lost).unlink()
    assert names(table) == [(base("c", T3),)]
    (table.path / base("c", T3)).unlink()
    with pytest.raises(MissingTableFileError, match="c_0-1-2"):
        Snapshot.load(table.storage)


def test_commit_that_was_taken_back_names_nothing(tmp_path: Path) -> None:
    table = updated(tmp_path / "t", 9)
    (table.path / base("a", T2)).unlink()
    # A rollback deletes the files first; the commit stands until it is through.
    table.write(f"{table.timeline_folder}/{T3}.rollback.inflight")
    assert (base("a", T1),) in names(table)
    for file in (table.path / table.timeline_folder).glob(f"{T2}*"):
        file.unlink()
    (table.path / table.timeline_folder / f"{T3}.rollback.inflight").rename(
        table.path / table.timeline_folder / f"{T3}_{T3}.rollback"
    )
    assert names(table) == [(base("a", T1),), (base("b", T1),)]


@pytest.mark.parametrize("version", [8, 9])
def test_log_of_the_newest_slice_that_is_gone_is_an_error(version: int, tmp_path: Path) -> None:
    table = Fabricated(tmp_path / "t", version=version, table_type="MERGE_ON_READ")
    table.commit(T1, "deltacommit", written=[base("a", T1)])
    table.base_file("eu", "a", T1, ROW)
    table.commit(T2, "deltacommit", written=[log("a", T2)])
    with pytest.raises(MissingTableFileError, match=r"log.1"):
        Snapshot.load(table.storage)
    # Compacted since: it may be gone.
    table.commit(T3, "commit", written=[base("a", T3)])
    table.base_file("eu", "a", T3, ROW)
    assert names(table) == [(base("a", T3),)]


def test_commit_that_a_savepoint_keeps_before_a_gap_is_not_asked(tmp_path: Path) -> None:
    table = Fabricated(tmp_path / "t")
    table.commit(T1, written=[base("a", T1)])
    table.commit(T1, "savepoint")
    # What came between, archived now, may have replaced `a`.
    table.commit(T5, written=[base("b", T5)])
    table.base_file("eu", "b", T5, ROW)
    assert names(table) == [(base("b", T5),)]


def test_old_commits_of_a_long_timeline_are_not_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = updated(tmp_path / "t", 9)
    (table.path / base("b", T1)).unlink()
    table.commit(T3, written=[])
    monkeypatch.setattr(module, "_MOST_COMMITS", 2)
    assert names(table) == [(base("a", T2),)]
    monkeypatch.setattr(module, "_MOST_COMMITS", 3)
    with pytest.raises(MissingTableFileError, match="b_0-1-2"):
        Snapshot.load(table.storage)


@pytest.mark.parametrize("verb", ["scan", "explain", "maintain", "validate", "status"])
def test_every_verb_that_looks_at_the_table_fails_and_blames_no_index(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = updated(tmp_path / "t", 9)
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX by_n ON t (n)")
    (table.path / base("b", T1)).unlink()
    arguments = ["n = 1"] if verb in ("scan", "explain") else []
    assert main([verb, "--table", str(table.path), "--in-process", *arguments]) == 1
    assert (table.path / base("b", T1)).as_uri() in capsys.readouterr().err
    assert [str(each.state) for each in indexed.indexes()] == ["ready"]


def test_status_counts_no_rows_of_a_file_that_is_cleaned_while_it_looks(tmp_path: Path) -> None:
    table = updated(tmp_path / "t", 9)
    slices = list(Snapshot.load(table.storage).slices)
    assert rows_in(table.storage, slices) == 2
    (table.path / base("a", T2)).unlink()
    assert rows_in(table.storage, slices) == 1


def test_table_that_is_kept_open_finds_a_file_gone_at_the_next_plan(tmp_path: Path) -> None:
    table = updated(tmp_path / "t", 9)
    indexed = IndexedTable.open(table.path)
    assert indexed.plan("n = 1").kept == 2
    (table.path / base("b", T1)).unlink()
    with pytest.raises(MissingTableFileError, match="b_0-1-2"):
        indexed.plan("n = 1")
