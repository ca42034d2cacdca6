"""A session that stays enabled while tables, indexes and settings change: no query tells it from another.

One process of random steps, so that whatever is remembered between queries (listings, plans, catalogs, the
catalog's own relations, cached rows) meets a table that has moved on. The other side is the same query in the
same session under `SET spark.hudi_index.enabled=false`, which forgets nothing.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from hudi_index import IndexedTable
from hudi_index.spark import last_plans, sql
from hudi_index.spark.validate.parity import session_settings
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.enabled import catalog_table, enabled, plans_since

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

INDEXES = {
    "by_name": "(name)",
    "stats": "USING column_stats (n, ratio, big, seen, born)",
    "flags": "USING bitmap (flag, region)",
    "keys": "USING record_index (id)",
    "shout": "USING column_stats (upper(name))",
    "hours": "USING column_stats (hour(seen))",
}
CONDITIONS = (
    "name = 'ascii'",
    "name IN ('zürich', '日本語', NULL)",
    "name LIKE 'a%' OR n < -11",
    "n BETWEEN 4 AND 9 AND region <> 'asia'",
    "NOT flag AND name IS NOT NULL",
    "ratio > 1 OR ratio = 'NaN'",
    "ratio = 0",
    "big > 4611686018427387890",
    "upper(name) = 'ASCII'",
    "hour(seen) = 12",
    "seen > '2000-01-01 00:00:00'",
    "id = 'k0007' OR _hoodie_record_key = 'k0009'",
    "cast(name AS int) = 3",
    "region = 'us' AND n = 4",
    "n IN (SELECT n FROM {t} WHERE name = 'ascii')",
    "rand() >= 0 AND n > 20",
    "name = 'nowhere'",
)
SHAPES = (
    "SELECT id, n, name FROM {t} WHERE {c}",
    "SELECT region, count(*), max(n) FROM {t} WHERE {c} GROUP BY region",
    (
        "WITH x AS (SELECT * FROM {t} WHERE {c}) "
        "SELECT a.id, b.n FROM x a LEFT JOIN x b ON a.id = b.id AND b.n > 3"
    ),
    "SELECT a.id, b.name FROM {t} a FULL JOIN (SELECT * FROM {t} WHERE {c}) b ON a.id = b.id AND a.n > 0",
    "SELECT id FROM {t} a WHERE EXISTS (SELECT 1 FROM (SELECT * FROM {t} WHERE {c}) b WHERE a.n = b.n)",
    "SELECT id FROM {t} WHERE {c} UNION ALL SELECT id FROM {t} WHERE n > 15",
)
NATIVE_SKIPPING = ("hoodie.enable.data.skipping", "false")
"""What an enabled session leaves out, since it loses rows: of time travel, too."""
SETTINGS = {
    "spark.sql.session.timeZone": ("UTC", "America/New_York", "Asia/Tokyo"),
    "spark.sql.ansi.enabled": ("false", "true"),
    "spark.sql.adaptive.enabled": ("true", "false"),
    "spark.sql.caseSensitive": ("false", "true"),
    "spark.sql.parquet.filterPushdown": ("true", "false"),
}


@dataclass
class Life:
    """One table, what was kept of it, and what came of queries."""

    spark: SparkSession
    hudi: HudiTable
    name: str
    chance: random.Random
    instants: list[str] = field(default_factory=list)
    frames: list[DataFrame] = field(default_factory=list)
    """Loaded at some time, and asked long after."""
    cached: list[DataFrame] = field(default_factory=list)
    compared: int = 0
    left_out: int = 0

    def write(self) -> str:
        rows = hostile_rows(
            self.chance.sample(range(40), 3), ts=self.compared + 5, salt=self.chance.randrange(9)
        )
        operation = self.chance.choice([self.hudi.upsert, self.hudi.upsert, self.hudi.delete])
        self.instants.append(operation(rows))
        return operation.__name__

    def write_by_sql(self) -> str:
        if self.hudi.version < 8:
            # Hudi fails at times, enabled or not: refreshing what it kept of the table, it finds no schema.
            return self.write()
        condition = self.chance.choice(CONDITIONS[:4])
        text = self.chance.choice(
            ["UPDATE {t} SET n = coalesce(n, 0) + 1 WHERE {c}", "DELETE FROM {t} WHERE {c}"]
        )
        statement = text.format(t=self.name, c=condition)
        # Settings are for queries: what a write does under them is not compared.
        with session_settings(self.spark, {name: values[0] for name, values in SETTINGS.items()}):
            self.spark.sql(statement)
        return statement

    def maintain(self) -> str:
        IndexedTable.open(self.hudi.path).maintain(spark=self.spark)
        return "maintain"

    def change_indexes(self) -> str:
        index = self.chance.choice(list(INDEXES))
        known = {each.name for each in IndexedTable.open(self.hudi.path).indexes()}
        drop, create = (
            f"DROP INDEX {index} ON {self.name}",
            f"CREATE INDEX {index} ON {self.name} {INDEXES[index]}",
        )
        statement = drop if index in known else create
        sql(self.spark, statement)
        return statement

    def refresh(self) -> str:
        self.spark.catalog.refreshTable(self.name)
        return "refresh"

    def keep(self) -> str:
        self.frames.append(self.load())
        self.cached.append(self.load().where(self.chance.choice(CONDITIONS[:6])).cache())
        self.cached[-1].count()
        return "keep"

    def set(self) -> str:
        name = self.chance.choice(list(SETTINGS))
        value = self.chance.choice(SETTINGS[name])
        self.spark.conf.set(name, value)
        return f"SET {name}={value}"

    def compact(self) -> str:
        if self.hudi.table_type == MOR:
            self.hudi.compact()
        return "compact"

    def replace(self) -> str:
        """Another table at the same path, with other rows and no index."""
        self.frames.clear()
        self.instants.clear()
        for frame in self.cached:
            frame.unpersist()
        self.cached.clear()
        shutil.rmtree(self.hudi.path)
        self.instants.append(self.hudi.bulk_insert(hostile_rows(range(30), salt=self.chance.randrange(9))))
        self.refresh()
        return "replace"

    def load(self) -> DataFrame:
        return self.spark.read.format("hudi").load(str(self.hudi.path))

    def query(self) -> str:
        """A query of any shape, over the table as it can be named."""
        condition = self.chance.choice(CONDITIONS)
        source = self.chance.choice(["catalog", "load", "as of", "frame", "cached", "session"])
        session, frame = self.spark, None
        table = self.name
        if source == "as of" and self.instants:
            table = f"(SELECT * FROM {self.name} TIMESTAMP AS OF '{self.chance.choice(self.instants)}')"
        elif source == "frame" and self.frames:
            frame = self.chance.choice(self.frames)
        elif source == "cached" and self.cached:
            frame = self.chance.choice(self.cached)
        elif source == "load":
            frame = self.load()
        elif source == "session":
            session = self.spark.newSession()
            session.conf.set(*NATIVE_SKIPPING)
        if frame is not None:
            table = "a_view"
            frame.createOrReplaceTempView(table)
        text = self.chance.choice(SHAPES).format(t=table, c=condition.format(t=table))
        wanted = answer(session, text, "false")
        before = last_plans()
        found = answer(session, text, "true")
        plans = plans_since(before)
        told = "\n".join(plan.explain() for plan in plans)
        assert found == wanted, f"{source}: {text}\n{found}\n{wanted}\n{told}"
        assert [plan.error for plan in plans if plan.error] == []
        self.compared += 1
        self.left_out += sum(plan.total - plan.kept for plan in plans)
        return f"{source}: {text}"


def answer(session: SparkSession, text: str, is_enabled: str) -> list[str]:
    """The rows, or what kind of failure there is."""
    session.conf.set("spark.hudi_index.enabled", is_enabled)
    try:
        return sorted(map(str, session.sql(text).collect()))
    except (PySparkException, Py4JJavaError) as error:
        return [type(error).__name__]
    finally:
        session.conf.unset("spark.hudi_index.enabled")


def live(spark: SparkSession, path: Path, table_type: str, version: int, seed: int, *, steps: int) -> Life:
    """Random steps, queries after each."""
    chance = random.Random(f"{table_type} {version} {seed}")
    hudi = HudiTable(spark, path / "t", table_type, version=version)
    # What is written by SQL goes by the session's settings.
    settings = {name: value for name, value in hudi.write_options.items() if "parallelism" in name}
    settings |= dict.fromkeys(("hoodie.metadata.enable", "hoodie.embed.timeline.server"), "false")
    settings |= dict([NATIVE_SKIPPING])
    settings |= {"hoodie.write.auto.upgrade": "false", "hoodie.write.table.version": str(version)}
    for name, value in settings.items():
        spark.conf.set(name, value)
    instants = [hudi.bulk_insert(hostile_rows(range(15))), hudi.bulk_insert(hostile_rows(range(15, 30)))]
    done: list[str] = []
    try:
        with catalog_table(spark, hudi.path) as name, enabled(spark):
            life = Life(spark, hudi, name, chance, instants)
            sql(spark, f"CREATE INDEX by_name ON {name} (name)")
            sql(spark, f"CREATE INDEX stats ON {name} {INDEXES['stats']}")
            changes = [life.write, life.write, life.write_by_sql, life.maintain, life.maintain, life.refresh]
            changes += [life.change_indexes, life.change_indexes, life.keep, life.set, life.set, life.compact]
            for step in range(steps):
                done.extend(action() for action in (life.query, life.query, chance.choice(changes)))
                if step % 20 == 19:
                    done.append(life.replace())
            return life
    except Exception as error:
        raise AssertionError("\n".join(["after", *done[-30:], str(error)])) from error
    finally:
        for name in (*settings, *SETTINGS):
            spark.conf.unset(name)
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        spark.catalog.clearCache()
        spark.catalog.dropTempView("a_view")


def test_queries_agree_while_everything_changes(spark: SparkSession, tmp_path: Path) -> None:
    life = live(spark, tmp_path, MOR, 9, 0, steps=6)
    assert (life.compared, life.left_out > 0) == (12, True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("version", [9, 6])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_queries_agree_while_everything_changes_for_long(
    table_type: str, version: int, seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    life = live(spark, tmp_path, table_type, version, seed, steps=60)
    assert life.left_out > 0
