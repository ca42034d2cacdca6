"""Indexes that an earlier release stored: read, maintained, validated and dropped as they are.

`fixtures/indexed_before_kind_specs.zip` is a copy-on-write table of three file groups with an index of each
kind of that time, made by CREATE INDEX over files of `tests.support.tables.Fabricated`, then maintained after
a commit, so that there are base files and logs. Its catalog still notes a `table`.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hudi_index import IndexedTable
from tests.support.entries import check_indexes
from tests.support.tables import Fabricated

FIXTURE = Path(__file__).parents[1] / "fixtures" / "indexed_before_kind_specs.zip"
INDEXES = {"bits", "blooms", "by_n", "record_index", "stats"}


@pytest.fixture
def table(tmp_path: Path) -> IndexedTable:
    with zipfile.ZipFile(FIXTURE) as archive:
        archive.extractall(tmp_path)
    return IndexedTable.open(str(tmp_path / "t"))


@pytest.mark.parametrize(
    ("predicate", "kept", "indexes"),
    [
        ("n = 1003", 1, {"stats"}),
        ("id = 'nobody'", 0, {"blooms"}),
        ("region = 'ap'", 0, {"bits"}),
        ("n BETWEEN 105 AND 300", 2, {"stats"}),
        ("_hoodie_record_key = 'c19'", 1, {"record_index"}),
    ],
)
def test_stored_indexes_prune(table: IndexedTable, predicate: str, kept: int, indexes: set[str]) -> None:
    plan = table.plan(predicate, only=indexes)

    assert plan.kept == kept, plan.explain()
    assert {answer.index for answer in plan.answers if answer.refuted} == indexes
    groups = {each.group for each in plan.slices}
    holding = {
        row["_hoodie_file_name"].partition("_")[0]
        for row in table.scan(predicate, ["*"]).read_all().to_pylist()
    }
    assert holding <= {group.file_id for group in groups}


def test_all_of_them_are_ready_and_right(table: IndexedTable) -> None:
    assert {each.name for each in table.indexes()} == INDEXES
    assert table.status().is_fresh
    report = table.validate(queries=40, seed=1)
    assert report.exit_code == 0, report
    check_indexes(table.storage)


def test_they_are_maintained_compacted_and_dropped(table: IndexedTable, tmp_path: Path) -> None:
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit("20240105000000000")
    files.base_file("", "b", "20240105000000000", [{"id": "b3", "n": 7777, "region": "ap"}])

    table.maintain()
    table.compact(force=True)

    assert table.plan("n = 7777", only=["by_n"]).kept == 1
    assert table.plan("region = 'ap'", only=["bits"]).kept == 1
    check_indexes(table.storage)
    for name in sorted(INDEXES):
        table.drop(name)
    assert table.indexes() == ()
