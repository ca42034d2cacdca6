"""What the end of a job means for its task: done, try again, or don't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException

from hudi_index import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "WRITES",
    "JobConflictError",
    "JobCrashedError",
    "JobRefusedError",
    "JobValidationFailedError",
    "check_report",
    "summary_of",
]

_EXAMPLES = 3
WRITES = ("upsert", "delete")
"""Verbs that write to the table itself."""


class JobConflictError(AirflowException):
    """Another process was first: the task is tried again."""


class JobCrashedError(AirflowException):
    """The job ended without a report, or through our fault: the task is tried again."""


class JobRefusedError(AirflowFailException):
    """The request can't be carried out, or not before a person mends something: trying again won't help."""


class JobValidationFailedError(AirflowFailException):
    """A pruned answer differs from the full one, or an index from its table: trying again would not help."""


def check_report(report: dict[str, Any] | None, code: int | None, *, log: str = "") -> dict[str, Any]:
    """The report of a job that succeeded. Raises what its failure means; the message tells what went wrong.

    Args:
        report: what the job reported.
        code: its exit code; None where only the report has it, as from a driver inside a cluster.
        log: the end of what it printed, for a job that did not get as far as a report.
    """
    if report is None and code == errors.UserError.exit_code:
        # Its arguments were refused before it knew where to report to.
        raise JobRefusedError(f"the job refused its arguments; its last lines:\n{log}")
    if report is None:
        raise JobCrashedError(f"the job ended with exit code {code} and no report; its last lines:\n{log}")
    if code is None:
        code = report.get("exit_code")
    if not isinstance(code, int):
        raise JobCrashedError(
            f"{_message(report)}; the report has no exit code, so another version of airflow-hudi-index made "
            "it: install the same one for the job as for Airflow"
        )
    if code == 0:
        return report
    message = _message(report)
    if code == errors.UserError.exit_code:
        raise JobRefusedError(message)
    if code == errors.ConflictError.exit_code:
        raise JobConflictError(message)
    if code == errors.ValidationFailedError.exit_code:
        raise JobValidationFailedError(message)
    raise JobCrashedError(f"{message} (exit code {code})")


def summary_of(report: dict[str, Any]) -> str:
    """A report in one line for a task's log; all of it is the XCom."""
    said = [f"{report.get('verb', 'job')} of {report.get('table', 'the table')} done"]
    names = [each["name"] if isinstance(each, dict) else str(each) for each in report.get("indexes", ())]
    said += [f"indexes {', '.join(names)}"] if names else []
    if report.get("verb") == "validate":
        queries = report.get("queries", ())
        pruned = sum((each.get("file_groups_read") or 0) < (each.get("file_groups") or 0) for each in queries)
        said.append(f"{len(queries)} queries asked, {pruned} of them pruned, no difference")
    elif report.get("verb") in WRITES:
        counted = ("inserted", "updated", "moved", "deleted", "late")
        said.append(", ".join(f"{report.get(name, 0)} {name}" for name in counted))
        said += ["the batch was committed before"] if report.get("is_repeated") else []
    elif report.get("file_groups"):
        said.append(f"{report['file_groups_changed']} of {report['file_groups']} file groups read")
        said.append(f"{report['entries_added']} entries added, {report['entries_removed']} removed")
    said += [str(note) for note in report.get("notes", ())]
    return "; ".join(said)


def _message(report: dict[str, Any]) -> str:
    where = report.get("table", "the table")
    if "error" in report:
        return f"{where}: {report['error']}"
    return "\n".join([f"{where}: {report.get('verb', 'the job')} failed", *_evidence(report)])


def _evidence(report: dict[str, Any]) -> Iterator[str]:
    """What a validation or a repair found wrong, in few lines: a task's error is what a notifier sends."""
    for query in report.get("queries", ()):
        if query.get("result") == "different":
            yield (
                f"query {query['query']}: {query['rows_missing']} rows missing, {query['rows_extra']} extra "
                f"of {query['rows']}"
            )
            yield from (f"  missing {row}" for row in query.get("missing", ())[:_EXAMPLES])
            yield from (f"  extra {row}" for row in query.get("extra", ())[:_EXAMPLES])
    for index in report.get("indexes", ()):
        if isinstance(index, dict) and index.get("faults"):
            yield f"index {index['name']}: {'; '.join(index['faults'][:_EXAMPLES])}"
    for each in report.get("damage", ()):
        yield f"{each['path']}: {each['reason']}; {each['remedy']}"
    yield from (f"index {name}: {reason}" for name, reason in report.get("left", {}).items())
    yield from (f"index {name} is invalid now" for name in report.get("invalidated", ()))
    yield from (str(line) for name in ("advice", "notes") for line in report.get(name, ()))
