"""Which batches a table holds, and who may write them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import InvalidOptionError, WriterRunsError, WrongTypeError
from hudi_index.spark import upsert
from hudi_index.writer.batches import Batch, CommittedBatches
from hudi_index.writer.lease import WriterLease
from hudi_index.writer.options import BATCH
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.repository.tree import ROOT
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_RECORDS = "CREATE INDEX records ON t USING record_index (id)"


def _noted(writer: str, batch: object) -> dict[str, str]:
    return {BATCH: json.dumps({"writer": writer, "batch": batch})}


def _timeline(*noted: dict[str, str]) -> Any:
    """A timeline whose commits have these extra metadata, and that counts how many were read."""
    commits = [SimpleNamespace(path=f"{n}", requested_time=f"{n}") for n in range(len(noted))]
    read: list[str] = []

    def metadata_of(instant: Any, *_: str) -> dict[str, Any]:
        read.append(instant.path)
        return {"extraMetadata": noted[int(instant.path)]}

    return SimpleNamespace(commits=commits, metadata_of=metadata_of, read=read)


def test_a_name_is_found_in_whatever_order_batches_were_written() -> None:
    timeline = _timeline(_noted("w", "20240105"), _noted("v", "20240103"), _noted("w", "20240103"))
    batches = CommittedBatches(lambda _: [("archived", _noted("w", "20231231"))])
    assert batches.find(Batch("w", "20240105"), timeline) == "0"
    assert batches.find(Batch("v", "20240103"), timeline) == "1"
    assert batches.find(Batch("w", "20231231"), timeline) == "archived"
    assert batches.find(Batch("w", "20240104"), timeline) is None


def test_a_number_is_looked_for_until_a_smaller_one_of_its_writer() -> None:
    timeline = _timeline(_noted("w", 1), _noted("w", 2), {}, {BATCH: "no JSON"}, _noted("other", 0))

    def archived(_: object) -> list[tuple[str, dict[str, str]]]:
        raise AssertionError("what is older than a smaller number need not be read")

    batches = CommittedBatches(archived)
    assert batches.find(Batch("w", "3", counts=True), timeline) is None
    assert timeline.read == ["4", "3", "2", "1"]
    assert batches.find(Batch("w", "2", counts=True), timeline) == "1"
    assert timeline.read == ["4", "3", "2", "1"]
    assert batches.find(Batch("w", "1", counts=True), timeline) == "0"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("table_type", "version"),
    [(COW, 9), pytest.param(MOR, 6), pytest.param(MOR, 8, marks=pytest.mark.slow)],
)
def test_a_batch_is_found_after_its_commit_was_archived(
    spark: SparkSession, tmp_path: Path, table_type: str, version: int
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type, version, schema="id string, ts bigint, region string")
    rows = [{"id": f"k{i}", "ts": 1, "region": "eu"} for i in range(3)]
    hudi.bulk_insert(rows)
    table = IndexedTable.open(hudi.path)
    table.create_all([_RECORDS])
    frame = hudi.frame([{"id": "k1", "ts": 2, "region": "eu"}])
    first = upsert(frame, table, writer="w", batch="a")
    assert not first.is_repeated
    archiving = {
        "hoodie.archive.automatic": "true",
        "hoodie.clean.automatic": "true",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
        "hoodie.commits.archival.batch": "1",
    }
    for _ in range(6):
        hudi.write(hudi.frame(rows), "upsert", options=archiving)
        if first.instant not in hudi.completed():
            break
    assert first.instant not in hudi.completed()
    again = upsert(frame, table, writer="w", batch="a")
    assert (again.is_repeated, again.instant, again.attempts) == (True, first.instant, 0)
    assert table.status().commits_behind == 0
    # Another batch of the writer is another one.
    other = upsert(frame, table, writer="w", batch="b")
    assert (other.is_repeated, other.counts.updated) == (False, 1)


@pytest.mark.spark
def test_what_names_no_batch_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    frame = hudi.frame(hostile_rows(range(1)))
    for wrong, error in ((True, WrongTypeError), (1.5, WrongTypeError), (-1, InvalidOptionError)):
        with pytest.raises(error, match="'batch'"):
            upsert(frame, hudi.path, writer="w", batch=wrong)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match="'writer'"):
        upsert(frame, hudi.path, writer=1, batch=1)  # type: ignore[arg-type]


_HOLD = """
import sys
from hudi_index.storage import Storage
from hudi_index.writer.lease import WriterLease
lease = WriterLease(Storage.open(sys.argv[1]), "w")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_name_is_held_across_processes_and_free_once_its_holder_is_killed(tmp_path: Path) -> None:
    storage = IndexedTable.open(fabricated(tmp_path / "t").path).storage
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "t")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(WriterRunsError, match=f"writer 'w'.*{holder.pid}"):
        WriterLease(storage, "w")
    WriterLease(storage, "another").close()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    with WriterLease(storage, "w"), pytest.raises(WriterRunsError):
        WriterLease(storage, "w")
    WriterLease(storage, "w").close()
