"""Summaries by partition: those of every partition that changed are merged anew, in the same commit."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY
from hudi_index.kind_parts.diff import diff_entries
from hudi_index.kind_specs import spec_of, specs
from hudi_index.kinds import summary_of
from hudi_index.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.kinds import Summary
    from hudi_index.lifecycle.description import Description
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import Reader, Transaction, WriteStat

__all__ = ["merge_partitions", "partitions_of", "summaries_of", "summary_partition"]


def summary_partition(definition: IndexDefinition) -> str | None:
    """The partition with an index's summaries; None if it has none."""
    spec = spec_of(definition.kind)
    if spec is None or spec.summary is None or definition.is_functional:
        return None
    return specs()[spec.summary].folder


def partitions_of(definition: IndexDefinition, known: Collection[str]) -> list[str]:
    """The partitions with an index's entries, as far as they exist."""
    names = [definition.partition, summary_partition(definition)]
    return [name for name in names if name is not None and name in known]


def summaries_of(
    definitions: Iterable[IndexDefinition], state: IndexedState
) -> dict[tuple[str, str], list[Summary]]:
    """What sums these indexes up, by the partitions that entries come from and go to."""
    found: dict[tuple[str, str], list[Summary]] = defaultdict(list)
    for definition in definitions:
        if summary_partition(definition) is not None:
            summary = summary_of(definition, state.types_of(definition))
            if summary is not None:
                found[definition.partition, summary.partition].append(summary)
    return found


def merge_partitions(
    state: IndexedState,
    transaction: Transaction,
    description: Description,
    definitions: Sequence[IndexDefinition],
) -> list[WriteStat]:
    """Write the summaries of the partitions that a build touched, as they will be after its commit."""
    paths = sorted({item.context.group.partition_path for item in description.items})
    reader = state.metadata_table.reader_of(transaction.preview())
    written = []
    for (source, target), summaries in summaries_of(definitions, state).items():
        ranges = [[each for path in paths for each in summary.source_ranges(path)] for summary in summaries]
        points = [
            (part, KeyRange.point(key))
            for summary in summaries
            for path in paths
            for part, key in summary.keys_of(path)
        ]
        found, known = side_by_side(
            partial(_merged, reader, source, list(zip(summaries, ranges, strict=True))),
            partial(reader.lookup_sharded, target, points),
            is_local=reader.storage.is_local,
        )
        if not reader.view.slices(target):
            written.append(transaction.writer.write_base(target, 0, [found.sort_by(KEY)]))
            continue
        upserts, deletes = diff_entries(known, found)
        if upserts.num_rows or len(deletes):
            written.append(transaction.writer.write_log(target, 0, upserts=upserts, deletes=deletes))
    return written


def _merged(
    reader: Reader, source: str, wanted: Iterable[tuple[Summary, list[tuple[str, KeyRange]]]]
) -> pa.Table:
    return _distinct(summary.merge(reader.lookup_sharded(source, ranges)) for summary, ranges in wanted)


def _distinct(tables: Iterable[pa.Table]) -> pa.Table:
    """One entry per key: two indexes over one column say the same of it."""
    joined = pa.concat_tables(tables)
    positions = {key: position for position, key in enumerate(joined.column(KEY).to_pylist())}
    return joined.take(pa.array(sorted(positions.values()), pa.int64()))
