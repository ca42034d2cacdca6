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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.keys import (
    OWNER_PARTS,
    PARTITION_PARTS,
    SEPARATOR,
    join_key,
    join_keys,
    lookup_part,
    partition_part,
    split_key,
)
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, payload_fields
from hudi_index.kind_parts.columns import column_range
from hudi_index.kind_parts.protocol import Question
from hudi_index.kind_parts.ranges import find_domain
from hudi_index.kind_parts.statistics import Statistics, excluding, merged, read_statistics
from hudi_index.kind_parts.values import entry_table
from hudi_index.kind_specs import built_in

if TYPE_CHECKING:
    from hudi_index.coverage.covered import Candidates, Mask
    from hudi_index.kind_parts.ranges import PartDomain
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["PartitionStats"]


@dataclass(frozen=True)
class PartitionStats:
    """Which partitions hold no value of a range."""

    spec: ClassVar[KindSpec] = built_in("partition_stats")
    sources: tuple[Source, ...]
    partition: str = spec.folder

    def all_ranges(self) -> list[tuple[str, KeyRange]]:
        """Where column_stats has what is to be merged, each with its shard's part."""
        return [(source.part, KeyRange.prefix(source.part + SEPARATOR)) for source in self.sources]

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
        return entry_table(pa.array(list(certain), pa.string()), self.spec, payloads)

    def keys_of(self, partition_path: str) -> list[tuple[str, str]]:
        """The keys of a partition's entries, each with its shard's part."""
        part = partition_part(partition_path)
        return [(source.part, join_key(source.part, part)) for source in self.sources]

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """All entries of the column."""
        asked = find_domain(self.sources, constraint)
        if asked is None:
            return None
        source, domain = asked
        return _PartitionQuestion(
            candidates, column_range(source), (self.spec.payload or "",), source=source, domain=domain
        )


@dataclass(frozen=True, kw_only=True)
class _PartitionQuestion(Question):
    source: Source
    domain: PartDomain

    def refute(self, entries: pa.Table) -> Mask:
        """The covered file groups of the partitions whose statistics exclude every value of the domain."""
        covered = self.candidates.covered
        if not len(covered) or not entries.num_rows:
            return np.zeros(len(covered), np.bool_)
        partitions, positions = covered.partitions
        groups = np.bincount(positions, minlength=len(partitions))
        rows = np.bincount(positions, weights=covered.row_counts, minlength=len(partitions))
        keys = join_keys([self.source.part, partitions])
        # One more at the end stands for partitions without an entry.
        found: Any = pc.index_in(keys, value_set=entries.column(KEY).combine_chunks())
        entry = found.fill_null(entries.num_rows).to_numpy(zero_copy_only=False)
        fields: dict[str, Any] = payload_fields(entries, self.payloads[0])
        counts = [
            np.append(fields[name].fill_null(-1).to_numpy(zero_copy_only=False), -1)[entry]
            for name in ("groupCount", "valueCount")
        ]
        says_no = np.append(excluding(entries, self.domain), False)[entry]
        refuted = says_no & (counts[0] == groups) & (counts[1] == rows)
        chosen: Mask = refuted[positions]
        return chosen
