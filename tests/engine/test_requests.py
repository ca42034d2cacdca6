"""What each verb asks of an object store, counted in requests and in waves of them.

The table has eight file groups in four partitions and five indexes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index import IndexedTable
from tests.support.requests import BUCKET, object_store_in, requests_counted
from tests.support.tables import T1, T2, T3, Fabricated

if TYPE_CHECKING:
    from pathlib import Path

STATEMENTS = [
    "CREATE INDEX by_id ON t (id)",
    "CREATE INDEX stats ON t USING column_stats (n)",
    "CREATE INDEX keys ON t USING record_index (id)",
    "CREATE INDEX bits ON t USING bitmap (region)",
    "CREATE INDEX blooms ON t USING bloom_filters (id)",
]
PREDICATE = "id = 'k5-3'"


def _rows(number: int, salt: int = 0) -> list[dict[str, Any]]:
    return [{"id": f"k{number}-{n}", "n": number * 100 + n + salt, "region": "eu"} for n in range(20)]


def _made(path: Path, partitions: int = 4, groups: int = 8) -> Fabricated:
    files = Fabricated(path)
    files.commit(T1)
    for number in range(groups):
        files.base_file(f"p{number % partitions}", f"g{number}", T1, _rows(number))
    return files


def _upsert(files: Fabricated, instant: str) -> None:
    files.commit(instant)
    files.base_file("p1", "g5", instant, _rows(5, salt=1_000_000))


def test_all(tmp_path: Path) -> None:
  with object_store_in(tmp_path):
    files = _made(tmp_path / "t")
    table = IndexedTable.open(f"{BUCKET}/t")
    with requests_counted() as found:
        table.create_all(STATEMENTS)
    print("CREATE", found)
    with requests_counted() as found:
        table = IndexedTable.open(f"{BUCKET}/t")
        assert table.plan(PREDICATE).kept == 1
    print("COLD", found)
    with requests_counted() as found:
        assert table.plan(PREDICATE).kept == 1
    print("WARM", found)
    with requests_counted() as found:
        table.maintain()
    print("NOOP", found)
    _upsert(files, T2)
    with requests_counted() as found:
        assert table.maintain().file_groups_changed == 1
    print("MAINTAIN", found)
    _upsert(files, T3)
    with requests_counted() as found:
        assert table.maintain().file_groups_changed == 1
    print("MAINTAIN again", found)
    with requests_counted() as found:
        table.status()
    print("STATUS", found)
    with requests_counted() as found:
        table.compact(force=True)
    print("COMPACT", found)
    with requests_counted() as found:
        table.drop("blooms")
    print("DROP", found)
