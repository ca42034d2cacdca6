"""Whatever happens to the files of the indexes: no query loses a row, and a repair makes all right again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.errors import CatalogCorruptError
from tests.repair.damages import Damage, damages
from tests.repair.support import rows_of, wide_table
from tests.support.entries import check_indexes

PREDICATES = (
    "n = 101",
    "name = 'name-2-3'",
    "flag = true AND n < 50",
    "id = 'k3-1'",
    "ratio > 2.5",
    "name IS NULL OR n >= 300",
    "region = 'us' AND name = 'changed'",
)


@pytest.fixture(scope="module")
def template() -> Iterator[tuple[Path, dict[str, list[str]]]]:
    """A table whose indexes have base files, logs, superseded files, and a past; and what queries give."""
    with tempfile.TemporaryDirectory() as folder:
        path = wide_table(Path(folder) / "t")
        yield path, {each: rows_of(path, each) for each in PREDICATES}


def _check(template: tuple[Path, dict[str, list[str]]], chosen: list[Damage]) -> None:
    path, expected = template
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "t"
        shutil.copytree(path, copy)
        for damage in chosen:
            note(damage.apply(copy / ".hoodie/.index"))
        for predicate, rows in expected.items():
            assert rows_of(copy, predicate) == rows
        table = IndexedTable.open(copy)
        report = table.repair()
        note(str(report))
        assert report.exit_code == 0
        _check_repaired(copy, expected)


def _check_repaired(path: Path, expected: dict[str, list[str]]) -> None:
    table = IndexedTable.open(path)
    assert table.repair(check=True).damage == []
    assert {each.state for each in table.indexes()} <= {IndexState.READY}
    if table.indexes():
        check_indexes(table.storage)
    for predicate, rows in expected.items():
        assert rows_of(path, predicate) == rows
    table.sql("CREATE INDEX IF NOT EXISTS column_stats ON t USING column_stats (n, name, ratio)")
    assert len(table.plan("n = 101").slices) < len(table.plan("true").slices)
    table.maintain()
    table.compact(force=True)
    table.sql("REBUILD INDEX column_stats ON t")
    check_indexes(table.storage)
    table.drop("column_stats")
    assert table.repair().damage == []


@settings(max_examples=15)
@given(chosen=st.lists(damages(), min_size=1, max_size=2))
def test_random_damage_is_survived_and_repaired(
    template: tuple[Path, dict[str, list[str]]], chosen: list[Damage]
) -> None:
    _check(template, chosen)


@pytest.mark.slow
@settings(max_examples=500)
@given(chosen=st.lists(damages(), min_size=1, max_size=5))
def test_much_random_damage_is_survived_and_repaired(
    template: tuple[Path, dict[str, list[str]]], chosen: list[Damage]
) -> None:
    _check(template, chosen)


def test_definitions_are_lost_only_with_everything(template: tuple[Path, dict[str, list[str]]]) -> None:
    """Of index.json, its history and the index metadata table any one keeps them."""
    path, expected = template
    names = ["index.json", "history", "mdt"]
    for kept in names:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "t"
            shutil.copytree(path, copy)
            for name in names:
                gone = copy / ".hoodie/.index" / name
                if name != kept:
                    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
            report = IndexedTable.open(copy).repair()
            assert len(report.indexes) == len(IndexedTable.open(path).indexes()), kept
            _check_repaired(copy, expected)


def test_definitions_that_nothing_keeps_are_told_as_damage(
    template: tuple[Path, dict[str, list[str]]],
) -> None:
    path, expected = template
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "t"
        shutil.copytree(path, copy)
        shutil.rmtree(copy / ".hoodie/.index/mdt")
        shutil.rmtree(copy / ".hoodie/.index/history")
        (copy / ".hoodie/.index/index.json").write_text("garbage")
        table = IndexedTable.open(copy)
        with pytest.raises(CatalogCorruptError, match="hudi-index repair --table"):
            table.maintain()
        report = table.repair()
        assert [each.path for each in report.damage] == [".hoodie/.index/index.json"]
        assert table.indexes() == ()
        kept = list((copy / ".hoodie/.index/damaged").rglob("index.json"))
        assert [file.read_text() for file in kept] == ["garbage"]
        _check_repaired(copy, expected)
