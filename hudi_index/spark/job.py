"""What the scripts of `spark_jobs/` have in common: arguments, session, report, exit code.

The last line on stdout is the report as JSON, `{"error": …}` if it failed; `--report` writes it to a file or
URI as well. Exit codes: 0 fine, 1 our fault, 2 bad request, 3 validation failed, 4 conflict, retry.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from hudi_index.engine import IndexedTable
from hudi_index.errors import HudiIndexError, UserError
from hudi_index.jobs import JobReport
from hudi_index.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["job_parser", "run_job"]


def job_parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments that every job has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--table", required=True, help="path or URI of the Hudi table")
    parser.add_argument("--report", help="file or URI that the report is written to")
    return parser


def run_job(
    parser: argparse.ArgumentParser,
    run: Callable[[IndexedTable, argparse.Namespace, SparkSession], JobReport],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run one job on the session that spark-submit configures; returns the exit code."""
    asked = parser.parse_args(arguments)
    spark = SparkSession.builder.getOrCreate()
    try:
        report, code = run(IndexedTable.open(asked.table), asked, spark).to_json(), 0
    except HudiIndexError as error:
        failure = {"error": str(error), "kind": type(error).__name__, "table": asked.table}
        report, code = json.dumps(failure, sort_keys=True), error.exit_code
    finally:
        spark.stop()
    if asked.report:
        folder, _, name = asked.report.rpartition("/")
        Storage.open(folder or ".").write(name, report.encode())
    sys.stdout.write(f"{report}\n")
    sys.stdout.flush()
    return code


def checked_report(answer: object) -> JobReport:
    """The report of a statement that made one."""
    if not isinstance(answer, JobReport):
        raise UserError("this job runs statements that change indexes; use `hudi-index show` to list them")
    return answer
