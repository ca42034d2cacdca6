"""What a dataset's `scanner` gives: the methods of `pyarrow.dataset.Scanner`, over batches of Python's.

Arrow's own scanner over such batches reads ahead in threads that it doesn't wait for: whoever leaves early,
by a LIMIT, leaves them behind inside of Python, where the end of the process finds them. Here whoever asks
reads, and may read again. Rows are filtered and columns computed by Arrow, batch by batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyarrow import acero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow.compute as pc

__all__ = ["IndexedScanner", "TaggedBatch"]


class TaggedBatch(NamedTuple):
    """As in pyarrow, but for the fragment, which is not told."""

    record_batch: pa.RecordBatch
    fragment: None = None


@dataclass(frozen=True)
class IndexedScanner:
    """The rows of one scan, as often as they are asked for; each time the table is planned anew."""

    _read: Callable[[], Iterator[pa.RecordBatch]]
    """The rows before the filter."""
    dataset_schema: pa.Schema
    """Of what is read."""
    _columns: Sequence[tuple[str, pc.Expression]] | None
    """By name; a name may come twice."""
    _condition: pc.Expression | None
    _batch_size: int
    _count: Callable[[], int] | None = None
    """A way to the number of rows that reads less."""

    @cached_property
    def projected_schema(self) -> pa.Schema:
        """Of what is given."""
        return self._evaluate(self.dataset_schema.empty_table()).schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch."""
        for batch in self._read():
            found = self._evaluate(pa.Table.from_batches([batch]))
            if found.num_rows:
                yield from found.combine_chunks().to_batches(max_chunksize=self._batch_size)

    def scan_batches(self) -> Iterator[TaggedBatch]:
        """The rows, batch by batch, as pyarrow tags them."""
        return map(TaggedBatch, self.to_batches())

    def to_reader(self) -> pa.RecordBatchReader:
        """The rows as a reader."""
        return pa.RecordBatchReader.from_batches(self.projected_schema, self.to_batches())

    def to_table(self) -> pa.Table:
        """All rows."""
        return pa.Table.from_batches(list(self.to_batches()), schema=self.projected_schema)

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; no more is read than they need."""
        found: list[pa.RecordBatch] = []
        left = num_rows
        for batch in self.to_batches() if left > 0 else ():
            found.append(batch.slice(0, left))
            left -= found[-1].num_rows
            if left == 0:
                break
        return pa.Table.from_batches(found, schema=self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        """The rows at these places."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        """How many rows there are."""
        if self._count is not None:
            return self._count()
        rows = (pa.Table.from_batches([batch]) for batch in self._read())
        return sum(self._filter(each).num_rows for each in rows)

    def _filter(self, table: pa.Table) -> pa.Table:
        return table if self._condition is None else table.filter(self._condition)

    def _evaluate(self, table: pa.Table) -> pa.Table:
        if self._columns is None or not self._columns:
            found = self._filter(table)
            return found if self._columns is None else found.select([])
        steps = [acero.Declaration("table_source", acero.TableSourceNodeOptions(table))]
        if self._condition is not None:
            steps.append(acero.Declaration("filter", acero.FilterNodeOptions(self._condition)))
        names, expressions = zip(*self._columns, strict=True)
        wanted = acero.ProjectNodeOptions(list(expressions), list(names))
        steps.append(acero.Declaration("project", wanted))
        return acero.Declaration.from_sequence(steps).to_table(use_threads=False)
