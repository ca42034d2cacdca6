"""A snapshot of a table as a `pyarrow.dataset.Dataset`.

    scanner(columns, filter)  -->  plan by the filter  -->  rows of the kept slices  -->  Arrow's filter and
                                   when it is read          that were needed              projection

Rows are filtered and columns computed by Arrow from the expressions that the engine gave, so an answer is
what Arrow would give for the whole table; the plan only leaves out what can't be in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from hudi_index.aggregates import Both
from hudi_index.arguments import check_count
from hudi_index.dataset.expressions import fields_of, read_expression
from hudi_index.dataset.filters import ArrowFilter
from hudi_index.dataset.scanner import IndexedScanner
from hudi_index.errors import UnknownColumnError, WrongTypeError
from hudi_index.scan import ScanReport, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hudi_index.planner import ScanPlan
    from hudi_index.table import FileSlice

__all__ = ["IndexedDataset", "SliceFragment"]

_NOT_BY_FILE = "rows of a Hudi table are read by the methods of its dataset in Python, not by file"
_BATCH_ROWS = 131_072
"""As in pyarrow's own datasets."""


_Planned: TypeAlias = "tuple[pc.Expression | None, ScanPlan]"


@dataclass(frozen=True)
class _Source:
    """What a dataset and its fragments read."""

    plan: Callable[[ArrowFilter | None], ScanPlan]
    schema: pa.Schema
    """The columns of the table as the engine sees them."""
    stored: pa.Schema
    """The same as they are stored."""
    threads: int
    report: ScanReport

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, Any] | None,
        condition: Any,
        batch_size: int,
        slices: Sequence[FileSlice] | None = None,
        planned: _Planned | None = None,
    ) -> IndexedScanner:
        projected, read = self._needed(columns, condition)

        def batches() -> Iterator[pa.RecordBatch]:
            # Nothing is planned before rows are asked for: engines ask for scanners only to see a schema.
            plan = planned[1] if planned and _is_same(planned[0], condition) else self._plan(condition)
            return self._batches(read, plan, slices)

        found = IndexedScanner(
            batches, read, projected, condition, check_count("batch_size", batch_size, least=1)
        )
        # What can't be compared is an error now, not with the first row.
        _ = found.projected_schema
        return found

    def count(self, condition: Any) -> int:
        """How many rows meet a condition; those of file groups that indexes decide are not read."""
        wanted = pc.scalar(True) if condition is None else condition  # noqa: FBT003 - a constant
        both = Both(*(self.plan(ArrowFilter(wanted, self.stored, each)) for each in (False, True)))
        known, undecided = both.decided()
        if not undecided:
            self.report.count(file_groups=both.meeting.total, bytes_total=both.meeting.snapshot.size)
            return known
        slices = [both.meeting.snapshot.slices[position] for position in undecided]
        planned = (condition, both.meeting)
        return known + self.scanner([], condition, _BATCH_ROWS, slices, planned).count_rows()

    def _needed(self, columns: Any, condition: Any) -> tuple[Any, pa.Schema]:
        """What Arrow projects, and the schema of what it needs for that."""
        projected: list[tuple[str, Any]] | None = None
        if columns is not None:
            if not isinstance(columns, Mapping | list | tuple) or not all(
                isinstance(name, str) for name in columns
            ):
                raise WrongTypeError(
                    option="columns", value=columns, expected="a list of names, or expressions by name"
                )
            given = columns.items() if isinstance(columns, Mapping) else ((each, None) for each in columns)
            projected = [(name, self._field(name) if each is None else each) for name, each in given]
        roots: set[str] = set()
        for expression in [
            *([] if condition is None else [condition]),
            *(each for _, each in projected or ()),
        ]:
            node = read_expression(expression)
            if node is None:
                return projected, self.schema
            roots |= {field.parts[0] for field in fields_of(node)}
        if unknown := roots - set(self.schema.names):
            raise UnknownColumnError(column=min(unknown), known=self.schema.names)
        if projected is None:
            return None, self.schema
        return projected, pa.schema([field for field in self.schema if field.name in roots])

    def _field(self, name: str) -> Any:
        """A column, or a field of a struct as `a.b`."""
        if name in self.schema.names:
            return pc.field(name)
        first, *rest = name.split(".")
        found: Any = self.schema.field(first).type if first in self.schema.names else None
        for part in rest:
            found = found.field(part).type if _has_field(found, part) else None
        if found is None:
            raise UnknownColumnError(column=name, known=self.schema.names)
        return pc.field(first, *rest)

    def _plan(self, condition: Any) -> ScanPlan:
        return self.plan(None if condition is None else ArrowFilter(condition, self.stored))

    def _batches(
        self, read: pa.Schema, plan: ScanPlan, slices: Sequence[FileSlice] | None
    ) -> Iterator[pa.RecordBatch]:
        if slices is not None:
            wanted = {each.group for each in slices}
            plan = replace(plan, slices=[each for each in plan.slices if each.group in wanted])
        if not read.names:
            yield from self._without_columns(plan)
            return
        rows = scan(plan, columns=read.names, unfiltered=True, threads=self.threads, report=self.report)
        for batch in rows:
            columns = [_as_type(batch.column(place), field.type) for place, field in enumerate(read)]
            yield pa.RecordBatch.from_arrays(columns, schema=read)

    def _without_columns(self, plan: ScanPlan) -> Iterator[pa.RecordBatch]:
        """Rows of which only the number matters."""
        name = self.stored.names[0]
        for batch in scan(plan, columns=[name], unfiltered=True, threads=self.threads, report=self.report):
            yield batch.select([])


