"""The instants of a table: what was done to it, when it was asked for and when it was completed.

    layout 1 (version 6)       .hoodie/<requested>.<action>
                               .hoodie/<requested>.<action>.requested | .inflight
    layout 2 (versions 8, 9)   .hoodie/timeline/<requested>_<completed>.<action>
                               .hoodie/timeline/<requested>.<action>.requested | .inflight

The completed file is the commit: nothing counts that no completed instant names. A compaction is pending as
`compaction` and completes as `commit`, a clustering completes as `replacecommit`. Layout 1 does not write
the completed time down: it is the file's modification time. Instants that Hudi has archived are not here;
what is older than the timeline counts as completed.
"""

from __future__ import annotations

import copy
import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timezone
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow.parquet as pq
from fastavro.schema import SchemaParseException

from hudi_index.errors import TableFileError
from hudi_index.table.damage import naming_table_file
from hudi_index.table.slices import FileGroupId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hudi_index.storage import Storage, StoredFile
    from hudi_index.table.config import TableConfig

__all__ = ["Instant", "Timeline"]

COMMIT_ACTIONS = frozenset({"commit", "deltacommit", "replacecommit"})
"""Actions that add or replace data files."""

REMOVING_ACTIONS = frozenset({"clean", "rollback", "restore"})
"""Actions that delete data files."""

_LAYOUT_1 = re.compile(r"(?P<requested>\d+)\.(?P<action>[a-z]+)")
_LAYOUT_2 = re.compile(r"(?P<requested>\d+)_(?P<completed>\d+)\.(?P<action>[a-z]+)")
_PENDING = re.compile(r"(?P<requested>\d+)\.(?:(?P<action>[a-z]+)\.)?(?:requested|inflight)")
_AVRO_MAGIC = b"Obj\x01"
_EARLIEST = "earliestCommitToRetain"
_STATS = "partitionToWriteStats"
_READERS = 8
_FIRST_VERSION_THAT_TELLS = 8
"""Before it the time of completion is the file's, which object stores tell in whole seconds."""


@dataclass(frozen=True, slots=True)
class Instant:
    """A completed action."""

    requested_time: str
    completed_time: str
    action: str
    path: str
    """Its file, relative to the table."""

    @property
    def is_commit(self) -> bool:
        """Whether it changed the table's data files."""
        return self.action in COMMIT_ACTIONS


