"""Who may complete a commit: a log of decisions, one create-if-absent file each.

Hudi's rule is that the completed timeline file is the commit. Its name holds two times, so two writers would
create two different files and both succeed. The ledger puts writers in one order first:

    .hoodie/ledger/<n>.json     decision n, made by whoever creates the file; never changed
    .hoodie/ledger/<n>.lease    when the lease that decision n granted expires; renewed by its holder

A decision is `begin` (grants the lease of a role and an instant), `commit` (ends it; holds the whole
completed timeline file) or `abort` (ends it without one). Each holds the state after it, so the newest is
enough to go on. To decide, know the newest decision n, check that the step is allowed in its state, and
create n + 1. If another process created n + 1, start over from that. So each step is checked against exactly
the state it changes, and need not be read anew if it is known already: a commit is tried from the state after
its own `begin`, and only if that is refused has anything to be read.

- One writer per role. `begin` is refused while another's lease lives (LeaseHeldError). Leases of any role
  that expired, or whose process is gone, `begin` fences: the old holder's `commit` is not allowed in any
  later state (CommitConflictError). Expiry needs no exact clock: a wrong clock costs the slower writer its
  work, never correctness.
- Two commits never come from the same parent: `commit` n is created after n - 1 and before n + 1.
- A commit that is decided but has no timeline file yet (its writer died in between) is finished by the next
  process that decides anything. Until then readers see the previous view.
- Times only grow: each step takes an instant later than all before it. So a log that completes after a
  compaction began always has the later time, and Hudi's completion-time slicing gives it to the compaction's
  new slice.

Two roles run beside each other: `maintenance` (delta and replace commits) and `compaction`. A third,
`repair`, makes no commit and runs beside neither.
Old decisions are deleted once they are many and old. A writer that slept through that might create a number a
second time, where nobody looks. So whoever has decided lists the ledger from the decision before on. If there
are just the two, the new one follows what it was checked against. If there are more, the next one has to name
it as its predecessor. Else it is taken back: its number was used before, or the ledger is another one by now.

A process that has seen the newest decision lists from there: numbers only grow, so if that file is still
there nothing before it matters, and if it is the last it need not be read again.
"""

from __future__ import annotations

import json
import logging
import uuid
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

from hudi_index.errors import (
    NOT_DAMAGE,
    CommitConflictError,
    LeaseHeldError,
    StoragePlaceError,
    TimelineCorruptError,
    UnsupportedStorageError,
)
from hudi_index.metadata_table.decisions import (
    Decision,
    Grant,
    LedgerState,
    WriterId,
    decode_decision,
    encode_decision,
)
from hudi_index.metadata_table.layout import (
    LEDGER,
    completed_name,
    decision_number,
    decision_path,
    instant_after,
)
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index.storage import Storage, StoredFile

__all__ = [
    "COMPACTION_ROLE",
    "MAINTENANCE_ROLE",
    "REPAIR_ROLE",
    "Clock",
    "Grant",
    "Ledger",
    "LedgerState",
    "WriterId",
]

log = logging.getLogger(__name__)

MAINTENANCE_ROLE = "maintenance"
COMPACTION_ROLE = "compaction"
REPAIR_ROLE = "repair"
"""Runs beside no other."""

Clock: TypeAlias = "Callable[[], datetime]"

_LONGEST_LEASES = 10

_KEPT_DECISIONS = 100
_KEPT_TIME = timedelta(hours=24)
_AT_ONCE = 32


