"""Which indexes a table has: load and change, by any number of processes at once, without a lock.

    <table>/.hoodie/.index/index.json                the indexes, for everybody to read
    <table>/.hoodie/.index/history/0000000007.json   what index.json says after the seventh change

A change is a compare-and-swap on the generation number. It reads generation n, makes generation n + 1 from
it, and `Storage.create`s the history file of n + 1. That step is the commit: of all who try for n + 1 one
succeeds, and the others read again and make n + 2. So no change is lost, each was checked against the very
catalog it follows (no two indexes of one name), and nobody waits for anybody: who fails does so because
another one succeeded. There is no claim or lock that a dead process could leave behind.

Then the change is published: index.json is `Storage.replace`d, and the history is listed once more. If a
newer generation is there, that is published in the same way, until none is. A publisher that slept may swap
an older generation back in; by the same rule it sees the newer history file afterwards and repairs that. If
it dies in between, or died before its swap, index.json is behind until the next change by anyone.

So a reader does not trust index.json to be the newest: it lists the history as well, and reads the newest
file there if index.json is behind it. Both at once, for either order gives the same: whatever was committed
before the reader began is in the listing. A number that nothing leads to from index.json is no generation. An
index.json that is damaged counts as none: the newest history file stands in, and the next change publishes
it. Between two commits that end is the same for all, and the numbers below it are never deleted or rewritten.
Hence a reader sees every change committed before it began, and never one older than what it, or whoever told
it to look, has seen before. Who looks again lists from the generation that it knows: if that file is still
the same one and the last, nothing else is read. Tools that read index.json alone see a whole catalog that was
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
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hudi_index.catalog.snapshot import CatalogSnapshot
from hudi_index.errors import (
    CatalogCorruptError,
    StateConflictError,
    StoragePlaceError,
    UnsupportedStorageError,
)
from hudi_index.side_by_side import side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hudi_index.catalog.definition import IndexDefinition, IndexState
    from hudi_index.storage import Storage, StoredFile

__all__ = ["HISTORY", "INDEX_FILE", "Catalog", "generation_of", "history_file"]

INDEX_FILE = ".hoodie/.index/index.json"
HISTORY = ".hoodie/.index/history"
_HISTORY_NAME = re.compile(r"([0-9]{10,15})\.json")


@dataclass
class Catalog:
    """The indexes of the table at the storage's root; kept, it remembers the generation it saw last."""

    storage: Storage
    _seen: tuple[StoredFile, CatalogSnapshot] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    """The newest file of the history that was listed, and what it says."""

    def load(self) -> CatalogSnapshot:
        """The newest generation; an empty one if the table never had an index.

        Raises:
            CatalogCorruptError: if a file can't be read. Queries then use no index.
        """
        seen = self._seen
        if seen is not None:
            listed = self._list_history(after=seen[1].generation - 1)
            if [file for _, file in listed] == [seen[0]]:
                return seen[1]
        return self._load()[1]

    def add(self, definition: IndexDefinition) -> IndexDefinition:
        """Add an index and return it as stored, with its id and times.

        Raises:
            IndexExistsError: if the name is taken, in whatever case.
        """
        return self.add_all([definition])[0]

    def add_all(
        self, definitions: Iterable[IndexDefinition], *, instead_of: Iterable[IndexDefinition] = ()
    ) -> list[IndexDefinition]:
        """Add several indexes in one step, and take others out; returns those added as they are stored.

        Raises:
            IndexExistsError: if a name is taken, in whatever case.
            NoSuchIndexError: if one to take out is gone.
            StateConflictError: if it is another index now.
        """
        now, gone = _now(), tuple(instead_of)
        stored = [
            replace(each, id=uuid.uuid4().hex, created_time=now, changed_time=now) for each in definitions
        ]

        def change(current: CatalogSnapshot) -> CatalogSnapshot:
            for each in gone:
                _check_same(current.definition_of(each.name), each.id, wanted="removed")
            changed = current
            for each in gone:
                changed = changed.without(each.name)
            for each in stored:
                changed = changed.with_added(each)
            return current.with_definitions(changed)

        self._change(change)
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
            return _moved(old, state, reason)

        return self._change_definition(name, change)

    def change_states(self, definitions: Sequence[IndexDefinition], state: IndexState) -> None:
        """Move several indexes, known by their ids, to another state in one step; all of them or none.

        Raises:
            NoSuchIndexError: if one is gone.
            StateConflictError: if it is another index now, or in a state that doesn't lead there.
        """

        def change(current: CatalogSnapshot) -> CatalogSnapshot:
            now, moved = _now(), {}
            for each in definitions:
                old = current.definition_of(each.name)
                _check_same(old, each.id, wanted=state.value)
                new = _moved(old, state, None)
                if new != old:
                    moved[old.key] = replace(new, changed_time=now)
            return (
                current.with_definitions(moved.get(each.key, each) for each in current) if moved else current
            )

        self._change(change)

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
                    self._check_listed(changed.generation)
                    continue
                except StoragePlaceError as error:
                    reason = "a file stands where a folder should be"
                    raise CatalogCorruptError(path=self.storage.uri_of(HISTORY), reason=reason) from error
                self._publish(changed)
            else:
                self.publish()
            return changed

    def _check_listed(self, generation: int) -> None:
        """Refuse a storage that has a generation and does not list it: it would be tried for ever."""
        listed = [each for each, _ in self._list_history(after=generation - 1)]
        if generation not in listed and self.storage.exists(history_file(generation)):
            operation, reason = "list a file that was just made", "its listings are not up to date"
            raise UnsupportedStorageError(uri=self.storage.uri, operation=operation, reason=reason)

    def publish(self) -> None:
        """Make index.json say what the newest generation says."""
        published, newest = self._load()
        if published != newest.generation:
            self._publish(newest)

    def _publish(self, newest: CatalogSnapshot) -> None:
        while True:
            try:
                self.storage.replace(INDEX_FILE, newest.to_bytes())
            except StoragePlaceError as error:
                reason = "is a folder"
                raise CatalogCorruptError(path=self.storage.uri_of(INDEX_FILE), reason=reason) from error
            # After the swap: whoever committed before it did not see it, so it is on us to see them.
            later = _last_of(newest.generation, self._list_history(after=newest.generation - 1))
            if later is None or later[0] == newest.generation:
                self._seen = (later[1], newest) if later else None
                return
            found = self._read_generation(later[0])
            if found is None:
                return
            newest = found

    def _load(self) -> tuple[int, CatalogSnapshot]:
        """The generation of index.json, 0 without one, and the newest snapshot."""
        published, listed = side_by_side(
            self._read_published, self._list_history, is_local=self.storage.is_local
        )
        if isinstance(published, CatalogCorruptError):
            if not listed:
                raise published
            published = None
        if published is None:
            last = listed[-1] if listed else None
        else:
            last = _last_of(published.generation, listed)
        newest = published or CatalogSnapshot()
        if last is not None and last[0] != newest.generation:
            # Only deleted by hand can it be gone again.
            newest = self._read_generation(last[0]) or newest
        is_listed = last is not None and last[0] == newest.generation
        self._seen = (last[1], newest) if last is not None and is_listed else None
        return published.generation if published else 0, newest

    def _read_published(self) -> CatalogSnapshot | CatalogCorruptError | None:
        """What index.json says; None if it is not there, the error if it is damaged: it is only a copy."""
        try:
            return self._read(INDEX_FILE)
        except CatalogCorruptError as error:
            return error

    def _list_history(self, *, after: int = 0) -> list[tuple[int, StoredFile]]:
        """The files of generations later than one, in order."""
        name = f"{after:010d}.json" if after > 0 else None
        try:
            listed = self.storage.list(HISTORY, name)
        except StoragePlaceError as error:
            reason = "is a file where a folder should be"
            raise CatalogCorruptError(path=self.storage.uri_of(HISTORY), reason=reason) from error
        found = ((generation_of(file.name), file) for file in listed)
        return sorted((each, file) for each, file in found if each is not None and each > after)

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


def _moved(old: IndexDefinition, state: IndexState, reason: str | None) -> IndexDefinition:
    if not old.state.may_become(state):
        raise StateConflictError(name=old.name, state=old.state.value, wanted=state.value)
    return old.with_state(state, reason)


def _last_of(generation: int, listed: list[tuple[int, StoredFile]]) -> tuple[int, StoredFile] | None:
    """The last of the generations that one leads to, itself among them; None if not even that is listed."""
    found = None
    for each, file in listed:
        if each in (generation, generation + 1):
            generation, found = each, (each, file)
    return found


def generation_of(name: str) -> int | None:
    """The generation of a file of the history, None for any other file."""
    match = _HISTORY_NAME.fullmatch(name)
    return int(match[1]) if match else None


def history_file(generation: int) -> str:
    """Path of a generation's file."""
    return f"{HISTORY}/{generation:010d}.json"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
