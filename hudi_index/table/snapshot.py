"""A table at one moment: configuration, schema and the current slice of every file group.

The timeline is read before the files, so every file of a commit that it names is there to be listed, and
once more after, to see that nobody has begun to delete any. Files of later commits are not counted.

A snapshot that is known already is compared with one look at the properties, the timeline and the files, in
whatever order or at once. Nothing ever leaves a timeline but by archiving, which leaves its own trace: if it
is, file by file, as it was, nobody has begun or completed anything since. Then the files that are listed are
those of that timeline, whenever they were listed until then; one that came or went after is a difference.

A version-6 log file does not name its commit: where one was under way while the files were listed, slices
with logs get an identity that equals no other, so that no index is taken to describe them.
"""

from __future__ import annotations

import contextlib
import re
import uuid
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_index.arguments import check_text
from hudi_index.errors import InvalidOptionError, TableMovedError
from hudi_index.side_by_side import side_by_side
from hudi_index.table.cache import SnapshotCache
from hudi_index.table.config import TableConfig, TableType
from hudi_index.table.listing import assemble_slices, list_partitions
from hudi_index.table.partitions import PartitionColumns
from hudi_index.table.rows import TableReader
from hudi_index.table.schema import TableSchema
from hudi_index.table.shape import TableShape
from hudi_index.table.timeline import Instant, Timeline
from hudi_index.table.written import commits_to_check, refuse_missing_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from hudi_index.storage import Storage
    from hudi_index.table.listing import Listing
    from hudi_index.table.readers import ReaderChoice
    from hudi_index.table.slices import FileGroupId, FileSlice, SliceIdentity

__all__ = ["Snapshot"]

_ATTEMPTS = 3
_FIRST_VERSION_OF_LOGS_BY_COMMIT = 8
_LOG_WRITERS = frozenset({"deltacommit", "logcompaction", "rollback", "restore"})
_INSTANT = re.compile(r"\d{14}(\d{3})?")


@dataclass(frozen=True)
class Snapshot:
    """What a query reads."""

    storage: Storage
    config: TableConfig
    timeline: Timeline
    table_schema: TableSchema
    slices: tuple[FileSlice, ...]
    """By file group."""
    as_of: str | None = None
    """The instant asked for, when it is not the latest."""
    listing: Listing | None = field(default=None, repr=False, compare=False)
    """What the slices were made from; None if somebody wrote to the timeline meanwhile."""
    refused: Mapping[SliceIdentity, str] = field(default_factory=dict, repr=False, compare=False)
    """Slices that hudi-rs was seen to refuse, and why."""

    @classmethod
    def load(
        cls,
        storage: Storage,
        as_of: str | None = None,
        *,
        known: Snapshot | None = None,
        expected: TableConfig | None = None,
    ) -> Snapshot:
        """The latest snapshot, or the one that `as_of` (`yyyyMMddHHmmss` or with milliseconds) saw.

        Args:
            storage: The table.
            as_of: The instant to read at, the latest if None.
            known: An earlier snapshot. The table is looked at all the same; if nothing in it is different,
                that very snapshot is given again, with all that was found out about it.
            expected: The properties as they were last seen. They are read all the same; if they are still
                the same, the timeline need not wait for them.

        Raises:
            InvalidOptionError: `as_of` is no instant, or Hudi has cleaned what it saw.
            NoSuchTableError: no Hudi table there.
            UnsupportedTableError: a Hudi table that can't be read.
            TableMovedError: files kept being deleted while they were listed.
            MissingTableFileError: a file that a commit wrote, and nobody took away again, is not there.
        """
        for _ in range(_ATTEMPTS):
            # Archiving removes commits that were listed a moment ago.
            with contextlib.suppress(FileNotFoundError):
                snapshot = cls._load_once(storage, as_of, known, known.config if known else expected)
                if snapshot:
                    return snapshot
        raise TableMovedError(uri=storage.uri)

    @classmethod
    def _load_once(
        cls, storage: Storage, as_of: str | None, known: Snapshot | None, expected: TableConfig | None
    ) -> Snapshot | None:
        """The snapshot; None if files that it needs may have been deleted before they were listed."""
        config, timeline, partitions = _look(storage, known, expected)
        as_of = _as_instant(as_of, timeline)
        before = known.listing if known is not None and known._is_of(timeline, as_of) else None
        if before is not None and partitions is None:
            partitions = list_partitions(storage, before)
        if known is not None and before is not None and partitions == before:
            # A snapshot follows from the properties, the timeline and the files. None of them is another one.
            return known
        if before is None or not storage.is_local:
            # What was listed beside the timeline may lack files of a commit that the timeline has.
            partitions = list_partitions(storage)
        assert partitions is not None
        listed = partitions
        with timeline.holding() as hold:
            later, _ = side_by_side(
                lambda: Timeline.load(storage, config),
                lambda: None if storage.is_local else hold(commits_to_check(listed, timeline, as_of)),
                is_local=storage.is_local,
            )
            if timeline.may_lose_files_by(later):
                return None
            is_still = later.files == timeline.files
            if not refuse_missing_files(partitions, timeline, as_of):
                return None
            slices = assemble_slices(partitions, timeline, as_of)
            schema = TableSchema.load(timeline, as_of)
        if config.version < _FIRST_VERSION_OF_LOGS_BY_COMMIT and config.table_type is TableType.MERGE_ON_READ:
            slices = _mark_unsettled(slices, timeline, later)
        return cls(storage, config, timeline, schema, tuple(slices), as_of, partitions if is_still else None)

    def reload_if_moved(self) -> Snapshot:
        """This one if nobody has written to its timeline since, else the latest. Raises as `load` does.

        A commit that is not in the timeline changes nothing that this one says, and the files of those that
        are were listed.
        """
        config, timeline = side_by_side(
            lambda: TableConfig.load(self.storage),
            lambda: Timeline.load(self.storage, self.config),
            is_local=self.storage.is_local,
        )
        is_same = config.properties == self.config.properties and self._is_of(timeline, None)
        return self if is_same and self.listing is not None else type(self).load(self.storage, known=self)

    def _is_of(self, timeline: Timeline, as_of: str | None) -> bool:
        """Whether the snapshot was made from this timeline, file by file, under the same properties.

        Not by the names of instants alone: a table that was dropped and made again may have the same.
        """
        mine = self.timeline
        is_same = (mine.storage, mine.config.properties) == (timeline.storage, timeline.config.properties)
        return is_same and mine.files == timeline.files and self.as_of == as_of

    @property
    def schema(self) -> pa.Schema:
        """The data columns."""
        return self.table_schema.columns

    @property
    def schema_with_meta_columns(self) -> pa.Schema:
        """The data columns after Hudi's own."""
        return self.table_schema.with_meta_columns(self.config)

    @property
    def instant(self) -> Instant | None:
        """The latest commit of the snapshot by requested time."""
        seen = (
            i for i in reversed(self.timeline.commits) if self.as_of is None or i.requested_time <= self.as_of
        )
        return next(seen, None)

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(item.size for item in self.slices)

    @cached_property
    def groups(self) -> dict[FileGroupId, FileSlice]:
        """The slice of each file group."""
        return {item.group: item for item in self.slices}

    @cached_property
    def cache(self) -> SnapshotCache:
        """What others found out about exactly these slices: it goes when they go."""
        return SnapshotCache()

    @cached_property
    def partition_positions(self) -> tuple[list[str], npt.NDArray[np.int64]]:
        """The partition paths, and of each slice the place of its path among them."""
        paths: Any = pa.array([file_slice.group.partition_path for file_slice in self.slices], pa.string())
        found = paths.dictionary_encode()
        return found.dictionary.to_pylist(), found.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    @cached_property
    def shape(self) -> TableShape:
        """What slices are read by."""
        paths, _ = self.partition_positions
        partitions = PartitionColumns.of(self.config, self.table_schema, paths)
        return TableShape(self.config, self.table_schema, partitions)

    @cached_property
    def reader(self) -> TableReader:
        """What reads the rows of slices, here or in another process."""
        latest, newest = self.timeline.latest_completed, self.timeline.latest_commit
        state = f"{len(self.timeline.commits)}@{latest.completed_time}" if latest else ""
        instant = newest.requested_time if newest else None
        commits = None
        if self.config.version < _FIRST_VERSION_OF_LOGS_BY_COMMIT:
            commits = frozenset(
                each.requested_time for each in self.timeline.commits if each.action == "deltacommit"
            )
        return TableReader(self.storage, self.shape, state, instant, commits, self.refused)

    def slice_reader_of(self, file_slice: FileSlice) -> ReaderChoice:
        """Who reads a slice, as far as is known before, and why not hudi-rs if it is Spark."""
        return self.reader.choice_of(file_slice)

    def with_refused(self, refused: Mapping[SliceIdentity, str]) -> Snapshot:
        """The same, knowing of more slices that hudi-rs refuses."""
        return replace(self, refused={**self.refused, **refused})


