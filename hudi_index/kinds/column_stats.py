"""Minimum, maximum and counts per file group and column.

    key        <column>$<partition path>$<file id>
    payload    ColumnStatsMetadata: encoded bounds, counts of rows, nulls and NaNs, exactness
    shard      the column
    answers    every domain: values between bounds, null by its count

A file group without an entry is not refuted (a column indexed later, an entry that was lost). Bounds are cut
as `kind_parts.statistics` says. NaN is the largest value, as Spark orders it, and -0.0 is 0.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from hudi_index.kind_parts.columns import ColumnQuestion, column_entries, column_range
from hudi_index.kind_parts.computed import is_certain, statistics_of_footer, statistics_of_values
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.ranges import find_domain
from hudi_index.kind_parts.statistics import Statistics, excluding, merged
from hudi_index.kind_parts.values import values_of
from hudi_index.kind_specs import built_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from hudi_index.coverage.covered import Candidates, Mask
    from hudi_index.kind_parts.protocol import Question, SliceContext
    from hudi_index.kind_parts.ranges import PartDomain
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.footer import ColumnStatistics

__all__ = ["ColumnStats"]


@dataclass(frozen=True)
class ColumnStats(IndexKind):
    """Which file groups hold no value of a range."""

    spec: ClassVar[KindSpec] = built_in("column_stats")

    def builder(self, context: SliceContext) -> ColumnStatsBuilder:
        """Describes one slice from its rows."""
        return ColumnStatsBuilder(self, context)

    def entries_of_statistics(
        self, context: SliceContext, statistics: Mapping[str, ColumnStatistics | None]
    ) -> pa.Table:
        """Entries of the columns whose exact statistics are known without reading rows."""
        found = {
            source: known.with_short_bounds(source.data_type)
            for source in self.sources
            if (known := statistics_of_footer(source, statistics)) is not None
        }
        return _entries(self, context, found)

    def without(self, statistics: Mapping[str, ColumnStatistics | None]) -> ColumnStats | None:
        """The kind for the columns of which these statistics are not enough; None if there are none."""
        rest = tuple(source for source in self.sources if not is_certain(source, statistics))
        return replace(self, sources=rest) if rest else None

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """All entries of the column."""
        asked = find_domain(self.sources, constraint)
        if asked is None:
            return None
        source, domain = asked
        return _StatisticsQuestion(
            candidates, column_range(source), self.payloads, source=source, domain=domain
        )


@dataclass(frozen=True, kw_only=True)
class _StatisticsQuestion(ColumnQuestion):
    domain: PartDomain

    def says_no(self, entries: pa.Table, _: object) -> Mask:
        """Whether statistics exclude every value of the domain."""
        return excluding(entries, self.domain)


class ColumnStatsBuilder:
    """Keeps the statistics of the rows so far."""

    def __init__(self, kind: ColumnStats, context: SliceContext) -> None:
        self._kind, self._context = kind, context
        self._found = {source: Statistics(group_count=0) for source in kind.sources}

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last."""
        for source, known in self._found.items():
            values = values_of(batch, source.column)
            self._found[source] = merged([known, statistics_of_values(values, source.name)])
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """One entry per column."""
        shortened = {
            source: replace(known, group_count=1).with_short_bounds(source.data_type)
            for source, known in self._found.items()
        }
        yield _entries(self._kind, self._context, shortened)


def _entries(kind: ColumnStats, context: SliceContext, found: Mapping[Source, Statistics]) -> pa.Table:
    payloads = [known.as_payload(source.name) for source, known in found.items()]
    return column_entries(kind, context, found, payloads)
