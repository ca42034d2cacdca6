"""Files that the timeline says were written, against files that are there.

Slices come from a listing, and a listing does not show what it lacks: without its newest base file a file
group would be read as it was before, or not at all. Each completed commit names the files it wrote. Most
commits of a timeline name files that Hudi has cleaned since, with good reason, so absence alone says
nothing. The rule is: were the named files there as well, would a reader's slices be others? Slices are
assembled from both once more, by the same code, and a file that is chosen there and is not in the listing is
lost. Replaced, compacted and cleaned files are never chosen; a commit that was rolled back or restored away
names nothing any more.

The newest commits are looked at, as many as cost about what the listing did: what older ones wrote and nobody
has written since is not checked, nor is what Hudi has archived.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hudi_index.errors import InvalidOptionError, MissingTableFileError, TableFileError
from hudi_index.table.listing import assemble_slices

if TYPE_CHECKING:
    from hudi_index.table.listing import Listing
    from hudi_index.table.timeline import Instant, Timeline

__all__ = ["commits_to_check", "refuse_missing_files"]

_MOST_COMMITS = 64
_BYTES_OF_COMMITS = 4 * 1024 * 1024
_BYTES_PER_FILE = 400
_READERS = 16


def refuse_missing_files(partitions: Listing, timeline: Timeline, as_of: str | None) -> bool:
    """Raise if a slice that a reader at `as_of` (or now) reads lacks a file.

    Returns:
        False if a file was not listed but is there now: the listing is not to be trusted.

    Raises:
        MissingTableFileError: a file is lost.
        InvalidOptionError: `as_of` asks for what Hudi has cleaned.
        TableFileError: a folder that was written to does not say that it is a partition.
    """
    if timeline.is_being_undone:
        # Files go first and their commit after them: what is lacking may be meant to.
        return True
    absent = _absent(partitions, timeline, as_of)
    if not absent:
        return True
    with_absent = {
        path: {**partitions.get(path, {}), **dict.fromkeys(names, (0, 0, ""))}
        for path, names in absent.items()
    }
    lost = [
        (path, absent[file_slice.group.partition_path][name])
        for file_slice in assemble_slices(with_absent, timeline, as_of)
        for path, name in zip(file_slice.paths, _names_of(file_slice.paths), strict=True)
        if name in absent[file_slice.group.partition_path]
    ]
    if not lost:
        return True
    path, instant = lost[0]
    storage = timeline.storage
    if storage.exists(path):
        partition = path.rpartition("/")[0]
        if partition in partitions:
            return False
        reason = f"it has no .hoodie_partition_metadata, though commit {instant} wrote into it"
        raise TableFileError(path=storage.uri_of(partition), reason=reason)
    if as_of is not None and timeline.has_cleaned:
        reason = f"Hudi has cleaned files of that time, such as {storage.uri_of(path)}"
        raise InvalidOptionError(option="as_of", value=as_of, reason=reason)
    raise MissingTableFileError(path=storage.uri_of(path), instant=instant, others=len(lost) - 1)


def _names_of(paths: tuple[str, ...]) -> list[str]:
    return [path.rpartition("/")[2] for path in paths]


def _absent(partitions: Listing, timeline: Timeline, as_of: str | None) -> dict[str, dict[str, str]]:
    """Names that commits wrote and the listing lacks, by partition path, each with its commit.

    Not base files of a file group that has a newer one: those nobody reads, and there are many of them.
    """
    found: dict[str, dict[str, str]] = {}
    rewritten: set[tuple[str, str]] = set()
    chosen = commits_to_check(partitions, timeline, as_of)
    with ThreadPoolExecutor(_READERS) as pool:
        for instant, written in zip(chosen, pool.map(timeline.files_written_by, chosen), strict=True):
            for partition_path, names in written.items():
                listed = partitions.get(partition_path, {})
                for name in names:
                    group = None if name.startswith(".") else (partition_path, name.partition("_")[0])
                    if name in listed:
                        if group:
                            rewritten.add(group)
                    elif group not in rewritten:
                        found.setdefault(partition_path, {})[name] = instant.requested_time
    return found


def commits_to_check(partitions: Listing, timeline: Timeline, as_of: str | None) -> list[Instant]:
    """The newest commits that a reader sees, for about the cost of the listing."""
    sizes = {f"{timeline.config.timeline_folder}/{file.name}": file.size for file in timeline.files}
    left = _BYTES_OF_COMMITS + _BYTES_PER_FILE * sum(map(len, partitions.values()))
    chosen: list[Instant] = []
    for instant in reversed(timeline.unarchived_commits):
        if as_of is not None and instant.requested_time > as_of:
            continue
        left -= sizes.get(instant.path, 0)
        if chosen and (left < 0 or len(chosen) == _MOST_COMMITS):
            break
        chosen.append(instant)
    return chosen
