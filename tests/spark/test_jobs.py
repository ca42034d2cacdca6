"""The job scripts under spark-submit: on this machine's cores, and on a cluster of separate processes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.engine import IndexedTable
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.runtime.java import ensure_java
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.entries import check_indexes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOBS = Path(__file__).parents[2] / "spark_jobs"
BIN = Path(sys.executable).parent


def _environment() -> dict[str, str]:
    ensure_java()
    wanted = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **wanted}


def _submit(
    master: str, script: str, *arguments: str, code: int = 0, options: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run a job; its exit code must be `code`. Returns the last line of stdout."""
    command = [str(BIN / "spark-submit"), "--master", master, "--conf", "spark.ui.enabled=false"]
    command += ["--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.sql.shuffle.partitions=2"]
    command += ["--driver-java-options", "-XX:TieredStopAtLevel=1"]
    done = subprocess.run(
        [*command, *options, str(JOBS / script), *arguments],
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stderr[-3000:]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.fixture
def hudi(spark: SparkSession, tmp_path: Path) -> HudiTable:
    hudi = HudiTable(spark, tmp_path / "t", MOR)
    hudi.bulk_insert(hostile_rows(range(24)))
    return hudi


def test_jobs_create_maintain_compact_and_drop(hudi: HudiTable, tmp_path: Path) -> None:
    table = ["--table", str(hudi.path)]
    statement = "CREATE INDEX by_name ON t (name)"
    kept = tmp_path / "report.json"
    report = _submit("local[2]", "initialize.py", *table, "--statement", statement, "--report", str(kept))
    assert report["indexes"] == ["by_name"]
    assert json.loads(kept.read_text()) == report
    hudi.upsert(hostile_rows(range(4), ts=2, salt=1))
    with MetadataTable.of(IndexedTable.open(hudi.path).storage).begin():
        assert _submit("local[2]", "maintain.py", *table, code=4)["kind"] == "LeaseHeldError"
    assert _submit("local[2]", "maintain.py", *table)["file_groups_changed"] == 3
    assert _submit("local[2]", "compact.py", *table, "--force")["commit"]
    check_indexes(IndexedTable.open(hudi.path).storage)
    assert _submit("local[2]", "drop.py", *table, "--index", "by_name")["indexes"] == ["by_name"]
    assert IndexedTable.open(hudi.path).indexes() == ()


def test_every_failure_is_json_on_the_last_line(hudi: HudiTable, tmp_path: Path) -> None:
    kept = tmp_path / "not yet" / "there" / "report.json"
    arguments = ["--table", str(hudi.path), "--index", "nope", "--report", kept.as_uri()]
    report = _submit("local[1]", "drop.py", *arguments, code=2)
    assert report["kind"] == "NoSuchIndexError"
    assert json.loads(kept.read_text()) == report
    # Our fault, or the disk's: the catalog's folder is a file.
    index = hudi.path / ".hoodie" / ".index"
    index.write_text("no folder")
    report = _submit("local[1]", "maintain.py", "--table", str(hudi.path), "--report", kept.as_uri(), code=1)
    assert report["kind"] == "CatalogCorruptError"
    assert f"hudi-index repair --table {hudi.path}" in report["error"]
    assert report["table"] == str(hudi.path)
    damaged = [
        {"path": ".hoodie/.index", "reason": "is a file where a folder should be", "remedy": "made whole"}
    ]
    for check, code in ((["--check"], 3), ([], 0)):
        report = _submit("local[1]", "repair.py", "--table", str(hudi.path), *check, code=code)
        assert report["damage"] == damaged


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """A standalone master and two workers on loopback; executors are processes of their own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    commands = [
        [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
        *(
            [
                *(f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g"),
                *("--webui-port", "0", "--work-dir", str(tmp_path / f"worker-{number}"), master),
            ]
            for number in range(2)
        ),
    ]
    log = (tmp_path / "cluster.log").open("wb")
    processes = [
        subprocess.Popen([str(BIN / "spark-class"), *command], env=_environment(), stdout=log, stderr=log)
        for command in commands
    ]
    try:
        deadline = time.monotonic() + 60
        while len(re.findall("Registering worker", (tmp_path / "cluster.log").read_text())) < 2:
            assert time.monotonic() < deadline, (tmp_path / "cluster.log").read_text()[-2000:]
            time.sleep(0.2)
        yield master
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)
        log.close()


# The operators run one job so in the normal run.
@pytest.mark.slow
def test_jobs_run_on_a_standalone_cluster(spark: SparkSession, cluster: str, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(24)))
    table = ["--table", str(hudi.path)]
    statement = "CREATE INDEX by_name ON t (name) OPTIONS (shards = 3)"
    assert _submit(cluster, "initialize.py", *table, "--statement", statement)["rows_read"] == 24
    hudi.upsert(hostile_rows(range(6), ts=2, salt=1))
    assert _submit(cluster, "maintain.py", *table)["file_groups_changed"] == 3
    check_indexes(IndexedTable.open(hudi.path).storage)
    assert _submit(cluster, "compact.py", *table, "--force", "--partition", "secondary_index_by_name")[
        "commit"
    ]
    check_indexes(IndexedTable.open(hudi.path).storage)
    assert _submit(cluster, "drop.py", *table, "--index", "by_name")["indexes"] == ["by_name"]
    assert IndexedTable.open(hudi.path).indexes() == ()
    # Each worker started executors, processes of their own with a folder each.
    executors = [list((tmp_path / f"worker-{number}").glob("app-*/*")) for number in range(2)]
    assert all(executors)
