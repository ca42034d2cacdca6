"""What the end of a job means for its task."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_hudi_index.outcome import (
    JobConflict,
    JobCrashed,
    JobRefused,
    ValidationFailed,
    checked_report,
    summary_of,
)
from tests.provider.running import WITH_AIRFLOW

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
}


def failure(kind: str) -> dict[str, Any]:
    return {"error": "why", "kind": kind, "table": "/t"}


@pytest.mark.parametrize(
    ("report", "code", "meaning", "is_retried"),
    [
        (failure("LeaseHeldError"), 4, JobConflict, True),
        (failure("CommitConflictError"), None, JobConflict, True),
        (failure("UnknownColumnError"), 2, JobRefused, False),
        (failure("NoSuchTableError"), None, JobRefused, False),
        (failure("EntryCorruptError"), 1, JobCrashed, True),
        (failure("SomethingNew"), None, JobCrashed, True),
        (None, 137, JobCrashed, True),
        (None, 2, JobRefused, False),
        ({**failure("StorageDeniedError"), "exit_code": 2}, None, JobRefused, False),
        ({**failure("StorageUnreachableError"), "exit_code": 4}, None, JobConflict, True),
        ({**failure("StorageFullError"), "exit_code": 2}, 2, JobRefused, False),
        (WRONG, 3, ValidationFailed, False),
        (WRONG, None, ValidationFailed, False),
    ],
)
def test_failures(report: dict[str, Any] | None, code: int | None, meaning: type, is_retried: bool) -> None:
    with pytest.raises(meaning) as raised:
        checked_report(report, code, log="last words")
    assert isinstance(raised.value, AirflowFailException) is not is_retried
    assert ("/t: why" if report and "error" in report else "last words" if report is None else "/t") in str(
        raised.value
    )


def test_evidence_is_in_the_message() -> None:
    with pytest.raises(ValidationFailed) as raised:
        checked_report(WRONG, 3)
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
    assert checked_report({"verb": "maintain"}, None) == {"verb": "maintain"}
