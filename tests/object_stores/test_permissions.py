"""The least permissions of docs/object-stores.md are enough: a store that denies everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import StorageDeniedError
from hudi_index.storage_check import check_storage
from tests.support.entries import check_indexes
from tests.support.faulty_store import Fault, FaultyStore, faulty_store
from tests.support.tables import T1, T2, Fabricated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DENIED = Fault(403, "AccessDenied")
READS, BULK_DELETE = ("GET", "HEAD"), "POST"
INDEXES = "t/.hoodie/.index/"
STATEMENTS = [
    "CREATE INDEX by_n ON t (n)",
    "CREATE INDEX stats ON t USING column_stats (n)",
    "CREATE INDEX keys ON t USING record_index (id)",
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FaultyStore]:
    table = Fabricated(tmp_path / "t", partition_fields="")
    table.commit(T1)
    for number in range(3):
        table.base_file("", f"a{number}", T1, [{"id": f"k{number}", "n": number, "region": "eu"}])
    with faulty_store() as found:
        put(found, table)
        yield found


def put(store: FaultyStore, table: Fabricated) -> None:
    files = (file for file in table.path.rglob("*") if file.is_file())
    store.objects.update({f"t/{file.relative_to(table.path)}": file.read_bytes() for file in files})


def outside(store: FaultyStore) -> dict[str, bytes]:
    return {path: content for path, content in store.objects.items() if not path.startswith(INDEXES)}


def let_write_indexes(method: str, path: str, number: int) -> Fault | None:
    # Which objects a bulk delete names is in its body; the test looks at what is left.
    is_allowed = method in (*READS, BULK_DELETE) or path.startswith(INDEXES)
    return None if is_allowed else DENIED


def let_read(method: str, path: str, number: int) -> Fault | None:
    return None if method in READS else DENIED


def test_writers_of_indexes_write_below_the_folder_of_indexes_alone(
    store: FaultyStore, tmp_path: Path
) -> None:
    store.choose = let_write_indexes
    table = IndexedTable(store.storage())
    for statement in STATEMENTS:
        table.sql(statement)
    check_storage("s3://bucket/t", dict(store.storage().options))
    more = Fabricated(tmp_path / "more", partition_fields="")
    more.commit(T2)
    more.base_file("", "a0", T2, [{"id": "k0", "n": 9, "region": "eu"}])
    put(store, more)
    before = outside(store)
    table.maintain()
    check_indexes(table.storage)
    table.compact(force=True)
    table.sql("REBUILD INDEX by_n ON t")
    table.repair()
    table.drop("stats")
    assert outside(store) == before
    assert "POST " in store.requests


def test_readers_write_nothing(store: FaultyStore) -> None:
    table = IndexedTable(store.storage())
    for statement in STATEMENTS:
        table.sql(statement)
    store.choose = let_read
    reader = IndexedTable(store.storage())
    assert reader.plan("n = 1").kept == 1
    assert reader.scan("n = 1").read_all().num_rows == 1
    assert reader.status().file_groups_uncovered == 0
    assert len(reader.indexes()) == len(STATEMENTS)
    assert not reader.maintain().commit
    with pytest.raises(StorageDeniedError):
        reader.drop("by_n")
