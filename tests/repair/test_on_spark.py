"""A real merge-on-read table with logs and an index over an expression comes back from damage, on Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.spark import read_indexed
from tests.parity.tables import MOR, HudiTable, hostile_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = (
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX stats ON t USING column_stats (n, ratio)",
    "CREATE INDEX shout ON t USING bitmap (upper(name))",
    "CREATE INDEX ids ON t USING record_index (id)",
)
QUERIES = ("upper(name) = 'ASCII'", "n > 3", "name = 'ascii'", "id = 'k0003'")


def _garbage_in_commits(index: Path) -> None:
    for file in (index / "mdt/.hoodie/timeline").glob("*.deltacommit"):
        file.write_bytes(b"garbage")


def _no_entries_of_the_expression(index: Path) -> None:
    shutil.rmtree(index / "mdt/func_index_shout")


@pytest.fixture(scope="module")
def hudi(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    hudi = HudiTable(spark, tmp_path_factory.mktemp("damaged") / "t", MOR)
    hudi.bulk_insert(hostile_rows(range(12)))
    IndexedTable.open(hudi.path).create_all(list(STATEMENTS), spark=spark)
    hudi.upsert(hostile_rows([2, 5], ts=4, salt=2))
    IndexedTable.open(hudi.path).maintain(spark=spark)
    return hudi


def _ids(frame: DataFrame) -> list[str]:
    return sorted(row[0] for row in frame.select("id").collect())


@pytest.mark.parametrize("harm", [_garbage_in_commits, _no_entries_of_the_expression])
def test_real_table_is_repaired(
    harm: Callable[[Path], None], spark: SparkSession, hudi: HudiTable, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    shutil.copytree(hudi.path, path)
    harm(path / ".hoodie" / ".index")
    wanted = {query: _ids(hudi.read().where(query)) for query in QUERIES}
    table = IndexedTable.open(path)
    assert {query: _ids(read_indexed(spark, path).where(query)) for query in QUERIES} == wanted
    assert table.repair(check=True).exit_code == 3
    assert table.repair(spark=spark).exit_code == 0
    assert {each.state for each in table.indexes()} == {IndexState.READY}
    assert {query: _ids(read_indexed(spark, path, strict=True).where(query)) for query in QUERIES} == wanted
    assert table.validate(spark=spark, queries=4).passed
