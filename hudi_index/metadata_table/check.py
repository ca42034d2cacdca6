"""What is damaged in an index metadata table: a look at every file, which changes nothing.

    properties, partition metadata   compared with what this code writes
    ledger                           each decision has its number and its digest; the newest is not behind
                                     the timeline
    timeline                         each completed instant has its digest; a commit that is missing or
                                     changed is taken from the ledger, which keeps the last hundred
    data files                       all bytes of all current slices against their checksums
    anything else                    is there by nobody's decision

From that follows what can be kept. If commits are lost, nobody knows which files make up the table: all of it
goes. If a data file is lost, its partition goes.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_index.errors import CorruptError, StoragePlaceError, TimelineCorruptError
from hudi_index.metadata_table.base_file import BaseFile
from hudi_index.metadata_table.commit_metadata import TableState, decode_commit
from hudi_index.metadata_table.decisions import LedgerState, decode_decision
from hudi_index.metadata_table.layout import (
    HUDI_FOLDER,
    LEDGER,
    PARTITION_METADATA,
    PROPERTIES,
    TIMELINE,
    decision_number,
    is_lease,
    is_partition_metadata,
    parse_completed,
    parse_data_file,
    parse_pending,
)
from hudi_index.metadata_table.log_file import load_log_file
from hudi_index.metadata_table.view import Commit, View
from hudi_index.storage import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from hudi_index.metadata_table.commit_metadata import CommitMetadata, WriteStat
    from hudi_index.metadata_table.decisions import Decision
    from hudi_index.metadata_table.layout import CompletedInstant
    from hudi_index.storage import Storage, StoredFile

__all__ = ["TableCheck"]

_FOLDERS = ("", HUDI_FOLDER, TIMELINE, LEDGER)
_READERS = 8


@dataclass
class TableCheck:
    """What was found; paths are below the index metadata table."""

    storage: Storage
    properties: bytes
    damage: dict[str, str] = field(default_factory=dict)
    """Files of ours that are not what they were, and why."""
    strays: dict[str, str] = field(default_factory=dict)
    """What nobody put there."""
    rewritten: dict[str, bytes] = field(default_factory=dict)
    """Files whose content is known, in place of what is there or missing."""
    misplaced: str | None = None
    """A file where a folder should be: nothing else was looked at."""
    bad_decisions: list[str] = field(default_factory=list)
    bad_instants: list[str] = field(default_factory=list)
    state: TableState = field(default_factory=TableState)
    """What the newest commit that can be read says of the whole table."""
    view: View | None = None
    """What the table holds once it is mended; None if that can't be told."""
    lost_partitions: dict[str, str] = field(default_factory=dict)
    """Partitions with a file that is not what was committed, and which."""
    decisions: dict[int, Decision] = field(default_factory=dict)
    floor: str = "0" * 17
    """The latest time on the timeline."""
    is_ledger_behind: bool = False
    exists: bool = False

    @classmethod
    def of(cls, storage: Storage, properties: bytes) -> TableCheck:
        """Look at everything. Raises OSError for what can't be looked at."""
        found = cls(storage, properties)
        if not storage.exists(""):
            return found
        found.exists = True
        for folder in _FOLDERS:
            if storage.exists(folder) and not storage.is_folder(folder):
                found.damage[folder] = "is a file where a folder should be"
                found.misplaced = folder
                return found
        found._check_ledger()
        commits = found._check_timeline()
        found._check_view(commits)
        found._check_properties()
        found._check_partitions()
        return found

    @property
    def is_whole(self) -> bool:
        """Whether nothing has to be done."""
        return not (self.damage or self.strays)

    @property
    def is_lost(self) -> bool:
        """Whether it has to be made from nothing."""
        return self.exists and self.view is None

    @property
    def lost_decisions(self) -> bool:
        """Whether the ledger has to be gone on with by a new decision."""
        return bool(self.bad_decisions) or self.is_ledger_behind

    def _check_ledger(self) -> None:
        for file in self.storage.list(LEDGER):
            path = f"{LEDGER}/{file.name}"
            number = decision_number(file.name)
            if number is None:
                if not is_lease(file.name):
                    self._add_stray(path, file)
                continue
            try:
                self.decisions[number] = decode_decision(_content(self.storage, path), number, path=path)
            except TimelineCorruptError as error:
                self.damage[path] = error.reason
                self.bad_decisions.append(path)

    def _check_timeline(self) -> dict[CompletedInstant, CommitMetadata]:
        """The commits as they were made, also those that only the ledger has."""
        kept = {each.completes: each.content for each in self.decisions.values() if each.completes}
        commits: dict[CompletedInstant, CommitMetadata] = {}
        for file in self.storage.list(TIMELINE):
            path = f"{TIMELINE}/{file.name}"
            instant = parse_completed(file.name)
            if instant is None:
                if not parse_pending(file.name) and not file.is_folder:
                    self._add_stray(path, file)
                continue
            try:
                commits[instant] = _decode(_content(self.storage, path), instant)
            except TimelineCorruptError as error:
                self.damage[path] = error.reason
                self.bad_instants.append(path)
        for path, content in kept.items():
            instant = parse_completed(path.rpartition("/")[2])
            if instant is not None and instant not in commits:
                try:
                    commits[instant] = _decode(content, instant)
                except TimelineCorruptError:
                    continue
                self.rewritten[path] = content
        times = [time for each in commits for time in (each.requested_time, each.completed_time)]
        self.floor = max(times, default=self.floor)
        if commits:
            self.state = commits[max(commits)].state
        return commits

    def _check_view(self, commits: dict[CompletedInstant, CommitMetadata]) -> None:
        """What the table holds, by the commits that are needed."""
        present = {
            instant: metadata for instant, metadata in commits.items() if instant.path not in self.rewritten
        }
        newest = max(commits, default=None)
        if newest is not None:
            needed = {*commits[newest].state.needed, newest.requested_time}
            wanted = {each: commits[each] for each in commits if each.requested_time in needed}
            # A commit that nothing stands on any more may have been forgotten; it does not come back.
            self.rewritten = {
                path: content
                for path, content in self.rewritten.items()
                if any(each.path == path for each in wanted)
            }
            for path in self.rewritten:
                if path != self._latest_decided:
                    self.damage.setdefault(path, "is missing")
            present |= wanted
            if lost := sorted(needed - {each.requested_time for each in present}):
                self.damage[f"{TIMELINE}/{lost[0]}_*"] = "is missing, and the ledger has it no more"
                return
        elif self.bad_instants:
            return
        try:
            self.view = View.of(Commit(*each) for each in present.items())
        except CorruptError as error:
            self.damage[TIMELINE] = str(error)
            return
        head = self.decisions[max(self.decisions)].state if self.decisions else LedgerState()
        done = {each.requested_time for each in present}
        is_behind = head.last_time < self.floor or any(map(done.__contains__, _open_instants(head)))
        if present and is_behind:
            self.is_ledger_behind = True
            self.damage.setdefault(LEDGER, "its newest decisions are missing")

    @property
    def _latest_decided(self) -> str | None:
        """What the newest decision completes: its file may be about to be made, by its writer or the next."""
        return self.decisions[max(self.decisions)].completes if self.decisions else None

    def _check_properties(self) -> None:
        try:
            content = _content(self.storage, PROPERTIES)
        except TimelineCorruptError:
            content = b""
        wanted = set(self.properties.decode().split("\n"))
        lines = content.decode(errors="replace").split("\n")
        if not wanted <= set(lines):
            self.damage[PROPERTIES] = "lacks settings that its readers need"
            self.rewritten[PROPERTIES] = self.properties

    def _check_partitions(self) -> None:
        view = self.view
        if view is None:
            return
        named = {stat.path for commit in view.commits for stat in commit.metadata.stats}
        marked: set[str] = set()
        decided = max((each.state.last_time for each in self.decisions.values()), default="")
        for folder in self.storage.list():
            if folder.name == HUDI_FOLDER:
                continue
            if not folder.is_folder:
                self._add_stray(folder.name, folder)
                continue
            for file in self.storage.list(folder.name):
                path = f"{folder.name}/{file.name}"
                if file.name == PARTITION_METADATA:
                    marked.add(folder.name)
                if path in named or file.name == PARTITION_METADATA:
                    continue
                data = parse_data_file(file.name)
                # Of a commit under way, or of one that died: the next writer sees to that.
                if data is None or file.is_folder or not self._is_pending(data.requested_time, decided):
                    self._add_stray(path, file)
        # Also of partitions that are no more: one of that name may come again, and would keep it.
        for name in marked.union(view.state.shards):
            self._check_partition_metadata(name, view)
        self._check_data(view)

    def _is_pending(self, requested_time: str, decided: str) -> bool:
        names = [f"{TIMELINE}/{requested_time}.{action}.requested" for action in _ACTIONS]
        return requested_time > decided or any(map(self.storage.exists, names))

    def _check_partition_metadata(self, partition: str, view: View) -> None:
        path = f"{partition}/{PARTITION_METADATA}"
        created = [shard_slice.file_id[-17:] for shard_slice in view.slices(partition)]
        try:
            if is_partition_metadata(_content(self.storage, path)):
                return
        except TimelineCorruptError:
            pass
        self.damage[path] = "is not what was written"
        made = min(created, default=self.floor)
        self.rewritten[path] = f"commitTime={made}\npartitionDepth=1\n".encode()

    def _check_data(self, view: View) -> None:
        """Each file of each current slice, all bytes of it."""
        stats = [
            file
            for each in view.partitions.values()
            for shard_slice in each.values()
            for file in shard_slice.files
        ]
        with ThreadPoolExecutor(_READERS) as pool:
            for stat, reason in zip(stats, pool.map(self._reason_against, stats), strict=True):
                if reason is not None:
                    self.damage[stat.path] = reason
                    self.lost_partitions.setdefault(stat.partition, stat.path)

    def _reason_against(self, stat: WriteStat) -> str | None:
        try:
            if stat.is_log:
                load_log_file(self.storage, stat)
            else:
                BaseFile.check(self.storage, stat)
        except CorruptError as error:
            # What somebody forbids to read is not damaged.
            if isinstance(error.__cause__, (PermissionError, TimeoutError, ConnectionError)):
                raise error.__cause__ from None
            return str(getattr(error, "reason", "is missing"))
        return None

    def _add_stray(self, path: str, file: StoredFile) -> None:
        if not file.name.endswith(TEMPORARY_SUFFIX):
            self.strays[path] = "a folder that nobody made" if file.is_folder else "a file that nobody wrote"


_ACTIONS = ("deltacommit", "replacecommit", "compaction")


def _open_instants(state: LedgerState) -> list[str]:
    return [grant.requested_time for grant in state.open.values()]


def _content(storage: Storage, path: str) -> bytes:
    try:
        return storage.read(path)
    except FileNotFoundError:
        raise TimelineCorruptError(path=path, reason="is missing") from None
    except StoragePlaceError as error:
        raise TimelineCorruptError(path=path, reason="is no file") from error


def _decode(content: bytes, instant: CompletedInstant) -> CommitMetadata:
    return decode_commit(content, action=instant.action, path=instant.path, name=instant.file_name)
