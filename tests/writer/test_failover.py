"""Streams that are killed (-9) and started again: every batch is in the table once, and in its indexes.

RFC-102 names four cases in which a checkpoint has succeeded and its Hudi instant is not committed. Here
Spark's offset log is the checkpoint: it fixes what a micro-batch holds, before any of it is written.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.validation import Request
from hudi_index.writer.lease import WriterLease
from tests.parity.tables import COW, MOR, HudiTable
from tests.repository.tree import ROOT
from tests.writer.mortal_stream import (
    DRIVER_POINTS,
    JAVA_LIVES_ON,
    SCHEMA,
    WORKER_POINTS,
    WRITER,
    pending_with_files,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

RFC_CASES = {
    "1. Missing acknowledgment": ("before the data commit", "before Spark notes the end"),
    "2. Job restart during commit": ("within the data commit",),
    "3. Task failover before acknowledgment": WORKER_POINTS,
    "4. Task failover after acknowledgment but before commit completion": (
        "between data and index commit",
        "within the index commit",
        "index commit decided, not visible",
    ),
}
_UNCOMMITTED = ("before the data commit", "within the data commit")
_STATEMENTS = (
    "CREATE INDEX records ON t USING record_index (id)",
    "CREATE INDEX by_v ON t (v)",
    "CREATE INDEX flags ON t USING bitmap (gone)",
    "CREATE INDEX times ON t USING column_stats (ts)",
)
_KEYS = 60
_NUMBERS = [str(each) for each in range(len(DRIVER_POINTS))]
Row = dict[str, Any]


def _first() -> list[Row]:
    return [{"id": f"k{i}", "part": f"p{i % 3}", "ts": 10, "v": f"v{i}"} for i in range(40)]


def _batches() -> list[list[Row]]:
    """Inserts, updates, moves, deletes and late rows."""
    found = []
    for number in range(len(_NUMBERS)):
        chance = random.Random(number)
        found.append(
            [
                {
                    "id": f"k{i}",
                    "part": f"p{chance.randrange(3)}" if chance.random() < 0.3 else f"p{i % 3}",
                    "ts": chance.choice([5, 20 + 10 * number]),
                    "v": f"b{number}-{i}",
                    "gone": chance.random() < 0.15,
                }
                for i in chance.sample(range(_KEYS), 16)
            ]
        )
    return found


def _expected(batches: Iterable[list[Row]]) -> list[tuple[Any, ...]]:
    """What the table holds after batches, by the rules of event time."""
    found = {row["id"]: row for row in _first()}
    for row in (row for batch in batches for row in batch):
        if row["ts"] < found.get(row["id"], row)["ts"]:
            continue
        found.pop(row["id"], None)
        if not row["gone"]:
            found[row["id"]] = row
    return sorted((row["id"], row["part"], row["ts"], row["v"]) for row in found.values())


@dataclass
class Streamed:
    """A table, its input, and the stream between them."""

    table: HudiTable
    folder: Path

    @classmethod
    def make(cls, spark: SparkSession, folder: Path, table_type: str, version: int = 9) -> Streamed:
        table = HudiTable(spark, folder / "table", table_type, version, partition_by="part", schema=SCHEMA)
        table.bulk_insert(_first())
        IndexedTable.open(table.path).create_all(_STATEMENTS, spark=spark)
        (folder / "in").mkdir()
        for number, batch in enumerate(_batches()):
            file = folder / "in" / f"{number}.json"
            file.write_text("".join(f"{json.dumps(row)}\n" for row in batch))
            # Spark takes the oldest first.
            os.utime(file, (1_700_000_000 + number,) * 2)
        return cls(table, folder)

    def run(self, point: str = "", batch: int = 1, *, checkpoint: str = "checkpoint", code: int = 0) -> str:
        """Run the stream, until its end or its death; returns what it wrote to stderr."""
        told = [str(self.folder), str(self.folder / checkpoint), point, str(batch)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.writer.mortal_stream", *told],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr[-4000:]
        return done.stderr

    def numbers(self) -> list[str]:
        """The numbers of the batches that the table's commits name."""
        return [name.rpartition("#")[2] for name in self.committed()]

    def repeated(self) -> list[str]:
        """The numbers of the batches that had been committed when they came."""
        return [report["batch"] for report in self.reports() if report["is_repeated"]]

    def reports(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "reports").read_text().splitlines()]

    def committed(self) -> list[str]:
        """The batches that the table's commits name."""
        from hudi_index.table import TableConfig, Timeline
        from hudi_index.writer.batches import Batch

        storage = IndexedTable.open(self.table.path).storage
        timeline = Timeline.load(storage, TableConfig.load(storage))
        found = (Batch.of(timeline.metadata_of(each).get("extraMetadata")) for each in timeline.commits)
        return [f"{each.writer}#{each.batch}" for each in found if each]

    def check(self) -> None:
        """All rows are there once, and all indexes are right."""
        rows = self.table.read().select("id", "part", "ts", "v").collect()
        assert sorted(tuple(row) for row in rows) == _expected(_batches())
        indexed = IndexedTable.open(self.table.path)
        assert indexed.status().commits_behind == 0
        report = indexed.validate(Request(queries=2, sample=None), spark=self.table.spark)
        assert report.exit_code == 0, str(report)
        # Whoever died left nothing that keeps others out.
        WriterLease(indexed.storage, WRITER).close()


