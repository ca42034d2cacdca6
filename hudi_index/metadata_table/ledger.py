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

Two roles run beside each other: `maintenance` (delta and replace commits) and `compaction`.
Old decisions are deleted once they are many and old. A writer that slept through that might create a number a
second time, where nobody looks; it notices because the decision after it names another predecessor.
"""

from __future__ import annotations

import base64
import getpass
import json
import os
import socket
import uuid
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hudi_index.errors import CommitConflictError, LeaseHeldError, TimelineCorruptError
from hudi_index.metadata_table.layout import LEDGER, completed_name, instant_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index.storage import Storage

__all__ = ["COMPACTION_ROLE", "MAINTENANCE_ROLE", "Clock", "Grant", "Ledger", "LedgerState", "Owner"]

MAINTENANCE_ROLE = "maintenance"
COMPACTION_ROLE = "compaction"

Clock: TypeAlias = "Callable[[], datetime]"

_KEPT_DECISIONS = 100
_KEPT_TIME = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Owner:
    """A process that writes, told apart from all others."""

    user: str
    host: str
    process: int
    started: str
    """Tells a process from a later one that got the same number."""

    @classmethod
    def this_process(cls) -> Owner:
        """The owner that is us."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # containers run under numbers without a name
            user = str(os.getuid())
        return cls(user, _host(), os.getpid(), _start_of(os.getpid()))

    def is_gone(self) -> bool:
        """Whether the process ran on this host and is no more. False when unknown."""
        return self.host == _host() and self.started != "" and _start_of(self.process) != self.started

    def __str__(self) -> str:
        return f"{self.user}@{self.host.partition('/')[0]}, process {self.process}"


def _host() -> str:
    # Two containers may share a host name; their process numbers live in different namespaces.
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}/{namespace}"


