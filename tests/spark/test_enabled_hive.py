"""An enabled session whose catalog is Hive's, and the Thrift server that such a driver starts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from hudi_index import IndexedTable
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.spark.hive_driver import QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One Java for all of them, with a metastore: a minute of a processor, and much longer on a busy machine.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(3600)]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the driver saw: of each query and write the plain side, and the one in an enabled session."""
    folder = tmp_path_factory.mktemp("hive")
    for name, kind in (("cow", COW), ("mor", MOR)):
        hudi = HudiTable(spark, folder / name, kind)
        hudi.bulk_insert(hostile_rows(range(12)))
        hudi.bulk_insert(hostile_rows(range(12, 24)))
        hudi.upsert(hostile_rows([1, 14], ts=3, salt=1))
        shutil.copytree(hudi.path, folder / f"{name}_twin")
        IndexedTable.open(hudi.path).sql("CREATE INDEX by_name ON t (name)")
    shutil.copytree(folder / "mor", folder / "served")
    (bundle,) = [jar for jar in (spark.conf.get("spark.jars") or "").split(",") if "hudi-spark" in jar]
    command = [sys.executable, "-m", "tests.spark.hive_driver", str(folder), urlsplit(bundle).path]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith("told ")]
    assert lines, ended.stderr[-5000:]
    found: dict[str, Any] = json.loads(lines[0].removeprefix("told "))
    return found


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("table", ["cow", "mor", "served"])
def test_query_by_a_name_of_the_metastore_and_over_jdbc_is_pruned(
    table: str, name: str, told: dict[str, Any]
) -> None:
    plain, found = told[f"{table} {name}"]
    assert found["rows"] == plain["rows"] != []
    assert (plain["total"], found["errors"]) == (0, [])
    assert found["kept"] < found["total"]


@pytest.mark.parametrize("verb", ["MERGE", "DELETE"])
@pytest.mark.parametrize("table", ["cow", "mor"])
def test_write_by_a_name_of_the_metastore_is_pruned(table: str, verb: str, told: dict[str, Any]) -> None:
    twin, found = told[f"{table} {verb}"]
    assert found["rows"] == twin["rows"] != []
    assert found["errors"] == []
    assert found["kept"] < found["total"]
