"""Who may complete a commit: a log of decisions, one create-if-absent file each.

Hudi's rule is that the completed timeline file is the commit. Its name holds two times, so two writers would
create two different files and both succeed. The ledger puts writers in one order first:

    .hoodie/ledger/<n>.json     decision n, made by whoever creates the file; never changed
    .hoodie/ledger/<n>.lease    when the lease that decision n granted expires; renewed by its holder

A decision is `begin` (grants the lease of a role and an instant), `commit` (ends it; holds the whole
completed timeline file) or `abort` (ends it without one). Each holds the state after it, so the newest is
enough to go on. To decide, read the newest decision n, check that the step is allowed in its state, and
create n + 1. If another process created n + 1, start over from that. So each step is checked against exactly
the state it changes:

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
second time, where nobody looks; it notices because the decision after it names another predecessor.
"""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from hudi_index.errors import CommitConflictError, LeaseHeldError, StoragePlaceError, TimelineCorruptError
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index.storage import Storage

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


class Ledger:
    """Reads and extends the decisions of one table."""

    def __init__(self, storage: Storage, *, clock: Clock, lease: timedelta) -> None:
        self._storage, self._clock, self._lease = storage, clock, lease

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
            if self._decide(Decision("begin", now, after, state.decision_id)):
                self._forget_old()
                log.debug("%s has the %s lease for %s until %s", owner, role, requested, grant.expires)
                return grant

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
        for number in self._numbers():
            if number < grant.token:
                self._storage.delete(decision_path(number))
                self._storage.delete(decision_path(number).replace(".json", ".lease"))

    def open_leases(self) -> list[Grant]:
        """The leases that live, by the newest decision that can be read."""
        for number in reversed(self._numbers()):
            try:
                state = self._load(number).state
            except (TimelineCorruptError, FileNotFoundError):
                continue
            return [grant for grant in state.open.values() if not self._has_ended(grant)]
        return []

    def commit(self, grant: Grant, content: Callable[[str], bytes]) -> str:
        """Decide that the grant's instant completes, and complete it; returns the completed time.

        `content` is asked, for the file's name, again for each attempt: it may depend on commits that came
        in between.
        """
        while True:
            state = self._state_for(grant)
            now = self._clock()
            completed = instant_after(state.last_time, now)
            path = completed_name(grant.requested_time, completed, grant.action)
            after = replace(state, last_time=completed, open=_without(state, grant))
            name = path.rpartition("/")[2]
            decision = Decision("commit", now, after, state.decision_id, path, content(name))
            if self._decide(decision):
                log.debug("decision %d completes %s", decision.state.number + 1, path)
                self._complete(decision)
                return completed

    def abort(self, grant: Grant) -> None:
        """Give the lease back without a commit. Does nothing if it was lost already."""
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
        if current is None or current.token != grant.token:
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
        except (OSError, ValueError, KeyError, TypeError):
            pass  # never renewed; the lease is a hint, so an unreadable renewal is none
        return grant.expires

    def _numbers(self) -> list[int]:
        try:
            listed = self._storage.list(LEDGER)
        except StoragePlaceError as error:
            reason = "is a file where a folder should be"
            raise TimelineCorruptError(path=self._storage.uri_of(LEDGER), reason=reason) from error
        found = (decision_number(file.name) for file in listed)
        return sorted(number for number in found if number is not None)

    def _head(self) -> Decision | None:
        while numbers := self._numbers():
            try:
                return self._load(numbers[-1])
            except FileNotFoundError:
                continue  # deleted as old between listing and reading: newer ones exist
        return None

    def _settle_head(self) -> Decision | None:
        """The newest decision, after making sure that what it decided is visible."""
        head = self._head()
        if head:
            self._complete(head)
        return head

    def _complete(self, decision: Decision) -> None:
        if decision.completes:
            try:
                self._storage.create(decision.completes, decision.content)
            except FileExistsError:
                return
            except StoragePlaceError as error:
                reason = "a file stands where a folder should be"
                raise TimelineCorruptError(
                    path=self._storage.uri_of(decision.completes), reason=reason
                ) from error

    def _decide(self, decision: Decision) -> bool:
        """Create the next decision; False if another process was first."""
        number = decision.state.number + 1
        state = replace(decision.state, number=number, decision_id=uuid.uuid4().hex)
        try:
            self._storage.create(decision_path(number), encode_decision(replace(decision, state=state)))
        except FileExistsError:
            return False
        return self._is_in_order(state, decision.completes)

    def _is_in_order(self, state: LedgerState, completes: str | None) -> bool:
        newest = self._numbers()[-1:]
        if newest == [state.number]:
            return True
        try:
            if self._load(state.number + 1).previous == state.decision_id:
                return True
        except FileNotFoundError:
            # Either this number was used and forgotten long ago, or so much followed that our successor was.
            if completes and self._storage.exists(completes):
                return True
        self._storage.delete(decision_path(state.number))
        return False

    def _load(self, number: int) -> Decision:
        path = decision_path(number)
        uri = self._storage.uri_of(path)
        try:
            content = self._storage.read(path)
        except StoragePlaceError:
            raise TimelineCorruptError(path=uri, reason="is a folder") from None
        return decode_decision(content, number, path=uri)

    def _forget_old(self) -> None:
        numbers = self._numbers()
        old = instant_after("", self._clock() - _KEPT_TIME)
        for number in numbers[:-_KEPT_DECISIONS]:
            try:
                if self._load(number).state.last_time > old:
                    return
            except TimelineCorruptError:
                pass  # it is behind the newest: nobody else reads it
            self._storage.delete(decision_path(number))
            self._storage.delete(decision_path(number).replace(".json", ".lease"))


def _in_the_way(role: str, alive: dict[str, Grant]) -> Grant | None:
    """The lease that keeps one for a role from being given."""
    if role == REPAIR_ROLE:
        return next(iter(alive.values()), None)
    return alive.get(role) or alive.get(REPAIR_ROLE)


def _without(state: LedgerState, grant: Grant) -> dict[str, Grant]:
    return {role: held for role, held in state.open.items() if role != grant.role}


def _lease_path(grant: Grant) -> str:
    return f"{LEDGER}/{grant.token:020d}.lease"
