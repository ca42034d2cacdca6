"""Compaction as a verb: logs of the index metadata table become base files, where that is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_index.jobs import JobReport
from hudi_index.lifecycle.mending import sweep
from hudi_index.metadata_table import MetadataTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.lifecycle.executor import Executor
    from hudi_index.storage import Storage

__all__ = ["compact"]


def compact(
    storage: Storage, executor: Executor, *, partitions: Sequence[str] | None = None, force: bool = False
) -> JobReport:
    """Compact what is due (under `force` all that has logs), shard by shard, then clean."""
    report = JobReport("compact", storage.uri)
    metadata_table = MetadataTable.of(storage)
    if not metadata_table.exists():
        report.notes.append("the table has no indexes")
        return report
    begun = metadata_table.begin_compaction(partitions=partitions, force=force)
    if begun is None:
        report.notes.append("nothing is due")
        sweep(storage)
        return report
    transaction, slices = begun
    with transaction:
        with report.phase("compact"):
            stats = executor.compact(transaction.writer, slices)
        with report.phase("commit"):
            transaction.add(stats)
            report.commit = transaction.commit().file_name
    with report.phase("clean"):
        deleted = metadata_table.clean() + sweep(storage)
    report.indexes = sorted({shard_slice.partition for shard_slice in slices})
    report.entries_added = sum(stat.entries for stat in stats)
    report.bytes_written = sum(stat.size for stat in stats)
    report.notes.append(f"{len(slices)} shards compacted, {deleted} files cleaned")
    return report
