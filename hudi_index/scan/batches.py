"""The rows of a query as Arrow batches, without a JVM: plan, read what it keeps, filter.

    plan        slices that may match; those that only Spark can merge are refused before any row is given
    read        a slice with logs through hudi-rs; one without through pyarrow, where row groups that
                statistics or bitmaps rule out are never read, and other columns than the predicate's only
                where a row matches
    filter      exactly as Spark's WHERE (`row_filter`), or not at all if asked so

Rows come slice by slice in the order of file groups (partition path, file id), within a slice in the order of
`table.rows`: the same snapshot gives the same rows in the same order, whatever the number of threads.
"""

from __future__ import annotations

import logging
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.arguments import check_count, check_list_of_texts
from hudi_index.errors import (
    InvalidOptionError,
    MissingSliceFileError,
    SliceGoneError,
    UnknownColumnError,
    UnsupportedTableError,
    WrongTypeError,
)
from hudi_index.predicate.expression import TRUE
from hudi_index.scan.row_filter import RowFilter, row_filter_of
from hudi_index.scan.row_groups import BaseFileRows
from hudi_index.table import SliceReader
from hudi_index.table.paths import values_at
from hudi_index.table.types import sql_schema, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from hudi_index.planner.scan_plan import ScanPlan
    from hudi_index.predicate import Tree
    from hudi_index.scan.row_groups import RowGroup
    from hudi_index.table import FileSlice

__all__ = ["ScanReport", "scan"]

log = logging.getLogger(__name__)


