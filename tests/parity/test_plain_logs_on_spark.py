"""Logs that Hudi on Spark wrote and that are merged without hudi-rs: the rows that Spark reads."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from tests.parity.shapes import assert_same
from tests.parity.tables import MOR, SCHEMA, HudiTable, hostile_row
from tests.support.entries import check_indexes
from tests.support.merges import count_merges

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NESTED = ("address", "tags")
PLAIN = ", ".join(part for part in SCHEMA.split(", ") if part.split()[0] not in NESTED)
"""No log of a table with nested columns is merged here, unless those stand behind all that are wanted."""
MORE = f"{PLAIN}, at timestamp, step int"
"""hudi-rs can't even open tables with times without zone, and reads what is not plain here."""
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
"""With these new records go to logs, of file groups without a base file too."""
COMMIT_TIME = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
STATEMENTS = (
    "CREATE INDEX records ON t USING record_index (id)",
    "CREATE INDEX names ON t (name)",
    "CREATE INDEX flags ON t USING bitmap (flag)",
    "CREATE INDEX stats ON t USING column_stats (n, seen, ratio, at)",
)
SHAPES: tuple[dict[str, Any], ...] = (
    {"ordering": "ts"},
    {"ordering": "at", "version": 8},
    {"ordering": "ts", "options": BUCKETS},
    {"ordering": None, "options": COMMIT_TIME},
    {"ordering": "step", "partition_by": ""},
    {"ordering": None, "version": 8, "options": {**COMMIT_TIME, **BUCKETS}},
)
EPOCH = datetime(2024, 1, 1, tzinfo=timezone.utc)


@dataclass
class History:
    """Random writes by Hudi: updates, late ones, ties, keys that come twice, new records, few deletes."""

    table: HudiTable
    random: random.Random
    moment: int = 10
    salts: int = 0
    has_died: bool = False
    """Whether the last write did. Hudi can't take it back any more after a compaction."""

    def row(self, key: int) -> dict[str, Any]:
        self.salts += 1
        moment = self.moment - self.random.choice([0, 0, 0, 0, 1, 2, 5])
        made = hostile_row(key, ts=moment, salt=self.salts % 50)
        made = {name: value for name, value in made.items() if name not in NESTED}
        at = EPOCH + timedelta(microseconds=moment)
        made |= {"at": at, "step": moment}
        if "more" in self.table.schema:
            made["more"] = None if self.salts % 4 else f"more {self.salts}"
        return made

    def keys(self, count: int, among: int = 30) -> list[int]:
        return [self.random.randrange(among) for _ in range(count)]

    def begin(self) -> None:
        self.table.bulk_insert([self.row(key) for key in range(0, 30, 2)])

    def step(self) -> None:
        self.moment += 1
        action, self.has_died = -1 if self.has_died else self.random.randrange(12), False
        match action:
            case 0:
                self.table.delete([self.row(key) for key in self.keys(2)])
            case 1:
                self.table.compact()
            case 2 if "more" not in self.table.schema:
                self.table.schema += ", more string"
                self.table.upsert([self.row(key) for key in self.keys(3)])
            case 3:
                self.table.insert([self.row(key) for key in range(self.moment * 10, self.moment * 10 + 3)])
            case 4:
                self.has_died = True
                self.table.crash_a_write([self.row(key) for key in self.keys(4)])
            case _:
                self.table.upsert([self.row(key) for key in self.keys(self.random.choice([1, 4, 12]))])


@pytest.fixture(name="merges")
def counted_merges(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each merge so far was done without hudi-rs."""
    return count_merges(monkeypatch)


def _run(table: HudiTable, seed: int, steps: int) -> None:
    history = History(table, random.Random(seed))
    history.begin()
    indexed = IndexedTable.open(table.path)
    indexed.create_all(STATEMENTS)
    for _ in range(steps):
        history.step()
        assert_same(table)
        indexed.maintain()
        check_indexes(indexed.storage)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_rows_are_those_that_spark_reads(
    spark: SparkSession, tmp_path: Path, merges: list[bool], number: int
) -> None:
    _run(HudiTable(spark, tmp_path / "t", MOR, schema=MORE, **SHAPES[number]), 7 + number, steps=4)
    assert merges.count(True) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_rows_are_those_that_spark_reads_in_many_histories(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    _run(
        HudiTable(spark, tmp_path / "t", MOR, schema=MORE, **SHAPES[seed % len(SHAPES)]), 100 + seed, steps=12
    )
