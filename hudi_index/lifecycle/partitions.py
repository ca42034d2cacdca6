"""partition_stats: the column_stats of every partition that changed are merged anew, in the same commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.catalog import Kind
from hudi_index.entries import SEPARATOR
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY
from hudi_index.kinds import partition_stats_of
from hudi_index.kinds.diff import diff_entries
from hudi_index.kinds.partition_stats import PartitionStats
from hudi_index.metadata_table import Reader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.description import Description
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import Transaction, WriteStat

__all__ = ["COLUMN_STATS", "PARTITION_STATS", "is_merged", "merge_partitions", "partitions_of"]

COLUMN_STATS = Kind.COLUMN_STATS.value
PARTITION_STATS = PartitionStats.partition


def is_merged(definition: IndexDefinition) -> bool:
    """Whether the index has statistics per partition as well."""
    return definition.partition == COLUMN_STATS


def partitions_of(definition: IndexDefinition, known: Collection[str]) -> list[str]:
    """The partitions with an index's entries, as far as they exist."""
    names = [definition.partition, *([PARTITION_STATS] if is_merged(definition) else [])]
    return [name for name in names if name in known]


def merge_partitions(
    state: IndexedState,
    transaction: Transaction,
    description: Description,
    definitions: Sequence[IndexDefinition],
) -> list[WriteStat]:
    """Write the statistics of the partitions that were described, as they will be after the commit."""
    merges = [
        merge
        for definition in definitions
        if is_merged(definition) and (merge := partition_stats_of(definition, state.types_of(definition)))
    ]
    if not merges:
        return []
    paths = sorted({item.context.group.partition_path for item in description.items})
    reader = Reader(state.metadata_storage, transaction.preview())
    sources = [(merge, each) for merge in merges for path in paths for each in merge.source_ranges(path)]
    found = _distinct(
        merge.merge(reader.lookup_sharded(COLUMN_STATS, [each for one, each in sources if one is merge]))
        for merge in merges
    )
    # What column_stats has for a column and partition begins with the key of the merged entry.
    keys = [(lookup, KeyRange.point(wanted.low.removesuffix(SEPARATOR))) for _, (lookup, wanted) in sources]
    known = reader.lookup_sharded(PARTITION_STATS, keys)
    if not reader.view.slices(PARTITION_STATS):
        return [transaction.writer.write_base(PARTITION_STATS, 0, [found.sort_by(KEY)])]
    upserts, deletes = diff_entries(known, found)
    if not upserts.num_rows and not len(deletes):
        return []
    return [transaction.writer.write_log(PARTITION_STATS, 0, upserts=upserts, deletes=deletes)]


def _distinct(tables: Iterable[pa.Table]) -> pa.Table:
    """One entry per key: two indexes over one column say the same of it."""
    joined = pa.concat_tables(tables)
    places = {key: place for place, key in enumerate(joined.column(KEY).to_pylist())}
    return joined.take(pa.array(sorted(places.values()), pa.int64()))
