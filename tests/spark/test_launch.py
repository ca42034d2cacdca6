"""Programs, shells and notebooks that are started enabled, each as its recipe in the documents says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.spark import disable, explain
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


ENABLING = "from hudi_index.spark import enable; enable(spark)\n"
"""The file that shells and notebooks are started with."""
SCRIPTS = Path(sys.executable).parent
OPTIONS = ["--master", "local[1]", "--packages", HUDI_BUNDLE, "--conf", "spark.ui.enabled=false"]


@pytest.fixture(scope="module")
def hudi(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    table = HudiTable(spark, tmp_path_factory.mktemp("launch") / "t", COW)
    table.bulk_insert(hostile_rows(range(24)))
    IndexedTable.open(table.path).sql("CREATE INDEX by_name ON t (name)")
    return table


def environment(**more: str) -> dict[str, str]:
    """Workers run this Python, and the commands of its environment are found."""
    return {**os.environ, "PYSPARK_PYTHON": sys.executable, **more}


def told_in(output: str, otherwise: str) -> dict[str, Any]:
    """What a program printed after `told`."""
    lines = [line for line in output.splitlines() if line.startswith("told ")]
    assert len(lines) == 1, otherwise[-5000:]
    found: dict[str, Any] = json.loads(lines[0].removeprefix("told "))
    return found


def test_program_runs_as_if_started_itself_and_is_enabled(hudi: HudiTable, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("NAME = 'found'")
    launcher = subprocess.run(
        [sys.executable, "-m", "hudi_index.spark.launch"], capture_output=True, text=True, check=True
    ).stdout.strip()
    command = [str(SCRIPTS / "spark-submit"), *OPTIONS, launcher, str(program), str(hudi.path), "--flag"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert told_in(ended.stdout, ended.stderr) == {
        "rows": hudi.read().where("name = 'ascii'").count(),
        "argv": [str(program), str(hudi.path), "--flag"],
        "main": "__main__",
        "enabled": True,
        "disabled": True,
        "beside": "found",
    }


TYPED = """import json
frame = spark.read.format("hudi").load({path!r}).where("name = 'ascii'")
plan = frame._jdf.queryExecution().executedPlan().toString()
print("told " + json.dumps(dict(rows=frame.count(), enabled="SessionFileIndex" in plan)), flush=True)
"""


def test_shell_that_starts_with_the_file_is_enabled(hudi: HudiTable, tmp_path: Path) -> None:
    start = tmp_path / "enable.py"
    start.write_text(ENABLING)
    # A shell takes notice of the file only if somebody types: at a terminal.
    keyboard, screen = os.openpty()
    try:
        shell = subprocess.Popen(
            [str(SCRIPTS / "pyspark"), *OPTIONS],
            stdin=screen,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(PYTHONSTARTUP=str(start)),
        )
        end = "\x04"
        os.write(keyboard, f"{TYPED.format(path=str(hudi.path))}{end}".encode())
        output, errors = shell.communicate()
    finally:
        os.close(screen)
        os.close(keyboard)
    # The prompt stands before what is printed.
    lines = output.replace(">>> ", "").replace("... ", "")
    assert told_in(lines, output + errors) == {
        "rows": hudi.read().where("name = 'ascii'").count(),
        "enabled": True,
    }


def test_notebook_whose_kernel_brings_a_session_is_enabled(
    spark: SparkSession, hudi: HudiTable, tmp_path: Path
) -> None:
    start = tmp_path / "00-enable.py"
    start.write_text(ENABLING)
    try:
        # What a kernel does with the files in its start-up folder, among the names that cells will see.
        exec(compile(start.read_text(), start, "exec"), {"spark": spark})
        frame = spark.read.format("hudi").load(str(hudi.path)).where("name = 'ascii'")
        assert "asked         by_name" in explain(frame)
    finally:
        disable(spark)
