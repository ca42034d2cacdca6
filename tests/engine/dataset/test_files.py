"""`hudi-index files` and `hudi-index count`: what other engines read is what the predicate leaves."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import duckdb
import pytest

from hudi_index import IndexedTable
from hudi_index.cli import main
from hudi_index.cli.files import FileList
from hudi_index.errors import UserError
from tests.support.tables import T1, T2, Fabricated, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def made(tmp_path: Path) -> Fabricated:
    table = Fabricated(tmp_path / "it's a table", table_type="MERGE_ON_READ")
    for number in range(4):
        write(table, T1, f"g{number}", range(number * 10, number * 10 + 10))
    IndexedTable.open(table.path).sql("CREATE INDEX stats ON t USING column_stats (n)")
    return table


def _run(made: Fabricated, *arguments: str) -> int:
    verb, *rest = arguments
    return main([verb, "--table", str(made.path), *rest])


@pytest.mark.parametrize("kind", ["paths", "symlink"])
def test_paths_are_whole(made: Fabricated, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(made, "files", "n > 25", "--format", kind) == 0
    found = capsys.readouterr().out.split("\n")[:-1]
    assert [name.rpartition("/")[2][:2] for name in found] == ["g2", "g3"]
    assert all(name.startswith(("/", "file:/")) for name in found)


def test_duckdb_reads_what_is_left(made: Fabricated, capsys: pytest.CaptureFixture[str]) -> None:
    for predicate, rows in (("n > 25", 20), ("n > 1000", 0)):
        assert _run(made, "files", predicate, "--format", "duckdb") == 0
        function = capsys.readouterr().out.strip()
        assert len(duckdb.execute(f"SELECT id, n, region FROM {function}").fetchall()) == rows


@pytest.mark.parametrize("name", ["it's [1]", "st*r", "50%20 ö?"])
def test_duckdb_takes_no_name_for_a_pattern(tmp_path: Path, name: str) -> None:
    table = Fabricated(tmp_path / name)
    write(table, T1, "a", range(3))
    for other in ("it's 1", "stXr", "50%20 öx"):
        shutil.copytree(table.path, tmp_path / other)
    text = str(FileList(IndexedTable.open(table.path).plan("true"), "duckdb"))
    assert duckdb.execute(f"SELECT count(*) FROM {text}").fetchall() == [(3,)]


def test_a_path_of_two_lines_is_refused(tmp_path: Path) -> None:
    table = Fabricated(tmp_path / "two\nlines")
    write(table, T1, "a", range(3))
    plan = IndexedTable.open(table.path).plan("true")
    with pytest.raises(UserError, match="more than one line"):
        str(FileList(plan, "paths"))
    assert len(FileList(plan, "json").as_dict()["files"]) == 1


def test_clickhouse_gets_a_pattern_of_just_these(tmp_path: Path, made: Fabricated) -> None:
    table = Fabricated(tmp_path / "t")
    for file_id in "ab":
        write(table, T1, file_id, range(3))
    plan = IndexedTable.open(table.path).plan("true")
    text = str(FileList(plan, "clickhouse"))
    assert text.startswith("file('{/")
    assert text.endswith("}', 'Parquet')")
    assert text.count(".parquet") == 2
    with pytest.raises(UserError, match="for a pattern"):
        str(FileList(IndexedTable.open(made.path).plan("true"), "clickhouse"))
    with pytest.raises(UserError, match="for none"):
        str(FileList(IndexedTable.open(made.path).plan("false"), "clickhouse"))


def test_log_files_are_told_of(made: Fabricated, capsys: pytest.CaptureFixture[str]) -> None:
    made.log_of_rows("eu", "g1", T1, T2, [{"id": "eu-10", "n": 99, "region": "eu"}])
    made.commit(T2, "deltacommit")
    assert _run(made, "files", "n > 25") == 2
    assert "1 of the 3 file groups to read have log files" in capsys.readouterr().err
    assert _run(made, "files", "n > 25", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(each["log_files"]) for each in found["files"]] == [1, 0, 0]
    assert (found["file_groups"], found["file_groups_read"]) == (4, 3)


def test_a_count_and_what_was_read_for_it(made: Fabricated, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(made, "count", "n >= 15") == 0
    out, err = capsys.readouterr()
    assert out == "25\n"
    assert err == "rows of 1 of 4 file groups were read\n"
    assert _run(made, "count", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["report"]["file_groups_read"]) == (40, 0)
