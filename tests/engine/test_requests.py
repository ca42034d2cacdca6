"""What each verb asks of an object store: requests, and waves of requests that wait for one another.

The table has eight file groups in four partitions and five indexes unless a test says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from tests.support.requests import BUCKET, object_store_in, requests_counted
from tests.support.tables import T1, T2, T3, Fabricated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.requests import Requests

STATEMENTS = [
    "CREATE INDEX by_id ON t (id)",
    "CREATE INDEX stats ON t USING column_stats (n)",
    "CREATE INDEX keys ON t USING record_index (id)",
    "CREATE INDEX bits ON t USING bitmap (region)",
    "CREATE INDEX blooms ON t USING bloom_filters (id)",
]
PLACE = f"{BUCKET}/t"
TYPES = ["COPY_ON_WRITE", "MERGE_ON_READ"]


def _rows(number: int, salt: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"k{number}-{n}", "n": number * 100 + n + salt, "region": "eu"} for n in range(20)]


def make_table(path: Path, *, partitions: int = 4, groups: int = 8, table_type: str = TYPES[0]) -> Fabricated:
    """A table without indexes, below a folder that an object store serves."""
    files = Fabricated(path / "t", table_type=table_type)
    for number in range(groups):
        files.base_file(f"p{number % partitions}", f"g{number}", T1, _rows(number))
    files.commit(T1)
    return files


def upsert(files: Fabricated, instant: str, salt: int) -> None:
    """Give one file group a new base file."""
    files.base_file("p1", "g5", instant, _rows(5, salt))
    files.commit(instant)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with object_store_in(tmp_path):
        yield tmp_path


@pytest.fixture(params=TYPES)
def indexed(request: pytest.FixtureRequest, store: Path) -> Fabricated:
    files = make_table(store, table_type=request.param)
    IndexedTable.open(PLACE).create_all(STATEMENTS)
    return files


def _check(found: Requests, requests: int, waves: int) -> None:
    if len(found) > requests or found.waves > waves:
        pytest.fail(f"more than {requests} requests in {waves} waves\n{found}")


def test_first_plan_of_a_table_that_is_opened(indexed: Fabricated) -> None:
    with requests_counted() as found:
        assert IndexedTable.open(PLACE).plan("n = 503").kept == 1
    _check(found, 14, 6)
    # Three indexes know of this column: each that is asked is one wave more.
    with requests_counted() as found:
        assert IndexedTable.open(PLACE).plan("id = 'k5-3'").kept == 1
    _check(found, 15, 7)
    assert indexed.path.exists()


@pytest.mark.usefixtures("indexed")
def test_next_plan_is_one_look(store: Path) -> None:
    table = IndexedTable.open(PLACE)
    table.plan("n = 503")
    with requests_counted() as found:
        assert table.plan("n = 503").kept == 1
    _check(found, 6, 1)
    assert not [path for _, _, path in found.sent if path.endswith((".parquet", "commit"))], found
    assert store.exists()


def test_next_plan_of_a_table_that_moved_sees_that(indexed: Fabricated) -> None:
    table = IndexedTable.open(PLACE)
    assert table.plan("n = 503").kept == 1
    upsert(indexed, T2, salt=1_000_000)
    with requests_counted() as found:
        assert table.plan("n = 503").kept == 1  # the new slice is not indexed yet, so it may hold anything
    _check(found, 14, 4)
    table.maintain()
    assert (table.plan("n = 503").kept, table.plan("n = 1000503").kept) == (0, 1)


def test_maintenance_with_nothing_to_do(indexed: Fabricated) -> None:
    table = IndexedTable.open(PLACE)
    table.plan("n = 503")
    with requests_counted() as found:
        assert table.maintain().commit is None
    _check(found, 6, 2)
    # By a process that knows nothing of the table.
    with requests_counted() as found:
        assert IndexedTable.open(PLACE).maintain().commit is None
    _check(found, 13, 6)
    assert indexed.path.exists()


def test_maintenance_of_one_file_group(indexed: Fabricated) -> None:
    table = IndexedTable.open(PLACE)
    for instant, salt in ((T2, 1_000_000), (T3, 2_000_000)):
        upsert(indexed, instant, salt)
        with requests_counted() as found:
            assert table.maintain().file_groups_changed == 1
        _check(found, 40, 20)
    assert (table.plan("n = 503").kept, table.plan("n = 2000503").kept) == (0, 1)
    assert table.validate(queries=5).passed


@pytest.mark.parametrize("table_type", TYPES)
def test_creating_five_indexes(store: Path, table_type: str) -> None:
    make_table(store, table_type=table_type)
    table = IndexedTable.open(PLACE)
    with requests_counted() as found:
        table.create_all(STATEMENTS)
    _check(found, 60 + 2 * 8, 34)
    assert table.plan("n = 503").kept == 1


def test_status_compaction_and_drop(indexed: Fabricated) -> None:
    table = IndexedTable.open(PLACE)
    upsert(indexed, T2, salt=1_000_000)
    table.maintain()
    with requests_counted() as found:
        assert table.status().is_fresh
    _check(found, 8, 4)
    with requests_counted() as found:
        assert table.compact(force=True).commit
    _check(found, 36, 24)
    with requests_counted() as found:
        table.drop("blooms")
    _check(found, 30, 23)
    assert table.validate(queries=5).passed


def _costs(store: Path, partitions: int, groups: int) -> list[Requests]:
    """What plans and maintenance of a table of some size cost."""
    files = make_table(store, partitions=partitions, groups=groups)
    IndexedTable.open(PLACE).create_all(STATEMENTS)
    found = []
    with requests_counted() as cold:
        table = IndexedTable.open(PLACE)
        table.plan("n = 503")
    found.append(cold)
    with requests_counted() as warm:
        table.plan("n = 503")
    found.append(warm)
    with requests_counted() as idle:
        table.maintain()
    found.append(idle)
    upsert(files, T2, salt=1_000_000)
    with requests_counted() as moved:
        assert table.maintain().file_groups_changed == 1
    found.append(moved)
    return found


def test_requests_do_not_grow_with_what_did_not_change(tmp_path: Path) -> None:
    counts = []
    for partitions, groups in ((4, 8), (60, 240)):
        folder = tmp_path / str(groups)
        with object_store_in(folder):
            counts.append([(len(each), each.waves) for each in _costs(folder, partitions, groups)])
    small, large = counts
    # One or two more, where a file of the index is too long to come with its footer.
    for (requests, waves), (more, longer) in zip(small, large, strict=True):
        assert (more <= requests + 2, longer <= waves + 2) == (True, True), counts


def test_listing_grows_by_pages_alone(store: Path) -> None:
    files = Fabricated(store / "t")
    for number in range(500):
        for group in range(2):
            files.write(f"p{number}/g{number}-{group}_0-1-2_{T1}.parquet")
        files.partition(f"p{number}")
    files.commit(T1)
    table = IndexedTable.open(PLACE)
    with requests_counted() as found:
        assert table.plan("n = 503").kept == 1000
    listed = [path for _, kind, path in found.sent if kind == "LIST" and "timeline" not in path]
    assert len([path for path in listed if not path.startswith(".hoodie")]) <= 5, found
