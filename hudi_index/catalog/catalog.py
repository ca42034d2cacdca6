"""Which indexes a table has: load and change, by any number of processes at once, without a lock.

    <table>/.hoodie/.index/index.json                the indexes, for everybody to read
    <table>/.hoodie/.index/history/0000000007.json   what index.json says after the seventh change

A change is a compare-and-swap on the generation number. It reads generation n, makes generation n + 1 from
it, and `Storage.create`s the history file of n + 1. That step is the commit: of all who try for n + 1 one
succeeds, and the others read again and make n + 2. So no change is lost, each was checked against the very
catalog it follows (no two indexes of one name), and nobody waits for anybody: who fails does so because
another one succeeded. There is no claim or lock that a dead process could leave behind.

Then the change is published: index.json is `Storage.replace`d, again and again until it says what the
newest history file says. A publisher that slept may swap an older generation back in; by the same rule it
sees the newer history file afterwards and repairs that. If it dies in between, or died before its swap,
index.json is behind until the next change by anyone.

So a reader does not trust index.json to be the newest: it goes on to history n + 1, n + 2, … until there
is none. An index.json that is damaged counts as none: the newest history file stands in, and the next change
publishes it. Between two commits that end is the same for all, and the numbers below it are never deleted or
rewritten. Hence a reader sees every change committed before it began, and never one older than what it, or
whoever told it to look, has seen before. Tools that read index.json alone see a whole catalog that was
current once, and the current one whenever no changer is at work or has died.

History files stay. Deleting one would free its number for a process that read the generation before it
long ago, whose change would then seem committed and be seen by nobody. They are as rare as DDL, a few
kilobytes each, and say what changed when.

Crash table: before `create`, nothing happened. After it, the change holds, index.json may be behind.
Nothing else is written, save files of `Storage` that it has not moved to their place, which nobody reads.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hudi_index.catalog.snapshot import CatalogSnapshot
from hudi_index.errors import CatalogCorruptError, StateConflictError, StoragePlaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hudi_index.catalog.definition import IndexDefinition, IndexState
    from hudi_index.storage import Storage

__all__ = ["HISTORY", "INDEX_FILE", "Catalog", "generation_of", "history_file"]

INDEX_FILE = ".hoodie/.index/index.json"
HISTORY = ".hoodie/.index/history"
_HISTORY_NAME = re.compile(r"([0-9]{10,15})\.json")


@dataclass(frozen=True)
class Catalog:
    """The indexes of the table at the storage's root."""

    storage: Storage

    def load(self) -> CatalogSnapshot:
        """The newest generation; an empty one if the table never had an index.

        Raises:
            CatalogCorruptError: if a file can't be read. Queries then use no index.
        """
        return self._load()[1]

    def add(self, definition: IndexDefinition) -> IndexDefinition:
        """Add an index and return it as stored, with its id and times.

        Raises:
            IndexExistsError: if the name is taken, in whatever case.
        """
        now = _now()
        stored = replace(definition, id=uuid.uuid4().hex, created_time=now, changed_time=now)
        self._change(lambda current: current.with_added(stored))
        return stored

    def change_state(
        self, name: str, state: IndexState, reason: str | None = None, *, index_id: str | None = None
    ) -> IndexDefinition:
        """Move an index to another state; to the one it is in changes nothing but the reason.

        Args:
            name: the index.
            state: its new state.
            reason: why it is invalid.
            index_id: the id of the index that is meant. Who has worked on it for long must say so, or may
                call ready an index of the same name that was dropped and created meanwhile.

        Raises:
            NoSuchIndexError: if it is gone.
            StateConflictError: if it is another index now, or in a state that doesn't lead there.
        """

        def change(old: IndexDefinition) -> IndexDefinition:
            _check_same(old, index_id, wanted=state.value)
            if not old.state.may_become(state):
                raise StateConflictError(name=old.name, state=old.state.value, wanted=state.value)
            return old.with_state(state, reason)

        return self._change_definition(name, change)

    def remove(self, name: str, *, index_id: str | None = None) -> None:
        """Take an index out.

        Args:
            name: the index.
            index_id: the id of the index that is meant, as for `change_state`.

        Raises:
            NoSuchIndexError: if it is gone.
            StateConflictError: if it is another index now.
        """

        def change(current: CatalogSnapshot) -> CatalogSnapshot:
            _check_same(current.definition_of(name), index_id, wanted="removed")
            return current.without(name)

        self._change(change)

    def renew(self, definition: IndexDefinition) -> IndexDefinition:
        """Put a definition in the place of the one whose id it has, under a new id; returns it as stored.

        In one step: who dies while building an index anew must not lose it.

        Raises:
            NoSuchIndexError: if it is gone.
            StateConflictError: if it is another index now.
        """
        renewed = replace(definition, id=uuid.uuid4().hex)
        return self.put_back(renewed, index_id=definition.id)

    def put_back(self, definition: IndexDefinition, *, index_id: str) -> IndexDefinition:
        """Put a definition, with its own id and state, in the place of the one with `index_id`.

        Raises:
            NoSuchIndexError: if it is gone.
            StateConflictError: if it is another index now.
        """

        def change(old: IndexDefinition) -> IndexDefinition:
            _check_same(old, index_id, wanted=definition.state.value)
            return definition

        return self._change_definition(definition.name, change)

    def recover(
        self,
        lost: Iterable[IndexDefinition],
        judged: Callable[[Iterable[IndexDefinition]], tuple[IndexDefinition, ...]],
    ) -> None:
        """Add definitions that were lost, unless their name is taken, then judge all."""

        def change(current: CatalogSnapshot) -> CatalogSnapshot:
            found = judged((*current, *(each for each in lost if current.find(each.name) is None)))
            return current if found == current.definitions else current.with_definitions(found)

        self._change(change)

    def _change_definition(
        self, name: str, change: Callable[[IndexDefinition], IndexDefinition]
    ) -> IndexDefinition:
        def change_one(current: CatalogSnapshot) -> CatalogSnapshot:
            old = current.definition_of(name)
            new = change(old)
            return current if new == old else current.with_changed(replace(new, changed_time=_now()))

        return self._change(change_one).definition_of(name)

    def _change(self, change: Callable[[CatalogSnapshot], CatalogSnapshot]) -> CatalogSnapshot:
        while True:
            current = self.load()
            changed = change(current)
            if changed is not current:
                try:
                    self.storage.create(history_file(changed.generation), changed.to_bytes())
                except FileExistsError:
                    continue
                except StoragePlaceError as error:
                    reason = "a file stands where a folder should be"
                    raise CatalogCorruptError(path=self.storage.uri_of(HISTORY), reason=reason) from error
            self.publish()
            return changed

    def publish(self) -> None:
        """Make index.json say what the newest generation says."""
        while True:
            published, newest = self._load()
            if published == newest.generation:
                return
            try:
                self.storage.replace(INDEX_FILE, newest.to_bytes())
            except StoragePlaceError as error:
                reason = "is a folder"
                raise CatalogCorruptError(path=self.storage.uri_of(INDEX_FILE), reason=reason) from error

    def _load(self) -> tuple[int, CatalogSnapshot]:
        """The generation of index.json, 0 without one, and the newest snapshot."""
        newest = self._read_published()
        published = newest.generation if newest else 0
        if newest is None:
            # Saves reading the whole history one by one after index.json was deleted.
            newest = self._newest_listed() or CatalogSnapshot()
        while following := self._read_generation(newest.generation + 1):
            newest = following
        return published, newest

    def _read_published(self) -> CatalogSnapshot | None:
        """What index.json says; None if it is not there, or damaged: it is a copy, the history stands in."""
        try:
            return self._read(INDEX_FILE)
        except CatalogCorruptError:
            if self._newest_listed() is None:
                raise
            return None

    def _newest_listed(self) -> CatalogSnapshot | None:
        try:
            listed = self.storage.list(HISTORY)
        except StoragePlaceError as error:
            reason = "is a file where a folder should be"
            raise CatalogCorruptError(path=self.storage.uri_of(HISTORY), reason=reason) from error
        found = (generation_of(file.name) for file in listed)
        newest = max((each for each in found if each is not None), default=None)
        return None if newest is None else self._read_generation(newest)

    def _read_generation(self, generation: int) -> CatalogSnapshot | None:
        path = history_file(generation)
        snapshot = self._read(path)
        if snapshot and snapshot.generation != generation:
            raise CatalogCorruptError(
                path=self.storage.uri_of(path), reason=f"says it is generation {snapshot.generation}"
            )
        return snapshot

    def _read(self, path: str) -> CatalogSnapshot | None:
        try:
            data = self.storage.read(path)
        except FileNotFoundError:
            return None
        except StoragePlaceError as error:
            reason = "is a folder, or below a file"
            raise CatalogCorruptError(path=self.storage.uri_of(path), reason=reason) from error
        return CatalogSnapshot.from_bytes(data, path=self.storage.uri_of(path))


def _check_same(found: IndexDefinition, index_id: str | None, *, wanted: str) -> None:
    if index_id not in (None, found.id):
        raise StateConflictError(name=found.name, state="another index by now", wanted=wanted)


def generation_of(name: str) -> int | None:
    """The generation of a file of the history, None for any other file."""
    match = _HISTORY_NAME.fullmatch(name)
    return int(match[1]) if match else None


def history_file(generation: int) -> str:
    """Path of a generation's file."""
    return f"{HISTORY}/{generation:010d}.json"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