class Ledger:
    """Reads and extends the decisions of one table."""

    def __init__(
        self,
        storage: Storage,
        *,
        clock: Clock,
        lease: timedelta,
        is_visible: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._storage, self._clock, self._lease = storage, clock, lease
        self._is_visible = is_visible
        """Whether a completed timeline file was seen."""
        self._newest: tuple[StoredFile, Decision] | None = None
        """The newest decision that was seen, with its file: while that is the same, so is what it says."""
        self._visible = ""
        """The id of the newest decision that is known to be visible."""
        self._begun: dict[int, LedgerState] = {}
        """The state after each `begin` that is still open here, by the token it gave."""

    def state(self) -> LedgerState:
        """What holds now."""
        head = self._head()
        return head.state if head else LedgerState()

    def settle(self) -> LedgerState:
        """What holds now, after making sure that every commit decided so far is visible."""
        head = self._settle_head()
        return head.state if head else LedgerState()

    def begin(self, role: str, action: str, owner: WriterId) -> Grant:
        """Take the lease of a role. Raises LeaseHeldError while another process has it."""
        while True:
            state = self.settle()
            alive = {name: held for name, held in state.open.items() if not self._has_ended(held)}
            if held := _in_the_way(role, alive):
                until = self._expiry_of(held).isoformat(timespec="seconds")
                raise LeaseHeldError(role=held.role, owner=str(held.owner), until=until)
            now = self._clock()
            requested = instant_after(state.last_time, now)
            grant = Grant(state.number + 1, role, action, requested, owner, now + self._lease)
            after = replace(state, last_time=requested, open={**alive, role: grant})
            try:
                begun = self._decide(Decision("begin", now, after, state.decision_id))
            except OSError:
                # It may have been given all the same, and would keep this process out while it lives.
                with suppress(OSError, TimelineCorruptError):
                    self.abort(grant)
                raise
            if begun:
                self._begun[grant.token] = begun
                # Not each time: it costs a listing of all.
                if grant.token % max(1, _KEPT_DECISIONS // 4) <= 1:
                    self._forget_old()
                log.debug("%s has the %s lease for %s until %s", owner, role, requested, grant.expires)
                return grant

    def state_after(self, grant: Grant) -> LedgerState:
        """What held when a lease was given by this object, and everything decided until then was visible."""
        return self._begun[grant.token]

    def start_over(self, floor: str) -> None:
        """Decide that no lease is open and that all instants up to `floor` were given out.

        For a ledger that lost its newest decisions: whoever had a lease by them has lost it.
        """
        while True:
            head = self._head()
            state = head.state if head else LedgerState()
            after = replace(state, last_time=max(floor, state.last_time), open={})
            if self._decide(Decision("found", self._clock(), after, state.decision_id)):
                return

    def forget_before(self, grant: Grant) -> None:
        """Delete the decisions before a lease was given: the commits in them are of a table that is gone."""
        self._delete([number for number, _ in self._list() if number < grant.token])

    def open_leases(self) -> list[Grant]:
        """The leases that live, by the newest decision that can be read."""
        for number, _ in reversed(self._list()):
            try:
                state = self._load(number).state
            except (TimelineCorruptError, FileNotFoundError):
                continue
            return [grant for grant in state.open.values() if not self._has_ended(grant)]
        return []

    def commit(self, grant: Grant, content: Callable[[str, bool], bytes]) -> str:
        """Decide that the grant's instant completes, and complete it; returns the completed time.

        Args:
            grant: The lease, which may have been lost.
            content: Is asked, for the file's name, again for each attempt: it may depend on commits that came
                in between. It is told whether none did since the lease was given.
        """
        begun = self._begun.pop(grant.token, None)
        while True:
            state, begun = begun or self._state_for(grant), None
            now = self._clock()
            completed = instant_after(state.last_time, now)
            path = completed_name(grant.requested_time, completed, grant.action)
            after = replace(state, last_time=completed, open=_without(state, grant))
            name = path.rpartition("/")[2]
            data = content(name, state.number == grant.token)
            decision = Decision("commit", now, after, state.decision_id, path, data)
            if decided := self._decide(decision):
                log.debug("decision %d completes %s", decided.number, path)
                self._complete(replace(decision, state=decided))
                return completed

    def abort(self, grant: Grant) -> None:
        """Give the lease back without a commit. Does nothing if it was lost already."""
        self._begun.pop(grant.token, None)
        while True:
            try:
                state = self._state_for(grant)
            except CommitConflictError:
                return
            after = replace(state, open=_without(state, grant))
            if self._decide(Decision("abort", self._clock(), after, state.decision_id)):
                log.debug("the %s lease for %s is given back", grant.role, grant.requested_time)
                return

    def renew(self, grant: Grant) -> None:
        """Push the lease's expiry out. Raises CommitConflictError if it was lost."""
        self._state_for(grant)
        expires = (self._clock() + self._lease).isoformat()
        self._storage.replace(_lease_path(grant), json.dumps({"expires": expires}).encode())
        log.debug("the %s lease for %s is renewed until %s", grant.role, grant.requested_time, expires)

    def check(self, grant: Grant) -> None:
        """Raise CommitConflictError if the lease was lost."""
        self._state_for(grant)

    def _state_for(self, grant: Grant) -> LedgerState:
        state = self.settle()
        current = state.open.get(grant.role)
        # All of it: the same number may have gone to another, if ours was not decided.
        if current != grant:
            winner = str(current.owner) if current else "a later commit"
            raise CommitConflictError(instant=grant.requested_time, winner=winner)
        return state

    def _has_ended(self, grant: Grant) -> bool:
        return grant.owner.is_gone() or self._expiry_of(grant) <= self._clock()

    def _expiry_of(self, grant: Grant) -> datetime:
        try:
            renewed = datetime.fromisoformat(json.loads(self._storage.read(_lease_path(grant)))["expires"])
            # Nobody renews for so long: a damaged file must not keep others out for years.
            if renewed <= self._clock() + _LONGEST_LEASES * self._lease:
                return max(grant.expires, renewed)
        except NOT_DAMAGE:
            raise  # it may be renewed
        except (OSError, ValueError, KeyError, TypeError):
            pass  # never renewed; the lease is a hint, so an unreadable renewal is none
        return grant.expires

    def _list(self, since: int = 0) -> list[tuple[int, StoredFile]]:
        """The decisions from a number on, in order."""
        before = decision_path(since - 1).rpartition("/")[2] if since > 0 else None
        try:
            listed = self._storage.list(LEDGER, before)
        except StoragePlaceError as error:
            reason = "is a file where a folder should be"
            raise TimelineCorruptError(path=self._storage.uri_of(LEDGER), reason=reason) from error
        found = ((decision_number(file.name), file) for file in listed)
        return [(number, file) for number, file in found if number is not None]

    def _head(self) -> Decision | None:
        while listed := self._list_newest():
            number, file = listed[-1]
            if self._newest and self._newest[0] == file:
                return self._newest[1]
            try:
                found = self._load(number)
            except FileNotFoundError:
                continue  # deleted as old between listing and reading: newer ones exist
            self._newest = (file, found)
            return found
        return None

    def _list_newest(self) -> list[tuple[int, StoredFile]]:
        """The newest decisions: those from the one that is known on, all if that is not there any more."""
        if self._newest:
            file, decision = self._newest
            listed = self._list(decision.state.number)
            if listed and listed[0][1] == file:
                return listed
        return self._list()

    def _settle_head(self) -> Decision | None:
        """The newest decision, after making sure that what it decided is visible."""
        head = self._head()
        if head:
            self._complete(head)
        return head

    def _complete(self, decision: Decision) -> None:
        if not decision.completes or decision.state.decision_id == self._visible:
            return
        if self._is_visible(decision.completes):
            return
        try:
            self._storage.create(decision.completes, decision.content)
        except FileExistsError:
            pass
        except StoragePlaceError as error:
            reason = "a file stands where a folder should be"
            raise TimelineCorruptError(
                path=self._storage.uri_of(decision.completes), reason=reason
            ) from error
        self._visible = decision.state.decision_id

    def _decide(self, decision: Decision) -> LedgerState | None:
        """Create the next decision; returns the state after it, None if another process was first."""
        number = decision.state.number + 1
        state = replace(decision.state, number=number, decision_id=uuid.uuid4().hex)
        made = replace(decision, state=state)
        try:
            self._storage.create(decision_path(number), encode_decision(made))
        except FileExistsError:
            self._check_listed(number, [each for each, _ in self._list(number)])
            return None
        return state if self._is_in_order(made) else None

    def _is_in_order(self, made: Decision) -> bool:
        state = made.state
        listed = self._list(state.number - 1)
        numbers = [number for number, _ in listed]
        if numbers == list(range(max(1, state.number - 1), state.number + 1)):
            self._newest = (listed[-1][1], made)
            return True
        self._check_listed(state.number, numbers)
        try:
            if self._load(state.number + 1).previous == state.decision_id:
                return True
        except FileNotFoundError:
            # Either this number was used and forgotten long ago, or so much followed that our successor was.
            if made.completes and self._storage.exists(made.completes):
                return True
        self._storage.delete(decision_path(state.number))
        return False

    def _check_listed(self, number: int, listed: list[int]) -> None:
        """Refuse a storage that has a decision and does not list it: nobody could tell what holds."""
        if number not in listed and self._storage.exists(decision_path(number)):
            operation, reason = "list a file that was just made", "its listings are not up to date"
            raise UnsupportedStorageError(uri=self._storage.uri, operation=operation, reason=reason)

    def _load(self, number: int) -> Decision:
        path = decision_path(number)
        try:
            content = self._storage.read(path)
        except StoragePlaceError:
            raise TimelineCorruptError(path=self._storage.uri_of(path), reason="is a folder") from None
        return decode_decision(content, number, path=self._storage.uri_of(path))

    def _forget_old(self) -> None:
        numbers = [number for number, _ in self._list()][:-_KEPT_DECISIONS]
        before = instant_after("", self._clock() - _KEPT_TIME)

        def is_old(number: int) -> bool:
            try:
                return self._load(number).state.last_time <= before
            except (TimelineCorruptError, FileNotFoundError):
                return True  # it is behind the newest: nobody else reads it

        while numbers:
            first, numbers = numbers[:_AT_ONCE], numbers[_AT_ONCE:]
            are_old = each_of(is_old, first, is_local=self._storage.is_local)
            old = list(takewhile(bool, are_old))
            self._delete(first[: len(old)])
            if len(old) < len(first):
                return

    def _delete(self, numbers: list[int]) -> None:
        paths = [decision_path(number) for number in numbers]
        self._storage.delete(*paths, *(path.replace(".json", ".lease") for path in paths))


def _in_the_way(role: str, alive: dict[str, Grant]) -> Grant | None:
    """The lease that keeps one for a role from being given."""
    if role == REPAIR_ROLE:
        return next(iter(alive.values()), None)
    return alive.get(role) or alive.get(REPAIR_ROLE)


def _without(state: LedgerState, grant: Grant) -> dict[str, Grant]:
    return {role: held for role, held in state.open.items() if role != grant.role}


def _lease_path(grant: Grant) -> str:
    return f"{LEDGER}/{grant.token:020d}.lease"