def test_every_case_of_the_rfc_has_its_points() -> None:
    assert {point for points in RFC_CASES.values() for point in points} == {*DRIVER_POINTS, *WORKER_POINTS}


def test_a_stream_that_dies_twice_writes_every_batch_once(spark: SparkSession, tmp_path: Path) -> None:
    streamed = Streamed.make(spark, tmp_path, MOR)
    streamed.run("within the data commit", 0, code=-9)
    assert len(pending_with_files(streamed.table.path)) == 1
    streamed.run("between data and index commit", 1, code=-9)
    assert IndexedTable.open(streamed.table.path).status().commits_behind == 1
    streamed.run()
    streamed.check()
    assert streamed.numbers() == _NUMBERS
    assert len(streamed.repeated()) == 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("table_type", "version"), [(COW, 9), (MOR, 9), (MOR, 6), (COW, 6), (MOR, 8)])
def test_a_driver_that_dies_at_every_point(
    spark: SparkSession, tmp_path: Path, table_type: str, version: int
) -> None:
    streamed = Streamed.make(spark, tmp_path, table_type, version)
    for number, point in enumerate(DRIVER_POINTS):
        streamed.run(point, number, code=-9)
        is_committed = point not in _UNCOMMITTED
        assert len(streamed.numbers()) == number + is_committed, point
        assert bool(pending_with_files(streamed.table.path)) == (point == "within the data commit")
    streamed.run()
    streamed.check()
    assert streamed.numbers() == _NUMBERS
    # Those that were committed and whose end Spark had not noted.
    assert streamed.repeated() == _NUMBERS[len(_UNCOMMITTED) :]


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_driver_that_dies_at_every_point_and_loses_its_checkpoint(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    streamed = Streamed.make(spark, tmp_path, table_type)
    for number, point in enumerate(DRIVER_POINTS):
        streamed.run(point, number % 2, checkpoint=f"checkpoint-{number}", code=-9)
    before = streamed.numbers()
    streamed.run(checkpoint="the last")
    # Another checkpoint is another stream: it begins at the first file, and ends with the same rows.
    assert streamed.numbers() == [*before, *_NUMBERS]
    assert not streamed.repeated()
    streamed.check()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_driver_whose_java_lives_on(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    """It may or may not complete the commit that it was at; the batch is there once in either case."""
    streamed = Streamed.make(spark, tmp_path, table_type)
    streamed.run(f"within the data commit{JAVA_LIVES_ON}", 1, code=-9)
    streamed.run()
    streamed.check()
    assert streamed.numbers() == _NUMBERS


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("point", WORKER_POINTS)
def test_a_python_worker_that_dies(spark: SparkSession, tmp_path: Path, point: str, table_type: str) -> None:
    streamed = Streamed.make(spark, tmp_path, table_type)
    if point == WORKER_POINTS[0]:
        # Spark tries its task again.
        streamed.run(point, 1)
    else:
        assert "Python worker exited unexpectedly" in streamed.run(point, 1, code=1)
        assert streamed.numbers() == ["0"]
        streamed.run()
    assert (tmp_path / "worker died").read_text()
    streamed.check()
    assert streamed.numbers() == _NUMBERS
