"""Whole queries: joins, subqueries, windows, unions, very long predicates, views that outlive commits."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.engine import IndexedTable
from hudi_index.spark.read.file_index import FilePlanner
from hudi_index.spark.session_rule.planner import _ListingPlanner
from hudi_index.spark.validate.parity import session_settings as session
from tests.parity.corners.comparing import EXACT, Sides, Tally, compare_queries
from tests.parity.corners.tables import made, spread
from tests.parity.tables import COW, MOR

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "name string, n int, fare struct<amount:int,currency:string>, amount int, note string"
STATEMENTS = (
    "CREATE INDEX stats ON t USING column_stats (n, amount, fare.amount, name)",
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX by_n ON t (n)",
    "CREATE INDEX by_fare ON t (fare.amount)",
    "CREATE INDEX keys ON t USING record_index (id)",
)
JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN")


def _rows(count: int, salt: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "name": None if (place + salt) % 9 == 8 else f"n{(place + salt) // 4}",
            "n": None if (place + salt) % 7 == 6 else place + salt,
            "fare": None
            if place % 5 == 4
            else {"amount": place * 2, "currency": ("eur", None, "usd")[place % 3]},
            "amount": 100 - place,
            "note": ("x", None)[place % 2],
        }
        for place in range(count)
    ]


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sides]:
    root = tmp_path_factory.mktemp("shapes")
    a = made(spark, root / "a", SCHEMA, _rows(40), STATEMENTS, table_type=COW)
    b = made(spark, root / "b", SCHEMA, _rows(24, salt=6), table_type=MOR)
    b.upsert([{**row, "ts": 2, "n": 77} for row in spread(_rows(24, salt=6))[:5]])
    IndexedTable.open(b.path).create_all(list(STATEMENTS))
    return {"a": Sides.of(a), "b": Sides.of(b)}


FIXED = (
    "SELECT id FROM {a} WHERE n IN (SELECT n FROM {b} WHERE name = 'n3')",
    "SELECT id FROM {a} WHERE n NOT IN (SELECT n FROM {b} WHERE n > 20)",
    "SELECT id FROM {a} WHERE n NOT IN (SELECT n FROM {b} WHERE n IS NOT NULL AND n > 20)",
    "SELECT id FROM {a} o WHERE EXISTS (SELECT 1 FROM {b} i WHERE i.id = o.id AND i.n > 70)",
    "SELECT id FROM {a} o WHERE NOT EXISTS (SELECT 1 FROM {b} i WHERE i.name = o.name) AND n > 5",
    "SELECT id FROM {a} WHERE n = (SELECT max(n) FROM {b} WHERE n < 30)",
    "SELECT id FROM {a} WHERE n > (SELECT min(n) FROM {b} WHERE name = 'absent')",
    "SELECT id, n, row_number() OVER (PARTITION BY name ORDER BY id) k FROM {a} WHERE n > 30",
    (
        "SELECT * FROM (SELECT id, name, rank() OVER (PARTITION BY name ORDER BY n DESC) k FROM {a}) "
        "WHERE k = 1 AND name = 'n3'"
    ),
    "SELECT name, count(*) c, sum(n) FROM {a} WHERE n < 20 GROUP BY name HAVING c > 2 AND name > 'n1'",
    "SELECT name, n FROM {a} WHERE n < 9 UNION SELECT name, n FROM {b} WHERE name = 'n4'",
    "SELECT id FROM {a} WHERE n < 9 EXCEPT SELECT id FROM {b} WHERE n = 77",
    "SELECT id FROM {a} INTERSECT SELECT id FROM {b} WHERE n = 77",
    "SELECT id FROM {a} WHERE n > 3 ORDER BY n DESC, id LIMIT 3",
    "SELECT id FROM {a} WHERE name = 'n2' ORDER BY id LIMIT 2 OFFSET 1",
    "SELECT DISTINCT name FROM {a} WHERE n BETWEEN 3 AND 9",
    "SELECT count(*) FROM {a} WHERE name = 'n3'",
    "SELECT max(n), min(amount), count(note) FROM {a} WHERE fare.amount > 20",
    # The partition column of one side is filtered by what a broadcast of the other holds.
    "SELECT /*+ BROADCAST(b) */ a.id FROM {a} a JOIN {b} b ON a.g = b.g WHERE b.n = 77",
    (
        "SELECT /*+ BROADCAST(b) */ a.id, b.id FROM {a} a JOIN {b} b ON a.g = b.g AND a.id = b.id "
        "WHERE b.name = 'n3' AND a.n > 2"
    ),
    # An alias that is also a column with a field of the same name as a column.
    "SELECT fare.id FROM {a} fare WHERE fare.amount = 90",
    "SELECT fare.id FROM {a} fare WHERE fare.fare.amount = 20",
    (
        "SELECT fare.id FROM {a} fare JOIN {b} amount ON fare.amount = amount.amount "
        "WHERE fare.fare.amount > 4 AND amount.n > 9"
    ),
    "SELECT n.n FROM {a} n WHERE n.n = 5",
    "SELECT name.id FROM {a} name WHERE name.name = 'n3' AND name.fare.currency IS NULL",
    # Each side by its own filter, the same table twice.
    "SELECT x.id, y.id FROM {a} x JOIN {a} y ON x.n = y.n + 1 WHERE x.name = 'n3' AND y.name != 'n3'",
    "SELECT x.id, y.id FROM {a} x, {a} y WHERE x.id = y.id AND (x.n = 3 OR y.n = 5)",
    (
        "WITH c AS (SELECT * FROM {a} WHERE n > 4) SELECT p.id FROM c p JOIN c q ON p.id = q.id "
        "WHERE p.n < 9 AND q.amount > 92"
    ),
    "SELECT id FROM {a} LATERAL VIEW explode(array(n, 3)) AS v WHERE v = 3 AND n = 3",
    "SELECT id, (SELECT max(b.n) FROM {b} b WHERE b.id = a.id) m FROM {a} a WHERE a.name = 'n1'",
    "SELECT CASE WHEN n > 3 THEN name END v, count(*) FROM {a} WHERE coalesce(n, 0) < 8 GROUP BY 1",
    "SELECT id FROM {a} WHERE n = 3 OR n IN (SELECT n FROM {b} WHERE name = 'n5')",
    "SELECT * FROM (SELECT id, n + 1 AS n FROM {a}) WHERE n = 5",
    "SELECT * FROM (SELECT id, amount AS n, n AS amount FROM {a}) WHERE n = 90 OR amount = 3",
    "SELECT id FROM {a} WHERE n = 3 AND rand() >= 0",
    "SELECT g, count(*) FROM {a} WHERE g > 'g2' AND n > 20 GROUP BY CUBE (g)",
    "SELECT * FROM (SELECT g, n FROM {a} WHERE n < 30) PIVOT (count(n) FOR g IN ('g0', 'g1', 'g5'))",
)
LONG = (
    "SELECT id FROM {a} WHERE n IN (" + ", ".join(str(k) for k in range(30, 10_030)) + ")",
    "SELECT id FROM {a} WHERE name IN (" + ", ".join(f"'m{k}'" for k in range(10_000)) + ", 'n3')",
    "SELECT id FROM {a} WHERE n NOT IN (" + ", ".join(str(k) for k in range(5, 10_000)) + ")",
    "SELECT id FROM {a} WHERE " + " OR ".join(f"n = {k}" for k in range(20, 220)),
    "SELECT id FROM {a} WHERE " + " OR ".join(f"(n = {k} AND name = 'n{k // 4}')" for k in range(200)),
    "SELECT id FROM {a} WHERE " + "NOT (" * 40 + "n > 11" + ")" * 40,
    "SELECT id FROM {a} WHERE " + "NOT (n > 3 OR " * 9 + "n = 2" + ")" * 9,
    "SELECT id FROM {a} WHERE " + " AND ".join(f"n != {k}" for k in range(37)),
)
SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"spark.sql.adaptive.enabled": "false"},
    {"spark.sql.autoBroadcastJoinThreshold": "-1"},
    {"spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false"},
    {"spark.sql.optimizer.runtime.bloomFilter.enabled": "true", "spark.sql.autoBroadcastJoinThreshold": "-1"},
    {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
    {"spark.sql.ansi.enabled": "true"},
    {"spark.sql.exchange.reuse": "true", "spark.sql.execution.reuseSubquery": "true"},
    {"spark.sql.crossJoin.enabled": "true", "spark.sql.cbo.enabled": "true"},
)


def _conditions(chance: random.Random, *aliases: str) -> str:
    leaf = lambda: chance.choice(  # noqa: E731
        (
            f"n {chance.choice(('=', '<', '>='))} {chance.randrange(40)}",
            f"name = 'n{chance.randrange(10)}'",
            f"name IN ('n{chance.randrange(10)}', 'n2', NULL)",
            f"fare.amount > {chance.randrange(80)}",
            f"amount <=> {chance.randrange(60, 101)}",
            "n IS NULL",
            f"g = 'g{chance.randrange(8)}'",
            f"id >= 'k000{chance.randrange(10, 40)}'",
        )
    )
    parts = [f"{alias}.{leaf()}" for alias in aliases for _ in range(chance.randint(1, 2))]
    return f" {chance.choice(('AND', 'AND', 'OR'))} ".join(parts)


def _joined(chance: random.Random) -> str:
    kind = chance.choice(JOINS)
    left, right = (chance.choice(("{a}", "{b}")) for _ in range(2))
    on = chance.choice(
        ("x.id = y.id", "x.n = y.n", "x.name = y.name AND x.g = y.g", "x.g = y.g AND y.n > 20", "x.n <=> y.n")
    )
    on = "" if kind == "CROSS JOIN" else f"ON {on}" + chance.choice(("", f" AND {_conditions(chance, 'y')}"))
    half = kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
    where = _conditions(chance, *(["x"] if half else ["x", "y"]))
    chosen = "x.id, x.n" if half else "x.id, x.n, y.id, y.name"
    return f"SELECT {chosen} FROM {left} x {kind} {right} y {on} WHERE {where}"


def test_queries_of_any_shape(
    spark: SparkSession, tables: dict[str, Sides], capsys: pytest.CaptureFixture[str]
) -> None:
    tally, chance = Tally(), random.Random(0)
    compare_queries(spark, tally, FIXED[::3] + LONG[::3], tables)
    compare_queries(spark, tally, FIXED[1::9], tables, {"spark.sql.adaptive.enabled": "false"})
    compare_queries(spark, tally, [_joined(chance) for _ in range(6)], tables)
    tally.check("shapes of queries", capsys, left_out=0.1)
    assert tally.enabled_left_out > 0


def test_wrong_plan_of_an_enabled_session_is_seen(
    spark: SparkSession, tables: dict[str, Sides], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = FilePlanner.keep

    def nothing(planner: FilePlanner, asked: dict[str, Any]) -> str:
        return "0" * len(keep(planner, asked))

    monkeypatch.setattr(_ListingPlanner, "keep", nothing)
    tally = Tally()
    replace(tables["a"], _sampled=0).compare(tally, ["n = 3"])
    compare_queries(spark, tally, ["SELECT id FROM {b} WHERE n = 77"], tables)
    assert [each.partition("\n")[0] for each in tally.differences] == [
        "in an enabled session: n = 3 ",
        "in an enabled session: SELECT id FROM {b} WHERE n = 77 {}",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=[", ".join(each) or "defaults" for each in SETTINGS])
def test_many_queries_of_any_shape(
    settings: dict[str, str],
    spark: SparkSession,
    tables: dict[str, Sides],
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally, chance = Tally(), random.Random(str(settings))
    compare_queries(spark, tally, FIXED + LONG, tables, settings)
    compare_queries(spark, tally, [_joined(chance) for _ in range(25)], tables, settings)
    tally.check(f"shapes of queries, {settings}", capsys, left_out=0.1)


@pytest.mark.parametrize("table_type", [MOR, pytest.param(COW, marks=pytest.mark.slow)])
def test_views_and_cached_frames_outlive_commits(
    table_type: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    hudi = made(spark, tmp_path / "t", SCHEMA, _rows(24), STATEMENTS, table_type=table_type)
    kept = Sides.of(hudi)
    texts = [
        "n = 3",
        "n = 500",
        "name = 'n1'",
        "fare.amount > 30",
        "id = 'k00007'",
        "n > 480 OR name IS NULL",
    ]
    cached = kept.pruned.where("n = 3").cache()
    assert cached.count() == 1
    for step in range(1 if table_type == MOR else 2):
        changed = [{**row, "ts": 2 + step, "n": 500 + step} for row in spread(_rows(24))[step::5]]
        hudi.upsert(changed)
        with session(spark, EXACT):
            kept.compare(tally, texts, note=f"kept, {step} behind")
            Sides.of(hudi).compare(tally, texts, note=f"new, {step} behind")
        IndexedTable.open(hudi.path).maintain()
        kept.compare(tally, texts, note=f"kept, maintained {step}")
        Sides.of(hudi).compare(tally, texts, note=f"new, maintained {step}")
        assert [row["id"] for row in cached.collect()] == ["k00003"]
    cached.unpersist()
    tally.check(f"views, {table_type}", capsys, left_out=0.05)