def _start_of(process: int) -> str:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # A zombie (state Z) has ended; only its parent has not noticed.
    return "" if fields[0] == "Z" else fields[19]


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that `begin` gave out."""

    token: int
    role: str
    action: str
    requested_time: str
    owner: Owner
    expires: datetime


@dataclass(frozen=True, slots=True)
class LedgerState:
    """What holds after a decision."""

    number: int = 0
    decision_id: str = ""
    last_time: str = "0" * 17
    """The latest instant given out, as a requested or a completed time."""
    open: dict[str, Grant] = field(default_factory=dict)
    """Leases that have not ended, by role."""

    def is_open(self, requested_time: str) -> bool:
        """Whether the instant may still complete."""
        return any(grant.requested_time == requested_time for grant in self.open.values())


@dataclass(frozen=True, slots=True)
class _Decision:
    """One ledger file: the step, the file it completes if it is a commit, and the state after it."""

    step: str
    at: datetime
    state: LedgerState
    previous: str
    completes: str | None = None
    content: bytes = b""


class Ledger:
    """Reads and extends the decisions of one table."""

    def __init__(self, storage: Storage, *, clock: Clock, lease: timedelta) -> None:
        self._storage, self._clock, self._lease = storage, clock, lease

    def state(self) -> LedgerState:
        """What holds now."""
        head = self._head()
        return head.state if head else LedgerState()

    def settled_state(self) -> LedgerState:
        """What holds now, after making sure that every commit decided so far is visible."""
        head = self._settled_head()
        return head.state if head else LedgerState()

    def begin(self, role: str, action: str, owner: Owner) -> Grant:
        """Take the lease of a role. Raises LeaseHeldError while another process has it."""
        while True:
            state = self.settled_state()
            alive = {name: held for name, held in state.open.items() if not self._has_ended(held)}
            if held := alive.get(role):
                until = self._expiry_of(held).isoformat(timespec="seconds")
                raise LeaseHeldError(role=role, owner=str(held.owner), until=until)
            now = self._clock()
            requested = instant_after(state.last_time, now)
            grant = Grant(state.number + 1, role, action, requested, owner, now + self._lease)
            after = replace(state, last_time=requested, open={**alive, role: grant})
            if self._decide(_Decision("begin", now, after, state.decision_id)):
                self._forget_old()
                return grant

    def commit(self, grant: Grant, content: Callable[[], bytes]) -> str:
        """Decide that the grant's instant completes, and complete it; returns the completed time.

        `content` is asked again for each attempt: it may depend on commits that came in between.
        """
        while True:
            state = self._state_for(grant)
            now = self._clock()
            completed = instant_after(state.last_time, now)
            path = completed_name(grant.requested_time, completed, grant.action)
            after = replace(state, last_time=completed, open=_without(state, grant))
            decision = _Decision("commit", now, after, state.decision_id, path, content())
            if self._decide(decision):
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
            if self._decide(_Decision("abort", self._clock(), after, state.decision_id)):
                return

    def renew(self, grant: Grant) -> None:
        """Push the lease's expiry out. Raises CommitConflictError if it was lost."""
        self._state_for(grant)
        expires = (self._clock() + self._lease).isoformat()
        self._storage.replace(_lease_path(grant), json.dumps({"expires": expires}).encode())

    def check(self, grant: Grant) -> None:
        """Raise CommitConflictError if the lease was lost."""
        self._state_for(grant)

    def _state_for(self, grant: Grant) -> LedgerState:
        state = self.settled_state()
        current = state.open.get(grant.role)
        if current is None or current.token != grant.token:
            winner = str(current.owner) if current else "a later commit"
            raise CommitConflictError(instant=grant.requested_time, winner=winner)
        return state

    def _has_ended(self, grant: Grant) -> bool:
        return grant.owner.is_gone() or self._expiry_of(grant) <= self._clock()

    def _expiry_of(self, grant: Grant) -> datetime:
        try:
            renewed = json.loads(self._storage.read(_lease_path(grant)))["expires"]
            return max(grant.expires, datetime.fromisoformat(renewed))
        except (FileNotFoundError, ValueError, KeyError):
            return grant.expires  # never renewed; the lease is a hint, so an unreadable renewal is none

    def _numbers(self) -> list[int]:
        names = (file.name for file in self._storage.list(LEDGER))
        return sorted(int(stem) for stem, _, kind in (n.partition(".") for n in names) if kind == "json")

    def _head(self) -> _Decision | None:
        while numbers := self._numbers():
            try:
                return self._load(numbers[-1])
            except FileNotFoundError:
                continue  # deleted as old between listing and reading: newer ones exist
        return None

    def _settled_head(self) -> _Decision | None:
        """The newest decision, after making sure that what it decided is visible."""
        head = self._head()
        if head:
            self._complete(head)
        return head

    def _complete(self, decision: _Decision) -> None:
        if decision.completes:
            try:
                self._storage.create(decision.completes, decision.content)
            except FileExistsError:
                return

    def _decide(self, decision: _Decision) -> bool:
        """Create the next decision; False if another process was first."""
        number = decision.state.number + 1
        state = replace(decision.state, number=number, decision_id=uuid.uuid4().hex)
        try:
            self._storage.create(_decision_path(number), _encode(replace(decision, state=state)))
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
        self._storage.delete(_decision_path(state.number))
        return False

    def _load(self, number: int) -> _Decision:
        path = _decision_path(number)
        content = self._storage.read(path)
        try:
            return _decode(json.loads(content))
        except (ValueError, KeyError, TypeError) as error:
            reason = f"not a ledger decision ({error!r})"
            raise TimelineCorruptError(path=self._storage.uri_of(path), reason=reason) from error

    def _forget_old(self) -> None:
        numbers = self._numbers()
        old = instant_after("", self._clock() - _KEPT_TIME)
        for number in numbers[:-_KEPT_DECISIONS]:
            if self._load(number).state.last_time > old:
                return
            self._storage.delete(_decision_path(number))
            self._storage.delete(_decision_path(number).replace(".json", ".lease"))


def _without(state: LedgerState, grant: Grant) -> dict[str, Grant]:
    return {role: held for role, held in state.open.items() if role != grant.role}


def _decision_path(number: int) -> str:
    return f"{LEDGER}/{number:020d}.json"


def _lease_path(grant: Grant) -> str:
    return f"{LEDGER}/{grant.token:020d}.lease"


def _encode(decision: _Decision) -> bytes:
    state = decision.state
    document = {
        "step": decision.step,
        "at": decision.at.isoformat(),
        "number": state.number,
        "id": state.decision_id,
        "previous": decision.previous,
        "last_time": state.last_time,
        "open": [{**asdict(grant), "expires": grant.expires.isoformat()} for grant in state.open.values()],
        "completes": decision.completes,
        "content": base64.b64encode(decision.content).decode(),
    }
    return json.dumps(document, indent=1).encode()


def _decode(document: dict[str, Any]) -> _Decision:
    grants = [
        Grant(
            **{
                **grant,
                "owner": Owner(**grant["owner"]),
                "expires": datetime.fromisoformat(grant["expires"]),
            }
        )
        for grant in document["open"]
    ]
    state = LedgerState(
        document["number"], document["id"], document["last_time"], {grant.role: grant for grant in grants}
    )
    at = datetime.fromisoformat(document["at"]).astimezone(timezone.utc)
    content = base64.b64decode(document["content"])
    return _Decision(document["step"], at, state, document["previous"], document["completes"], content)
