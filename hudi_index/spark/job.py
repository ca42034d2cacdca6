"""What the scripts of `spark_jobs/` have in common: arguments, session, report, exit code.

The last line on stdout is the report as JSON, `{"error": …}` if it failed. It carries the exit code, since a
driver inside a cluster leaves nothing else; `--report` writes it to a file or URI as well. Exit codes:
0 fine, 1 our fault, 2 bad request or something that a person has to mend first, 3 validation failed, 4
conflict, retry. Tracebacks are for what nobody foresaw, or for `--debug`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from hudi_index.credentials import Options, is_secret, scrub, split_uri
from hudi_index.engine import IndexedTable
from hudi_index.errors import UserError
from hudi_index.jobs import (
    SETTINGS_VARIABLE,
    STORAGE_OPTIONS,
    Failure,
    JobReport,
    progress_shown,
    show_logs,
)
from hudi_index.spark.native import NativeIndexes
from hudi_index.spark.runtime.session import DAEMON, DAEMON_SETTING, LateSession, spare_workers, tell_hadoop
from hudi_index.spark.runtime.stores import REDACTION, access_settings, unsaid
from hudi_index.storage import write_to
from hudi_index.storage_arguments import add_storage_arguments, storage_options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
__all__ = [
    "Report",
    "check_report",
    "job_parser",
    "native_of",
    "private_settings",
    "run_job",
    "start_session_by",
]

_started_by: list[Callable[[str, Options], SparkSession]] = []
_private: list[tuple[Options, Options]] = []
"""Spark settings and storage options, once they were read."""


class Report(Protocol):
    """What a job has to say."""

    @property
    def exit_code(self) -> int:
        """What the process exits with."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        ...


def job_parser(description: str | None) -> argparse.ArgumentParser:
    """The arguments that every job has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--table", required=True, help="path or URI of the Hudi table")
    parser.add_argument(
        "--report", help="file or URI that the report is written to as well; its folder is made if need be"
    )
    parser.add_argument(
        "--backend", choices=("engine", "native"), default="engine", help="our indexes, or Hudi's own"
    )
    parser.add_argument(
        "--debug", action="store_true", help="tell what is decided, and where an error came from"
    )
    add_storage_arguments(parser)
    return parser


def native_of(table: IndexedTable, spark: SparkSession) -> NativeIndexes:
    """Hudi's own indexes of a job's table."""
    return NativeIndexes(spark, table.storage)


def private_settings() -> Options:
    """Spark settings that no command line shows, from the file that `HUDI_INDEX_SETTINGS` names.

    The file is gone once it was read.
    """
    return _read_private()[0]


def _read_private() -> tuple[Options, Options]:
    if not _private:
        location = os.environ.pop(SETTINGS_VARIABLE, None)
        file = Path(location) if location else None
        try:
            found = json.loads(file.read_text(encoding="utf-8")) if file else {}
            options = Options(found.pop(STORAGE_OPTIONS, {}))
            _private.append((Options(found), options))
        except (OSError, ValueError, AttributeError) as error:
            # The text of the file stays out of the error, and out of what is printed with it.
            reason = type(error).__name__
            raise UserError(f"the settings in {location} can't be read: {reason}") from None
        finally:
            if file:
                file.unlink(missing_ok=True)
    return _private[0]


def start_session_by(start: Callable[[str, Options], SparkSession]) -> None:
    """Have the job of this process start its own session, and only if it needs one.

    `start` is given the table's place and its storage options.

    Not for clusters: YARN takes a driver that ends without a session for a failed one.
    """
    _started_by.append(start)


def run_job(
    parser: argparse.ArgumentParser,
    run: Callable[[IndexedTable, argparse.Namespace, SparkSession], Report],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run one job on a session, by default the one that spark-submit configures; returns the exit code."""
    asked = parser.parse_args(arguments)
    asked.storage_options = Options()
    if asked.debug:
        show_logs(debug=True)
    try:
        report, code = _run(run, asked)
    except Exception as error:  # noqa: BLE001  whoever called reads the last line, whatever happened
        report, code = _failure(error, asked)
    if asked.report:
        try:
            write_to(asked.report, report, asked.storage_options)
        except Exception as error:  # noqa: BLE001
            # A job that was done stays done, but somebody waits for a report that is not there.
            failed, code_of_failure = _failure(error, asked)
            report, code = (report, code) if code else (failed, code_of_failure)
    sys.stdout.write(f"{report}\n")
    sys.stdout.flush()
    return code


def _run(
    run: Callable[[IndexedTable, argparse.Namespace, SparkSession], Report], asked: argparse.Namespace
) -> tuple[str, int]:
    settings, options = _read_private()
    asked.storage_options = Options({**options, **storage_options_of(asked)})
    spark = _session_for(asked, settings)
    try:
        with progress_shown():
            found = run(IndexedTable.open(asked.table, asked.storage_options), asked, spark)
        return _line({**found.as_dict(), "exit_code": found.exit_code}), found.exit_code
    finally:
        spark.stop()


def _session_for(asked: argparse.Namespace, settings: Options) -> SparkSession:
    if not _started_by:
        return _session_of_submit(asked, settings)
    # It is whatever session it starts.
    return cast("SparkSession", LateSession(lambda: _started_by[-1](asked.table, asked.storage_options)))


def _session_of_submit(asked: argparse.Namespace, private: Options) -> SparkSession:
    SparkContext._ensure_initialized()
    settings, builder = SparkConf(), SparkSession.builder
    # On a cluster the package may come with the job, too late for the daemon: see there.
    if str(settings.get("spark.master", "")).startswith("local") and not settings.contains(DAEMON_SETTING):
        builder = builder.config(DAEMON_SETTING, DAEMON)
    # Its connectors are the cluster's, and so is what a cluster says of its stores.
    said = {*private, *(name for name, _ in settings.getAll())}
    derived = unsaid(access_settings(asked.table, asked.storage_options), said)
    builder = builder.config(map={**_redaction(settings), **derived, **private})
    return tell_hadoop(spare_workers(builder.getOrCreate()), derived)


def _redaction(settings: SparkConf) -> dict[str, str]:
    return {name: value for name, value in REDACTION.items() if not settings.contains(name)}


def _failure(error: Exception, asked: argparse.Namespace) -> tuple[str, int]:
    location, credentials = split_uri(asked.table)
    settings = _private[0][0] if _private else Options()
    secrets = [value for name, value in settings.items() if is_secret(name, value)]

    def shown(text: str) -> str:
        return scrub(text, (*credentials.secrets(), *secrets, *asked.storage_options.secrets()))

    failure = Failure.of(error)
    if asked.debug or not failure.is_expected:
        sys.stderr.write(shown("".join(traceback.format_exception(error))))
    facts = {
        "error": shown(failure.message),
        "kind": failure.kind,
        "exit_code": failure.exit_code,
        "table": location,
    }
    return _line(facts), failure.exit_code


def _line(facts: dict[str, Any]) -> str:
    return json.dumps(facts, sort_keys=True)


def check_report(answer: object) -> JobReport:
    """The report of a statement that made one."""
    if not isinstance(answer, JobReport):
        raise UserError("this job runs statements that change indexes; use `hudi-index show` to list them")
    return answer