@dataclass(frozen=True)
class Timeline:
    """The active timeline at one moment."""

    storage: Storage
    config: TableConfig
    instants: tuple[Instant, ...]
    """All completed instants, by requested time."""
    pending: frozenset[tuple[str, str]]
    """Requested time and action of what has begun and is not completed."""
    files: tuple[StoredFile, ...] = field(default=(), repr=False)
    """What the timeline was read from: equal ones say the same, for no instant's file is ever changed."""
    _held: dict[str, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Contents of instants' files, while they are held."""

    @classmethod
    def load(cls, storage: Storage, config: TableConfig) -> Timeline:
        """List the active timeline."""
        folder = config.timeline_folder
        completed: list[Instant] = []
        begun: set[tuple[str, str]] = set()
        files = storage.list(folder)
        for file in files:
            instant = _parse_completed(file, folder, config)
            if instant:
                completed.append(instant)
            elif match := _PENDING.fullmatch(file.name):
                begun.add((match["requested"], match["action"] or "commit"))
        completed.sort(key=lambda instant: (instant.requested_time, instant.completed_time))
        # Savepoints, cleans and the like may carry the time of a commit, but a commit's time is no other
        # commit's.
        done = {instant.requested_time for instant in completed if instant.is_commit}
        others = {(instant.requested_time, instant.action) for instant in completed}
        pending = frozenset(item for item in begun - others if item[0] not in done)
        return cls(storage, config, tuple(completed), pending, tuple(files))

    @cached_property
    def commits(self) -> tuple[Instant, ...]:
        """Completed instants that changed data files, by requested time."""
        return tuple(instant for instant in self.instants if instant.is_commit)

    @property
    def latest_commit(self) -> Instant | None:
        """The commit of the latest requested time: what Hudi names a snapshot by."""
        return self.commits[-1] if self.commits else None

    @property
    def latest_completed(self) -> Instant | None:
        """The commit that was completed last."""
        return max(self.commits, key=lambda instant: instant.completed_time, default=None)

    @property
    def changes(self) -> tuple[Instant, ...]:
        """Completed instants after which a table's slices may be others, by requested time."""
        return tuple(each for each in self.instants if each.is_commit or each.action == "restore")

    def changes_since(self, completed_time: str) -> list[str]:
        """Completed times of the changes completed after a moment, oldest first, archived ones included.

        Of version-6 tables the archived ones are not known and not counted. Where their times are of whole
        seconds, those of the moment's own second count if there are no others.
        """
        found = {each.completed_time for each in self.changes if each.completed_time > completed_time}
        if not found and self._tells_seconds_only:
            found = {each.completed_time for each in self.changes if each.completed_time == completed_time}
        oldest = min((each.completed_time for each in self.changes), default="")
        if completed_time < oldest:
            archived = (time for time in self._archived_changes if time > completed_time)
            found.update(archived)
        return sorted(found)

    @cached_property
    def pending_compactions(self) -> frozenset[str]:
        """Requested times of compactions that are planned or running."""
        return frozenset(time for time, action in self.pending if action == "compaction")

    @cached_property
    def _completed_times(self) -> dict[str, str]:
        return {instant.requested_time: instant.completed_time for instant in self.commits}

    @cached_property
    def _start(self) -> str | None:
        """Requested time of the first commit that no savepoint keeps: earlier ones may be archived."""
        saved = {instant.requested_time for instant in self.instants if instant.action == "savepoint"}
        times = (instant.requested_time for instant in self.commits)
        return next((time for time in times if time not in saved), None)

    def may_lose_files_by(self, later: Timeline) -> bool:
        """Whether something that deletes data files has begun since, as `later` shows."""
        return bool(later._removals - self._removals)

    @property
    def unarchived_commits(self) -> tuple[Instant, ...]:
        """Commits after which nothing was archived; one that a savepoint keeps may stand before a gap."""
        return tuple(each for each in self.commits if self._start and each.requested_time >= self._start)

    @property
    def is_being_undone(self) -> bool:
        """Whether a rollback or restore is under way, or died."""
        return any(action in ("rollback", "restore") for _, action in self.pending)

    @property
    def has_cleaned(self) -> bool:
        """Whether a cleaning is known."""
        return any(instant.action == "clean" for instant in self.instants)

    @property
    def earliest_kept(self) -> str | None:
        """The earliest instant to read at, by Hudi's rule; None if nothing was cleaned.

        The latest cleaning says which commit it left files from. One that counts versions does not say: then
        it is the first commit of the timeline.
        """
        cleans = [instant for instant in self.instants if instant.action == "clean"]
        if not cleans:
            return None
        said: str | None = self.metadata_of(cleans[-1], _EARLIEST).get(_EARLIEST)
        return said or next((instant.requested_time for instant in self.commits), None)

    def has_removed_since(self, completed_time: str) -> bool:
        """Whether a rollback or restore is under way or was completed after a moment.

        Where times are of whole seconds, in the moment's own second too: better once too often.
        """
        return self.is_being_undone or any(
            each.action in ("rollback", "restore")
            and (
                each.completed_time > completed_time
                or (self._tells_seconds_only and each.completed_time == completed_time)
            )
            for each in self.instants
        )

    @property
    def _tells_seconds_only(self) -> bool:
        """Whether what completed in the same second as something else may have completed after it."""
        return self.config.version < _FIRST_VERSION_THAT_TELLS and not self.storage.is_local

    @cached_property
    def _removals(self) -> frozenset[tuple[str, str]]:
        completed = {(instant.requested_time, instant.action) for instant in self.instants}
        return frozenset(item for item in completed | self.pending if item[1] in REMOVING_ACTIONS)

    def is_completed(self, requested_time: str) -> bool:
        """Whether the files of a commit count."""
        if requested_time in self._completed_times:
            return True
        return self._start is not None and requested_time < self._start

    def completed_time_of(self, requested_time: str) -> str:
        """When a completed commit was completed, archived or not."""
        known = self._completed_times.get(requested_time)
        # Without any trace the requested time stands in: the completed time of an archived commit is not
        # much later.
        return known or self._archived_times.get(requested_time, requested_time)

    @cached_property
    def _archived_times(self) -> dict[str, str]:
        return {requested: completed for requested, completed, _ in self._archived}

    @property
    def _archived_changes(self) -> list[str]:
        actions = COMMIT_ACTIONS | {"restore"}
        return [completed for _, completed, action in self._archived if action in actions]

    @cached_property
    def _archived(self) -> list[tuple[str, str, str]]:
        """Requested time, completed time and action of what Hudi has archived."""
        folder = self.config.history_folder
        names = [file.name for file in self.storage.list(folder) if file.name.endswith(".parquet")]
        found: list[tuple[str, str, str]] = []
        for name in names:
            path = f"{folder}/{name}"
            with naming_table_file(self.storage, path), self.storage.open_input(path) as source:
                table = pq.read_table(source, columns=["instantTime", "completionTime", "action"])
            columns: list[Any] = [table.column(each).to_pylist() for each in table.column_names]
            found.extend(zip(*columns, strict=True))
        return found

    def find_replaced_groups(self, as_of: str | None = None) -> dict[FileGroupId, str]:
        """File groups that a replace commit took out of the table, with its requested time."""
        chosen = [
            instant
            for instant in self.commits
            if instant.action == "replacecommit" and (as_of is None or instant.requested_time <= as_of)
        ]
        found: dict[FileGroupId, str] = {}
        with ThreadPoolExecutor(_READERS) as pool:
            for instant, replaced in zip(chosen, pool.map(self._groups_replaced_by, chosen), strict=True):
                for partition, file_ids in replaced.items():
                    found.update(
                        dict.fromkeys((FileGroupId(partition, i) for i in file_ids), instant.requested_time)
                    )
        return found

    def _groups_replaced_by(self, instant: Instant) -> Mapping[str, list[str]]:
        field = "partitionToReplaceFileIds"
        return self.metadata_of(instant, field).get(field) or {}

    def files_written_by(self, instant: Instant) -> dict[str, list[str]]:
        """The names of the base and log files that a commit wrote, by partition path."""
        written: Mapping[str, Any] = self.metadata_of(instant, _STATS).get(_STATS) or {}
        return {
            partition_path: [stat["path"].rpartition("/")[2] for stat in stats if stat.get("path")]
            for partition_path, stats in written.items()
        }

    def metadata_of(self, instant: Instant, *fields: str) -> Mapping[str, Any]:
        """What a commit says it did, or only these fields of it. Raises TableFileError."""
        data = self._held.get(instant.path)
        if data is None:
            data = self.storage.read(instant.path)
        try:
            if data.startswith(_AVRO_MAGIC):
                record = _read_avro(data, fields)
            else:
                record = json.loads(data) if data else {}
        except (ValueError, EOFError, SchemaParseException) as error:
            path = self.storage.uri_of(instant.path)
            raise TableFileError(path=path, reason=f"it is no commit metadata ({error})") from error
        if not isinstance(record, dict):
            raise TableFileError(path=self.storage.uri_of(instant.path), reason="it is no commit metadata")
        return record

    @contextmanager
    def holding(self) -> Iterator[Callable[[Iterable[Instant]], None]]:
        """Gives what reads the files of instants, all at once, which then are not read again inside."""

        def hold(instants: Iterable[Instant]) -> None:
            paths = [instant.path for instant in instants]
            contents = zip(paths, self.storage.read_many(paths), strict=True)
            self._held.update((path, content) for path, content in contents if content is not None)

        try:
            yield hold
        finally:
            self._held.clear()

    def extra_metadata_backwards(self, as_of: str | None = None) -> Iterator[Mapping[str, str]]:
        """The extra metadata of each commit, latest first; of those until `as_of` if it is given."""
        for instant in reversed(self.commits):
            if as_of is not None and instant.requested_time > as_of:
                continue
            yield self.metadata_of(instant, "extraMetadata").get("extraMetadata") or {}


def _read_avro(data: bytes, fields: tuple[str, ...]) -> Any:
    records: Any = fastavro.reader(BytesIO(data))
    if fields:
        # A commit of many files has long write statistics; skipping them is faster than building them.
        schema = {**records.writer_schema}
        schema["fields"] = [_with_paths_only(field) for field in schema["fields"] if field["name"] in fields]
        records = fastavro.reader(BytesIO(data), reader_schema=schema)
    return next(iter(records), {})


def _with_paths_only(field: Any) -> Any:
    """Of write statistics the paths alone, any other field as it is."""
    if field["name"] != _STATS or not isinstance(field["type"], list):
        return field
    kinds = copy.deepcopy(field["type"])
    for kind in kinds:
        # As Hudi writes it. What is spelled otherwise is read whole.
        stat = kind.get("values", {}).get("items") if isinstance(kind, dict) else None
        if isinstance(stat, dict):
            stat["fields"] = [each for each in stat["fields"] if each["name"] == "path"]
    return {**field, "type": kinds}


def _parse_completed(file: StoredFile, folder: str, config: TableConfig) -> Instant | None:
    if config.version >= _FIRST_VERSION_THAT_TELLS:
        match = _LAYOUT_2.fullmatch(file.name)
        completed = match["completed"] if match else ""
    else:
        match = _LAYOUT_1.fullmatch(file.name)
        # `<requested>.inflight` is how layout 1 spells a commit in flight.
        if match and match["action"] in ("inflight", "requested"):
            match = None
        completed = _modified_time_of(file, config)
    if not match:
        return None
    return Instant(match["requested"], completed, match["action"], f"{folder}/{file.name}")


def _modified_time_of(file: StoredFile, config: TableConfig) -> str:
    moment = file.modified.astimezone(timezone.utc if config.uses_utc_instants else None)
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}"
