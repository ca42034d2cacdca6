"""One commit from its lease to its completed timeline file: requested -> inflight -> completed.

    begin      ledger grants lease and instant; requested and inflight files appear
    write      files of any number of shards, here or in Spark tasks; nobody sees them
    commit     stray files are deleted, the ledger decides, the completed file appears: now everybody does

A crash before the decision leaves the previous view; the next writer deletes what was left. A crash after it
leaves a commit that the next writer makes visible. A lease that was lost meanwhile makes `commit` raise and
change nothing. An error of the storage leaves open whether the commit was made; who meets it looks again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING

from hudi_index.errors import CommitConflictError, ConflictError, TimelineCorruptError
from hudi_index.metadata_table.cleaning import delete_strays, remove_dead_instants
from hudi_index.metadata_table.commit_metadata import (
    CommitMetadata,
    TableState,
    encode_commit,
    requested_content,
)
from hudi_index.metadata_table.layout import (
    COMPACTION,
    DELTA_COMMIT,
    LEDGER,
    PARTITION_METADATA,
    REPLACE_COMMIT,
    CompletedInstant,
    completed_name,
    inflight_name,
    parse_completed,
    requested_name,
)
from hudi_index.metadata_table.view import Commit, View
from hudi_index.metadata_table.writer import ShardWriter
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from hudi_index.metadata_table.commit_metadata import WriteStat
    from hudi_index.metadata_table.ledger import Grant, Ledger
    from hudi_index.metadata_table.view import ViewLoader
    from hudi_index.storage import Storage

__all__ = ["Transaction"]

log = logging.getLogger(__name__)

_NEVER = "9" * 17
"""Later than any instant: stands for a completed time that is not known yet."""


class Transaction:
    """An open commit. As a context manager it aborts when left without `commit`."""

    def __init__(
        self,
        *,
        storage: Storage,
        ledger: Ledger,
        views: ViewLoader,
        view: View,
        grant: Grant,
        renew_every: float | None,
        new_shards: Mapping[str, int] | None = None,
        replaced: Sequence[str] = (),
        plan: bytes | None = None,
    ) -> None:
        self.grant = grant
        self.view = view
        """What the table held when the lease was granted; was loaded after that."""
        if later := _later_of_its_role(self.view, grant):
            # Who was held up may have lost the lease before the table was looked at.
            ledger.check(grant)
            reason = f"gave out {grant.requested_time}, but {later.file_name} is completed"
            raise TimelineCorruptError(path=storage.uri_of(LEDGER), reason=reason)
        self._storage, self._ledger, self._views = storage, ledger, views
        self._new_shards, self._replaced = dict(new_shards or {}), tuple(replaced)
        self._stats: list[WriteStat] = []
        self._is_open = True
        self._stop = Event()
        self._announce(plan)
        if renew_every is not None:
            Thread(target=self._keep_lease, args=(renew_every,), daemon=True).start()

    @property
    def requested_time(self) -> str:
        """The instant of this commit."""
        return self.grant.requested_time

    @property
    def writer(self) -> ShardWriter:
        """Writes files for this commit; may travel to Spark tasks."""
        kept = {
            (name, shard): shard_slice.file_id
            for name, shards in self.view.partitions.items()
            if name not in self._replaced
            for shard, shard_slice in shards.items()
        }
        return ShardWriter(self._storage, self.requested_time, kept)

    def shards_of(self, partition: str) -> int:
        """The number of shards of a partition after this commit."""
        return self._shards(self.view)[partition]

    def add(self, stats: Iterable[WriteStat]) -> None:
        """Take written files into the commit."""
        self._stats.extend(stats)

    def preview(self) -> View:
        """What the table will hold once this is committed with what was added so far."""
        return View.of([*self.view.commits, self._as_commit(self.view, None)])

    def commit(self, data_snapshot: Mapping[str, str] | None = None) -> CompletedInstant:
        """Make everything added visible at once.

        Args:
            data_snapshot: What snapshot of the data table the entries describe now; None leaves it as it was.

        Raises:
            CommitConflictError: The lease was lost; nothing changed.
            StorageError: The storage refused something; all of it may be visible, now or later, or nothing.
        """
        self._check_stats()
        delete_strays(
            self._storage,
            {self.requested_time},
            partitions={stat.partition for stat in self._stats},
            keep={stat.path for stat in self._stats},
        )

        def content(name: str, is_as_begun: bool) -> bytes:  # noqa: FBT001  the ledger's word
            # Without a decision since the lease was given there was no commit either.
            view = self.view if is_as_begun else self._views.load()
            return encode_commit(self._metadata(view, data_snapshot), name=name)

        completed = self._ledger.commit(self.grant, content)
        self._close()
        path = completed_name(self.requested_time, completed, self.grant.action)
        instant = parse_completed(path.rpartition("/")[2])
        assert instant is not None
        log.info("committed %s: %d files", instant.file_name, len(self._stats))
        return instant

    def abort(self) -> None:
        """Give up; what was written is deleted."""
        self._close()
        self._ledger.abort(self.grant)
        remove_dead_instants(self._storage, self._ledger.settle(), self._views.list())

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._is_open:
            return
        self._close()
        if isinstance(error, Exception):
            # Whoever took over deletes our files: what we then stumble over only means that we lost.
            try:
                self._ledger.check(self.grant)
            except CommitConflictError:
                if not self._is_made():
                    raise
                return
        if error is None:
            self.abort()
            return
        # The error that brought us here says more than one met while tidying up.
        with suppress(OSError):
            self.abort()

    def _is_made(self) -> bool:
        """Whether this commit is visible, though whoever made it was told of an error."""
        completed = map(parse_completed, self._views.list())
        return any(each.requested_time == self.requested_time for each in completed if each)

    def _announce(self, plan: bytes | None) -> None:
        action = self.grant.action
        requested, inflight = (name(self.requested_time, action) for name in (requested_name, inflight_name))
        text = f"commitTime={self.requested_time}\npartitionDepth=1\n".encode()
        partitions = {f"{partition}/{PARTITION_METADATA}": text for partition in self._new_shards}

        def announce(file: tuple[str, bytes]) -> None:
            path, content = file
            if path == inflight:
                self._storage.write(path, content)
            elif path == requested:
                # In one step: Hudi's readers parse a pending compaction's plan, and fail on half of one.
                self._storage.create(path, content)
            else:
                with suppress(FileExistsError):
                    self._storage.create(path, content)

        files = {requested: requested_content(action), inflight: b"", **partitions}
        if plan is not None:
            # First: who sees that a compaction runs reads its plan.
            announce((requested, plan))
            del files[requested]
        each_of(announce, files.items(), is_local=self._storage.is_local)

    def _keep_lease(self, seconds: float) -> None:
        while not self._stop.wait(seconds):
            try:
                self._ledger.renew(self.grant)
            except ConflictError:
                return  # `commit` finds out again and says so
            except OSError:
                log.warning("the lease of %s could not be renewed, trying again", self.requested_time)

    def _close(self) -> None:
        self._is_open = False
        self._stop.set()

    def _shards(self, view: View) -> dict[str, int]:
        kept = {name: count for name, count in view.state.shards.items() if name not in self._replaced}
        return kept | self._new_shards

    def _as_commit(self, view: View, data_snapshot: Mapping[str, str] | None) -> Commit:
        state = TableState(
            self._shards(view), view.state.data_snapshot if data_snapshot is None else data_snapshot
        )
        gone = {
            name: [shard_slice.file_id for shard_slice in self.view.slices(name)] for name in self._replaced
        }
        metadata = CommitMetadata(self.grant.action, state, tuple(self._stats), gone)
        return Commit(CompletedInstant(_NEVER, self.requested_time, self.grant.action), metadata)

    def _metadata(self, view: View, data_snapshot: Mapping[str, str] | None) -> CommitMetadata:
        this = self._as_commit(view, data_snapshot)
        needed = View.of([*view.commits, this]).needed - {self.requested_time}
        return replace(this.metadata, state=replace(this.metadata.state, needed=sorted(needed)))

    def _check_stats(self) -> None:
        shards = self._shards(self.view)
        seen = set()
        for stat in self._stats:
            if stat.partition not in shards:
                raise ValueError(f"partition {stat.partition!r} was not announced when the commit began")
            if (shard := (stat.partition, stat.file_id)) in seen:
                raise ValueError(f"two files for {stat.partition}/{stat.file_id} in one commit")
            seen.add(shard)


def _later_of_its_role(view: View, grant: Grant) -> CompletedInstant | None:
    """A commit that can't be later than a lease of its own role. Those of the other role run beside it."""
    is_compaction = grant.action == COMPACTION
    for commit in view.commits:
        instant = commit.instant
        is_of_role = (instant.action not in (DELTA_COMMIT, REPLACE_COMMIT)) == is_compaction
        if is_of_role and instant.completed_time >= grant.requested_time:
            return instant
    return None
