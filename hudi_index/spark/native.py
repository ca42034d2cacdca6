"""Hudi's own indexes: create, show and drop them, compact their metadata table, find out if they are right.

Hudi's writers build and maintain these; nothing here writes `.hoodie/metadata` but Hudi itself, asked through
its SQL. Names and literals are quoted, so that nothing a caller gives becomes SQL of another kind.
"""

from __future__ import annotations

import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hudi_index.arguments import check_list_of_texts
from hudi_index.catalog import CreateIndex, parse_statement
from hudi_index.catalog.definition import check_name
from hudi_index.errors import InvalidOptionError, UserError
from hudi_index.jobs import JobReport
from hudi_index.lifecycle.native_status import METADATA, native_status
from hudi_index.predicate.sql.tokens import quote_name
from hudi_index.spark.catalyst import gate
from hudi_index.spark.read.indexed import UNPRUNED
from hudi_index.spark.runtime.failures import SPARK_FAILURES, first_line
from hudi_index.spark.validate.parity import refuse_without_hudi, session_settings
from hudi_index.spark.validate.query_parity import answers
from hudi_index.storage import Storage
from hudi_index.table import Snapshot, TableConfig
from hudi_index.validation.in_process import values_by_reading
from hudi_index.validation.literals import column_text, hostile_values, literal_of
from hudi_index.validation.queries import PREDICATE, Subject, generate_queries, parse_queries
from hudi_index.validation.report import IndexResult, ValidationReport
from hudi_index.validation.validate import Request, check_texts, within_budget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.lifecycle.native_status import NativeStatus
    from hudi_index.spark.validate.query_parity import Look
    from hudi_index.table import SliceIdentity
    from hudi_index.validation.queries import Query
    from hudi_index.validation.report import QueryResult

__all__ = ["NativeIndexes"]

# CREATE INDEX without one fails at the second index and leaves half of it behind.
_LOCK = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
}
_KINDS = ("secondary_index", "record_index", "column_stats", "bloom_filters")
_OFF = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
_ON = {
    "hoodie.metadata.enable": "true",
    "hoodie.enable.data.skipping": "true",
    # Else what fails inside is silently a full scan, and nothing is validated.
    "hoodie.fileIndex.dataSkippingFailureMode": "strict",
}
_ADVICE = (
    "readers: hoodie.enable.data.skipping=false switches Hudi's data skipping off",
    "readers: hoodie.metadata.enable=false switches Hudi's metadata table off as well",
    "writers: hoodie.metadata.index.column.stats.enable=false stops maintaining the statistics that skip",
)


