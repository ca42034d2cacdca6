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
from hudi_index.metadata_table.reader import compacted_slice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hudi_index.metadata_table.commit_metadata import WriteStat
    from hudi_index.metadata_table.view import FileSlice, View
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

    def reason(self, piece: FileSlice) -> str | None:
        """Why the shard is due, None if it is not."""
        if len(piece.logs) >= self.log_files:
            return f"{len(piece.logs)} log files, limit {self.log_files}"
        if piece.log_bytes >= max(self.least_bytes, self.log_share * piece.base_bytes):
            share = f"{piece.log_bytes} bytes of logs on {piece.base_bytes} bytes of base"
            return f"{share}, limit {self.log_share:.0%}"
        return None


def slices_to_compact(
    view: View, rule: DueRule, *, partitions: Sequence[str] | None = None, force: bool = False
) -> list[FileSlice]:
    """The slices that are due, or under `force` all that have logs."""
    return [
        piece
        for name in (sorted(view.partitions) if partitions is None else partitions)
        for piece in view.slices(name)
        if piece.logs and (force or rule.reason(piece))
    ]


def encode_plan(slices: Iterable[FileSlice]) -> bytes:
    """The plan as Hudi's readers expect it in the requested file."""
    return compaction_plan(
        [
            CompactionOperation(
                piece.partition,
                piece.file_id,
                min(name.requested_time for file in piece.files if (name := parse_data_file(file.name))),
                piece.base.name if piece.base else None,
                [log.name for log in piece.logs],
            )
            for piece in slices
        ]
    )


def compact_slice(writer: ShardWriter, piece: FileSlice, *, write_token: str = "0-0-0") -> WriteStat:
    """Write the new base file of one shard."""
    entries = compacted_slice(writer.storage, piece)
    return writer.write_base(piece.partition, piece.shard, entries, write_token=write_token)
