"""Compaction: the logs of a shard and its base file become a new base file, sorted, without tombstones.

Runs beside maintenance. The plan is made from what had completed when the compaction's instant was granted; a
log that completes later has the later completed time, and so belongs to the new slice. Shards are
independent: `compact_slice` may run in Spark tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.metadata_table.commit_metadata import CompactionOperation, compaction_plan
from hudi_index.metadata_table.layout import parse_data_file
from hudi_index.metadata_table.reader import compact_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hudi_index.metadata_table.commit_metadata import WriteStat
    from hudi_index.metadata_table.view import ShardSlice, View
    from hudi_index.metadata_table.writer import ShardWriter

__all__ = ["DueRule", "compact_slice", "encode_plan", "slices_to_compact"]


@dataclass(frozen=True, slots=True)
class DueRule:
    """When a shard's logs are worth merging into its base file."""

    log_files: int = 10
    """Each log is opened by every look-up in its shard."""
    log_share: float = 0.5
    """Log bytes against base bytes."""
    least_bytes: int = 1024 * 1024
    """Below this many log bytes only the number of logs counts."""

    def reason(self, shard_slice: ShardSlice) -> str | None:
        """Why the shard is due, None if it is not."""
        if len(shard_slice.logs) >= self.log_files:
            return f"{len(shard_slice.logs)} log files, limit {self.log_files}"
        if shard_slice.log_bytes >= max(self.least_bytes, self.log_share * shard_slice.base_bytes):
            share = f"{shard_slice.log_bytes} bytes of logs on {shard_slice.base_bytes} bytes of base"
            return f"{share}, limit {self.log_share:.0%}"
        return None


def slices_to_compact(
    view: View, rule: DueRule, *, partitions: Sequence[str] | None = None, force: bool = False
) -> list[ShardSlice]:
    """The slices that are due, or under `force` all that have logs."""
    return [
        shard_slice
        for name in (sorted(view.partitions) if partitions is None else partitions)
        for shard_slice in view.slices(name)
        if shard_slice.logs and (force or rule.reason(shard_slice))
    ]


def encode_plan(slices: Iterable[ShardSlice]) -> bytes:
    """The plan as Hudi's readers expect it in the requested file."""
    return compaction_plan(
        [
            CompactionOperation(
                shard_slice.partition,
                shard_slice.file_id,
                min(
                    name.requested_time for file in shard_slice.files if (name := parse_data_file(file.name))
                ),
                shard_slice.base.name if shard_slice.base else None,
                [log.name for log in shard_slice.logs],
            )
            for shard_slice in slices
        ]
    )


def compact_slice(writer: ShardWriter, shard_slice: ShardSlice, *, write_token: str = "0-0-0") -> WriteStat:
    """Write the new base file of one shard."""
    entries = compact_entries(writer.storage, shard_slice)
    return writer.write_base(shard_slice.partition, shard_slice.shard, entries, write_token=write_token)