@dataclass(frozen=True)
class NativeIndexes:
    """The indexes that Hudi keeps of a table by itself."""

    spark: SparkSession
    storage: Storage
    options: Mapping[str, str] = field(default_factory=dict)
    """Write options for Hudi, such as another lock provider."""

    @classmethod
    def open(
        cls, spark: SparkSession, path: str | Path, options: Mapping[str, str] | None = None
    ) -> NativeIndexes:
        """Those of the table at a path or URI. Raises NoSuchTableError."""
        storage = Storage.open(path)
        TableConfig.load(storage)
        return cls(spark, storage, dict(options or {}))

    def create(
        self,
        name: str,
        columns: Sequence[str],
        *,
        kind: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> JobReport:
        """CREATE INDEX, by Hudi."""
        check_name(name)
        if kind is not None and kind not in _KINDS:
            raise InvalidOptionError(option="kind", value=kind, reason=f"Hudi has {', '.join(_KINDS)}")
        report = JobReport("create", self.storage.uri, indexes=[name])
        # Hudi's grammar has no word for these two: the one is the default, the other goes by its name.
        using = f" USING {kind}" if kind not in (None, "secondary_index", "record_index") else ""
        if kind == "record_index" and name != kind:
            raise InvalidOptionError(
                option="name", value=name, reason="Hudi calls its record index record_index"
            )
        given = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in (options or {}).items())
        listed = ", ".join(map(column_text, columns))
        with report.phase("create"), self._table() as table:
            self._run(
                f"CREATE INDEX {quote_name(name)} ON {table}{using} ({listed})"
                + (f" OPTIONS ({given})" if given else "")
            )
        return report

    def run_statement(self, statement: str) -> JobReport:
        """CREATE INDEX as a statement; the table it names is this one."""
        parsed = parse_statement(statement)
        if not isinstance(parsed, CreateIndex) or parsed.expression is not None:
            raise UserError(f"Hudi's own indexes are made by CREATE INDEX over columns, not by {statement!r}")
        # Hudi's own IF NOT EXISTS fails for a record index.
        if parsed.if_not_exists and self._has(parsed.name):
            note = f"index {parsed.name} exists already"
            return JobReport("create", self.storage.uri, indexes=[parsed.name], notes=[note])
        return self.create(parsed.name, parsed.columns, kind=str(parsed.kind), options=parsed.options)

    def drop(self, name: str, *, if_exists: bool = False) -> JobReport:
        """DROP INDEX, by Hudi."""
        check_name(name)
        report = JobReport("drop", self.storage.uri, indexes=[name])
        with report.phase("drop"), self._table() as table:
            self._run(f"DROP INDEX {'IF EXISTS ' if if_exists else ''}{quote_name(name)} ON {table}")
        return report

    def show(self) -> list[dict[str, Any]]:
        """SHOW INDEXES, by Hudi."""
        with self._table() as table:
            return [row.asDict() for row in self._run(f"SHOW INDEXES FROM {table}")]

    def _has(self, name: str) -> bool:
        # Hudi shows a secondary index under the name of its partition.
        names = {name, f"secondary_index_{name}", f"expr_index_{name}"}
        return any(row["index_name"] in names for row in self.show())

    def maintain(self) -> JobReport:
        """Nothing: each commit of Hudi's own writers maintains them."""
        report = JobReport("maintain", self.storage.uri)
        report.notes.append("Hudi's writers maintain Hudi's own indexes with each commit: nothing to do")
        return report

    def status(self) -> NativeStatus:
        """Depth of logs and last compaction of the metadata table."""
        return native_status(self.storage)

    def compact(self) -> JobReport:
        """Schedule and run a compaction of the metadata table, by Hudi."""
        report = JobReport("compact", self.storage.uri)
        before = self.status()
        if not before.exists:
            report.notes.append("the table has no metadata table")
            return report
        path = self.storage.child(METADATA).location
        with report.phase("compact"):
            self._run(
                f"CALL run_compaction(op => 'scheduleandexecute', path => {_text(path)}, "
                "options => 'hoodie.compact.inline.max.delta.commits=1')",
                # A metadata table has none of its own.
                {"hoodie.metadata.enable": "false"},
            )
        after = self.status()
        report.commit = after.last_compaction if after.last_compaction != before.last_compaction else None
        depths = [max((each.deepest_log for each in one.partitions), default=0) for one in (before, after)]
        report.notes.append(f"at most {depths[0]} log files over one base file before, {depths[1]} after")
        return report

    def _run(self, statement: str, settings: Mapping[str, str] | None = None) -> list[Any]:
        refuse_without_hudi(self.spark)
        with session_settings(self.spark, {**_LOCK, **self.options, **(settings or {})}):
            try:
                return self.spark.sql(statement).collect()
            except SPARK_FAILURES as error:
                raise UserError(f"Hudi refuses {statement!r}: {first_line(error)}") from error

    @contextmanager
    def _table(self) -> Iterator[str]:
        """A name for the table in the session's catalog, for a while. Dropping it leaves the files."""
        name = quote_name(f"hudi_index_{uuid.uuid4().hex}")
        self.spark.sql(f"CREATE TABLE {name} USING hudi LOCATION {_text(self.storage.location)}")
        try:
            yield name
        finally:
            self.spark.sql(f"DROP TABLE {name}")

    def validate(
        self,
        request: Request | None = None,
        *,
        queries: int | None = Request.queries,
        seconds: float | None = Request.seconds,
        seed: int = Request.seed,
        where: Sequence[str] = Request.where,
        sql: Sequence[str] = Request.sql,
        view: str = Request.view,
        limit: int = Request.limit,
    ) -> ValidationReport:
        """Ask queries with Hudi's data skipping on and off; the report names the rows that it loses.

        Args:
            request: What to ask, in place of the other arguments.
            queries: How many queries to make; None for as many as `seconds` allow.
            seconds: When to stop asking.
            seed: Which queries.
            where: Predicates to ask as well.
            sql: Whole statements over the view `view`.
            view: What queries call the table.
            limit: Most rows that are named.
        """
        refuse_without_hudi(self.spark)
        request = request or Request(
            queries=queries,
            seconds=seconds,
            seed=seed,
            where=check_list_of_texts("where", where),
            sql=check_list_of_texts("sql", sql),
            view=view,
            limit=limit,
        )
        check_texts(request)
        report = ValidationReport(self.storage.uri, backend="native", seed=request.seed)
        with report.phase("look"):
            snapshot = Snapshot.load(self.storage)
            latest = snapshot.instant
            report.instant = latest.requested_time if latest else None
            if not native_status(self.storage).exists:
                report.notes.append("the table has no metadata table: there is nothing to skip by")
        with report.phase("queries"):
            made = self._generate(snapshot, request) if request.queries != 0 else iter(())
            given = parse_queries(request.where, request.sql)
            budgeted = within_budget(given, made, request, report)
            report.queries += answers(self.spark, _SkippingLooks(self.spark, self.storage), budgeted, request)
        wrong = report.wrong_queries
        faults = [f"query {each.query!r} lacks {each.rows_missing} rows" for each in wrong]
        report.indexes.append(
            IndexResult(
                name="data skipping",
                kind="native",
                on="all indexed columns",
                bytes=sum(each.bytes for each in native_status(self.storage).partitions),
                queries=len(report.queries),
                file_groups_refuted=sum(
                    (each.file_groups or 0) - (each.file_groups_read or 0) for each in report.queries
                ),
                faults=faults[:3],
            )
        )
        if wrong:
            report.advice.extend(_ADVICE)
        if report.effect["queries"] and not report.effect["queries_pruned"]:
            report.notes.append("no query was pruned at all: Hudi's data skipping skipped nothing here")
        return report

    def _generate(self, snapshot: Snapshot, request: Request) -> Iterator[Query]:
        subjects = [
            Subject.of_column("data skipping", each.name, each.type)
            for each in snapshot.schema
            if hostile_values(each.type) and literal_of(hostile_values(each.type)[0], each.type)
        ]
        values = values_by_reading(snapshot, subjects, seed=request.seed)
        return generate_queries(subjects, values, seed=request.seed)


