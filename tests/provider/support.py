"""A small table without Spark, with one index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_index import IndexedTable
from tests.engine.table.fabricate import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

T1, T2, T3 = (f"2024010{day}000000000" for day in range(1, 4))


def fabricated(path: Path, *, indexed: bool = True) -> Fabricated:
    table = Fabricated(path)
    write(table, T1, "a", range(10))
    if indexed:
        IndexedTable.open(table.path).sql("CREATE INDEX by_n ON t (n)")
    return table


def write(table: Fabricated, instant: str, file_id: str, numbers: range, region: str = "eu") -> None:
    rows = [{"id": f"{region}-{n}", "n": n, "region": region} for n in numbers]
    table.base_file(region, file_id, instant, rows)
    table.commit(instant)
