"""Programs that are started enabled, by spark-submit, without a change to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.spark.runtime.session import HUDI_BUNDLE
from tests.parity.tables import COW, HudiTable, hostile_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
import beside

spark = SparkSession.builder.appName("theirs").getOrCreate()
frame = spark.read.format("hudi").load(sys.argv[1]).where("name = 'ascii'")
plan = frame._jdf.queryExecution().executedPlan().toString()
told = {"rows": frame.count(), "argv": sys.argv, "main": __name__, "enabled": "SessionFileIndex" in plan}

from hudi_index.spark import disable, explain

disable(spark)
again = spark.newSession().read.format("hudi").load(sys.argv[1]).where("name = 'ascii'")
told["disabled"] = "the session is not enabled" in explain(again)
print("told " + json.dumps({**told, "beside": beside.NAME}))
spark.stop()
"""


def test_program_runs_as_if_started_itself_and_is_enabled(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(24)))
    IndexedTable.open(hudi.path).sql("CREATE INDEX by_name ON t (name)")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("NAME = 'found'")
    launcher = subprocess.run(
        [sys.executable, "-m", "hudi_index.spark.launch"], capture_output=True, text=True, check=True
    ).stdout.strip()
    submit = Path(sys.executable).parent / "spark-submit"
    command = [str(submit), "--master", "local[1]", "--packages", HUDI_BUNDLE]
    command += ["--conf", "spark.ui.enabled=false", launcher, str(program), str(hudi.path), "--flag"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    (told,) = [line for line in ended.stdout.splitlines() if line.startswith("told ")] or [ended.stderr]
    assert json.loads(told.removeprefix("told ")) == {
        "rows": hudi.read().where("name = 'ascii'").count(),
        "argv": [str(program), str(hudi.path), "--flag"],
        "main": "__main__",
        "enabled": True,
        "disabled": True,
        "beside": "found",
    }
