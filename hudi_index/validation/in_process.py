"""Validation without Spark, for small tables: slices are read by this process.

A query's full answer is found by putting every row of the snapshot to the constraint tree that the indexes
were asked with; a row that it admits in a file group that the plan refuted is a lost row. Both sides read
the very same slices, whatever writers do meanwhile. What this can't see is a predicate that was understood
wrong in the first place: for that, validate on Spark, which parses it by itself.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from hudi_index.errors import (
    HudiIndexError,
    NoSuchIndexError,
    StorageError,
    TableFileError,
    UnsupportedTableError,
    UserError,
)
from hudi_index.planner import plan
from hudi_index.predicate import Constraint, admits, constraints_of, is_exact, leaves_of
from hudi_index.table.paths import value_at
from hudi_index.table.types import sql_schema
from hudi_index.validation.comparison import compare_entries
from hudi_index.validation.queries import PREDICATE
from hudi_index.validation.report import DIFFERENT, FAILED, SAME, QueryResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import MetadataTable
    from hudi_index.planner import ScanPlan
    from hudi_index.predicate import Term, Tree
    from hudi_index.table import FileSlice, SliceIdentity, Snapshot, TableReader
    from hudi_index.validation.comparison import Comparison
    from hudi_index.validation.entries import ContentWork
    from hudi_index.validation.queries import Query, Subject
    from hudi_index.validation.validate import Request

__all__ = ["InProcess", "new_result", "note_plan", "values_by_reading"]

_CHUNK = 25
_SLICES_TO_SAMPLE = 4
_VALUES_KEPT = 400


@dataclass(frozen=True)
class InProcess:
    """Runs the checks here."""

    computes_expressions: bool = False

    def compare(self, work: ContentWork, *, limit: int) -> Comparison:
        """See Checks."""
        return compare_entries(work, limit=limit)

    def compare_with_hudi(self, _state: IndexedState, *, limit: int) -> Comparison:
        """See Checks."""
        raise UserError(f"comparing with Hudi's own reader needs a Spark session (limit {limit})")

    def values_of(
        self, state: IndexedState, subjects: Sequence[Subject], *, seed: int
    ) -> dict[str, list[Any]]:
        """See Checks."""
        return values_by_reading(state.snapshot, subjects, seed=seed)

    def ask(
        self, metadata_table: MetadataTable, state: IndexedState, queries: Iterable[Query], request: Request
    ) -> Iterator[QueryResult]:
        """See Checks."""
        source = iter(queries)
        while chunk := list(islice(source, _CHUNK)):
            asked = [_Asked.of(metadata_table, state, query, request.time_zone) for query in chunk]
            _answer([each for each in asked if each.tree is not None], request.limit)
            for each in asked:
                yield each.finish()


@dataclass
class _Asked:
    """One query on its way."""

    result: QueryResult
    plan: ScanPlan | None = None
    tree: Tree | None = None
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, metadata_table: MetadataTable, state: IndexedState, query: Query, time_zone: str) -> _Asked:
        found = cls(new_result(query))
        if query.form != PREDICATE:
            found.result.reason = "whole statements need a Spark session"
            return found
        try:
            found.plan = plan(metadata_table, state.storage, query.text, time_zone=time_zone, only=query.only)
            schema = sql_schema(found.plan.snapshot.schema_with_meta_columns)
            tree = constraints_of(query.text, schema, time_zone=time_zone)
        except NoSuchIndexError as error:
            # Dropped since the query was made.
            found.result.reason = str(error)
            return found
        except UserError as error:
            found.result.result, found.result.reason = FAILED, str(error)
            return found
        note_plan(found.result, found.plan)
        if any(term.is_expression for term in _terms_of(tree)):
            found.result.reason = "it asks about an expression, which Spark computes"
        else:
            found.tree, found.result.rows = tree, 0
        return found

    def finish(self) -> QueryResult:
        result = self.result
        if self.tree is not None and result.reason is None:
            result.result = DIFFERENT if result.rows_missing else SAME
            if not is_exact(self.tree):
                # Rows that the unknown part would leave out were counted as well.
                result.rows = None
        result.seconds = round(time.perf_counter() - self.started, 3)
        return result


def new_result(query: Query) -> QueryResult:
    """The result of a query that nobody asked yet."""
    origin = "given" if query.is_given else "made"
    return QueryResult(query.text, query.form, origin, list(query.about), list(query.only or ()))


def note_plan(result: QueryResult, found: ScanPlan) -> None:
    """Take what a plan says into a result."""
    result.file_groups, result.file_groups_read = found.total, found.kept
    result.bytes = sum(file_slice.size for file_slice in found.snapshot.slices)
    result.bytes_read = sum(file_slice.size for file_slice in found.slices)
    for answer in found.answers:
        # What is merged by partition is part of the index that it is merged from.
        name = answer.index
        result.refuted[name] = max(result.refuted.get(name, 0), answer.refuted)


def _terms_of(tree: Tree) -> list[Term]:
    return [leaf.term for leaf in leaves_of(tree) if isinstance(leaf, Constraint)]


def _answer(asked: Sequence[_Asked], limit: int) -> None:
    """Put all rows to all queries, each slice read once."""
    readers: dict[SliceIdentity, tuple[TableReader, FileSlice]] = {}
    wanted: dict[SliceIdentity, list[_Asked]] = {}
    for each in asked:
        assert each.plan is not None
        for file_slice in each.plan.snapshot.slices:
            readers.setdefault(file_slice.identity, (each.plan.snapshot.reader, file_slice))
            wanted.setdefault(file_slice.identity, []).append(each)
    for identity, (reader, file_slice) in readers.items():
        present = [each for each in wanted[identity] if each.result.reason is None]
        try:
            _answer_slice(reader, file_slice, present, limit)
        except (TableFileError, StorageError):
            raise  # no fault of an index, and no answer either
        except (HudiIndexError, UnsupportedTableError) as error:
            for each in present:
                each.result.reason = f"its rows could not be read: {error}"


def _answer_slice(reader: TableReader, file_slice: FileSlice, asked: Sequence[_Asked], limit: int) -> None:
    columns = sorted({reader.column_of(term.text) for each in asked for term in _terms_of(each.tree)})  # type: ignore[arg-type]
    refuting = [_is_refuted(each, file_slice) for each in asked]
    for batch in reader.rows(file_slice, columns).batches():
        for row in batch.to_pylist():
            value_of = _value_of(row)
            for each, is_lost in zip(asked, refuting, strict=True):
                assert each.tree is not None
                if admits(each.tree, value_of):
                    _count(each.result, row, file_slice, limit, is_lost=is_lost)


def _is_refuted(asked: _Asked, file_slice: FileSlice) -> bool:
    assert asked.plan is not None
    return all(kept.group != file_slice.group for kept in asked.plan.slices)


def _count(
    result: QueryResult, row: dict[str, Any], file_slice: FileSlice, limit: int, *, is_lost: bool
) -> None:
    result.rows = (result.rows or 0) + 1
    if is_lost:
        result.rows_missing += 1
        if len(result.missing) < limit:
            shown = {**row, "_file_group": f"{file_slice.group.partition_path}/{file_slice.group.file_id}"}
            result.missing.append(json.dumps(shown, default=str, ensure_ascii=False))


def _value_of(row: dict[str, Any]) -> Callable[[Term], Any]:
    return lambda term: value_at(row, term.text)


def values_by_reading(snapshot: Snapshot, subjects: Sequence[Subject], *, seed: int) -> dict[str, list[Any]]:
    """Values that are in the table, by subject, of a few slices; none where only Spark can read them."""
    chance = random.Random(seed)
    slices = sorted(snapshot.slices, key=lambda file_slice: file_slice.group)
    chosen = chance.sample(slices, min(len(slices), _SLICES_TO_SAMPLE))
    columns = {each.text: each.column for each in subjects if each.column is not None}
    found: dict[str, list[Any]] = {text: [] for text in columns}
    for file_slice in chosen:
        names = sorted({snapshot.reader.column_of(column) for column in columns.values()})
        try:
            batch = next(iter(snapshot.reader.rows(file_slice, names).batches()), None)
        except HudiIndexError:
            continue
        rows = batch.slice(0, _VALUES_KEPT).to_pylist() if batch is not None else []
        for text, column in columns.items():
            found[text] += [value_at(row, column) for row in rows]
    return found
