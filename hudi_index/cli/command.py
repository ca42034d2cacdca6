"""`hudi-index`: every verb of the lifecycle from a shell.

    hudi-index create --table PATH "CREATE INDEX …" ["CREATE INDEX …" …]
    hudi-index sql --table PATH "any statement about indexes"
    hudi-index maintain | compact | validate | repair | show | status | drop --table PATH …
    hudi-index explain | scan | count | files --table PATH "predicate"
    hudi-index native create | show | drop | compact | status | validate --table PATH …     Hudi's own indexes

`--json` prints what a machine reads. Exit codes: 0 fine, 1 our fault, 2 bad request, 3 validation failed or
something is damaged still, 4 conflict, retry. 2 is also for what a person has to mend first: no permission, a
full disk. An error is one line. `--verbose` says what is being done, `--debug` also what was decided and
looked up, and where an error came from. Verbs that build run on a session of Spark on this machine;
`--in-process` runs them without Spark, for small tables.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from hudi_index.cli.files import FORMATS as FILE_FORMATS
from hudi_index.cli.files import FileList
from hudi_index.cli.output import FORMATS, plain_row, write_rows
from hudi_index.engine import IndexedTable
from hudi_index.errors import UserError
from hudi_index.jobs import Failure, align, progress_shown, show_logs
from hudi_index.lifecycle.native_status import native_status
from hudi_index.planner import ScanPlan
from hudi_index.scan import ScanReport
from hudi_index.storage import write_to
from hudi_index.storage_arguments import add_storage_arguments, storage_options_of
from hudi_index.validation.arguments import add_validation_arguments, request_of, write_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from hudi_index.catalog import IndexDefinition
    from hudi_index.engine import Session
    from hudi_index.spark.native import NativeIndexes

    _Run: TypeAlias = Callable[[IndexedTable, argparse.Namespace], object]
    _Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

__all__ = ["main"]

_SHOWN = ("name", "kind", "source_fields", "expression", "state", "reason")
"""What a list of indexes says of each."""

_QUIET = {"spark.log.level": "ERROR"}


@runtime_checkable
class _Answer(Protocol):
    """What a verb found out, for people by `str()`."""

    def as_dict(self) -> dict[str, Any]:
        """For machines."""


class _Verb(Protocol):
    """Adds a verb to the command, or to the verbs of another."""

    def __call__(
        self, name: str, about: str, run: _Run, *, among: _Verbs | None = None
    ) -> argparse.ArgumentParser:
        """The parser of the verb."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    asked = _parser().parse_args(arguments)
    show_logs(verbose=asked.verbose, debug=asked.debug)
    try:
        with progress_shown():
            answer = asked.run(IndexedTable.open(asked.table, storage_options_of(asked)), asked)
        if answer is not None:
            print(_as_json(answer) if asked.json else _as_text(answer))
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return 0  # whoever read has had enough
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  a person reads one line, whatever it was
        return _report_failure(error, asked)
    # A validation that found something wrong has an answer, and fails.
    return int(getattr(answer, "exit_code", 0))


def _report_failure(error: BaseException, asked: argparse.Namespace) -> int:
    if asked.debug:
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt):
        print("hudi-index: interrupted", file=sys.stderr)
        return 130
    failure = Failure.of(error)
    print(f"hudi-index: {failure.message}", file=sys.stderr)
    if isinstance(error, OSError):
        _forget_output()
    return failure.exit_code


