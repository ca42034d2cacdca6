"""A session of Spark Connect: what it is told, and what the explicit way reads through a real server.

Server and client are processes of their own: a session of this process would decide what the client becomes.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

CONNECT = "org.apache.spark:spark-connect_2.12:3.5.7"
"""Not of each Spark 3.5 there is one to be had; this one serves the others too."""

SERVER = """
import sys
from pyspark.sql import SparkSession
from hudi_index.spark.runtime.java import ensure_java

ensure_java()
settings = {
    "spark.jars.packages": sys.argv[2],
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": sys.argv[1],
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
print("ready", flush=True)
sys.stdin.read()
spark.stop()
"""

CLIENT = """
import json
import sys
from pyspark.sql import SparkSession
from hudi_index.errors import HudiIndexError
from hudi_index.spark import last_plans, read_indexed

def told(path, **how):
    try:
        return sorted(row.id for row in read_indexed(spark, path, **how).select("id").collect())
    except HudiIndexError as error:
        return [type(error).__name__, str(error)]

spark = SparkSession.builder.remote(f"sc://localhost:{sys.argv[1]}").getOrCreate()
plain, logged = sys.argv[2:]
answers = [told(plain), *(told(plain, where=text) for text in ("name = 'ascii'", "name = 'nobody'"))]
print(json.dumps([type(spark).__module__, *answers, told(logged, where="id = 'k0001'")]))
"""


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of a Connect server that knows nothing of Hudi."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        number: int = free.getsockname()[1]
    command, log = [sys.executable, "-c", SERVER, str(number), CONNECT], tmp_path / "server.log"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with log.open("w") as sink, subprocess.Popen(command, text=True, stderr=sink, **pipes) as server:
        try:
            assert server.stdout is not None
            if not any(line.strip() == "ready" for line in iter(server.stdout.readline, "")):
                told = log.read_text()
                if "unresolved dependency" in told:
                    pytest.skip(f"{CONNECT} can't be had here")
                pytest.fail(told[-3000:])
            yield number
        finally:
            server.communicate(timeout=120)


def test_connect_session_reads_base_files_by_a_plan_made_here(
    spark: SparkSession, tmp_path: Path, port: int
) -> None:
    paths, wanted = [], []
    for table_type in (COW, MOR):
        hudi = HudiTable(spark, tmp_path / table_type, table_type)
        hudi.bulk_insert(hostile_rows(range(12)))
        hudi.upsert(hostile_rows([1], ts=9, salt=3))
        IndexedTable.open(hudi.path).sql("CREATE INDEX by_name ON t (name)")
        paths.append(str(hudi.path))
        wanted.append(sorted(row.id for row in hudi.read().where("name = 'ascii'").collect()))
    command = [sys.executable, "-c", CLIENT, str(port), *paths]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    module, without_where, found, nobody, logged = json.loads(ended.stdout.strip().splitlines()[-1])
    assert module == "pyspark.sql.connect.session"
    assert without_where[0] == "NoJvmError"
    assert 'where="…"' in without_where[1]
    assert (found, nobody) == (wanted[0], [])
    assert found
    assert logged[0] == "UnsupportedTableError"
