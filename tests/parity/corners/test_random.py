"""Random predicates over every type that Hudi takes, nulls everywhere, with and without logs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from hudi_index.engine import IndexedTable
from tests.parity.corners.comparing import Sides, Tally
from tests.parity.corners.predicates import SCHEMA, Predicates
from tests.parity.corners.tables import made
from tests.parity.tables import COW, MOR

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = (
    "CREATE INDEX stats ON t USING column_stats (wide, small, wall, at, d, f, r, i, l, s, st.a.b, st.a.c)",
    "CREATE INDEX by_wide ON t (wide)",
    "CREATE INDEX by_s ON t (s)",
    "CREATE INDEX by_raw ON t (raw)",
    "CREATE INDEX by_wall ON t (wall)",
    "CREATE INDEX by_r ON t (r)",
    "CREATE INDEX by_c ON t (st.a.c)",
    "CREATE INDEX bits ON t USING bitmap (b, i, f, small, d)",
    "CREATE INDEX filters ON t USING bloom_filters (l, at, st.a.b)",
    "CREATE INDEX keys ON t USING record_index (id)",
)
OVER_EXPRESSIONS = (
    "CREATE INDEX sums ON t USING secondary_index (wide + small)",
    "CREATE INDEX sizes ON t USING bitmap (size(arr))",
    "CREATE INDEX texts ON t USING column_stats (CAST(i AS STRING))",
)
ROWS = 40


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sides]:
    """Indexes fresh on one table; on the other logs that are indexed, and later ones that are not."""
    found = {}
    for table_type in (COW, MOR):
        source = Predicates(random.Random(table_type))
        rows = [source.row() for _ in range(ROWS)]
        path = tmp_path_factory.mktemp("random") / table_type
        statements = [
            text.replace(" wall,", "")
            for text in (*STATEMENTS, *OVER_EXPRESSIONS)
            if table_type == COW or (text in STATEMENTS and "(wall)" not in text)
        ]
        # hudi-rs can't open a table with logs whose schema has a timestamp_ntz, see `test_types.py`.
        schema = SCHEMA if table_type == COW else SCHEMA.replace("wall timestamp_ntz, ", "")
        hudi = made(spark, path, schema, rows, table_type=table_type)
        for step in range(2):
            if table_type == MOR:
                places = range(step, 20, 9)
                hudi.upsert([{"id": f"k{k:05d}", "ts": 2, "g": f"g{k // 5}", **source.row()} for k in places])
            if step == 0:
                IndexedTable.open(path).create_all(statements, spark=spark if table_type == COW else None)
        found[table_type] = Sides.of(hudi)
    return found


def _compare(sides: Sides, count: int, seed: str) -> Tally:
    tally, source = Tally(), Predicates(random.Random(seed))
    sides.compare(tally, [source.tree() for _ in range(count)])
    return tally


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_random_predicates_find_what_a_full_scan_finds(
    table_type: str, tables: dict[str, Sides], capsys: pytest.CaptureFixture[str]
) -> None:
    tally = _compare(tables[table_type], 40, table_type)
    tables[table_type].compare_rows(tally)
    tables[table_type].compare_rows(tally, "st.a.b = 1 OR s = ''")
    tally.check(f"random, {table_type}", capsys, left_out=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_many_random_predicates_find_what_a_full_scan_finds(
    table_type: str, seed: int, tables: dict[str, Sides], capsys: pytest.CaptureFixture[str]
) -> None:
    tally = _compare(tables[table_type], 140, f"{table_type} {seed}")
    tally.check(f"random, {table_type}, seed {seed}", capsys, left_out=0.05)