def _forget_output() -> None:
    """Drop what could not be written to standard output, which Python would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hudi-index", description="Indexes for Apache Hudi tables.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(
        name: str,
        about: str,
        run: _Run,
        *,
        among: _Verbs | None = None,
    ) -> argparse.ArgumentParser:
        each = (among or verbs).add_parser(name, help=about, description=about)
        each.add_argument("--table", required=True, help="path or URI of the Hudi table")
        each.add_argument("--json", action="store_true", help="print JSON")
        each.add_argument("--verbose", action="store_true", help="say what is being done")
        each.add_argument(
            "--debug", action="store_true", help="tell what is decided, and where an error came from"
        )
        each.add_argument(
            "--in-process", action="store_true", help="run without Spark, in memory: for small tables"
        )
        add_storage_arguments(each)
        each.set_defaults(run=run)
        return each

    create = verb("create", "create indexes, all in one pass over the table", _create)
    create.add_argument("statements", nargs="+", help='"CREATE INDEX name ON table (column)"')
    sql = verb("sql", "carry out a statement about indexes", _sql)
    sql.add_argument("statement", help="CREATE, DROP, SHOW, REFRESH or REBUILD INDEX …")
    verb("maintain", "bring all indexes up to the newest commit", _maintain)
    compact = verb("compact", "compact the index metadata table where that is due", _compact)
    compact.add_argument("--partition", action="append", help="only this partition; may be repeated")
    compact.add_argument("--force", action="store_true", help="also what is not due")
    repair = verb("repair", "mend whatever is damaged in the files of the indexes", _repair)
    repair.add_argument(
        "--dry-run", action="store_true", help="only look; exit code 3 if something is damaged"
    )
    verb("show", "list the indexes", lambda table, _: table.indexes())
    verb("status", "state, lag and size of the indexes", lambda table, _: table.status())
    explain = verb("explain", "which file groups a predicate reads, and why not fewer", _explain)
    explain.add_argument("predicate", help="Spark SQL, such as \"rider = 'x' AND fare > 10\"")
    explain.add_argument("--as-of", help="the instant to read at")
    explain.add_argument(
        "--only", action="append", metavar="INDEX", help="ask this index, pay or not; repeat"
    )
    explain.add_argument("--time-zone", default="UTC", help="the session's, for timestamps")
    scan = verb("scan", "the rows for which a predicate is true, without a JVM", _scan)
    scan.add_argument("predicate", nargs="?", default="true", help="Spark SQL; all rows if there is none")
    scan.add_argument("--columns", help="names with commas between; all but Hudi's own by default")
    scan.add_argument("--limit", type=int, help="stop after so many rows")
    scan.add_argument("--as-of", help="the instant to read at")
    scan.add_argument("--time-zone", default="UTC", help="the session's, for timestamps")
    scan.add_argument("--format", choices=FORMATS, default="table", help="json is one object per line")
    scan.add_argument("--output", metavar="FILE", help="write there instead of printing")
    scan.add_argument("--threads", type=int, default=1, help="file groups to read at a time")
    count = verb("count", "how many rows a predicate is true for, from indexes where they can tell", _count)
    count.add_argument("predicate", nargs="?", default="true", help="Spark SQL; all rows if there is none")
    count.add_argument("--threads", type=int, default=1, help="file groups to read at a time")
    files = verb("files", "the files that a predicate leaves, for engines that take a list", _files)
    files.add_argument("predicate", nargs="?", default="true", help="Spark SQL; all files if there is none")
    files.add_argument("--format", choices=FILE_FORMATS, default="paths", help="symlink is Hive's manifest")
    for each in (count, files):
        each.add_argument("--as-of", help="the instant to read at")
        each.add_argument("--time-zone", default="UTC", help="the session's, for timestamps")
    check = verb("validate", "prove the indexes right, or find the faulty ones", _validate)
    add_validation_arguments(check)
    check.add_argument("--report", help="file or URI that the report is written to as JSON")
    check.add_argument(
        "--backend", choices=("engine", "native"), default="engine", help="our indexes, or Hudi's own"
    )
    _add_native(verbs, verb)
    drop = verb("drop", "drop an index", _drop)
    drop.add_argument("name", help="the index")
    drop.add_argument("--if-exists", action="store_true", help="none of that name is fine")
    return parser


def _create(table: IndexedTable, asked: argparse.Namespace) -> object:
    return table.create_all(asked.statements, spark=_session(table, asked))


def _add_native(verbs: _Verbs, verb: _Verb) -> None:
    about = "Hudi's own indexes, through Hudi"
    native = verbs.add_parser("native", help=about, description=about)
    among = native.add_subparsers(dest="native_verb", required=True, metavar="VERB")
    create = verb(
        "create",
        "CREATE INDEX, by Hudi",
        _native(lambda one, asked: one.run_statement(asked.statement)),
        among=among,
    )
    create.add_argument("statement", help='"CREATE INDEX name ON table USING secondary_index (column)"')
    verb("show", "SHOW INDEXES, by Hudi", _native(lambda one, _: one.show()), among=among)
    drop = verb(
        "drop",
        "DROP INDEX, by Hudi",
        _native(lambda one, asked: one.drop(asked.name, if_exists=asked.if_exists)),
        among=among,
    )
    drop.add_argument("name", help="the index")
    drop.add_argument("--if-exists", action="store_true", help="none of that name is fine")
    verb("compact", "compact Hudi's metadata table", _native(lambda one, _: one.compact()), among=among)
    verb(
        "status",
        "log depth and last compaction of Hudi's metadata table",
        lambda table, _: native_status(table.storage),
        among=among,
    )
    check = verb("validate", "Hudi's data skipping on against off", _validate, among=among)
    add_validation_arguments(check)
    check.add_argument("--report", help="file or URI that the report is written to as JSON")
    check.set_defaults(backend="native")


def _native(run: Callable[[NativeIndexes, argparse.Namespace], object]) -> _Run:
    return lambda table, asked: run(_native_indexes(table, asked), asked)


def _native_indexes(table: IndexedTable, asked: argparse.Namespace) -> NativeIndexes:
    if asked.in_process:
        raise UserError("Hudi's own indexes need Spark: without --in-process")
    # Only here: most verbs need no Spark.
    from hudi_index.spark.native import NativeIndexes

    return NativeIndexes(_start(table), table.storage)


def _validate(table: IndexedTable, asked: argparse.Namespace) -> object:
    if asked.backend == "native":
        report = _native_indexes(table, asked).validate(request_of(asked))
    else:
        report = table.validate(request_of(asked), spark=_session(table, asked))
    write_page(report, asked.html, table.storage.options)
    if asked.report:
        write_to(asked.report, report.to_json(), table.storage.options)
    return report


def _sql(table: IndexedTable, asked: argparse.Namespace) -> object:
    return table.sql(asked.statement, spark=_session(table, asked))


def _maintain(table: IndexedTable, asked: argparse.Namespace) -> object:
    return table.maintain(spark=_session(table, asked))


def _compact(table: IndexedTable, asked: argparse.Namespace) -> object:
    return table.compact(partitions=asked.partition, force=asked.force, spark=_session(table, asked))


def _repair(table: IndexedTable, asked: argparse.Namespace) -> object:
    return table.repair(check=asked.dry_run, spark=None if asked.dry_run else _session(table, asked))


def _explain(table: IndexedTable, asked: argparse.Namespace) -> object:
    return table.plan(asked.predicate, as_of=asked.as_of, time_zone=asked.time_zone, only=asked.only)


def _scan(table: IndexedTable, asked: argparse.Namespace) -> object:
    """Rows go to the output, what was read is the answer: to standard error where rows are printed."""
    report = ScanReport()
    reader = table.scan(
        asked.predicate,
        None if asked.columns is None else [name.strip() for name in asked.columns.split(",")],
        limit=asked.limit,
        as_of=asked.as_of,
        time_zone=asked.time_zone,
        threads=asked.threads,
        report=report,
    )
    if asked.json and asked.output is None:
        rows = [plain_row(row) for batch in reader for row in batch.to_pylist()]
        return {"rows": rows, "report": report.as_dict()}
    write_rows(reader, asked.format, asked.output)
    if asked.output is None:
        print(report, file=sys.stderr)
        return None
    return report


def _count(table: IndexedTable, asked: argparse.Namespace) -> object:
    """The number is the answer, what was read goes to standard error."""
    report = ScanReport()
    rows = table.count(
        asked.predicate, as_of=asked.as_of, time_zone=asked.time_zone, threads=asked.threads, report=report
    )
    if asked.json:
        return {"rows": rows, "report": report.as_dict()}
    print(f"rows of {report.file_groups_read} of {report.file_groups} file groups were read", file=sys.stderr)
    return rows


def _files(table: IndexedTable, asked: argparse.Namespace) -> object:
    found = FileList(table.plan(asked.predicate, as_of=asked.as_of, time_zone=asked.time_zone), asked.format)
    if asked.format == "json":
        asked.json = True
    return found


def _drop(table: IndexedTable, asked: argparse.Namespace) -> object:
    return table.drop(asked.name, if_exists=asked.if_exists)


def _session(table: IndexedTable, asked: argparse.Namespace) -> Session | None:
    """A session that starts when something needs it: there may be nothing, or little, to do."""
    if asked.in_process:
        return None
    from hudi_index.spark.runtime.session import LateSession

    # It is whatever session it starts.
    return cast("Session", LateSession(lambda: _start(table)))


def _start(table: IndexedTable) -> Any:
    """A session that reaches the table."""
    # Only here: most verbs need no Spark.
    from hudi_index.spark.runtime.session import local_session

    storage = table.storage
    return local_session(settings=_QUIET, table=storage.location, storage_options=storage.options)


def _as_json(answer: object) -> str:
    return json.dumps(_plain(answer), sort_keys=True)


def _plain(answer: object) -> object:
    if isinstance(answer, tuple):
        return _definitions(answer)
    return answer.as_dict() if isinstance(answer, _Answer) else answer


def _as_text(answer: object) -> str:
    if isinstance(answer, tuple):
        rows = [[each[column] for column in _SHOWN] for each in _definitions(answer)]
        return align([_SHOWN, *rows]) if rows else "no indexes"
    return answer.explain() if isinstance(answer, ScanPlan) else str(answer)


def _definitions(answer: tuple[IndexDefinition, ...]) -> list[dict[str, Any]]:
    """What is shown of indexes: the reason of one that can't be used here is not stored."""
    shown = ({name: getattr(each, name) for name in _SHOWN} for each in answer)
    return [
        {**facts, **each.as_dict(), "reason": each.reason or each.unsupported}
        for facts, each in zip(shown, answer, strict=True)
    ]