def _look(
    storage: Storage, known: Snapshot | None, expected: TableConfig | None
) -> tuple[TableConfig, Timeline, Listing | None]:
    """The properties and the timeline; where that costs no time, the files too, if they may be as known."""
    if storage.is_local or expected is None:
        config = TableConfig.load(storage)
        return config, Timeline.load(storage, config), None
    before = known.listing if known is not None else None
    config, timeline, partitions = side_by_side(
        lambda: TableConfig.load(storage),
        lambda: Timeline.load(storage, expected),
        lambda: None if before is None else list_partitions(storage, before),
        is_local=False,
    )
    if config.properties != expected.properties:
        return config, Timeline.load(storage, config), None
    return config, timeline, partitions


def check_instant(option: str, text: object) -> None:
    """Raise InvalidOptionError unless a text is an instant as Hudi writes it."""
    if not _INSTANT.fullmatch(check_text(option, text, "an instant, as a text")):
        raise InvalidOptionError(
            option=option, value=text, reason="an instant is yyyyMMddHHmmss or yyyyMMddHHmmssSSS"
        )


def _as_instant(text: str | None, timeline: Timeline) -> str | None:
    if text is None:
        return None
    check_instant("as_of", text)
    # Hudi takes an instant of whole seconds for the end of its second.
    instant = text if len(text) == 17 else f"{text}999"
    latest = timeline.latest_commit
    if latest and instant >= latest.requested_time:
        return None
    earliest = timeline.earliest_kept
    if earliest and instant < earliest:
        # Slices of that time would be missing without a trace.
        reason = f"Hudi has cleaned files of that time; the earliest instant that can be read is {earliest}"
        raise InvalidOptionError(option="as_of", value=text, reason=reason)
    return instant


def _mark_unsettled(slices: list[FileSlice], timeline: Timeline, later: Timeline) -> list[FileSlice]:
    writing = any(action in _LOG_WRITERS for _, action in timeline.pending | later.pending)
    if not writing and later.commits == timeline.commits:
        return slices
    return [replace(item, unsettled=uuid.uuid4().hex) if item.log_files else item for item in slices]
