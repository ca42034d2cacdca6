"""The verb: coverage, content and query parity of a table's indexes; what is at fault; what it earns."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from hudi_index.catalog import Catalog, IndexState
from hudi_index.coverage import files
from hudi_index.entries.ranges import KeyRange
from hudi_index.errors import CorruptError
from hudi_index.gate import check_condition, check_query
from hudi_index.lifecycle.state import Kept
from hudi_index.table import RECORD_KEY
from hudi_index.table.types import spark_type
from hudi_index.validation.content import ContentPlan, compare_summaries, find_indexes_at_fault
from hudi_index.validation.quarantine import take_out_of_service
from hudi_index.validation.queries import Query, Subject, generate_queries, parse_queries
from hudi_index.validation.report import FAILED, UNKNOWN_CAUSE, IndexResult, ValidationReport
from hudi_index.validation.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import MetadataTable
    from hudi_index.storage import Storage
    from hudi_index.table import FileGroupId
    from hudi_index.validation.comparison import Comparison
    from hudi_index.validation.entries import ContentWork
    from hudi_index.validation.report import QueryResult

__all__ = ["Checks", "Request", "check_texts", "validate", "within_budget"]

_MOST_EVIDENCE = 3
UNREADABLE = "unreadable"


class Checks(Protocol):
    """Somewhere to run the checks."""

    @property
    def computes_expressions(self) -> bool:
        """Whether indexes over expressions can be checked."""
        ...

    def compare(self, work: ContentWork, *, limit: int) -> Comparison:
        """Compare stored entries with those of the rows."""
        ...

    def compare_with_hudi(self, state: IndexedState, *, limit: int) -> Comparison:
        """Compare our reading of the index metadata table with that of Hudi on Spark."""
        ...

    def values_of(
        self, state: IndexedState, subjects: Sequence[Subject], *, seed: int
    ) -> dict[str, list[Any]]:
        """Values that are in the table, by the text of the subject."""
        ...

    def ask(
        self, metadata_table: MetadataTable, state: IndexedState, queries: Iterable[Query], request: Request
    ) -> Iterator[QueryResult]:
        """Ask each query with indexes and without."""
        ...


def validate(storage: Storage, checks: Checks, request: Request) -> ValidationReport:
    """Check the indexes of a table; returns what was found, be it good or bad.

    Raises:
        NoSuchIndexError: an index that is asked for is not there.
        RefusedTextError: a given query does more than ask the table's rows.
        SqlSyntaxError: a given query is none.
    """
    check_texts(request)
    report = ValidationReport(storage.uri, seed=request.seed)
    for name in request.indexes:
        Catalog(storage).load().definition_of(name)
    run = _Validation(storage, checks, request, report)
    try:
        with report.phase("look"):
            run.look()
        with report.phase("content"):
            run.check_coverage()
            run.check_content()
        if request.with_hudi:
            with report.phase("hudi"):
                run.check_with_hudi()
    except CorruptError as error:
        run.fail_all(f"the index metadata table can't be read: {error}")
    with report.phase("queries"):
        run.check_queries()
    run.conclude()
    return report


def check_texts(request: Request) -> None:
    """Refuse given queries that do more than ask the table's rows; see hudi_index.gate."""
    for text in request.where:
        check_condition(text)
    for text in request.sql:
        check_query(text, view=request.view)


