"""Query parity on Spark: what is left of a table by pruning answers queries as all of it does.

Predicates are asked some at a time: each reads what its own plan leaves, and one scan of the whole table
answers all. What fails that way is asked again by itself, over a new look at the table. What a look is, is
its own business: through our indexes, or with Hudi's own skipping.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from hudi_index.catalog import Catalog
from hudi_index.errors import HudiIndexError, UserError
from hudi_index.spark.catalyst import gate
from hudi_index.spark.read.indexed import Readings
from hudi_index.spark.runtime.failures import SPARK_FAILURES, first_line
from hudi_index.spark.validate.parity import (
    ORACLE,
    compare_predicates,
    compare_rows,
    refuse_without_hudi,
    session_settings,
)
from hudi_index.validation.in_process import new_result, note_plan
from hudi_index.validation.queries import PREDICATE
from hudi_index.validation.report import DIFFERENT, FAILED, SAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.spark.read.file_index import FilePlanner
    from hudi_index.spark.validate.parity import RowDifference
    from hudi_index.storage import Storage
    from hudi_index.validation.queries import Query
    from hudi_index.validation.report import QueryResult
    from hudi_index.validation.validate import Request

__all__ = ["IndexedLooks", "Look", "Looks", "answers"]

_AT_ONCE = 10
"""Predicates that share a scan: more would make plans that take Spark longer than the scans they save."""
_LOOKS = 3
_MOVED = "the table moved each time it was asked"


class Look(Protocol):
    """One look at a table, whose queries are answered twice."""

    @property
    def full(self) -> DataFrame:
        """All rows."""

    def prune(self, query: Query) -> DataFrame:
        """What pruning leaves for the filters of a query."""

    def note_plan(self, result: QueryResult, query: Query) -> None:
        """Take into a result what was planned for a query that was answered."""

    def is_past(self) -> bool:
        """Whether the table moved, so that two answers may be of two tables."""


class Looks(Protocol):
    """A table that can be looked at again and again."""

    def look(self) -> Look:
        """As it is now."""

    def reasons_against(self, queries: Sequence[Query]) -> dict[Query, str]:
        """Of those queries that can't be asked any more, why."""


def answers(
    spark: SparkSession, table: Looks, queries: Iterable[Query], request: Request
) -> Iterator[QueryResult]:
    """Ask each query of what pruning leaves, and of all rows."""
    source = iter(queries)
    while chunk := list(islice(source, _AT_ONCE)):
        refuse_without_hudi(spark)
        with session_settings(spark, ORACLE):
            together = _ask_together(table, chunk, request)
            found = [together.get(query) or _ask_alone(table, query, request) for query in chunk]
        yield from found


def _ask_together(table: Looks, queries: Sequence[Query], request: Request) -> dict[Query, QueryResult]:
    """The results of those queries that can be answered by one scan."""
    started = time.perf_counter()
    refused = table.reasons_against(queries)
    asked = [query for query in dict.fromkeys(queries) if query.form == PREDICATE and query not in refused]
    if len(asked) < 2:
        return {}
    found = {}
    try:
        look = table.look()
        rows = [gate.filter_rows(look.prune(query), query.text) for query in asked]
        texts = [query.text for query in asked]
        compared = compare_predicates(rows, look.full, texts, limit=request.limit)
        for query, difference in zip(asked, compared, strict=True):
            result = found[query] = new_result(query)
            _note_difference(result, difference)
            look.note_plan(result, query)
        if look.is_past():
            return {}
    except (*SPARK_FAILURES, HudiIndexError):
        # One of them can't be asked, or a file was cleaned: each by itself will tell.
        return {}
    for result in found.values():
        result.seconds = round((time.perf_counter() - started) / len(asked), 3)
    return found


def _ask_alone(table: Looks, query: Query, request: Request) -> QueryResult:
    started, result, has_failed = time.perf_counter(), new_result(query), False
    for _ in range(_LOOKS):
        result = new_result(query)
        result.reason = table.reasons_against([query]).get(query)
        if result.reason is not None:
            break
        try:
            look = table.look()
            pruned, full = (_answer_of(frame, query, request) for frame in (look.prune(query), look.full))
            difference = compare_rows(pruned, full, limit=request.limit)
            if look.is_past():
                result.reason = _MOVED
                continue
            look.note_plan(result, query)
        except (*SPARK_FAILURES, HudiIndexError) as error:
            result.result, result.reason = FAILED, first_line(error)
            if has_failed or isinstance(error, UserError):
                break
            # Files may have been cleaned under the query: look again, once.
            has_failed = True
            continue
        _note_difference(result, difference)
        break
    result.seconds = round(time.perf_counter() - started, 3)
    return result


class IndexedLooks:
    """A table read through its indexes."""

    def __init__(self, spark: SparkSession, storage: Storage) -> None:
        self._spark, self._storage = spark, storage

    def look(self) -> Look:
        """As it is now."""
        return _IndexedLook(self._spark, self._storage)

    def reasons_against(self, queries: Sequence[Query]) -> dict[Query, str]:
        """A query may be about an index that is gone."""
        known = Catalog(self._storage).load()
        gone = [query for query in queries if any(known.find(name) is None for name in query.only or ())]
        return dict.fromkeys(gone, "the index that it was made for was dropped meanwhile")


class _IndexedLook:
    """One listing of a table's files, with indexes and without."""

    def __init__(self, spark: SparkSession, storage: Storage) -> None:
        self._readings = Readings(spark, storage)
        self._planners: dict[Query, FilePlanner] = {}
        self.full = self._readings.full

    def prune(self, query: Query) -> DataFrame:
        """What the indexes leave."""
        frame, self._planners[query] = self._readings.prune(query.only)
        return frame

    def note_plan(self, result: QueryResult, query: Query) -> None:
        """What they refuted."""
        planned = self._planners[query].last
        if planned is not None and planned.plan is not None:
            note_plan(result, planned.plan)

    def is_past(self) -> bool:
        """Never: both sides go on showing the same slices."""
        return False


def _note_difference(result: QueryResult, found: RowDifference) -> None:
    """Take what was compared into a result."""
    result.rows, result.rows_missing, result.rows_extra = found.rows, found.missing, found.extra
    result.missing, result.extra = found.missing_rows, found.extra_rows
    result.result = DIFFERENT if found.missing or found.extra else SAME


def _answer_of(frame: DataFrame, query: Query, request: Request) -> DataFrame:
    """The answer that some rows give to a query, not computed yet. Raises RefusedTextError."""
    if query.form == PREDICATE:
        return gate.filter_rows(frame, query.text)
    return gate.query(frame, query.text, view=request.view)
