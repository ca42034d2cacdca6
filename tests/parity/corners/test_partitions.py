"""Tables laid out in every way: partition paths, keys of several fields, moved records, changed schemas."""

from __future__ import annotations

import random
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.engine import IndexedTable
from tests.parity.corners.comparing import Sides, Tally
from tests.parity.tables import COW, MOR, HudiTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "id string, sub int, ts bigint, p string, q int, day date, flag boolean, name string, n int"
VALUES = (
    "a",
    "b c",
    "x/y",
    "50%",
    "k=v",
    "ü",
    "2024-01-01",
    "",
    None,
    "..",
    "a+b",
    "'q'",
    "A",
    "%2F",
    "default",
)
PLAIN = ("a", "b", "c", "A", "2024-01-01", "zz")
DAYS = (date(2024, 2, 29), date(1969, 12, 31), date(2024, 3, 10), None)
COMPLEX = {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"}
HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
URL = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
NONE = {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator"}
STATEMENTS = (
    "CREATE INDEX stats ON t USING column_stats (name, n, p, q, day)",
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX by_p ON t (p)",
    "CREATE INDEX bits ON t USING bitmap (flag, day)",
)

LAYOUTS: dict[str, dict[str, Any]] = {
    "unpartitioned": {"partition_by": "", "options": NONE},
    "url-encoded": {"partition_by": "p", "options": URL, "values": VALUES},
    "hive-style and url-encoded": {"partition_by": "p", "options": {**HIVE, **URL}, "values": VALUES},
    "several fields": {"partition_by": "p,q", "options": COMPLEX},
    "several fields, hive-style": {"partition_by": "q,day", "options": {**COMPLEX, **HIVE}},
    "dates": {"partition_by": "day"},
    "booleans": {"partition_by": "flag", "options": HIVE},
    "keys of two fields": {"partition_by": "p", "record_key": "id,sub", "options": COMPLEX},
    "nulls in a key of two fields": {"partition_by": "q", "record_key": "id,name", "options": COMPLEX},
}
NORMAL = ("unpartitioned", "hive-style and url-encoded", "several fields, hive-style", "keys of two fields")


def rows(
    keys: Iterable[int], values: tuple[str | None, ...] = PLAIN, *, salt: int = 0, ts: int = 1
) -> list[dict[str, Any]]:
    """One row per key; another salt changes what is in it, but not where it lies."""
    return [
        {
            "id": f"k{k // 2:03d}",
            "sub": k % 2,
            "ts": ts,
            "p": values[k % len(values)],
            "q": None if k % 5 == 4 else k % 3,
            "day": DAYS[k % len(DAYS)],
            "flag": (True, False, None)[k % 3],
            "name": None if (k + salt) % 11 == 10 else f"name{(k + salt) // 4}",
            "n": None if (k + salt) % 7 == 6 else k + salt,
        }
        for k in keys
    ]


def unique(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With ids that tell each row from any other."""
    return [{**row, "id": f"{row['id']}-{row['sub']}"} for row in found]


def _made(spark: SparkSession, path: Path, table_type: str, layout: Mapping[str, Any]) -> HudiTable:
    """Two inserts, indexes, and an upsert that they have not seen."""
    how = {name: value for name, value in layout.items() if name != "values"}
    values = layout.get("values", PLAIN)
    hudi = HudiTable(spark, path, table_type, schema=SCHEMA, **how)
    hudi.bulk_insert(unique(rows(range(18), values)))
    hudi.bulk_insert(unique(rows(range(18, 30), values)))
    keys = f"CREATE INDEX keys ON t USING record_index ({hudi.record_key})"
    IndexedTable.open(path).create_all([*STATEMENTS, keys])
    hudi.upsert(unique(rows((1, 14), values, salt=60, ts=3)))
    return hudi


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return f"date'{value}'" if isinstance(value, date) else str(value).lower()


def _leaf(chance: random.Random, values: tuple[str | None, ...]) -> str:
    pools: dict[str, tuple[Any, ...]] = {
        "p": (*values, "absent"),
        "q": (0, 1, 2, None, 9),
        "day": (*DAYS, date(2000, 1, 1)),
        "flag": (True, False, None),
        "name": tuple(f"name{k}" for k in range(0, 20, 3)),
        "n": tuple(range(0, 90, 7)),
        "id": ("k003-1", "k010-0", "absent"),
        "_hoodie_partition_path": ("a", "p=a", "q=1", "q=0/day=2024-02-29", "2024-02-29", ""),
        "_hoodie_record_key": ("k003-1", "id:k003-1,sub:1", "id:k001-0,name:name0"),
    }
    name = chance.choice(list(pools))
    value, other = (_literal(chance.choice(pools[name])) for _ in range(2))
    return chance.choice(
        (
            f"{name} {chance.choice(('=', '=', '<', '>=', '!=', '<=>'))} {value}",
            f"{name} {chance.choice(('IN', 'NOT IN'))} ({value}, {other})",
            f"{name} IS {chance.choice(('', 'NOT '))}NULL",
            f"CAST({name} AS STRING) = CAST({value} AS STRING)",
            f"{name} BETWEEN {value} AND {other}",
            f"p LIKE {chance.choice((_literal('a%'), _literal('%/%'), _literal('50|%'), _literal('k=%')))}",
            f"upper(p) = {_literal(chance.choice(('A', 'B C', 'X/Y')))} OR {name} = {value}",
            f"coalesce(q, 1) = 1 AND {name} <=> {value}",
            f"year(day) = 2024 AND {name} >= {value}",
        )
    )


def _predicate(chance: random.Random, values: tuple[str | None, ...]) -> str:
    if chance.random() < 0.5:
        return _leaf(chance, values)
    joined = chance.choice(("AND", "AND", "OR", "AND NOT"))
    return f"({_leaf(chance, values)}) {joined} ({_leaf(chance, values)})"


def _compare(hudi: HudiTable, name: str, count: int, values: tuple[str | None, ...] = PLAIN) -> Tally:
    tally, chance, sides = Tally(), random.Random(name), Sides.of(hudi)
    sides.compare(tally, [_predicate(chance, values) for _ in range(count)], note=name)
    sides.compare_rows(tally)
    sides.compare_rows(tally, "n > 20")
    return tally


@pytest.mark.parametrize(
    "layout", [pytest.param(name, marks=[] if name in NORMAL else pytest.mark.slow) for name in LAYOUTS]
)
def test_partitions_of_any_layout(
    layout: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hudi = _made(spark, tmp_path / "t", MOR if layout in NORMAL[1:3] else COW, LAYOUTS[layout])
    tally = _compare(hudi, layout, 12, LAYOUTS[layout].get("values", PLAIN))
    tally.check(f"partitions, {layout}", capsys, left_out=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_predicates_over_partitions_of_any_layout(
    layout: str, table_type: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hudi = _made(spark, tmp_path / "t", table_type, LAYOUTS[layout])
    tally = _compare(hudi, f"{layout} {table_type}", 30, LAYOUTS[layout].get("values", PLAIN))
    tally.check(f"partitions, {layout}, {table_type}", capsys, left_out=0.02)


@pytest.mark.parametrize("table_type", [COW, pytest.param(MOR, marks=pytest.mark.slow)])
def test_records_that_move_between_partitions(
    table_type: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}
    hudi = HudiTable(spark, tmp_path / "t", table_type, schema=SCHEMA, partition_by="p", options=options)
    hudi.bulk_insert(unique(rows(range(24))))
    table = IndexedTable.open(hudi.path)
    table.create_all(list(STATEMENTS))
    moved = [
        {**row, "p": "b" if row["p"] == "a" else "moved"}
        for row in unique(rows(range(0, 24, 5), salt=40, ts=2))
    ]
    hudi.upsert(moved)
    tally = _compare(hudi, f"moved {table_type}", 10)
    table.maintain()
    again = _compare(hudi, f"moved and maintained {table_type}", 10)
    tally.check(f"moved records, {table_type}, indexes behind", capsys)
    again.check(f"moved records, {table_type}", capsys, left_out=0.02)


@pytest.mark.parametrize("table_type", [MOR, pytest.param(COW, marks=pytest.mark.slow)])
def test_columns_added_and_types_widened_since_an_index_was_built(
    table_type: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type, schema=SCHEMA, partition_by="q")
    hudi.bulk_insert(unique(rows(range(16))))
    table = IndexedTable.open(hudi.path)
    table.create_all([*STATEMENTS, "CREATE INDEX by_n ON t (n)"])
    hudi.schema = SCHEMA.replace("n int", "n bigint") + ", extra string"
    later = [{**row, "extra": f"e{place % 3}"} for place, row in enumerate(unique(rows(range(14, 24), ts=2)))]
    hudi.upsert([{**row, "n": 2**40 + place} for place, row in enumerate(later)])
    texts = [
        *(
            "extra = 'e1'",
            "extra IS NULL",
            "extra IS NULL AND n < 10",
            "n = 3",
            "n > 2147483647",
            "n = 1099511627777",
        ),
        *(
            "n IS NULL",
            "CAST(n AS STRING) = '3'",
            "n < 5.5",
            "n IN (3, 1099511627778)",
            "name = 'name4'",
            "q = 1 AND n > 5",
        ),
    ]
    tally = Tally()
    Sides.of(hudi).compare(tally, texts, note="behind")
    table.maintain()
    table.sql("CREATE INDEX by_extra ON t (extra)")
    sides = Sides.of(hudi)
    sides.compare(tally, texts, note="maintained")
    sides.compare_rows(tally)
    tally.check(f"changed schema, {table_type}", capsys, left_out=0.02)
