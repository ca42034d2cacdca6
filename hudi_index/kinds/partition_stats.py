"""Column statistics of whole partitions, merged from those of their file groups.

    key        <column>$<partition path>
    payload    ColumnStatsMetadata, with the number of file groups that were merged
    shard      the column
    answers    every domain, for all file groups of a partition at once

Not built from rows: `merge` takes all entries that column_stats has for a partition. An entry refutes only
while the partition's covered file groups are as many as were merged and hold as many rows; after anything
else the entry may be of other file groups, and column_stats answers alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.entries.keys import (
    OWNER_PARTS,
    PARTITION_PARTS,
    SEPARATOR,
    join_key,
    lookup_part,
    lookup_parts,
    partition_part,
    split_key,
)
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, PAYLOADS, PayloadType
from hudi_index.kinds._parts import entry_table
from hudi_index.kinds._ranges import asked_of
from hudi_index.kinds._statistics import PAYLOAD, Statistics, merged, read_statistics
from hudi_index.kinds.protocol import Lookup

if TYPE_CHECKING:
    from collections.abc import Collection

    from hudi_index.kinds._parts import Source
    from hudi_index.kinds.protocol import CoveredGroup
    from hudi_index.predicate.domain import Constraint
    from hudi_index.table.slices import FileGroupId

__all__ = ["PartitionStats"]


@dataclass(frozen=True)
class PartitionStats:
    """Which partitions hold no value of a range."""

    sources: tuple[Source, ...]
    partition: str = "partition_stats"

    def source_ranges(self, partition_path: str) -> list[tuple[str, KeyRange]]:
        """Where column_stats has what is to be merged for a partition, each with its shard's part."""
        part = partition_part(partition_path)
        return [
            (source.part, KeyRange.prefix(join_key(source.part, part) + SEPARATOR)) for source in self.sources
        ]

    def merge(self, entries: pa.Table) -> pa.Table:
        """The entries of all partitions whose column_stats entries are given, all of them.

        A partition with an entry that says nothing certain gets none for that column.
        """
        found: dict[str, list[Statistics | None]] = defaultdict(list)
        wanted = {source.part: source for source in self.sources}
        keys: list[Any] = entries.column(KEY).to_pylist()
        for key, known in zip(keys, read_statistics(entries), strict=True):
            column, *_ = split_key(key)
            if column in wanted:
                # Without the file id: what is left names column and partition.
                found[lookup_part(key, OWNER_PARTS - PARTITION_PARTS)].append(known)
        certain = {
            key: merged(one for one in each if one is not None)
            for key, each in sorted(found.items())
            if None not in each
        }
        names = [wanted[lookup_part(key, PARTITION_PARTS)].name for key in certain]
        payloads = [known.as_payload(name) for name, known in zip(names, certain.values(), strict=True)]
        return entry_table(
            pa.array(list(certain), pa.string()),
            PayloadType.PARTITION_STATS,
            (PAYLOAD, payloads, PAYLOADS[PAYLOAD]),
        )

    def lookup_parts(self, keys: pa.Array[Any]) -> pa.Array[Any]:
        """The column: its entries sit together."""
        return lookup_parts(keys, PARTITION_PARTS)

    def lookup(self, constraint: Constraint) -> Lookup | None:
        """All entries of the column."""
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None:
            return None
        return Lookup([(source.part, KeyRange.prefix(source.part + SEPARATOR))], [PAYLOAD])

    def prune(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups of the partitions whose statistics exclude every value of the domain."""
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None:
            return frozenset()
        members: dict[str, list[CoveredGroup]] = defaultdict(list)
        for each in covered:
            members[join_key(source.part, partition_part(each.group.partition_path))].append(each)
        refuted: set[FileGroupId] = set()
        keys: list[Any] = entries.column(KEY).to_pylist()
        for key, known in zip(keys, read_statistics(entries), strict=True):
            groups = members.get(key, [])
            if known is not None and _describes(known, groups) and not known.may_hold(domain):
                refuted.update(each.group for each in groups)
        return frozenset(refuted)


def _describes(known: Statistics, groups: Collection[CoveredGroup]) -> bool:
    """Whether statistics can be those of exactly these file groups."""
    rows = sum(each.row_count for each in groups)
    return known.group_count == len(groups) and known.value_count == rows
