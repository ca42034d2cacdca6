"""One table with its indexes: the facade that the library, the CLI, the jobs and the provider use."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from hudi_index import lifecycle
from hudi_index.arguments import check_list_of_texts, check_text, check_time_zone
from hudi_index.catalog import (
    CreateIndex,
    DropIndex,
    RebuildIndex,
    RefreshIndex,
    ShowIndexes,
    definition_of,
    parse_statement,
)
from hudi_index.errors import UserError, WrongTypeError
from hudi_index.lifecycle import LocalExecutor
from hudi_index.planner import files_to_query
from hudi_index.queries import Queries
from hudi_index.storage import Storage
from hudi_index.table import TableConfig, Timeline
from hudi_index.validation import InProcess, Request, validate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from hudi_index.catalog import IndexDefinition, Statement
    from hudi_index.jobs import JobReport
    from hudi_index.lifecycle import Executor, RepairReport, TableStatus
    from hudi_index.predicate import ColumnDomain
    from hudi_index.validation import Checks, ValidationReport

__all__ = ["IndexedTable", "Session"]


class Session(Protocol):
    """A `pyspark.sql.SparkSession`, or what stands for one that starts when it is first needed.

    Not named as pyspark does: the engine imports nothing of it, not even for types.
    """

    @property
    def sparkContext(self) -> Any:  # noqa: N802  pyspark's name
        """What jobs run on."""

    @property
    def conf(self) -> Any:
        """Its settings."""

    def stop(self) -> None:
        """End it."""


@dataclass(frozen=True)
class IndexedTable(Queries):
    """A Hudi table and its indexes.

    Verbs that build take the Spark session they run on; without one they run in this process, which is for
    small tables.
    """

    @classmethod
    def open(cls, location: str | PathLike[str], options: Mapping[str, str] | None = None) -> IndexedTable:
        """The table at a path or URI. Raises NoSuchTableError."""
        storage = Storage.open(location, options)
        return cls(storage, TableConfig.load(storage))

    def indexes(self) -> tuple[IndexDefinition, ...]:
        """The indexes with their state."""
        return tuple(self._kept.catalog.load())

    def timeline(self) -> Timeline:
        """The completed instants of the table, as its active timeline lists them now."""
        return Timeline.load(self.storage, TableConfig.load(self.storage))

    def status(self) -> TableStatus:
        """How the indexes are, and how far behind the table."""
        return lifecycle.status(self.storage, kept=self._kept)

    def files_to_query(
        self, columns: Sequence[str], column_domain: ColumnDomain, *, as_of: str | None = None
    ) -> list[str]:
        """RFC-58, for engines that bring domains: the files whose `columns` may all be in their domains."""
        kept = self._kept.metadata_table
        return files_to_query(kept, self.storage, columns, column_domain, as_of=as_of)

    def sql(self, statement: str, *, spark: Session | None = None) -> JobReport | tuple[IndexDefinition, ...]:
        """Carry out a statement about indexes; SHOW INDEXES returns the definitions, all others a report."""
        parsed = _parse(statement)
        match parsed:
            case CreateIndex():
                return lifecycle.create(
                    self.storage,
                    _executor(spark),
                    definition_of(parsed),
                    if_not_exists=parsed.if_not_exists,
                    kept=self._kept,
                )
            case DropIndex():
                return self.drop(parsed.name, if_exists=parsed.if_exists)
            case RebuildIndex():
                return lifecycle.rebuild(self.storage, _executor(spark), parsed.name)
            case RefreshIndex():
                self._kept.catalog.load().definition_of(parsed.name)
                return self.maintain(spark=spark)
            case ShowIndexes():
                return self.indexes()

    def create_all(self, statements: Sequence[str], *, spark: Session | None = None) -> JobReport:
        """Carry out several CREATE INDEX statements in one pass over the table and one commit.

        Raises:
            UserError: another statement is among them, or one can't be carried out; then none is.
        """
        parsed = [_parse_create(statement) for statement in check_list_of_texts("statements", statements)]
        wanted = [(definition_of(each), each.if_not_exists) for each in parsed]
        return lifecycle.create_all(self.storage, _executor(spark), wanted, kept=self._kept)

    def maintain(self, *, spark: Session | None = None) -> JobReport:
        """Bring all indexes up to the table's newest commit."""
        return lifecycle.maintain(self.storage, _executor(spark), kept=self._kept)

    def compact(
        self, *, partitions: Sequence[str] | None = None, force: bool = False, spark: Session | None = None
    ) -> JobReport:
        """Compact the index metadata table where that is due."""
        chosen = partitions if partitions is None else check_list_of_texts("partitions", partitions)
        return lifecycle.compact(self.storage, _executor(spark), partitions=chosen, force=force)

    def drop(self, name: str, *, if_exists: bool = False) -> JobReport:
        """Take an index away."""
        named = check_text("name", name, "the name of an index")
        return lifecycle.drop(self.storage, named, if_exists=if_exists, kept=self._kept)

    def repair(self, *, check: bool = False, spark: Session | None = None) -> RepairReport:
        """Mend whatever is damaged in the files of the indexes; with `check` only look.

        Keeps what is whole and builds the rest anew; indexes over expressions on Spark only.

        Raises:
            LeaseHeldError: Another process writes to the indexes.
        """
        return lifecycle.repair(self.storage, _executor(spark), check=check)

    def validate(
        self,
        request: Request | None = None,
        *,
        spark: Session | None = None,
        queries: int | None = Request.queries,
        seconds: float | None = Request.seconds,
        seed: int = Request.seed,
        where: Sequence[str] = Request.where,
        sql: Sequence[str] = Request.sql,
        view: str = Request.view,
        sample: int | None = Request.sample,
        indexes: Sequence[str] = Request.indexes,
        with_hudi: bool = Request.with_hudi,
        invalidates: bool = Request.invalidates,
        limit: int = Request.limit,
        time_zone: str = Request.time_zone,
    ) -> ValidationReport:
        """Prove that the indexes are right, or find out which are not.

        Args:
            request: What to check, in place of the arguments after `spark`.
            spark: The session to run on; without one everything is read by this process.
            queries: How many queries to make; None for as many as `seconds` allow.
            seconds: When to stop asking.
            seed: Which queries, and which sample.
            where: Predicates to ask as well.
            sql: Whole statements over the view `view`.
            view: What queries call the table.
            sample: How many file groups to compare the content of; None for all, 0 for none.
            indexes: Only these; all that are ready if empty.
            with_hudi: Whether Hudi's own reader has to see the same index metadata table.
            invalidates: Whether a faulty index is taken out of service.
            limit: Most rows and entries that are named.
            time_zone: The session's, for timestamps.

        Raises:
            InvalidOptionError: an argument that can't be, or a request with arguments of its own.
        """
        given = Request(
            queries=queries,
            seconds=seconds,
            seed=seed,
            where=check_list_of_texts("where", where),
            sql=check_list_of_texts("sql", sql),
            view=view,
            sample=sample,
            indexes=check_list_of_texts("indexes", indexes),
            with_hudi=with_hudi,
            invalidates=invalidates,
            limit=limit,
            time_zone=check_time_zone("time_zone", time_zone),
        )
        if request is not None and (given != Request() or not isinstance(request, Request)):
            raise WrongTypeError(option="request", value=request, expected="a Request alone, or its fields")
        return validate(self.storage, _checks(spark), request or given)


def _refuse_no_session(spark: object) -> None:
    # Not by a look at its attributes: one of a session that is started late would start it.
    if isinstance(spark, (str, bytes, int, float, Mapping)):
        raise WrongTypeError(option="spark", value=spark, expected="a SparkSession, or None")


def _checks(spark: Session | None) -> Checks:
    _refuse_no_session(spark)
    if spark is None:
        return InProcess()
    module = importlib.import_module("hudi_index.spark.validate.on_spark")
    return cast("Checks", module.OnSpark(spark))


def _parse(statement: str) -> Statement:
    return parse_statement(check_text("statement", statement, "one statement, as a text"))


def _parse_create(statement: str) -> CreateIndex:
    parsed = _parse(statement)
    if not isinstance(parsed, CreateIndex):
        raise UserError(f"only CREATE INDEX statements are carried out together, not {statement!r}")
    return parsed


def _executor(spark: Session | None) -> Executor:
    _refuse_no_session(spark)
    if spark is None:
        return LocalExecutor()
    # By name: the engine must import where there is no pyspark.
    module = importlib.import_module("hudi_index.spark.build.choose_executor")
    return cast("Executor", module.executor_on(spark))
