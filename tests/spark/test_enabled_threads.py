"""Eight threads, two tables and commits meanwhile: no row is wrong, and no plan is of an older table."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from pyspark import InheritableThread

from hudi_index import IndexedTable
from hudi_index.spark import last_plans
from tests.parity.tables import COW, MOR, HudiTable
from tests.support.enabled import catalog_table, enabled, plans_since

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "id string, ts bigint, g int, name string, n bigint"
GROUPS = 4
THREADS = 8


def rows(generation: int) -> list[dict[str, object]]:
    """One row for each file group, all of one generation."""
    return [
        {"id": f"k{g}", "ts": generation, "g": g, "name": f"name-{g}", "n": generation} for g in range(GROUPS)
    ]


def made(spark: SparkSession, path: Path, kind: str) -> HudiTable:
    hudi = HudiTable(spark, path / kind, kind, partition_by="g", schema=SCHEMA)
    hudi.bulk_insert(rows(0))
    IndexedTable.open(hudi.path).sql("CREATE INDEX by_name ON t (name)")
    return hudi


def write(tables: list[HudiTable], committed: list[int], commits: int) -> None:
    """Commits of whole generations to both tables, indexes now and then in step."""
    for generation in range(1, commits + 1):
        for place, hudi in enumerate(tables):
            hudi.upsert(rows(generation))
            committed[place] = generation
        if generation % 2:
            IndexedTable.open(tables[0].path).maintain()


def run(spark: SparkSession, path: Path, *, commits: int) -> None:
    tables = [made(spark, path, kind) for kind in (COW, MOR)]
    committed, is_over, wrong = [0, 0], threading.Event(), []
    queries = [0] * THREADS

    def ask(number: int) -> None:
        place = number % 2
        while not is_over.is_set() or queries[number] < 2:
            before, g = committed[place], (number + queries[number]) % GROUPS
            # Not by the catalog, whose own listing stays behind writes of DataFrames.
            frame = spark.read.format("hudi").load(str(tables[place].path))
            found = [(row.id, row.n) for row in frame.where(f"name = 'name-{g}'").select("id", "n").collect()]
            if len(found) != 1 or found[0][0] != f"k{g}" or found[0][1] < before:
                wrong.append(f"{tables[place].table_type} after commit {before}: {found}")
            joined = frame.alias("a").join(frame.alias("b"), "id").where(f"a.name = 'name-{g}'")
            if number == 0 and joined.count() != 1:
                wrong.append("a join lost its row")
            queries[number] += 1

    with enabled(spark):
        before = last_plans()
        threads = [InheritableThread(target=ask, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        try:
            write(tables, committed, commits)
        finally:
            is_over.set()
        for thread in threads:
            thread.join()
        plans = plans_since(before)
    assert wrong == []
    assert min(queries) >= 2
    assert [plan.error for plan in plans if plan.error] == []
    assert any(plan.kept < plan.total for plan in plans)


def test_threads_see_what_is_committed(spark: SparkSession, tmp_path: Path) -> None:
    run(spark, tmp_path, commits=2)


@pytest.mark.slow
def test_threads_see_what_is_committed_for_long(spark: SparkSession, tmp_path: Path) -> None:
    run(spark, tmp_path, commits=25)


def test_catalog_tables_are_asked_from_many_threads(spark: SparkSession, tmp_path: Path) -> None:
    hudi = made(spark, tmp_path, COW)
    with catalog_table(spark, hudi.path) as name, enabled(spark), ThreadPoolExecutor(THREADS) as pool:

        def ask(number: int) -> list[str]:
            query = f"SELECT id FROM {name} WHERE name = 'name-{number % GROUPS}'"
            return [row.id for row in spark.sql(query).collect()]

        before = last_plans()
        assert list(pool.map(ask, range(24))) == [[f"k{number % GROUPS}"] for number in range(24)]
        assert {plan.kept for plan in plans_since(before)} == {1}
