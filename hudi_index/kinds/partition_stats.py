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

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.keys import (
    OWNER_PARTS,
    PARTITION_PARTS,
    SEPARATOR,
    join_key,
    lookup_part,
    owner_suffix,
    partition_part,
    split_key,
)
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, PAYLOADS, PayloadType, payload_fields
from hudi_index.kinds._parts import entry_table
from hudi_index.kinds._ranges import asked_of
from hudi_index.kinds._statistics import PAYLOAD, Statistics, excluding, merged, read_statistics
from hudi_index.kinds.protocol import Lookup

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy.typing as npt

    from hudi_index.kinds._parts import Source
    from hudi_index.kinds.protocol import CoveredGroup
    from hudi_index.predicate.values.condition import Constraint
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

    @property
    def key_tail(self) -> int:
        """The partition: the entries of a column sit together."""
        return PARTITION_PARTS

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
        groups = list(covered)
        owners = [owner_suffix(each.group.partition_path, each.group.file_id) for each in groups]
        counts = np.array([each.row_count for each in groups], np.int64)
        rows = self.refuted_rows(constraint, entries, pa.array(owners, pa.string()), counts)
        return frozenset(groups[row].group for row in np.flatnonzero(rows).tolist())

    def refuted_rows(
        self,
        constraint: Constraint,
        entries: pa.Table,
        owners: pa.Array[Any],
        row_counts: npt.NDArray[np.int64],
    ) -> npt.NDArray[np.bool_]:
        """`prune` for many: which of the covered file groups, each given by what its keys end with."""
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None or not len(owners) or not entries.num_rows:
            return np.zeros(len(owners), np.bool_)
        # Without the file id: the partition.
        partitions: Any = pc.replace_substring_regex(owners, r"\$[^$]*\z", "").dictionary_encode()
        places = partitions.indices.to_numpy()
        groups = np.bincount(places, minlength=len(partitions.dictionary))
        rows = np.bincount(places, weights=row_counts, minlength=len(partitions.dictionary))
        keys = pc.binary_join_element_wise(source.part, partitions.dictionary, SEPARATOR)
        # One more at the end stands for partitions without an entry.
        found = pc.index_in(keys, value_set=entries.column(KEY).combine_chunks())
        entry = found.fill_null(entries.num_rows).to_numpy(zero_copy_only=False)
        fields: dict[str, Any] = payload_fields(entries, PAYLOAD)
        counts = [
            np.append(fields[name].fill_null(-1).to_numpy(zero_copy_only=False), -1)[entry]
            for name in ("groupCount", "valueCount")
        ]
        says_no = np.append(excluding(entries, domain), False)[entry]
        refuted = says_no & (counts[0] == groups) & (counts[1] == rows)
        chosen: npt.NDArray[np.bool_] = refuted[places]
        return chosen