class _SkippingLooks:
    """A table read with Hudi's data skipping on and off."""

    def __init__(self, spark: SparkSession, storage: Storage) -> None:
        self._spark, self._storage = spark, storage

    def look(self) -> Look:
        """As it is now."""
        return _SkippingLook(self._spark, self._storage)

    def reasons_against(self, queries: Sequence[Query]) -> dict[Query, str]:  # noqa: ARG002
        """None: skipping goes by whatever there is."""
        return {}


class _SkippingLook:
    """Hudi lists the table for each query anew, so the look is past when the table has other slices."""

    def __init__(self, spark: SparkSession, storage: Storage) -> None:
        self._spark, self._storage = spark, storage
        self._before = self._slices()

    @property
    def full(self) -> DataFrame:
        """Without skipping."""
        return self._frame(_OFF)

    def prune(self, query: Query) -> DataFrame:  # noqa: ARG002  skipping goes by the filter
        """With skipping."""
        return self._frame(_ON)

    def note_plan(self, result: QueryResult, query: Query) -> None:
        """How many file groups are read, and how many there are."""
        result.file_groups, result.file_groups_read = (
            self._files(query, settings) for settings in (_OFF, _ON)
        )

    def is_past(self) -> bool:
        """Whether the table has other slices now."""
        return self._slices() != self._before

    def _slices(self) -> frozenset[SliceIdentity]:
        return frozenset(each.identity for each in Snapshot.load(self._storage).slices)

    def _frame(self, settings: Mapping[str, str]) -> DataFrame:
        # Also in an enabled session it is Hudi's own indexes that are looked at.
        chosen = {**settings, **UNPRUNED}
        return self._spark.read.format("hudi").options(**chosen).load(self._storage.location)

    def _files(self, query: Query, settings: Mapping[str, str]) -> int | None:
        """How many files Spark plans to read; None if it does not say."""
        if query.form != PREDICATE:
            return None
        plan = gate.filter_rows(self._frame(settings), query.text)._jdf.queryExecution().executedPlan()
        leaf = plan.collectLeaves().head()
        if not leaf.getClass().getSimpleName().startswith("FileSourceScan"):
            return None
        # Asking for the RDD lists the files; nothing runs.
        leaf.inputRDDs()
        return int(leaf.metrics().apply("numFiles").value())


def _text(value: str) -> str:
    found = literal_of(value, None)
    if found is None:
        raise UserError(f"{value!r} can't stand in a statement")
    return found
