"""The index metadata table as a whole: create, read, write, compact, clean, tell how it is."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, ClassVar

from hudi_index.errors import (
    IndexesMovedError,
    StoragePlaceError,
    TimelineCorruptError,
    UnknownPartitionError,
    UserError,
)
from hudi_index.metadata_table.check import TableCheck
from hudi_index.metadata_table.cleaning import clean, remove_dead_instants
from hudi_index.metadata_table.commit import Transaction
from hudi_index.metadata_table.compaction import DueRule, compact_slice, encode_plan, slices_to_compact
from hudi_index.metadata_table.layout import (
    COMPACTION,
    DELTA_COMMIT,
    PROPERTIES,
    REPLACE_COMMIT,
    properties_text,
)
from hudi_index.metadata_table.ledger import COMPACTION_ROLE, MAINTENANCE_ROLE, Ledger, WriterId
from hudi_index.metadata_table.mending import mend
from hudi_index.metadata_table.reader import Reader, ReaderCache
from hudi_index.metadata_table.view import ViewLoader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hudi_index.metadata_table.layout import CompletedInstant
    from hudi_index.metadata_table.ledger import Clock
    from hudi_index.metadata_table.view import ShardSlice, View
    from hudi_index.storage import Storage

__all__ = ["MetadataTable", "PartitionStatus", "Settings"]

_NAME = "hudi_index_metadata"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the table is kept."""

    lease: timedelta = timedelta(seconds=60)
    """A writer that says nothing for so long may be replaced."""
    retention: timedelta = timedelta(minutes=30)
    """How long files that were superseded stay for readers of an earlier view."""
    due: DueRule = field(default_factory=DueRule)


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """How one partition is."""

    partition: str
    shards: int
    entries_written: int
    """Rows in its files: entries, superseded versions and tombstones."""
    base_files: int
    base_bytes: int
    log_files: int
    log_bytes: int
    deepest_log: int
    """Most log files of one shard: what a look-up opens at worst."""
    due: str | None
    """Why compaction is due, None if it is not."""


