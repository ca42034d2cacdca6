"""The next snapshot from a known one: what commits say they wrote, and no listing.

Only where every change since is a commit that names its files, or a cleaning, which takes none that is read.
Anything else, and tables whose log files don't name their commit, is for a listing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.side_by_side import side_by_side
from hudi_index.table.config import TableConfig, TableType
from hudi_index.table.listing import assemble_slices
from hudi_index.table.schema import TableSchema
from hudi_index.table.snapshot import Snapshot
from hudi_index.table.timeline import Timeline

if TYPE_CHECKING:
    from hudi_index.storage.stored import Facts
    from hudi_index.table.timeline import Instant

__all__ = ["follow"]

_TELLING = frozenset({"commit", "deltacommit", "clean"})
_FIRST_VERSION_OF_LOGS_BY_COMMIT = 8


def follow(known: Snapshot) -> Snapshot | None:
    """The table's latest snapshot, made without listing its files; None if that takes a listing.

    Args:
        known: The snapshot before.

    Raises:
        TableFileError: a commit can't be read.
    """
    if known.listing is None or known.as_of is not None:
        return None
    config, timeline = side_by_side(
        lambda: TableConfig.load(known.storage),
        lambda: Timeline.load(known.storage, known.config),
        is_local=known.storage.is_local,
    )
    names_commits = (
        config.version >= _FIRST_VERSION_OF_LOGS_BY_COMMIT or config.table_type is TableType.COPY_ON_WRITE
    )
    if config.properties != known.config.properties or not names_commits:
        return None
    before = {each.path for each in known.timeline.instants}
    new = [each for each in timeline.instants if each.path not in before]
    begun = {action for _, action in timeline.pending - known.timeline.pending}
    if not {each.action for each in new} <= _TELLING or begun - _TELLING - {"compaction"}:
        return None
    if timeline.is_being_undone:
        return None
    listing = {path: dict(files) for path, files in known.listing.items()}
    for instant in new:
        if instant.is_commit:
            written = _files_of(timeline, instant)
            if written is None:
                return None
            for partition_path, files in written.items():
                listing.setdefault(partition_path, {}).update(files)
    slices = assemble_slices(listing, timeline)
    schema = TableSchema.load(timeline, None)
    return Snapshot(known.storage, config, timeline, schema, tuple(slices), None, listing, known.refused)


def _files_of(timeline: Timeline, instant: Instant) -> dict[str, dict[str, Facts]] | None:
    """The files that a commit wrote with their sizes, by partition path; None if it does not tell."""
    stats: Any = timeline.metadata_of(instant).get("partitionToWriteStats") or {}
    found: dict[str, dict[str, Facts]] = {}
    for partition_path, written in stats.items():
        files = found.setdefault(partition_path, {})
        for each in written:
            size = each.get("fileSizeInBytes")
            # Of several files of one handle the sizes are not told apart.
            if not each.get("path") or not size or len(each.get("logFiles") or ()) > 1:
                return None
            # Time and tag are not told; the next listing differs by them, and is then taken.
            files[each["path"].rpartition("/")[2]] = (int(size), 0, "")
    return found
