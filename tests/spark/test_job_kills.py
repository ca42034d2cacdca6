"""kill -9 of a running Spark job, driver and JVM: the next run succeeds, and all entries are right."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_index.catalog import IndexState
from hudi_index.engine import IndexedTable
from hudi_index.errors import IndexExistsError
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.runtime.java import ensure_java
from tests.parity.tables import MOR, HudiTable, hostile_rows
from tests.support.entries import check_indexes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOBS = Path(__file__).parents[2] / "spark_jobs"
CREATE = "CREATE INDEX by_name ON t (name)"


def _kill_midway(hudi: HudiTable, chance: random.Random, script: str, *arguments: str) -> bool:
    """Start a job, let it begin its commit and go on for a moment, kill it; whether it was still running."""
    ensure_java()
    submit = (
        "--master local[2] --conf spark.ui.enabled=false --conf spark.driver.host=127.0.0.1 pyspark-shell"
    )
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": submit}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(JOBS.parent), environment.get("PYTHONPATH")])
    )
    ledger = hudi.path / MetadataTable.folder / ".hoodie" / "ledger"
    before = len(list(ledger.glob("*.json")))
    process = subprocess.Popen(
        [sys.executable, str(JOBS / script), "--table", str(hudi.path), *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    while process.poll() is None and len(list(ledger.glob("*.json"))) == before:
        time.sleep(0.01)
    time.sleep(chance.choice([0, 0.05, 0.2, 1, 2]) * chance.random())
    is_running = process.poll() is None
    if is_running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return is_running


def _kill_and_go_on(count: int, spark: SparkSession, path: Path) -> None:
    chance = random.Random(count)
    hudi = HudiTable(spark, path, MOR)
    hudi.bulk_insert(hostile_rows(range(24)))
    table = IndexedTable.open(path)
    table.sql("CREATE INDEX record_index ON t (id)")
    table.sql("CREATE INDEX flags ON t USING bitmap (flag)")
    killed = 0
    for place in range(count):
        verb = ("create", "maintain", "compact")[place % 3]
        if verb == "create":
            table.sql("DROP INDEX IF EXISTS by_name")
            killed += _kill_midway(hudi, chance, "initialize.py", "--statement", CREATE)
            _create(table)
        elif verb == "maintain":
            hudi.upsert(hostile_rows(chance.sample(range(30), 6), ts=place + 2, salt=place))
            killed += _kill_midway(hudi, chance, "maintain.py")
            table.maintain()
        else:
            killed += _kill_midway(hudi, chance, "compact.py", "--force")
            table.compact(force=True)
        # The dead process's lease is free at once: none of these waits for it to expire.
        check_indexes(table.storage)
        assert {each.state for each in table.indexes()} == {IndexState.READY}
        assert table.status().is_fresh
    assert killed, "every job was done before it was killed"


def _create(table: IndexedTable) -> None:
    known = {each.name: each.state for each in table.indexes()}
    if known.get("by_name") is IndexState.READY:
        with pytest.raises(IndexExistsError):
            table.sql(CREATE)
    else:
        table.sql(CREATE)


def test_jobs_killed_once_each(spark: SparkSession, tmp_path: Path) -> None:
    _kill_and_go_on(3, spark, tmp_path / "t")


@pytest.mark.slow
def test_jobs_killed_at_many_moments(spark: SparkSession, tmp_path: Path) -> None:
    _kill_and_go_on(30, spark, tmp_path / "t")
