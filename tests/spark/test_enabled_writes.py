"""Writes through an enabled session leave a table as writes without it do, at any lag of the indexes."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.spark import last_plans
from tests.parity.tables import COLUMNS, COW, MOR, HudiTable, hostile_rows
from tests.support.enabled import catalog_table, enabled, plans_since

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = (
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX stats ON t USING column_stats (n, ratio, big)",
    "CREATE INDEX flags ON t USING bitmap (flag)",
)
CONDITIONS = (
    "name = 'ascii'",
    "name IN ('zürich', '日本語') AND n > 3",
    "name LIKE 'a%' OR n < -11",
    "n BETWEEN 4 AND 9",
    "NOT flag AND name IS NOT NULL",
    "ratio > 1 OR ratio = 'NaN'",
    "region = 'us' AND name <> 'ascii'",
    "(region = 'eu' AND n > 2) OR name = ''",
    "name IS NULL",
    "id IN (SELECT id FROM {t} WHERE name = 'ascii')",
    "n > (SELECT avg(n) FROM {t} WHERE flag)",
    "upper(name) = 'ASCII' AND big > 0",
    "name = 'nowhere'",
)
SCHEMA_ORDER = ", ".join(COLUMNS)
CHANGES = ("n = coalesce(n, 0) + 100", "name = concat(name, '!')", "flag = NOT flag, name = 'ascii'")


KINDS = ("update", "delete", "merge", "insert")


def statement(chance: random.Random, kind: str, number: int) -> str:
    """A random UPDATE, DELETE, MERGE or INSERT over the table `{t}`."""
    condition = chance.choice(CONDITIONS)
    if kind == "update":
        return f"UPDATE {{t}} SET {chance.choice(CHANGES)} WHERE {condition}"
    if kind == "delete":
        return f"DELETE FROM {{t}} WHERE {condition}"
    columns = "ts, day, name, n, big, ratio, small, flag, price, born, seen, address, tags, raw"
    if kind == "insert":
        source = f"SELECT concat(id, '-{number}') id, {columns}, region FROM {{t}} WHERE {condition}"
        return f"INSERT INTO {{t}} ({SCHEMA_ORDER}) SELECT {SCHEMA_ORDER} FROM ({source})"
    # Hudi takes columns of the table's own relation on the source's side for the target's.
    own = "concat(id, '') id, concat(region, '') region"
    source = f"SELECT {own}, {columns} FROM {{t}} WHERE {condition}"
    matched = chance.choice(["UPDATE SET t.n = s.n + 7, t.ts = s.ts", "DELETE"])
    return (
        f"MERGE INTO {{t}} t USING ({source}) s ON t.id = s.id AND t.region = s.region "
        f"WHEN MATCHED AND s.flag THEN {matched} WHEN NOT MATCHED THEN INSERT *"
    )


def content(hudi: HudiTable) -> Counter[tuple[object, ...]]:
    """The rows, whichever file they are in."""
    frame = hudi.read()
    return hudi.rows(columns=[name for name in frame.columns if not name.startswith("_hoodie_")])


def without_files(rows: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    found = type(rows)()
    for row, count in rows.items():
        found[row[1:]] += count
    return found


def write_twins(spark: SparkSession, path: Path, table_type: str, seed: int, *, rounds: int) -> int:
    """The same statements on two copies of one table; returns how many file slices were left out."""
    chance = random.Random(f"{table_type} {seed}")
    made = HudiTable(spark, path / "enabled", table_type)
    made.bulk_insert(hostile_rows(range(14)))
    made.bulk_insert(hostile_rows(range(14, 30), salt=2))
    shutil.copytree(made.path, path / "plain")
    twin = HudiTable(spark, path / "plain", table_type)
    table = IndexedTable.open(made.path)
    for each in STATEMENTS:
        table.sql(each)
    left_out = 0
    settings = {name: value for name, value in made.write_options.items() if "parallelism" in name}
    settings |= dict.fromkeys(("hoodie.metadata.enable", "hoodie.embed.timeline.server"), "false")
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with catalog_table(spark, made.path) as ours, catalog_table(spark, twin.path) as plain:
            for number in range(rounds):
                # All of them in the first round, so that indexes are up to three commits behind.
                kinds = chance.sample(KINDS, 4 if number == 0 else chance.randint(1, 4))
                for lag, kind in enumerate(kinds):
                    text = statement(chance, kind, number * 10 + lag)
                    before = last_plans()
                    with enabled(spark):
                        spark.sql(text.format(t=ours))
                    left_out += sum(plan.total - plan.kept for plan in plans_since(before))
                    spark.sql(text.format(t=plain))
                    assert without_files(content(made)) == without_files(content(twin)), text
                table.maintain()
    finally:
        for name in settings:
            spark.conf.unset(name)
    return left_out


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_twins_are_equal(table_type: str, spark: SparkSession, tmp_path: Path) -> None:
    assert write_twins(spark, tmp_path, table_type, 1, rounds=1) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_twins_are_equal_for_long(table_type: str, seed: int, spark: SparkSession, tmp_path: Path) -> None:
    assert write_twins(spark, tmp_path, table_type, seed, rounds=6) > 0
