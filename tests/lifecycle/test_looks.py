"""How often the verbs look at the table: once in full, then only whether anybody has written since."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.lifecycle import LocalExecutor, rebuild
from hudi_index.metadata_table import MetadataTable
from hudi_index.storage import local
from tests.support.counting import counted
from tests.support.entries import check_indexes
from tests.support.storage import IS_FAR
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T1, T2, T3 = "20240101000000000", "20240102000000000", "20240103000000000"
STATEMENTS = [
    "CREATE INDEX by_id ON t (id)",
    "CREATE INDEX stats ON t USING column_stats (n)",
    "CREATE INDEX bits ON t USING bitmap (region)",
]

BESIDE = int(IS_FAR)
"""Looks at the files beside the timeline, which far away cost no time and are in vain if that has moved."""


def _rows(group: str, salt: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"{group}{n}", "n": n + salt, "region": "eu"} for n in range(10)]


@pytest.fixture
def made(tmp_path: Path) -> Fabricated:
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit(T1)
    for group in "abcd":
        files.base_file("", group, T1, _rows(group))
    return files


def _before_the_lease(monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    """Change the table between the first look and the lease, once."""
    begin, changes = MetadataTable.begin, [change]

    def begin_late(self: MetadataTable, **given: Any) -> Any:
        while changes:
            changes.pop()()
        return begin(self, **given)

    monkeypatch.setattr(MetadataTable, "begin", begin_late)


def test_create_lists_the_table_once(made: Fabricated, monkeypatch: pytest.MonkeyPatch) -> None:
    table, statted = IndexedTable.open(made.path), []
    facts_of = local._facts_of
    monkeypatch.setattr(local, "_facts_of", lambda entry: statted.append(entry.name) or facts_of(entry))
    with counted() as work:
        table.create_all(STATEMENTS)
    assert (work.table_listings, work.table_looks) == (1, 0)
    names = [name for name in statted if name.endswith(".parquet")]
    assert sorted(names) == sorted(set(names))
    check_indexes(table.storage)


def test_every_verb_lists_the_table_at_most_once_while_nobody_writes(made: Fabricated) -> None:
    table = IndexedTable.open(made.path)
    table.create_all(STATEMENTS)
    with counted() as work:
        assert table.maintain().commit is None
    assert (work.table_listings, work.table_looks) == (0, 1)
    made.commit(T2)
    made.base_file("", "b", T2, _rows("b", salt=5))
    with counted() as work:
        assert table.maintain().commit
    assert (work.table_listings, work.table_looks) == (1, BESIDE)
    with counted() as work:
        assert rebuild(table.storage, LocalExecutor(), "stats").commit
    assert (work.table_listings, work.table_looks) == (1, 0)
    check_indexes(table.storage)


def test_what_changes_before_the_lease_is_seen_under_it(
    made: Fabricated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write() -> None:
        made.commit(T2)
        made.base_file("", "b", T2, _rows("b", salt=5))
        made.base_file("", "new", T2, _rows("new"))

    table = IndexedTable.open(made.path)
    _before_the_lease(monkeypatch, write)
    with counted() as work:
        report = table.create_all(STATEMENTS)
    assert (work.table_listings, work.table_looks) == (2, BESIDE)
    assert (report.instant, report.file_groups) == (T2, 5)
    check_indexes(table.storage)


def test_table_that_is_replaced_before_the_lease_is_decided_about_again(
    made: Fabricated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write() -> None:
        made.commit(T3, "replacecommit", replaced={"": ["a", "b", "c", "d"]})
        made.base_file("", "e", T3, _rows("e"))

    table = IndexedTable.open(made.path)
    table.create_all(STATEMENTS)
    made.commit(T2)
    made.base_file("", "b", T2, _rows("b", salt=5))
    _before_the_lease(monkeypatch, write)
    report = table.maintain()
    assert report.notes == ["none of the indexed file groups is left: all indexes were built anew"]
    assert (report.instant, report.file_groups) == (T3, 1)
    assert report.commit
    assert report.commit.endswith(".replacecommit")
    assert MetadataTable.of(table.storage).writers() == []
    check_indexes(table.storage)
