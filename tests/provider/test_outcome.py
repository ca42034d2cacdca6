"""What the end of a job means for its task."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NoReturn

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_hudi_index.outcome import (
    JobConflictError,
    JobCrashedError,
    JobRefusedError,
    JobValidationFailedError,
    check_report,
    summary_of,
)
from hudi_index import IndexedTable, errors
from hudi_index.spark import job
from tests.support.airflow import WITH_AIRFLOW

pytestmark = WITH_AIRFLOW

WRONG = {
    "verb": "validate",
    "table": "/t",
    "passed": False,
    "queries": [
        {
            "query": "n = 5",
            "result": "different",
            "rows": 3,
            "rows_missing": 1,
            "rows_extra": 0,
            "missing": ["(5, x)"],
        }
    ],
    "indexes": [{"name": "by_n", "faults": ["refuted what holds rows"]}],
    "invalidated": ["by_n"],
    "advice": ["REBUILD INDEX by_n"],
    "exit_code": 3,
}


def failure(kind: str, exit_code: int) -> dict[str, Any]:
    return {"error": "why", "kind": kind, "table": "/t", "exit_code": exit_code}


@pytest.mark.parametrize(
    ("report", "code", "meaning", "is_retried"),
    [
        (failure("LeaseHeldError", 4), 4, JobConflictError, True),
        (failure("CommitConflictError", 4), None, JobConflictError, True),
        (failure("UnknownColumnError", 2), 2, JobRefusedError, False),
        (failure("EntryCorruptError", 1), 1, JobCrashedError, True),
        (None, 137, JobCrashedError, True),
        (None, 2, JobRefusedError, False),
        # The number counts, never the name.
        (failure("SomethingNewError", 2), None, JobRefusedError, False),
        (failure("NoSuchTableError", 4), None, JobConflictError, True),
        (failure("NoSuchTableError", 1), None, JobCrashedError, True),
        (WRONG, 3, JobValidationFailedError, False),
        (WRONG, None, JobValidationFailedError, False),
        ({"verb": "repair", "table": "/t", "exit_code": 3}, None, JobValidationFailedError, False),
    ],
)
def test_failures(report: dict[str, Any] | None, code: int | None, meaning: type, is_retried: bool) -> None:
    with pytest.raises(meaning) as raised:
        check_report(report, code, log="last words")
    assert isinstance(raised.value, AirflowFailException) is not is_retried
    assert ("/t: why" if report and "error" in report else "last words" if report is None else "/t") in str(
        raised.value
    )


def test_evidence_is_in_the_message() -> None:
    with pytest.raises(JobValidationFailedError) as raised:
        check_report(WRONG, 3)
    for part in ("n = 5", "1 rows missing", "(5, x)", "by_n is invalid now", "REBUILD INDEX by_n"):
        assert part in str(raised.value)


def test_summary_is_one_line() -> None:
    validation = {
        **WRONG,
        "passed": True,
        "queries": [{"file_groups": 9, "file_groups_read": 2}, {"file_groups": 9, "file_groups_read": 9}],
        "notes": ["a note"],
    }
    said = summary_of(validation)
    assert "2 queries asked, 1 of them pruned" in said
    assert "by_n" in said
    assert said.endswith("a note")
    job = {"verb": "maintain", "table": "/t", "indexes": ["a", "b"], "file_groups": 9}
    counts = {"file_groups_changed": 2, "entries_added": 5, "entries_removed": 1}
    assert summary_of({**job, **counts}) == (
        "maintain of /t done; indexes a, b; 2 of 9 file groups read; 5 entries added, 1 removed"
    )


def test_success_is_the_report() -> None:
    report = {"verb": "maintain", "exit_code": 0}
    assert check_report(report, None) == report


def test_a_report_without_exit_code_is_of_another_version() -> None:
    with pytest.raises(JobCrashedError, match=r"/t: why; the report has no exit code.* install the same"):
        check_report({"error": "why", "kind": "NoSuchTableError", "table": "/t"}, None)


MEANINGS = {1: JobCrashedError, 2: JobRefusedError, 3: JobValidationFailedError, 4: JobConflictError}
"""What a task makes of each exit code."""


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name.endswith("Error")])
def test_every_error_of_a_job_keeps_its_meaning(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind: type[errors.HudiIndexError] = getattr(errors, name)
    error = kind.__new__(kind, "why")
    error.args = ("why",)

    def fail(table: IndexedTable, asked: argparse.Namespace, spark: object) -> NoReturn:
        raise error

    monkeypatch.setattr(IndexedTable, "open", lambda location, options: None)
    monkeypatch.setattr(job, "_started_by", [lambda table, options: None])
    place = tmp_path / "report.json"

    code = job.run_job(job.job_parser("A job."), fail, ["--table", str(tmp_path), "--report", str(place)])

    printed = json.loads(capsys.readouterr().out)
    assert code == kind.exit_code
    assert printed == json.loads(place.read_text(encoding="utf-8"))
    # Under spark-submit the report is all that is known.
    with pytest.raises(MEANINGS[kind.exit_code], match="why"):
        check_report(printed, None)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("StatementRefusedError", JobRefusedError),
        ("NeedsSparkError", JobRefusedError),
        ("NoHudiError", JobRefusedError),
        ("NoJavaError", JobRefusedError),
        ("UnknownPartitionError", JobRefusedError),
        ("SliceChangedError", JobConflictError),
    ],
)
def test_meaning_of(name: str, meaning: type[Exception]) -> None:
    assert MEANINGS[getattr(errors, name).exit_code] is meaning