class MetadataTable:
    """One index metadata table.

    Everything that writes goes through `begin` or `begin_compaction`; readers take a `reader` and keep it for
    one question.
    """

    folder: ClassVar[str] = ".hoodie/.index/mdt"
    """Where the index metadata table of a data table lives."""

    def __init__(
        self,
        storage: Storage,
        settings: Settings | None = None,
        *,
        clock: Clock = lambda: datetime.now(timezone.utc),
        owner: WriterId | None = None,
        renews_lease: bool = True,
    ) -> None:
        self.storage, self.settings = storage, settings or Settings()
        self._clock, self._renews_lease = clock, renews_lease
        self._given_owner = owner
        self._views = ViewLoader(storage)
        self._ledger = Ledger(
            storage,
            clock=clock,
            lease=self.settings.lease,
            is_visible=lambda path: self._views.has_seen(path),
        )
        self._cache = ReaderCache()
        self._is_made = False

    @classmethod
    def of(cls, table: Storage, settings: Settings | None = None) -> MetadataTable:
        """The index metadata table of the data table at `table`."""
        return cls(table.child(cls.folder), settings)

    def exists(self) -> bool:
        """Whether the table was created."""
        return self.storage.exists(PROPERTIES)

    def create(self) -> None:
        """Make an empty table; an existing one stays as it is.

        Raises:
            UnsupportedStorageError: the storage would not refuse a second one, and so would lose commits.
        """
        if self._is_made:
            return
        try:
            with suppress(FileExistsError):
                self.storage.check_create(PROPERTIES, properties_text(_NAME).encode())
            self._is_made = True
        except StoragePlaceError as error:
            reason = "a file stands where a folder should be"
            raise TimelineCorruptError(path=self.storage.uri_of(PROPERTIES), reason=reason) from error

    def view(self) -> View:
        """What the table holds now."""
        return self._views.load()

    def reader(self) -> Reader:
        """A reader of what the table holds now; later commits don't change what it sees."""
        return self.reader_of(self.view())

    def reader_of(self, view: View) -> Reader:
        """A reader of a view of this table."""
        return Reader(self.storage, view, self._cache)

    def begin(
        self,
        *,
        shards: Mapping[str, int] | None = None,
        replaced: Sequence[str] = (),
        seen: View | None = None,
    ) -> Transaction:
        """Open a commit that changes entries.

        Args:
            shards: New partitions with their number of shards, among them those rebuilt.
            replaced: Partitions whose present entries all go away: dropped, or with `shards` rebuilt.
            seen: The view that all this was decided by.

        Raises:
            LeaseHeldError: Another process is writing.
            CommitConflictError: The lease was lost before the table was looked at.
            IndexesMovedError: The table is no longer as it was seen. What a dead writer had decided becomes
                visible by this call, so that may happen without anybody else.
        """
        action = REPLACE_COMMIT if replaced else DELTA_COMMIT
        transaction = self._open(MAINTENANCE_ROLE, action, new_shards=shards, replaced=replaced)
        try:
            self._check_partitions(transaction.view, seen, shards or {}, replaced)
        except (UserError, IndexesMovedError):
            transaction.abort()
            raise
        return transaction

    def begin_compaction(
        self, *, partitions: Sequence[str] | None = None, force: bool = False
    ) -> tuple[Transaction, list[ShardSlice]] | None:
        """Open a compaction and say which slices it is to merge; None if nothing is due.

        Raises:
            LeaseHeldError: Another process is compacting.
        """
        seen = self.view()
        self._check_known(seen, partitions or ())
        if not slices_to_compact(seen, self.settings.due, partitions=partitions, force=force):
            return None
        planned: list[ShardSlice] = []

        def plan(view: View) -> bytes:
            # Planned again: what completed until the instant was granted is older than it, what comes is not.
            planned.extend(slices_to_compact(view, self.settings.due, partitions=partitions, force=force))
            return encode_plan(planned)

        return self._open(COMPACTION_ROLE, COMPACTION, plan=plan), planned

    def _open(
        self,
        role: str,
        action: str,
        *,
        new_shards: Mapping[str, int] | None = None,
        replaced: Sequence[str] = (),
        plan: Callable[[View], bytes] | None = None,
    ) -> Transaction:
        """Take a lease and open its commit on what the table holds then; if that fails, give it back."""
        grant = self._ledger.begin(role, action, self._owner)
        try:
            # One listing, for the view and for the dead.
            names = self._views.list()
            remove_dead_instants(self.storage, self._ledger.state_after(grant), names)
            view = self._views.load(names)
            return Transaction(
                storage=self.storage,
                ledger=self._ledger,
                views=self._views,
                view=view,
                grant=grant,
                renew_every=self._renewal,
                new_shards=new_shards,
                replaced=replaced,
                plan=plan(view) if plan else None,
            )
        except Exception:
            # The error that brought us here says more than one met while tidying up.
            with suppress(OSError, TimelineCorruptError):
                self._ledger.abort(grant)
            raise

    def compact(
        self, *, partitions: Sequence[str] | None = None, force: bool = False
    ) -> CompletedInstant | None:
        """Compact in this process what is due (under `force` all that has logs), then clean."""
        begun = self.begin_compaction(partitions=partitions, force=force)
        if begun is None:
            return None
        transaction, slices = begun
        with transaction:
            writer = transaction.writer
            transaction.add(compact_slice(writer, shard_slice) for shard_slice in slices)
            instant = transaction.commit()
        self.clean()
        return instant

    def clean(self) -> int:
        """Delete files that nobody needs any more; returns how many."""
        state, names = self._ledger.settle(), self._views.list()
        remove_dead_instants(self.storage, state, names)
        view = self._views.load(names)
        return clean(self.storage, state, view, now=self._clock(), retention=self.settings.retention)

    def writers(self) -> list[WriterId]:
        """Who has a lease that lives."""
        return [grant.owner for grant in self._ledger.open_leases()]

    def check(self) -> TableCheck:
        """Look at every file; changes nothing."""
        return TableCheck.of(self.storage, properties_text(_NAME).encode())

    def mend(self, set_aside: Callable[[str], None]) -> TableCheck:
        """Make ledger, timeline and folders whole, and throw away what can't be; returns what was found.

        Data files that are not what was committed are only told of: `forget` their partitions.

        Raises:
            LeaseHeldError: Another process is writing.
        """
        mended = mend(self.check(), self._ledger, self._owner, set_aside, again=self.check)
        self._views, self._is_made = ViewLoader(self.storage), False
        return mended

    def forget(
        self, partitions: Sequence[str], data_snapshot: Mapping[str, str], seen: View
    ) -> CompletedInstant:
        """Commit that partitions and all their entries are gone, if the table is still as it was seen.

        Raises:
            LeaseHeldError: Another process is writing.
            IndexesMovedError: It is not.
        """
        with self.begin(replaced=partitions, seen=seen) as transaction:
            return transaction.commit(data_snapshot)

    def status(self) -> list[PartitionStatus]:
        """How each partition is."""
        return self.status_of(self.view())

    def status_of(self, view: View) -> list[PartitionStatus]:
        """How each partition of a view is."""
        return [self._status_of(view, name) for name in sorted(view.state.shards)]

    def _status_of(self, view: View, partition: str) -> PartitionStatus:
        slices = view.slices(partition)
        files = [file for shard_slice in slices for file in shard_slice.files]
        reasons = [reason for shard_slice in slices if (reason := self.settings.due.reason(shard_slice))]
        return PartitionStatus(
            partition=partition,
            shards=view.state.shards[partition],
            entries_written=sum(file.entries for file in files),
            base_files=sum(not file.is_log for file in files),
            base_bytes=sum(shard_slice.base_bytes for shard_slice in slices),
            log_files=sum(file.is_log for file in files),
            log_bytes=sum(shard_slice.log_bytes for shard_slice in slices),
            deepest_log=max((len(shard_slice.logs) for shard_slice in slices), default=0),
            due=reasons[0] if reasons else None,
        )

    @property
    def _owner(self) -> WriterId:
        # Not when the table is opened: that may have been in the process that this one was forked from.
        return self._given_owner or WriterId.this_process()

    @property
    def _renewal(self) -> float | None:
        return self.settings.lease.total_seconds() / 3 if self._renews_lease else None

    def _check_partitions(
        self, view: View, seen: View | None, shards: Mapping[str, int], replaced: Sequence[str]
    ) -> None:
        if seen is not None and seen.latest != view.latest:
            raise IndexesMovedError(uri=self.storage.uri)
        self._check_known(view, replaced)
        for name, count in shards.items():
            if name in view.state.shards and name not in replaced:
                raise UserError(f"partition {name!r} exists; replace it to change its shards")
            if count < 1:
                raise UserError(f"partition {name!r} needs at least one shard, not {count}")

    def _check_known(self, view: View, partitions: Sequence[str]) -> None:
        for name in partitions:
            if name not in view.state.shards:
                raise UnknownPartitionError(partition=name, known=sorted(view.state.shards))
