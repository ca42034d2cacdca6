"""Query parity on Spark: what the indexes leave of a table answers queries as all of it does.

Predicates are asked some at a time: each reads what its own plan leaves, and one scan of the whole table
answers all. What fails that way is asked again by itself, over a new look at the table.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

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

__all__ = ["AT_ONCE", "answer_of", "answers", "note_difference"]

AT_ONCE = 10
"""Predicates that share a scan: more would make plans that take Spark longer than the scans they save."""
_ATTEMPTS = 2


def answers(
    spark: SparkSession, storage: Storage, queries: Iterable[Query], request: Request
) -> Iterator[QueryResult]:
    """Ask each query with indexes and without."""
    source = iter(queries)
    while chunk := list(islice(source, AT_ONCE)):
        refuse_without_hudi(spark)
        with session_settings(spark, ORACLE):
            together = _together(spark, storage, chunk, request)
            found = [together.get(query) or _alone(spark, storage, query, request) for query in chunk]
        yield from found


def _together(
    spark: SparkSession, storage: Storage, queries: Sequence[Query], request: Request
) -> dict[Query, QueryResult]:
    """The results of those queries that can be answered by one scan."""
    started = time.perf_counter()
    known = Catalog(storage).load()
    asked = [
        query
        for query in dict.fromkeys(queries)
        if query.form == PREDICATE and all(known.find(name) is not None for name in query.only or ())
    ]
    if len(asked) < 2:
        return {}
    try:
        readings = Readings(spark, storage)
        prunings = [readings.pruned(query.only) for query in asked]
        rows = [gate.filtered(frame, query.text) for (frame, _), query in zip(prunings, asked, strict=True)]
        texts = [query.text for query in asked]
        compared = compare_predicates(rows, readings.full, texts, limit=request.limit)
    except (*SPARK_FAILURES, HudiIndexError):
        # One of them can't be asked, or a file was cleaned: each by itself will tell.
        return {}
    seconds = (time.perf_counter() - started) / len(asked)
    found = {}
    for query, difference, (_, planner) in zip(asked, compared, prunings, strict=True):
        result = new_result(query)
        note_difference(result, difference)
        _note_plan(result, planner)
        result.seconds = round(seconds, 3)
        found[query] = result
    return found


def _alone(spark: SparkSession, storage: Storage, query: Query, request: Request) -> QueryResult:
    started, result = time.perf_counter(), new_result(query)
    for attempt in range(_ATTEMPTS):
        known = Catalog(storage).load()
        if any(known.find(name) is None for name in query.only or ()):
            result.reason = "the index that it was made for was dropped meanwhile"
            break
        try:
            readings = Readings(spark, storage)
            pruned, planner = readings.pruned(query.only)
            mine, oracle = (answer_of(frame, query, request) for frame in (pruned, readings.full))
            found = compare_rows(mine, oracle, limit=request.limit)
        except (*SPARK_FAILURES, HudiIndexError) as error:
            # Files may have been cleaned under the query: look again, once.
            result.result, result.reason = FAILED, first_line(error)
            if attempt + 1 < _ATTEMPTS and not isinstance(error, UserError):
                continue
            break
        result.reason = None
        note_difference(result, found)
        _note_plan(result, planner)
        break
    result.seconds = round(time.perf_counter() - started, 3)
    return result


def note_difference(result: QueryResult, found: RowDifference) -> None:
    """Take what was compared into a result."""
    result.rows, result.rows_missing, result.rows_extra = found.rows, found.missing, found.extra
    result.missing, result.extra = found.missing_rows, found.extra_rows
    result.result = DIFFERENT if found.missing or found.extra else SAME


def _note_plan(result: QueryResult, planner: FilePlanner) -> None:
    if planner.last is not None and planner.last.plan is not None:
        note_plan(result, planner.last.plan)


def answer_of(frame: DataFrame, query: Query, request: Request) -> DataFrame:
    """The answer that some rows give to a query, not computed yet. Raises RefusedTextError."""
    if query.form == PREDICATE:
        return gate.filtered(frame, query.text)
    return gate.query(frame, query.text, view=request.view)