@dataclass
class ScanReport:
    """What a scan has read so far; whole when its reader is at the end."""

    file_groups: int = 0
    """Of the table."""
    file_groups_read: int = 0
    files_read: int = 0
    row_groups: int = 0
    """Of the files without logs that were opened."""
    row_groups_read: int = 0
    rows_read: int = 0
    rows_returned: int = 0
    bytes_total: int = 0
    """Of all files of the table's snapshot."""
    bytes_read: int = 0
    """From files without logs as counted; files that are merged count whole."""
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def count(self, **more: int) -> None:
        """Add to counters."""
        with self._lock:
            for name, value in more.items():
                setattr(self, name, getattr(self, name) + value)

    def as_dict(self) -> dict[str, int]:
        """The counters by name."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __str__(self) -> str:
        return (
            f"{self.rows_returned} rows of {self.rows_read} read, from {self.file_groups_read} of "
            f"{self.file_groups} file groups, {self.row_groups_read} of {self.row_groups} row groups, "
            f"{self.bytes_read} of {self.bytes_total} bytes"
        )


def scan(
    plan: ScanPlan,
    *,
    columns: Sequence[str] | None = None,
    limit: int | None = None,
    unfiltered: bool = False,
    threads: int = 1,
    report: ScanReport | None = None,
) -> pa.RecordBatchReader:
    """The rows that a plan's predicate is true for.

    Args:
        plan: What to read.
        columns: Names, nested ones as `a.b`, which is also what they are called in the result. `*` stands for
            all columns with Hudi's own in front, None for all but Hudi's own.
        limit: Stop after so many rows.
        unfiltered: Give all rows of what is read: a superset of the rows that match, for an engine that
            filters itself. Then no predicate is refused.
        threads: Slices to read at a time; each holds its matching rows in memory until it is their turn.
        report: Counts what is read.

    Raises:
        UnknownColumnError: there is no such column.
        UnsupportedPredicateError: a part of the predicate can't be evaluated exactly as Spark would.
        UnsupportedTableError: a slice to read can only be merged by Spark.
    """
    limit = None if limit is None else check_count("limit", limit)
    threads = check_count("threads", threads, least=1)
    if report is not None and not isinstance(report, ScanReport):
        raise WrongTypeError(option="report", value=report, expected="a ScanReport")
    schema = _choose_columns(plan, columns)
    rows = row_filter_of(TRUE if unfiltered else plan.condition, time_zone=plan.time_zone)
    _refuse_slices_for_spark(plan)
    counted = report or ScanReport()
    counted.count(file_groups=plan.total, bytes_total=plan.snapshot.size)
    log.debug(
        "a scan of %s reads %d of %d file groups, %d at a time",
        *(plan.snapshot.storage.uri, plan.kept, plan.total, threads),
    )
    # A tree is a superset by itself, so row groups can be ruled out even where rows can't be filtered.
    reading = _Reading(plan, schema, plan.tree, rows, counted)
    batches = reading.in_turn() if threads == 1 else reading.by_threads(threads)
    return pa.RecordBatchReader.from_batches(schema, _limit(batches, limit, counted))


def _choose_columns(plan: ScanPlan, columns: Sequence[str] | None) -> pa.Schema:
    known = plan.snapshot.schema_with_meta_columns
    if columns is None:
        columns = plan.snapshot.schema.names
    if isinstance(columns, str) or not check_list_of_texts("columns", columns):
        # A lone text is most likely several names with commas between.
        raise InvalidOptionError(option="columns", value=columns, reason="expected a list of column names")
    names: dict[str, None] = {}
    for name in columns:
        names.update(dict.fromkeys(known.names if name == "*" else [_path_of(known, name)]))
    return pa.schema([pa.field(name, type_of(known, name)) for name in names])


def _path_of(known: pa.Schema, name: str) -> str:
    """A column as the table spells it."""
    schema = sql_schema(known)
    found = schema.look_up((name,)) or schema.look_up(tuple(name.split(".")))
    if found is None:
        raise UnknownColumnError(column=name, known=schema.paths())
    type_of(known, found.path)
    return found.path


def _refuse_slices_for_spark(plan: ScanPlan) -> None:
    reasons = [
        choice.reason
        for choice in map(plan.snapshot.slice_reader_of, plan.slices)
        if choice.reader is SliceReader.SPARK
    ]
    if reasons:
        raise UnsupportedTableError(
            uri=plan.snapshot.storage.uri,
            reason=f"only Spark reads {len(reasons)} of the {plan.kept} file groups of this scan right "
            f"({reasons[0]}); use read_indexed on Spark",
        )


def _limit(
    batches: Iterator[pa.RecordBatch], limit: int | None, report: ScanReport
) -> Iterator[pa.RecordBatch]:
    left = limit
    for batch in batches if left != 0 else ():
        given = batch if left is None else batch.slice(0, left)
        report.count(rows_returned=given.num_rows)
        yield given
        if left is not None:
            left -= given.num_rows
            if left == 0:
                return


@dataclass(frozen=True)
class _Reading:
    """One scan under way."""

    plan: ScanPlan
    schema: pa.Schema
    """Of the result; names are paths."""
    tree: Tree
    filter: RowFilter
    report: ScanReport

    def in_turn(self) -> Iterator[pa.RecordBatch]:
        for file_slice in self.plan.slices:
            yield from self._slice(file_slice)

    def by_threads(self, threads: int) -> Iterator[pa.RecordBatch]:
        """As `in_turn`, reading the next slices meanwhile."""
        pool = ThreadPoolExecutor(threads, thread_name_prefix="hudi-index-scan")
        try:
            ahead: deque[Future[list[pa.RecordBatch]]] = deque()
            for file_slice in self.plan.slices:
                if len(ahead) == threads:
                    yield from ahead.popleft().result()
                ahead.append(pool.submit(self._whole, file_slice))
            while ahead:
                yield from ahead.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _whole(self, file_slice: FileSlice) -> list[pa.RecordBatch]:
        return list(self._slice(file_slice))

    def _slice(self, file_slice: FileSlice) -> Iterator[pa.RecordBatch]:
        self.report.count(file_groups_read=1, files_read=len(file_slice.paths))
        try:
            yield from (batch for batch in self._rows_of(file_slice) if batch.num_rows)
        except MissingSliceFileError as error:
            raise SliceGoneError(path=error.path, reason=error.reason) from error
        except OSError:
            # A storage without open files says so at the next read.
            for lost in self.plan.snapshot.reader.losses([file_slice]).values():
                raise SliceGoneError(path=lost.path, reason=lost.reason) from lost
            raise

    def _rows_of(self, file_slice: FileSlice) -> Iterator[pa.RecordBatch]:
        if file_slice.log_files or file_slice.base_path is None:
            yield from self._merge(file_slice)
            return
        file = BaseFileRows(self.plan.snapshot.storage, self.plan.snapshot.shape, file_slice)
        try:
            file.refuse_for_spark([*self.schema.names, *self.filter.columns])
            if file.reads_plainly([*self.schema.names, *self.filter.columns]):
                log.debug("%s is read by its row groups", file_slice.base_path)
                yield from self._from_file(file_slice, file)
                return
        finally:
            self.report.count(bytes_read=file.bytes_read)
            file.close()
        yield from self._merge(file_slice)

    def _merge(self, file_slice: FileSlice) -> Iterator[pa.RecordBatch]:
        """The matching rows of a slice by way of hudi-rs."""
        log.debug("file group %s is read by hudi-rs, %d files", file_slice.group, len(file_slice.paths))
        self.report.count(bytes_read=file_slice.size)
        wanted = [*self.schema.names, *self.filter.columns]
        for batch in self.plan.snapshot.reader.rows(file_slice, wanted).batches():
            self.report.count(rows_read=batch.num_rows)
            arrays = [values_at(batch, name) for name in self.schema.names]
            found = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            yield found if self.filter.is_everything else found.filter(self._mask(batch))

    def _mask(self, batch: pa.RecordBatch) -> Any:
        return self.filter.mask(lambda path: values_at(batch, path), batch.num_rows)

    def _from_file(self, file_slice: FileSlice, file: BaseFileRows) -> Iterator[pa.RecordBatch]:
        """The matching rows of a base file, row group by row group."""
        positions = self.plan.rows.get(file_slice.group)
        groups = file.row_groups
        self.report.count(row_groups=len(groups))
        for group in groups:
            last = group.first_row + group.rows
            if positions is not None and not positions.range_cardinality(group.first_row, last):
                continue
            if not file.may_match(self.tree, group):
                continue
            self.report.count(row_groups_read=1, rows_read=group.rows)
            if self.filter.is_everything:
                for batch in file.batches(group, self.schema.names):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
            else:
                yield from self._matching(file, group)

    def _matching(self, file: BaseFileRows, group: RowGroup) -> Iterator[pa.RecordBatch]:
        """The matching rows of a row group; columns beside the predicate's are read only if there are any."""
        masks: list[Any] = []
        kept: list[pa.RecordBatch] = []
        for batch in file.batches(group, self.filter.columns):
            masks.append(self._mask_of_paths(batch))
            kept.append(batch.filter(masks[-1]))
        if not any(batch.num_rows for batch in kept):
            return
        mask: Any = pa.concat_arrays(masks)
        rest = [name for name in self.schema.names if name not in self.filter.columns]
        others, row = [], 0
        for batch in file.batches(group, rest) if rest else ():
            others.append(batch.filter(mask.slice(row, batch.num_rows)))
            row += batch.num_rows
        found = {name: pa.chunked_array([each.column(name) for each in kept]) for name in self.filter.columns}
        found |= {name: pa.chunked_array([each.column(name) for each in others]) for name in rest}
        table = pa.table([found[name] for name in self.schema.names], schema=self.schema)
        yield from table.combine_chunks().to_batches()

    def _mask_of_paths(self, batch: pa.RecordBatch) -> Any:
        # Fields come under their path here, already taken out of their struct.
        return self.filter.mask(lambda path: batch.column(path), batch.num_rows)
