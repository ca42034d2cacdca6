"""All kinds of index at once through random histories of real Hudi writes: stored entries == rebuilt ones."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from hudi_index.engine import IndexedTable
from tests.lifecycle.histories import History
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.entries import (
    as_others_read_it,
    build_at_once,
    check_indexes,
    definition_from,
    entries_by_owner,
    rebuilt_elsewhere,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = [
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX by_city_and_n ON t (address.city, n) OPTIONS (shards = 2)",
    "CREATE INDEX by_many ON t (price, born, seen, raw, flag, ratio)",
    "CREATE INDEX stats ON t USING column_stats (ratio, small, name, born, seen, price, address.zip, flag)",
    "CREATE INDEX blooms ON t USING bloom_filters (big, raw, name)",
    "CREATE INDEX record_index ON t (id)",
    "CREATE INDEX flags ON t USING bitmap (flag, day, n, address.city, ratio)",
    "CREATE INDEX few ON t USING bitmap (name) OPTIONS (max_values = 3)",
    "CREATE INDEX grams ON t USING ngram (name, address.city)",
    "CREATE INDEX long_grams ON t USING ngram (name) OPTIONS (size = 6, max_grams = 30)",
    "CREATE INDEX tagged ON t USING array (tags)",
    "CREATE INDEX shouted ON t USING ngram (upper(name)) OPTIONS (size = 2)",
    "CREATE FUNCTION INDEX shout ON t USING secondary_index (upper(name))",
    "CREATE INDEX hours ON t USING bitmap (hour(seen)) OPTIONS (time_zone = 'America/New_York')",
    "CREATE INDEX day_of ON t (date_format(seen, 'yyyy-MM-dd')) OPTIONS (time_zone = 'Asia/Tokyo')",
    "CREATE INDEX cost ON t USING bloom_filters (price + price * 2)",
    "CREATE INDEX zip_text ON t USING secondary_index (cast(address.zip AS string))",
]


@pytest.fixture(scope="module")
def originals(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tables with all indexes; each history goes on from a copy."""
    folder = tmp_path_factory.mktemp("histories")
    for table_type in (COW, MOR):
        hudi = HudiTable(spark, folder / table_type, table_type)
        hudi.bulk_insert(hostile_rows(range(24)))
        table = IndexedTable.open(hudi.path)
        definitions = [definition_from(statement) for statement in STATEMENTS]
        build_at_once(table.storage, definitions, spark)
        check_indexes(table.storage)
    return {table_type: folder / table_type for table_type in (COW, MOR)}


def _live(
    seed: int, operations: int, spark: SparkSession, originals: dict[str, Path], path: Path, *, often: bool
) -> None:
    """One history; `often` compares with a whole rebuild after each maintenance, not only the last."""
    table_type = (COW, MOR)[seed % 2]
    shutil.copytree(originals[table_type], path)
    history = History(HudiTable(spark, path, table_type), seed)
    table = IndexedTable.open(path)
    try:
        for place in range(operations):
            history.advance()
            is_last = place == operations - 1
            if not is_last and history.chance.random() < 0.4:
                continue  # the next run catches up with all of them
            table.maintain(spark=spark)
            history.done.append("maintain")
            check_indexes(table.storage)
            if often or is_last:
                assert entries_by_owner(table.storage) == rebuilt_elsewhere(
                    table, path.parent / "copy", spark
                )
            if history.chance.random() < 0.2:
                table.compact(force=True)
                history.done.append("compact the indexes")
                check_indexes(table.storage)
        assert table.maintain().commit is None
        assert table.status().is_fresh
        ours, by_hudi_rs, by_spark = as_others_read_it(table, spark)
        assert by_hudi_rs == ours
        assert by_spark == ours
    except BaseException:
        sys.stdout.write(f"seed {seed}, {table_type}: {', '.join(history.done)}\n")
        raise


@pytest.mark.parametrize("seed", [2, 5])
def test_sample_of_histories(
    seed: int, spark: SparkSession, originals: dict[str, Path], tmp_path: Path
) -> None:
    _live(seed, 5, spark, originals, tmp_path / "t", often=False)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_histories(seed: int, spark: SparkSession, originals: dict[str, Path], tmp_path: Path) -> None:
    _live(seed, 6, spark, originals, tmp_path / "t", often=seed % 10 == 0)
    shutil.rmtree(tmp_path)
