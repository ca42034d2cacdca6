"""Too many values for a bitmap, values too long for a key: stored by the documented rule, and never wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index.engine import IndexedTable
from tests.parity.tables import COW, HudiTable, hostile_rows
from tests.support.entries import check_indexes, stored_entries

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LONG = ["x" * 4999 + end for end in "abc"]


def _rows(region: str, names: list[str]) -> list[dict[str, object]]:
    """One row per name in one partition."""
    rows = hostile_rows(range(len(names)))
    return [
        {**row, "id": f"{region}{row['id']}", "region": region, "name": name, "n": place}
        for place, (row, name) in enumerate(zip(rows, names, strict=True))
    ]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    hudi = HudiTable(spark, _folder(tmp_path_factory), COW)
    hudi.bulk_insert([*_rows("eu", ["a", "b", LONG[0]]), *_rows("us", [f"v{n}" for n in range(9)])])
    table = IndexedTable.open(hudi.path)
    table.sql("CREATE INDEX few ON t USING bitmap (name) OPTIONS (max_values = 4)")
    check_indexes(table.storage)
    return table


def _folder(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("limits") / "t"


def test_file_group_with_too_many_values_is_never_refuted_by_the_bitmap(table: IndexedTable) -> None:
    keys = sorted(stored_entries(table.storage)["bitmap_index"])
    # Three values of `eu`, one mark for `us`.
    assert len(keys) == 4
    assert sum("$%~$us$" in key for key in keys) == 1
    kept = {where: _partitions(table, where) for where in ("name = 'a'", "name = 'v3'", "name = 'none'")}
    assert kept == {"name = 'a'": {"eu", "us"}, "name = 'v3'": {"us"}, "name = 'none'": {"us"}}
    assert _partitions(table, "NOT (name = 'v3')") == {"eu", "us"}


def test_long_values_are_told_apart_by_digest_and_stay_in_ranges(table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_name ON t (name)")
    check_indexes(table.storage)
    longest = max(map(len, stored_entries(table.storage)["secondary_index_by_name"]))
    assert 1000 < longest < 1200
    assert _partitions(table, f"name = '{LONG[0]}'") == {"eu"}
    assert _partitions(table, f"name = '{LONG[1]}'") == set()
    assert _partitions(table, f"name > '{LONG[0][:-1]}'") == {"eu"}
    assert _partitions(table, "name >= 'w'") == {"eu"}
    assert _partitions(table, "name LIKE 'xxx%'") == {"eu"}


def _partitions(table: IndexedTable, predicate: str) -> set[str]:
    return {file_slice.group.partition_path for file_slice in table.plan(predicate).slices}