class _Validation:
    """One run."""

    def __init__(self, storage: Storage, checks: Checks, request: Request, report: ValidationReport) -> None:
        self._storage, self._checks, self._request, self._report = storage, checks, request, report
        # Its own: what was kept of files before would hide what is wrong with them now.
        self._kept = Kept.of(storage)
        self._definitions: list[IndexDefinition] = [
            each for each in Catalog(storage).load() if self._is_wanted(each)
        ]
        self._state: IndexedState | None = None
        self._faults: dict[str, tuple[IndexDefinition, list[str]]] = {}
        self._compared_whole: set[str] = set()
        """Indexes all of whose entries were compared; those without faults are proven right."""
        self._is_coverage_wrong = False

    def _is_wanted(self, definition: IndexDefinition) -> bool:
        names = [name.lower() for name in self._request.indexes]
        return definition.state is IndexState.READY and (not names or definition.key in names)

    def look(self) -> None:
        """Load what there is."""
        state = self._state = self._kept.look()
        self._definitions = [each for each in state.definitions if self._is_wanted(each)]
        self._report.instant = state.instant
        for each in state.definitions:
            if each.state is not IndexState.READY:
                why = f": {each.reason}" if each.reason else ""
                self._report.notes.append(f"index {each.name} is {each.state}{why}: not validated")
        if not self._definitions:
            self._report.notes.append("no index is ready: there is nothing to validate")
        for each in list(self._definitions):
            if reason := state.reason_against(each):
                self._report.notes.append(f"index {each.name} is not used: {reason}")
                self._definitions.remove(each)

    def check_coverage(self) -> None:
        """Compare `files` with itself and with the table."""
        state, found = self._known_state, self._report.coverage
        found.is_checked, found.file_groups = True, len(state.snapshot.slices)
        found.covered = sum(
            (known := state.indexed.get(file_slice.group)) is not None
            and known.identity == file_slice.identity
            for file_slice in state.snapshot.slices
        )
        found.uncovered = found.file_groups - found.covered
        found.differences += coverage_faults(state)
        if found.differences:
            self._is_coverage_wrong = True
            self.fail_all(f"coverage: {found.differences[0]}")

    def check_content(self) -> None:
        """Compare stored entries with the rows."""
        request, result = self._request, self._report.content
        if request.sample == 0 or not self._definitions:
            return
        plan, found = self._compare(self._checkable())
        if found.counts or found.unreadable:
            # An index that was dropped or built anew between two looks is no evidence: look again.
            self._state = self._kept.look()
            ids = {each.id for each in self._definitions}
            self._definitions = [each for each in self._known_state.ready() if each.id in ids]
            plan, found = self._compare(self._checkable())
        result.is_checked, result.sample = True, plan.sample
        result.file_groups, result.file_groups_gone = len(self._known_state.indexed), len(plan.gone)
        result.file_groups_checked = len(plan.chosen)
        if not plan.is_sample:
            self._compared_whole = {each.name for each in plan.definitions}
        self._take(found)

    def _checkable(self) -> list[IndexDefinition]:
        if self._checks.computes_expressions:
            return self._definitions
        return [each for each in self._definitions if not each.is_functional]

    def _compare(self, definitions: Sequence[IndexDefinition]) -> tuple[ContentPlan, Comparison]:
        request = self._request
        gone: set[FileGroupId] = set()
        while True:
            plan = ContentPlan.of(
                self._known_state, definitions, sample=request.sample, seed=request.seed, gone=gone
            )
            found = self._checks.compare(plan.work(), limit=request.limit)
            if not found.gone:
                break
            # The cleaner was faster: without these. Each round has fewer file groups.
            gone |= set(found.gone)
        compare_summaries(plan, found, limit=request.limit)
        return plan, found

    def _take(self, found: Comparison) -> None:
        result = self._report.content
        result.rows_read += found.rows_read
        result.entries += found.entries
        for (partition, label, what), count in sorted(found.counts.items()):
            result.differences[what] = result.differences.get(what, 0) + count
            self._accuse(partition, label, f"{count} entries of {partition} {what}")
        for partition, reason in found.unreadable.items():
            result.differences[UNREADABLE] = result.differences.get(UNREADABLE, 0) + 1
            self._accuse(partition, "", f"{partition} can't be read: {reason}")
        result.examples += [each.as_dict() for each in found.examples]

    def check_with_hudi(self) -> None:
        """Compare our reading of the index metadata table with Hudi's."""
        self._take(self._checks.compare_with_hudi(self._known_state, limit=self._request.limit))

    def check_queries(self) -> None:
        """Ask queries with indexes and without."""
        if self._state is None:
            return
        for result in self._checks.ask(
            self._kept.metadata_table, self._state, self._within_budget(), self._request
        ):
            self._report.queries.append(result)
        for result in self._report.wrong_queries:
            self._judge(result)

    def _within_budget(self) -> Iterator[Query]:
        request = self._request
        made: Iterator[Query] = iter(())
        if self._definitions and request.queries != 0:
            subjects = list(chain.from_iterable(map(self._subjects_of, self._definitions)))
            values = self._checks.values_of(self._known_state, subjects, seed=request.seed)
            made = generate_queries(subjects, values, seed=request.seed)
        given = parse_queries(request.where, request.sql)
        yield from within_budget(given, made, request, self._report)

    def _subjects_of(self, definition: IndexDefinition) -> list[Subject]:
        state = self._known_state
        if definition.expression is not None:
            if not self._checks.computes_expressions:
                return []
            kind = spark_type(definition.expression_type or "", column=definition.expression)
            return [Subject(definition.name, definition.expression, kind)]
        found = [
            Subject.of_column(definition.name, path, kind)
            for path, kind in state.types_of(definition).items()
        ]
        if not definition.spec.has_columns and state.snapshot.config.populates_meta_fields:
            found.append(Subject.of_column(definition.name, RECORD_KEY, pa.string()))
        return found

    @property
    def _known_state(self) -> IndexedState:
        assert self._state is not None
        return self._state

    def fail_all(self, evidence: str) -> None:
        """Blame every index."""
        for each in self._definitions:
            self._blame(each, evidence)

    def _accuse(self, partition: str, label: str, evidence: str) -> None:
        self._is_coverage_wrong |= partition == files.PARTITION
        for each in find_indexes_at_fault(self._definitions, partition, label):
            self._blame(each, evidence)

    def _blame(self, definition: IndexDefinition, evidence: str) -> None:
        known = self._faults.setdefault(definition.name, (definition, []))[1]
        if len(known) < _MOST_EVIDENCE and evidence not in known:
            known.append(evidence)

    def conclude(self) -> None:
        """Say who is at fault, and take those out of service."""
        report = self._report
        sizes = self._sizes()
        for each in self._definitions:
            report.indexes.append(self._index_result(each, sizes.get(each.partition, 0)))
        effect = report.effect
        if report.queries and effect["queries"] and not effect["queries_pruned"]:
            report.notes.append("no query was pruned at all: the indexes earn nothing on these queries")
        if self._faults and self._request.invalidates:
            take_out_of_service(self._storage, self._faults, report, forgets_coverage=self._is_coverage_wrong)
        for result in report.indexes:
            if result.name in report.invalidated:
                result.state = str(IndexState.INVALID)

    def _judge(self, result: QueryResult) -> None:
        """Who is at fault for a wrong query: only those that there is evidence against.

        That is wrong entries, or else the same query losing rows with this index asked alone, if its entries
        were not all compared. Somebody else may be wrong too: the planner, or the query itself.
        """
        names = {each.name: each for each in self._definitions}
        asked = [name for name, refuted in result.refuted.items() if refuted and name in names] or list(names)
        guilty = [name for name in asked if name in self._faults]
        if not guilty:
            if self._is_wrong_with(result, ()):
                result.result = FAILED
                result.reason = "two full scans give different answers to it as well: it is no evidence"
                return
            unproven = [name for name in asked if name not in self._compared_whole]
            guilty = [name for name in unproven if self._is_wrong_with(result, (name,))]
        result.cause = ", ".join(guilty) or UNKNOWN_CAUSE
        for name in guilty:
            self._blame(names[name], f"query {result.query!r} lacks {result.rows_missing} rows")

    def _is_wrong_with(self, result: QueryResult, only: tuple[str, ...]) -> bool:
        """Whether a query still disagrees when only some indexes are asked."""
        if only and tuple(result.only) == only:
            return True
        query = Query(result.query, result.form, only=only)
        found = self._checks.ask(self._kept.metadata_table, self._known_state, [query], self._request)
        return any(each.is_wrong for each in found)

    def _sizes(self) -> dict[str, int]:
        try:
            return {
                each.partition: each.base_bytes + each.log_bytes
                for each in self._kept.metadata_table.status()
            }
        except CorruptError:
            return {}

    def _index_result(self, definition: IndexDefinition, size: int) -> IndexResult:
        asked = [each for each in self._report.queries if definition.name in each.refuted]
        return IndexResult(
            name=definition.name,
            kind=str(definition.kind),
            on=definition.expression or ", ".join(definition.source_fields),
            bytes=size,
            queries=len(asked),
            file_groups_refuted=sum(each.refuted[definition.name] for each in asked),
            is_checked=not definition.is_functional or self._checks.computes_expressions,
            faults=list(self._faults.get(definition.name, (definition, []))[1]),
        )


