"""Minimum, maximum and counts per file group and column.

    key        <column>$<partition path>$<file id>
    payload    ColumnStatsMetadata: encoded bounds, counts of rows, nulls and NaNs, exactness
    shard      the column
    answers    every domain: values between bounds, null by its count

A file group without an entry is not refuted (a column indexed later, an entry that was lost). Bounds are cut
as `_statistics` says. NaN is the largest value, as Spark orders it, and -0.0 is 0.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hudi_index.entries.encoding import encode_array, encode_text, encode_value, key_type
from hudi_index.entries.keys import OWNER_PARTS, SEPARATOR, owner_suffix
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, PAYLOADS, PayloadType
from hudi_index.errors import UnencodableValueError
from hudi_index.kinds._parts import entry_table, values_of
from hudi_index.kinds._ranges import asked_of
from hudi_index.kinds._statistics import PAYLOAD, Statistics, excluding, merged
from hudi_index.kinds.protocol import Lookup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import numpy.typing as npt

    from hudi_index.kinds._parts import Source
    from hudi_index.kinds.protocol import CoveredGroup, SliceContext
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.footer import ColumnStatistics
    from hudi_index.table.slices import FileGroupId

__all__ = ["ColumnStats"]

_NAN = encode_value(float("nan"), pa.float64())


@dataclass(frozen=True)
class ColumnStats:
    """Which file groups hold no value of a range."""

    partition: str
    sources: tuple[Source, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns described."""
        return tuple(source.column for source in self.sources)

    @property
    def payloads(self) -> tuple[str, ...]:
        """Statistics."""
        return (PAYLOAD,)

    @property
    def is_divisible(self) -> bool:
        """An entry describes all rows."""
        return False

    def owner_suffix(self, context: SliceContext) -> str:
        """Partition path and file id."""
        return SEPARATOR + owner_suffix(context.group.partition_path, context.group.file_id)

    def builder(self, context: SliceContext) -> ColumnStatsBuilder:
        """Describes one slice from its rows."""
        return ColumnStatsBuilder(self, context)

    def entries_of_statistics(
        self, context: SliceContext, statistics: Mapping[str, ColumnStatistics | None]
    ) -> tuple[pa.Table, ColumnStats | None]:
        """Entries of the columns whose exact statistics are known without reading rows.

        Returns:
            The same entries that rows would give, and the kind for the columns that have to come from rows;
            None if there are none.
        """
        found = {
            source: _of_footer(known, source)
            for source in self.sources
            if (known := _certain(source, statistics)) is not None
        }
        return _entries(context, found), self.without(statistics)

    def without(self, statistics: Mapping[str, ColumnStatistics | None]) -> ColumnStats | None:
        """The kind for the columns of which these statistics are not enough; None if there are none."""
        rest = tuple(source for source in self.sources if _certain(source, statistics) is None)
        return replace(self, sources=rest) if rest else None

    @property
    def key_tail(self) -> int:
        """The owner: the entries of a column sit together."""
        return OWNER_PARTS

    def lookup(self, constraint: Constraint) -> Lookup | None:
        """All entries of the column."""
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None:
            return None
        return Lookup([(source.part, KeyRange.prefix(source.part + SEPARATOR))], [PAYLOAD])

    def prune(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups whose statistics exclude every value of the domain."""
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None:
            return frozenset()
        groups = [each.group for each in covered]
        owners = [owner_suffix(group.partition_path, group.file_id) for group in groups]
        rows = self.refuted_rows(constraint, entries, pa.array(owners, pa.string()))
        return frozenset(groups[row] for row in np.flatnonzero(rows).tolist())

    def refuted_rows(
        self, constraint: Constraint, entries: pa.Table, owners: pa.Array[Any]
    ) -> npt.NDArray[np.bool_]:
        """`prune` for many: which of the covered file groups, each given by what its keys end with."""
        refuted = np.zeros(len(owners), np.bool_)
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None:
            return refuted
        prefix = source.part + SEPARATOR
        keys: Any = entries.column(KEY)
        ends = pc.utf8_slice_codeunits(keys, len(prefix))
        if len(ends) == len(owners) and pc.all(pc.equal(ends, owners)).as_py():
            # The usual case: entries of just the covered file groups, in their order.
            rows = np.arange(len(owners))
        else:
            rows = pc.fill_null(pc.index_in(ends, value_set=owners), -1).to_numpy()
        says_no = excluding(entries, domain) & (rows >= 0)
        says_no &= pc.starts_with(keys, prefix).to_numpy()
        refuted[rows[says_no]] = True
        return refuted


class ColumnStatsBuilder:
    """Keeps the statistics of the rows so far."""

    def __init__(self, kind: ColumnStats, context: SliceContext) -> None:
        self._context = context
        self._found = {source: Statistics(group_count=0) for source in kind.sources}

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last."""
        for source, known in self._found.items():
            values = values_of(batch, source.column)
            self._found[source] = merged([known, _of_values(values, source.name)])
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """One entry per column."""
        shortened = {
            source: replace(known, group_count=1).with_short_bounds(source.data_type)
            for source, known in self._found.items()
        }
        yield _entries(self._context, shortened)


def _entries(context: SliceContext, found: Mapping[Source, Statistics]) -> pa.Table:
    owner = owner_suffix(context.group.partition_path, context.group.file_id)
    keys = [f"{source.part}{SEPARATOR}{owner}" for source in found]
    payloads = [known.as_payload(source.name) for source, known in found.items()]
    return entry_table(
        pa.array(keys, pa.string()), PayloadType.COLUMN_STATS, (PAYLOAD, payloads, PAYLOADS[PAYLOAD])
    )


def _certain(source: Source, statistics: Mapping[str, ColumnStatistics | None]) -> ColumnStatistics | None:
    # Footers don't count NaNs, and may write 0.0 for -0.0.
    return None if types.is_floating(key_type(source.data_type)) else statistics.get(source.column)


def _of_footer(known: ColumnStatistics, source: Source) -> Statistics:
    low, high = _encoded_bounds(known, source.name)
    return Statistics(low, high, known.value_count, known.null_count).with_short_bounds(source.data_type)


def _of_values(values: pa.Array[Any], column: str) -> Statistics:
    rows, nulls = len(values), values.null_count
    if nulls == rows:
        return Statistics(None, None, rows, nulls, group_count=0)
    try:
        values = values.cast(key_type(values.type, column))
    except pa.ArrowInvalid as error:
        raise UnencodableValueError(column=column, type_name=str(values.type), reason=str(error)) from error
    nans: int = pc.is_nan(values).true_count if types.is_floating(values.type) else 0
    # Arrow leaves NaN out of both bounds, and gives infinities if there is nothing else.
    bounds: Any = pc.min_max(values)
    low = _NAN if nans == rows - nulls else _encoded(bounds["min"], column)
    high = _NAN if nans else _encoded(bounds["max"], column)
    return Statistics(low, high, rows, nulls, nans, group_count=0)


def _encoded_bounds(known: ColumnStatistics, column: str) -> tuple[str | None, str | None]:
    low, high = known.minimum, known.maximum
    if low is None or high is None:
        return None, None
    if types.is_string(low.type):
        # Without the detour over an array: there are two for each column of each file.
        return encode_text(low.as_py()), encode_text(high.as_py())
    both = [cast("Any", pa.repeat(cast("Any", bound), 1)) for bound in (low, high)]
    found: list[Any] = encode_array(pa.concat_arrays(both), column).to_pylist()
    return found[0], found[1]


def _encoded(value: Any, column: str) -> str:
    encoded: str = encode_array(pa.repeat(value, 1), column)[0].as_py()
    return encoded
