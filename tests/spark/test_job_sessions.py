"""Jobs of this machine start Spark only when they need it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hudi_index import IndexedTable
from hudi_index.spark import job
from hudi_index.spark.build import choose_executor as small_work
from tests.support.tables import T2, fabricated, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession


class StartedError(Exception):
    """Instead of a session."""


def start(table: str, options: Any) -> SparkSession:
    raise StartedError("a session was wanted")


def test_job_starts_no_session_for_little_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job, "_started_by", [])
    job.start_session_by(start)
    files = fabricated(tmp_path / "t")
    write(files, T2, "b", range(3))

    def run(verb: Callable[[IndexedTable, SparkSession], job.Report]) -> dict[str, Any]:
        parser, asked = job.job_parser(None), ["--table", str(files.path)]
        code = job.run_job(parser, lambda table, _, spark: verb(table, spark), asked)
        return {**json.loads(capsys.readouterr().out), "code": code}

    assert run(lambda table, spark: table.maintain(spark=spark))["file_groups_changed"] == 1
    assert run(lambda table, spark: table.maintain(spark=spark))["file_groups_changed"] == 0
    assert run(lambda table, spark: table.compact(force=True, spark=spark))["entries_added"] == 15
    statement = "CREATE INDEX odd ON t (n % 2)"
    failed = run(lambda table, spark: job.check_report(table.sql(statement, spark=spark)))
    assert (failed["code"], failed["kind"]) == (1, "StartedError")
    # More than is small: as much as one file has.
    monkeypatch.setattr(small_work, "MOST_BYTES", 100)
    statement = "CREATE INDEX r ON t (region)"
    assert run(lambda table, spark: job.check_report(table.sql(statement, spark=spark)))["code"] == 1
    assert [each.name for each in IndexedTable.open(files.path).indexes() if each.state == "ready"] == [
        "by_n"
    ]
