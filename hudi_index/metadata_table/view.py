"""What the table holds at one moment: the live file groups, each with its current slice.

A view is built from completed instants alone and never changes. What no completed instant names does not
exist; what one names must exist, so a missing file is an error and never a missing entry. Each commit names
the earlier commits it stands on, so a missing timeline file is an error too.

Slicing is Hudi's: the base file with the latest requested time, and the logs that completed after that time.
A file group that a completed replace commit took out is gone whatever it holds.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hudi_index.errors import MissingFileError, StoragePlaceError, TimelineCorruptError
from hudi_index.metadata_table.commit_metadata import TableState, decode_commit
from hudi_index.metadata_table.layout import TIMELINE, parse_completed, shard_of_file_id
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_index.metadata_table.commit_metadata import CommitMetadata, WriteStat
    from hudi_index.metadata_table.layout import CompletedInstant
    from hudi_index.storage import Storage

__all__ = ["Commit", "ShardSlice", "View", "ViewLoader"]

_LOOKS = 3


@dataclass(frozen=True, slots=True)
class Commit:
    """A completed instant and what it says."""

    instant: CompletedInstant
    metadata: CommitMetadata


@dataclass(frozen=True, slots=True)
class ShardSlice:
    """The current files of one shard."""

    partition: str
    shard: int
    file_id: str
    base: WriteStat | None
    logs: tuple[WriteStat, ...]
    """Oldest first: a later one wins."""

    @property
    def files(self) -> tuple[WriteStat, ...]:
        """All files of the slice."""
        return (self.base, *self.logs) if self.base else self.logs

    @property
    def base_bytes(self) -> int:
        """Size of the base file."""
        return self.base.size if self.base else 0

    @property
    def log_bytes(self) -> int:
        """Size of all log files."""
        return sum(log.size for log in self.logs)


@dataclass(frozen=True)
class View:
    """The table after `commits`, which are in the order of completion."""

    commits: tuple[Commit, ...]
    partitions: Mapping[str, Mapping[int, ShardSlice]] = field(default_factory=dict)
    """Partition -> shard -> slice. A shard that was never written has no slice: it is empty."""

    @classmethod
    def of(cls, commits: Iterable[Commit]) -> View:
        """The view after these commits."""
        ordered = tuple(sorted(commits, key=lambda commit: commit.instant))
        replaced = {
            (partition, file_id)
            for commit in ordered
            for partition, file_ids in commit.metadata.replaced.items()
            for file_id in file_ids
        }
        groups: dict[tuple[str, str], _FileGroup] = defaultdict(_FileGroup)
        for commit in ordered:
            for stat in commit.metadata.stats:
                if (stat.partition, stat.file_id) not in replaced:
                    groups[stat.partition, stat.file_id].add(commit.instant, stat)
        partitions: dict[str, dict[int, ShardSlice]] = defaultdict(dict)
        for (partition, file_id), group in groups.items():
            shard = shard_of_file_id(file_id, path=f"{partition}/{file_id}")
            if shard in partitions[partition]:
                reason = f"shard {shard} has two live file groups"
                raise TimelineCorruptError(path=partition, reason=reason)
            partitions[partition][shard] = group.slice_of(partition, shard, file_id)
        return cls(ordered, partitions)._check()

    def _check(self) -> View:
        """Itself, if there are no other shards than the newest commit knows: nobody keeps those up."""
        for partition, slices in self.partitions.items():
            count = self.state.shards.get(partition, 0)
            if odd := [shard for shard in slices if shard >= count]:
                reason = f"shard {odd[0]} of {count} has a live file group"
                raise TimelineCorruptError(path=partition, reason=reason)
        return self

    @property
    def latest(self) -> CompletedInstant | None:
        """The newest commit, None in an empty table."""
        return self.commits[-1].instant if self.commits else None

    @property
    def state(self) -> TableState:
        """What the newest commit says of the whole table."""
        return self.commits[-1].metadata.state if self.commits else TableState()

    @cached_property
    def live_paths(self) -> frozenset[str]:
        """The files of all current slices."""
        return frozenset(
            file.path
            for slices in self.partitions.values()
            for shard_slice in slices.values()
            for file in shard_slice.files
        )

    @cached_property
    def needed(self) -> frozenset[str]:
        """Requested times of the commits that this view stands on.

        Those that wrote a live file, and those that hide a file group which another commit still names.
        """
        live = self.live_paths
        named = {(stat.partition, stat.file_id) for commit in self.commits for stat in commit.metadata.stats}
        return frozenset(
            commit.instant.requested_time
            for commit in self.commits
            if any(stat.path in live for stat in commit.metadata.stats)
            or any(
                (partition, file_id) in named
                for partition, file_ids in commit.metadata.replaced.items()
                for file_id in file_ids
            )
        )

    def only(self, partition: str) -> View:
        """What reading one partition takes, to be sent to who reads nothing else."""
        slices = self.partitions.get(partition, {})
        return View(self.commits[-1:], {partition: dict(slices)} if slices else {})

    def slices(self, partition: str) -> list[ShardSlice]:
        """The written shards of a partition, in order; none if there is no such partition."""
        return [shard_slice for _, shard_slice in sorted(self.partitions.get(partition, {}).items())]


@dataclass
class _FileGroup:
    """Collects what commits wrote to a file group."""

    bases: dict[str, WriteStat] = field(default_factory=dict)
    logs: list[tuple[CompletedInstant, WriteStat]] = field(default_factory=list)

    def add(self, instant: CompletedInstant, stat: WriteStat) -> None:
        if stat.is_log:
            self.logs.append((instant, stat))
        else:
            self.bases[instant.requested_time] = stat

    def slice_of(self, partition: str, shard: int, file_id: str) -> ShardSlice:
        newest = max(self.bases, default="")
        logs = tuple(stat for instant, stat in self.logs if instant.completed_time > newest)
        return ShardSlice(partition, shard, file_id, self.bases.get(newest), logs)


class ViewLoader:
    """Loads views; commit metadata never changes, so each is read once."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: dict[CompletedInstant, CommitMetadata] = {}
        self._last: tuple[frozenset[CompletedInstant], View] | None = None

    def has_seen(self, path: str) -> bool:
        """Whether a commit's file was there when the view was last loaded."""
        instant = parse_completed(path.rpartition("/")[2])
        return instant is not None and instant in self._known

    def list(self) -> list[str]:
        """The names of the files in the timeline."""
        try:
            return [file.name for file in self._storage.list(TIMELINE)]
        except StoragePlaceError as error:
            reason = "is a file where a folder should be"
            raise TimelineCorruptError(path=self._storage.uri_of(TIMELINE), reason=reason) from error

    def load(self, names: Iterable[str] | None = None) -> View:
        """The current view: one listing, and one small file per commit not seen yet.

        A listing taken while commits come and old ones are cleaned may show a later one without an earlier
        one. That passes; what is still missing when looked at again is lost.

        Args:
            names: The files of the timeline, if they have just been listed.
        """
        for _ in range(_LOOKS - 1):
            try:
                return self._load_once(self.list() if names is None else names)
            except MissingFileError:
                names = None
        return self._load_once(self.list())

    def _load_once(self, names: Iterable[str]) -> View:
        completed = frozenset(instant for instant in map(parse_completed, names) if instant)
        if self._last and self._last[0] == completed:
            return self._last[1]
        metadata = each_of(self._metadata_of, completed, is_local=self._storage.is_local)
        self._known = dict(zip(completed, metadata, strict=True))
        try:
            view = View.of(Commit(instant, metadata) for instant, metadata in self._known.items())
        except TimelineCorruptError as error:
            raise TimelineCorruptError(path=self._storage.uri_of(error.path), reason=error.reason) from None
        present = {instant.requested_time for instant in completed}
        if lost := sorted(set(view.state.needed) - present):
            raise MissingFileError(path=self._storage.uri_of(f"{TIMELINE}/{lost[0]}_*"))
        self._last = (completed, view)
        return view

    def _metadata_of(self, instant: CompletedInstant) -> CommitMetadata:
        if instant in self._known:
            return self._known[instant]
        uri = self._storage.uri_of(instant.path)
        try:
            content = self._storage.read(instant.path)
            return decode_commit(content, action=instant.action, path=uri, name=instant.file_name)
        except FileNotFoundError:
            raise MissingFileError(path=uri) from None
        except StoragePlaceError:
            raise TimelineCorruptError(path=uri, reason="is a folder") from None