class IndexedDataset(ds.UnionDataset):
    """A snapshot of a Hudi table with its indexes, for whatever takes a dataset of pyarrow.

    It stays what it was when it was made: a commit since then is not seen, and a query that reads it twice
    reads the same rows twice. Once Hudi has cleaned its files, scans raise SliceGoneError: take a new one.
    """

    def __init__(
        self,
        plan: Callable[[ArrowFilter | None], ScanPlan],
        schema: pa.Schema,
        stored: pa.Schema,
        *,
        threads: int,
        report: ScanReport,
        condition: pc.Expression | None = None,
    ) -> None:
        """A dataset over what `plan` keeps.

        Args:
            plan: From a filter to the slices to read.
            schema: The columns.
            stored: The same, as they are stored.
            threads: Slices to read at a time.
            report: Counts what is read.
            condition: What all rows have to meet.
        """
        # C++ code that takes this for a dataset of its own, past all methods, must fail and not find no rows.
        nowhere = ds.ParquetFileFormat().make_fragment(_NOT_BY_FILE, fs.LocalFileSystem())
        stand_in = ds.FileSystemDataset([nowhere], schema, ds.ParquetFileFormat())
        super().__init__(schema, [stand_in])  # type: ignore[call-arg]
        self._source = _Source(plan, schema, stored, threads, report)
        self._condition = condition

    @property
    def report(self) -> ScanReport:
        """What scans of this dataset have read so far."""
        return self._source.report

    def plan(self, filter: pc.Expression | None = None) -> ScanPlan:  # noqa: A002 - pyarrow's word
        """What a scan with this filter would read, and why not less."""
        condition = self._joined(_check_filter(filter))
        return self._source.plan(None if condition is None else ArrowFilter(condition, self._source.stored))

    def scanner(  # type: ignore[override]
        self,
        columns: Sequence[str] | Mapping[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        batch_size: int = _BATCH_ROWS,
        **options: Any,
    ) -> IndexedScanner:
        """A scanner over the rows for which the filter is true."""
        condition = self._joined(_check_filter(filter))
        _check_options(options)
        return self._source.scanner(columns, condition, batch_size)

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[SliceFragment]:  # noqa: A002
        """The file slices that the filter leaves, each to be read on its own."""
        plan = self.plan(filter)
        planned = (self._joined(filter), plan)
        # At least one: an engine that runs as many tasks as there are fragments needs a task.
        for part in [[each] for each in plan.slices] or [[]]:
            yield SliceFragment(self._source, part, self._condition, planned)

    def to_batches(self, *given: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows of a scan, batch by batch."""
        return self.scanner(*given, **options).to_batches()

    def to_table(self, *given: Any, **options: Any) -> pa.Table:
        """The rows of a scan."""
        return self.scanner(*given, **options).to_table()

    def head(self, num_rows: int, *given: Any, **options: Any) -> pa.Table:
        """The first rows of a scan."""
        return self.scanner(*given, **options).head(num_rows)

    def take(self, indices: Any, *given: Any, **options: Any) -> pa.Table:
        """The rows of a scan at these places."""
        return self.scanner(*given, **options).take(indices)

    def count_rows(self, filter: pc.Expression | None = None, **options: Any) -> int:  # type: ignore[override]  # noqa: A002
        """How many rows the filter is true for; rows are read only where indexes can't tell."""
        condition = self._joined(_check_filter(filter))
        _check_options({name: value for name, value in options.items() if name != "batch_size"})
        self._source.scanner([], condition, _BATCH_ROWS)
        return self._source.count(condition)

    def filter(self, expression: pc.Expression) -> IndexedDataset:
        """The rows of this dataset for which an expression is true."""
        return self._changed(condition=self._joined(_check_filter(expression)))

    def replace_schema(self, schema: pa.Schema) -> None:
        """Refused: columns are those of the table."""
        raise NotImplementedError("a Hudi table has its own schema; cast what a scan gives")

    def sort_by(self, sorting: Any, **options: Any) -> Any:
        """All rows in an order, in memory."""
        return _memory(self.to_table().sort_by(sorting, **options))

    def join(self, right_dataset: ds.Dataset, *given: Any, **options: Any) -> Any:
        """All rows joined with those of another dataset, in memory."""
        return _memory(self.to_table()).join(_in_memory(right_dataset), *given, **options)

    def join_asof(self, right_dataset: ds.Dataset, *given: Any, **options: Any) -> Any:
        """All rows joined with the nearest of another dataset, in memory."""
        return _memory(self.to_table()).join_asof(_in_memory(right_dataset), *given, **options)

    def __reduce__(self) -> Any:
        raise TypeError("a dataset stays in its process; open the table in the other one")

    def _changed(self, *, condition: pc.Expression | None) -> IndexedDataset:
        own = self._source
        return IndexedDataset(
            own.plan, own.schema, own.stored, threads=own.threads, report=own.report, condition=condition
        )

    def _joined(self, condition: pc.Expression | None) -> pc.Expression | None:
        if self._condition is None or condition is None:
            return condition if self._condition is None else self._condition
        return self._condition & condition


class SliceFragment:
    """Some file slices of a dataset. No `pyarrow.dataset.Fragment`, which is one file of Arrow's own."""

    def __init__(
        self,
        source: _Source,
        slices: list[FileSlice],
        condition: pc.Expression | None,
        planned: _Planned | None = None,
    ) -> None:
        """Fragment of a dataset.

        Args:
            source: The dataset's.
            slices: What it reads.
            condition: What all its rows have to meet.
            planned: A condition, and its plan at this snapshot.
        """
        self._source, self._slices, self._condition = source, slices, condition
        self._planned = planned

    @property
    def physical_schema(self) -> pa.Schema:
        """The columns."""
        return self._source.schema

    @property
    def partition_expression(self) -> pc.Expression:
        """What is known of all rows: nothing."""
        return pc.scalar(True)  # noqa: FBT003 - a constant

    @property
    def files(self) -> list[str]:
        """The base file and the log files, relative to the table."""
        return [path for each in self._slices for path in each.paths]

    def scanner(
        self,
        schema: pa.Schema | None = None,  # noqa: ARG002 - as in pyarrow
        columns: Sequence[str] | Mapping[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,  # noqa: A002 - pyarrow's word
        batch_size: int = _BATCH_ROWS,
        **options: Any,
    ) -> IndexedScanner:
        """A scanner over its rows for which the filter is true."""
        condition = _check_filter(filter)
        if self._condition is not None:
            condition = self._condition if condition is None else self._condition & condition
        _check_options(options)
        return self._source.scanner(columns, condition, batch_size, self._slices, self._planned)

    def to_batches(self, schema: pa.Schema | None = None, **options: Any) -> Iterator[pa.RecordBatch]:
        """Its rows, batch by batch."""
        return self.scanner(schema, **options).to_batches()

    def to_table(self, schema: pa.Schema | None = None, **options: Any) -> pa.Table:
        """Its rows."""
        return self.scanner(schema, **options).to_table()

    def head(self, num_rows: int, *given: Any, **options: Any) -> pa.Table:
        """Its first rows."""
        return self.scanner(*given, **options).head(num_rows)

    def count_rows(self, **options: Any) -> int:
        """How many rows there are."""
        return self.scanner(columns=[], **options).count_rows()


def _check_filter(condition: object) -> Any:
    if condition is not None and not isinstance(condition, pc.Expression):
        raise WrongTypeError(option="filter", value=condition, expected="a pyarrow.compute.Expression")
    return condition


_OPTIONS = frozenset(
    (
        "batch_readahead",
        "cache_metadata",
        "fragment_readahead",
        "fragment_scan_options",
        "memory_pool",
        "use_threads",
    )
)


def _check_options(options: Mapping[str, Any]) -> None:
    """Options of pyarrow's scanner say how files are read by Arrow, which they are not: taken, and let be."""
    if odd := sorted(options.keys() - _OPTIONS):
        raise TypeError(f"a scanner has no option {odd[0]!r}, only {', '.join(sorted(_OPTIONS))}")


def _is_same(one: Any, other: Any) -> bool:
    return one is other if one is None or other is None else bool(one.equals(other))


def _has_field(data_type: Any, name: str) -> bool:
    return isinstance(data_type, pa.StructType) and data_type.get_field_index(name) >= 0


def _as_type(column: Any, data_type: pa.DataType) -> Any:
    if isinstance(data_type, pa.DictionaryType) and column.type == data_type.value_type:
        # Not by a cast: Arrow has that for texts only.
        return column.dictionary_encode()
    return column if column.type == data_type else column.cast(data_type)


def _memory(table: pa.Table) -> Any:
    return ds.InMemoryDataset(table)  # type: ignore[call-arg]


def _in_memory(dataset: Any) -> Any:
    return _memory(dataset.to_table()) if isinstance(dataset, IndexedDataset) else dataset
