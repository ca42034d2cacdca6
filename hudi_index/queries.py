"""What one asks of a table: plans, rows, numbers. The half of `IndexedTable` that changes nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.aggregates import Both, TextConditions, count_rows, extreme_of, not_true
from hudi_index.arguments import check_count, check_list_of_texts, check_text, check_time_zone
from hudi_index.dataset import IndexedDataset
from hudi_index.errors import UnknownColumnError, WrongTypeError
from hudi_index.gate import check_condition
from hudi_index.lifecycle import Kept
from hudi_index.planner import plan
from hudi_index.scan import ScanReport, scan
from hudi_index.table import Snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hudi_index.aggregates import Change
    from hudi_index.dataset import ArrowFilter
    from hudi_index.planner import ScanPlan
    from hudi_index.planner.plan import Conditions
    from hudi_index.storage import Storage
    from hudi_index.table import TableConfig

__all__ = ["Queries"]


@dataclass(frozen=True)
class Queries:
    """The questions to a Hudi table with its indexes."""

    storage: Storage
    _config: TableConfig | None = field(default=None, repr=False, compare=False)

    @cached_property
    def _kept(self) -> Kept:
        # One for all verbs: what it read of files that never change serves the next one too.
        return Kept.of(self.storage, self._config)

    @cached_property
    def _seen(self) -> dict[str, Snapshot]:
        """The table as the last plan saw it, by the instant that was asked for if it was not the latest."""
        return {}

    def plan(
        self,
        predicate: str,
        *,
        as_of: str | None = None,
        time_zone: str = "UTC",
        only: Collection[str] | None = None,
    ) -> ScanPlan:
        """The file slices that a query with this predicate has to read, without a JVM.

        `only` names the indexes to ask, also where asking them would not pay. Raises NoSuchIndexError.
        """
        check_condition(check_text("predicate", predicate, "one predicate, as a text"))
        found = plan(
            self._kept.metadata_table,
            self.storage,
            predicate,
            as_of=as_of if as_of is None else check_text("as_of", as_of, "an instant, as a text"),
            time_zone=check_time_zone("time_zone", time_zone),
            known=self._kept.snapshot if as_of is None else self._seen.get(as_of),
            expected=self._config,
            catalog=self._kept.catalog,
            only=only if only is None else check_list_of_texts("only", only),
        )
        self._keep(as_of, found.snapshot)
        return found

    def scan(
        self,
        predicate: str = "true",
        columns: Sequence[str] | None = None,
        *,
        limit: int | None = None,
        as_of: str | None = None,
        time_zone: str = "UTC",
        unfiltered: bool = False,
        threads: int = 1,
        report: ScanReport | None = None,
    ) -> pa.RecordBatchReader:
        """The rows for which the predicate is true, exactly as Spark would say, without a JVM.

        Args:
            predicate: Spark SQL.
            columns: Names, nested ones as `a.b`. `*` stands for all columns with Hudi's own in front, None
                for all but Hudi's own.
            limit: Stop after so many rows.
            as_of: The instant to read at, the latest if None.
            time_zone: The session's, for timestamps in the predicate.
            unfiltered: Give all rows of what the plan reads, a superset of those that match, for an engine
                that filters itself.
            threads: Slices to read at a time; the order of the rows is the same for any number.
            report: Counts what is read.

        Raises:
            UnsupportedPredicateError: a part of the predicate can't be evaluated exactly as Spark would.
            UnsupportedTableError: a slice to read can only be merged by Spark.
            SliceGoneError: from the reader, if Hudi cleaned a file that was still to be read.
        """
        return scan(
            self.plan(predicate, as_of=as_of, time_zone=time_zone),
            columns=columns,
            limit=limit,
            unfiltered=unfiltered,
            threads=threads,
            report=report,
        )

    def dataset(
        self,
        *,
        as_of: str | None = None,
        meta_columns: bool = False,
        dictionaries: Sequence[str] = (),
        threads: int | None = None,
        report: ScanReport | None = None,
    ) -> IndexedDataset:
        """The table as it is now, as a `pyarrow.dataset.Dataset` that DuckDB, Polars and DataFusion filter.

        Args:
            as_of: The instant to read at, the latest if None.
            meta_columns: Whether Hudi's own columns are in front of the table's.
            dictionaries: Columns to give as dictionaries of their values.
            threads: Slices to read at a time, as many as the machine has processors (at most 8) if None.
            report: Counts what scans read.

        Raises:
            UnknownColumnError: `dictionaries` names a column that there is not.
        """
        counted, snapshot = _report(report), self._snapshot(as_of)
        stored = snapshot.schema_with_meta_columns if meta_columns else snapshot.schema
        wanted = check_list_of_texts("dictionaries", dictionaries)
        if unknown := sorted(set(wanted) - set(stored.names)):
            raise UnknownColumnError(column=unknown[0], known=stored.names)

        def plan_filter(condition: ArrowFilter | None) -> ScanPlan:
            asked: Conditions | str = "true" if condition is None else condition
            return self._plan_of(asked, snapshot)

        return IndexedDataset(
            plan_filter,
            pa.schema([_field_of(each, is_dictionary=each.name in wanted) for each in stored]),
            stored,
            threads=min(8, os.cpu_count() or 1)
            if threads is None
            else check_count("threads", threads, least=1),
            report=counted,
        )

    def count(
        self,
        predicate: str = "true",
        *,
        as_of: str | None = None,
        time_zone: str = "UTC",
        threads: int = 1,
        report: ScanReport | None = None,
    ) -> int:
        """How many rows the predicate is true for; rows are read only where indexes can't tell.

        Args:
            predicate: Spark SQL.
            as_of: The instant to read at, the latest if None.
            time_zone: The session's, for timestamps in the predicate.
            threads: Slices to read at a time.
            report: Counts what is read.

        Raises:
            UnsupportedPredicateError: rows have to be read, and a part of the predicate can't be evaluated.
            UnsupportedTableError: a slice to read can only be merged by Spark.
        """
        both = self._both(predicate, as_of, time_zone)
        return count_rows(both, threads=check_count("threads", threads, least=1), report=_report(report))

    def exists(
        self,
        predicate: str = "true",
        *,
        as_of: str | None = None,
        time_zone: str = "UTC",
        report: ScanReport | None = None,
    ) -> bool:
        """Whether the predicate is true for some row; reading ends with the first."""
        both, counted = self._both(predicate, as_of, time_zone), _report(report)
        if not both.meeting.slices or both.has_certain_row():
            counted.count(file_groups=both.meeting.total, bytes_total=both.meeting.snapshot.size)
            return bool(both.meeting.slices)
        column = both.meeting.snapshot.schema.names[0]
        reader = scan(both.meeting, columns=[column], limit=1, report=counted)
        return any(batch.num_rows for batch in reader)

    def min(
        self,
        column: str,
        predicate: str = "true",
        *,
        as_of: str | None = None,
        time_zone: str = "UTC",
        report: ScanReport | None = None,
    ) -> Any:
        """The column's lowest value where the predicate is true, by Spark's order; None if there is none.

        Raises:
            UnknownColumnError: there is no such column.
            UnsupportedTypeError: its values have no order.
        """
        return self._extreme(column, predicate, as_of, time_zone, report, is_highest=False)

    def max(
        self,
        column: str,
        predicate: str = "true",
        *,
        as_of: str | None = None,
        time_zone: str = "UTC",
        report: ScanReport | None = None,
    ) -> Any:
        """The column's highest value where the predicate is true, as `min`; NaN is above all others."""
        return self._extreme(column, predicate, as_of, time_zone, report, is_highest=True)

    def _extreme(
        self,
        column: str,
        predicate: str,
        as_of: str | None,
        time_zone: str,
        report: ScanReport | None,
        *,
        is_highest: bool,
    ) -> Any:
        check_text("column", column, "the name of a column")
        check_condition(check_text("predicate", predicate, "one predicate, as a text"))
        check_time_zone("time_zone", time_zone)

        def planned(change: Change, snapshot: Snapshot | None) -> ScanPlan:
            asked = TextConditions(predicate, time_zone, change)
            return self._plan_of(asked, self._snapshot(as_of) if snapshot is None else snapshot)

        return extreme_of(column, planned, is_highest=is_highest, report=_report(report))

    def _both(self, predicate: str, as_of: str | None, time_zone: str) -> Both:
        meeting = self.plan(predicate, as_of=as_of, time_zone=time_zone)
        return Both(meeting, self._plan_of(not_true(predicate, time_zone), meeting.snapshot))

    def _plan_of(self, asked: Conditions | str, snapshot: Snapshot) -> ScanPlan:
        """A plan at a snapshot that is decided."""
        kept = self._kept
        return plan(kept.metadata_table, self.storage, asked, snapshot=snapshot, catalog=kept.catalog)

    def _snapshot(self, as_of: str | None) -> Snapshot:
        """The table as it is, or was at an instant; only what changed since the last look is seen anew."""
        if as_of is not None:
            check_text("as_of", as_of, "an instant, as a text")
        known = self._kept.snapshot if as_of is None else self._seen.get(as_of)
        found = Snapshot.load(self.storage, as_of, known=known, expected=self._config)
        self._keep(as_of, found)
        return found

    def _keep(self, as_of: str | None, snapshot: Snapshot) -> None:
        """Have a snapshot at hand for the next look. One only: that of a large table is large."""
        self._seen.clear()
        self._kept.snapshot = snapshot if as_of is None else None
        if as_of is not None:
            self._seen[as_of] = snapshot


def _report(report: ScanReport | None) -> ScanReport:
    if report is not None and not isinstance(report, ScanReport):
        raise WrongTypeError(option="report", value=report, expected="a ScanReport")
    return report or ScanReport()


def _field_of(field: pa.Field[Any], *, is_dictionary: bool) -> pa.Field[Any]:
    return pa.field(field.name, pa.dictionary(pa.int32(), field.type) if is_dictionary else field.type)
