"""From the files in a table's folders to its file slices, by Hudi's rules.

- A folder is a partition if it holds Hudi's partition metadata file.
- A file counts if its commit is completed.
- Layout 1: a log file belongs to the slice of the instant in its name. Layout 2: to the latest slice that
  began before the log's delta commit was completed.
- A slice that a pending compaction has opened (logs without base file) is read together with the slice
  before it.
- A replaced file group is gone.

Own listing, because hudi-rs 0.5.0 loses rows here: it leaves out the log files that a version-6 table gets
while a compaction is pending (test_pending_compaction_keeps_the_logs_written_beside_it), and can't open the
partition fields of a custom key generator at all (test_custom_key_generator_is_listed).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from hudi_index.storage.stored import Facts
from hudi_index.table.slices import (
    BASE_SUFFIX,
    BaseFileName,
    FileGroupId,
    FileSlice,
    LogFile,
    parse_base_file,
    parse_log_file,
)

if TYPE_CHECKING:
    from hudi_index.storage import Storage
    from hudi_index.table.timeline import Timeline

__all__ = ["Listing", "assemble_slices", "list_partitions"]

_PARTITION_METADATA = ".hoodie_partition_metadata"
_TABLE_METADATA = ".hoodie"

Files: TypeAlias = Mapping[str, Facts]
"""Size, modification time in milliseconds and tag by name."""
Listing: TypeAlias = Mapping[str, Files]
"""The files of every partition by partition path; an unpartitioned table has one, the empty path."""


def list_partitions(storage: Storage, known: Listing | None = None) -> Listing:
    """The files of all partitions.

    Args:
        storage: The table.
        known: An earlier listing of the same table. Base files that it has are not looked at again where that
            costs a call each: a base file never changes under its name.
    """
    found = storage.tree(without=_TABLE_METADATA, unwanted=".crc", lasting=BASE_SUFFIX, known=known)
    return {path: files for path, files in found.items() if any(map(_is_metadata, files))}


def _is_metadata(name: str) -> bool:
    return name.startswith(_PARTITION_METADATA)


def assemble_slices(partitions: Listing, timeline: Timeline, as_of: str | None = None) -> list[FileSlice]:
    """The slice of every file group that a reader at `as_of` (or now) reads, by file group."""
    replaced = timeline.find_replaced_groups(as_of)
    found = [
        file_slice
        for partition_path, files in partitions.items()
        for file_slice in _slices_of(partition_path, files, timeline, as_of)
        if file_slice.group not in replaced
    ]
    found.sort(key=attrgetter("group"))
    return found


def _slices_of(
    partition_path: str, files: Files, timeline: Timeline, as_of: str | None
) -> Iterator[FileSlice]:
    logged = _files_beside_logs(files)
    # Most file groups of most tables are base files alone: of those only the newest is kept in hand.
    newest: dict[str, BaseFileName] = {}
    for name, (size, _, _) in files.items():
        base = None if name.startswith(".") else parse_base_file(name, size)
        if base is None:
            continue
        if base.file_id in logged:
            logged[base.file_id].bases.append(base)
        elif _is_seen(base.instant, timeline, as_of):
            other = newest.get(base.file_id)
            if other is None or base.instant >= other.instant:
                newest[base.file_id] = base
    for file_id, base in newest.items():
        yield _base_slice(FileGroupId(partition_path, file_id), base)
    for file_id, group in logged.items():
        chosen = group.slice_at(FileGroupId(partition_path, file_id), timeline, as_of)
        if chosen:
            yield chosen


def _is_seen(instant: str, timeline: Timeline, as_of: str | None) -> bool:
    return timeline.is_completed(instant) and (as_of is None or instant <= as_of)


def _files_beside_logs(files: Files) -> dict[str, _GroupFiles]:
    """The file groups that have logs, by file id, without their base files yet."""
    groups: dict[str, _GroupFiles] = defaultdict(_GroupFiles)
    for name, (size, modified, _) in files.items():
        log = parse_log_file(name, size, modified) if name.startswith(".") else None
        if log:
            groups[log.file_id].logs.append(log)
    return groups


@dataclass(slots=True)
class _GroupFiles:
    """The files of a file group that has logs."""

    bases: list[BaseFileName] = field(default_factory=list)
    logs: list[LogFile] = field(default_factory=list)

    def slice_at(self, group: FileGroupId, timeline: Timeline, as_of: str | None) -> FileSlice | None:
        bases = {base.instant: base for base in self.bases if _is_seen(base.instant, timeline, as_of)}
        self.logs.sort(key=lambda log: log.order)
        if timeline.config.version >= 8:
            return self._slice_by_completion(group, bases, timeline, as_of)
        return self._slice_by_name(group, bases, timeline, as_of)

    def _slice_by_completion(
        self, group: FileGroupId, bases: dict[str, BaseFileName], timeline: Timeline, as_of: str | None
    ) -> FileSlice | None:
        starts = sorted(bases)
        later = sorted(
            base.instant
            for base in self.bases
            if base.instant not in bases and timeline.is_completed(base.instant)
        )
        logs = []
        for log in self.logs:
            if not timeline.is_completed(log.instant) or (as_of is not None and log.instant > as_of):
                continue
            completed = timeline.completed_time_of(log.instant)
            # Compacted already before the slice began, or taken over by a slice that `as_of` does not see
            # yet.
            if (starts and completed < starts[-1]) or (later and completed >= later[0]):
                continue
            logs.append(log)
        base = bases[starts[-1]] if starts else None
        return _slice_of(group, base, logs)

    def _slice_by_name(
        self, group: FileGroupId, bases: dict[str, BaseFileName], timeline: Timeline, as_of: str | None
    ) -> FileSlice | None:
        logs: dict[str, list[LogFile]] = defaultdict(list)
        for log in self.logs:
            known = timeline.is_completed(log.instant) or log.instant in timeline.pending_compactions
            if known and (as_of is None or log.instant <= as_of):
                logs[log.instant].append(log)
        starts = sorted({*bases, *logs}, reverse=True)
        if not starts:
            return None
        chosen = starts[:1]
        if starts[0] in timeline.pending_compactions:
            chosen = starts[:2]
        base = bases.get(chosen[-1])
        current = [log for start in reversed(chosen) for log in logs[start]]
        found = _slice_of(group, base, current, as_of=as_of)
        return found and replace(found, log_times=tuple(log.modified for log in current))


def _base_slice(group: FileGroupId, base: BaseFileName) -> FileSlice:
    return FileSlice(
        group, base.name, base_size=base.size, base_instant=base.instant, latest_instant=base.instant
    )


def _slice_of(
    group: FileGroupId, base: BaseFileName | None, logs: list[LogFile], *, as_of: str | None = None
) -> FileSlice | None:
    if not logs:
        return _base_slice(group, base) if base else None
    return FileSlice(
        group,
        base.name if base else None,
        log_files=tuple(log.name for log in logs),
        base_size=base.size if base else 0,
        log_sizes=tuple(log.size for log in logs),
        base_instant=base.instant if base else logs[0].instant,
        latest_instant=max(base.instant if base else "", logs[-1].instant),
        as_of=as_of,
    )