def within_budget(
    given: Iterable[Query], made: Iterator[Query], request: Request, report: ValidationReport
) -> Iterator[Query]:
    """The given queries, then made ones, until there were enough or time is up."""
    until = None if request.seconds is None else time.monotonic() + request.seconds
    # Without a limit of either kind there would be no end.
    count = request.queries if request.queries is not None or until is not None else Request.queries
    for query in chain(given, islice(made, count)):
        if until is not None and time.monotonic() > until:
            report.notes.append(f"stopped asking after {request.seconds} seconds")
            return
        yield query


def coverage_faults(state: IndexedState) -> list[str]:
    """What contradicts itself in `files`."""
    entries = state.reader.lookup(files.PARTITION, [KeyRange.all()], columns=[files.PAYLOAD])
    known = files.parse_indexed_slices(entries)
    named = files.entries_of(replace(each) for each in known.values()).column("key").to_pylist()
    found = []
    if sorted(map(str, named)) != sorted(map(str, entries.column("key").to_pylist())):
        found.append("a record of `files` stands under the name of another file group")
    numbers = [each.number for each in known.values()]
    if len(set(numbers)) < len(numbers):
        found.append("two file groups have the same number")
    if numbers and max(numbers) >= state.next_number:
        found.append(f"file group number {max(numbers)} was never given out")
    return found
