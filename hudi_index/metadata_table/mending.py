"""Makes an index metadata table whole again, as far as its files tell; nobody else writes meanwhile.

    1. Ledger: decisions that are none are set aside. If that took the newest ones, a new decision goes on:
       no lease is open, no instant up to the timeline's latest is given out again.
    2. The lease `repair`, which no other lease lives beside.
    3. Timeline: commits are put back from the ledger, what is no commit is set aside.
    4. If commits are lost for good, all of it is thrown away: first what makes it a table, then its commits,
       newest first, then the rest. At each step readers see an earlier whole state, an error or no table,
       and a repair that begins again goes on from there.
    5. What nobody put there is set aside, dead commits are cleared away.

Each step leaves less damage; none leaves other damage.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from hudi_index.errors import ConflictError, LeaseHeldError
from hudi_index.metadata_table.cleaning import remove_dead_instants
from hudi_index.metadata_table.layout import HUDI_FOLDER, PROPERTIES, TIMELINE, parse_completed
from hudi_index.metadata_table.ledger import REPAIR_ROLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hudi_index.metadata_table.check import TableCheck
    from hudi_index.metadata_table.ledger import Grant, Ledger, WriterId
    from hudi_index.storage import Storage

__all__ = ["mend"]

_RENEWAL = 15.0


def mend(
    found: TableCheck,
    ledger: Ledger,
    owner: WriterId,
    set_aside: Callable[[str], None],
    *,
    again: Callable[[], TableCheck],
) -> TableCheck:
    """Do what a check found; returns that, with what came to light meanwhile."""
    if found.is_whole:
        if found.exists:
            ledger.settle()
        return found
    now = found
    while now.misplaced is not None:
        set_aside(now.misplaced)  # nothing below it could be looked at
        now = again()
    if now.lost_decisions:
        _mend_ledger(now, ledger, set_aside)
    with _alone(ledger, owner) as grant:
        # Looked at again now that nobody writes: what is there now is what is mended.
        now = again()
        _mend_timeline(now, set_aside)
        if now.is_lost:
            _throw_away(now.storage, ledger, grant, set_aside)
            now.storage.replace(PROPERTIES, now.properties)
        else:
            for path in now.strays:
                set_aside(path)
            for path, content in now.rewritten.items():
                if not path.startswith(f"{TIMELINE}/"):
                    _replace(now.storage, path, content, set_aside)
            state = ledger.settle()
            names = [file.name for file in now.storage.list(TIMELINE)]
            remove_dead_instants(now.storage, state, names)
    now.damage = found.damage | now.damage
    now.strays = found.strays | now.strays
    return now


def _mend_ledger(found: TableCheck, ledger: Ledger, set_aside: Callable[[str], None]) -> None:
    commits = found.view.commits if found.view else ()
    completed = {commit.instant.requested_time for commit in commits}
    for held in ledger.open_leases():
        if held.requested_time in completed:
            continue  # the decision that ended it is lost, what it decided is not
        raise LeaseHeldError(
            role=held.role, owner=str(held.owner), until=held.expires.isoformat(timespec="seconds")
        )
    for path in found.bad_decisions:
        set_aside(path)
    ledger.start_over(found.floor)


@contextmanager
def _alone(ledger: Ledger, owner: WriterId) -> Iterator[Grant]:
    grant = ledger.begin(REPAIR_ROLE, "repair", owner)
    stop = Event()

    def renew() -> None:
        while not stop.wait(_RENEWAL):
            try:
                ledger.renew(grant)
            except (ConflictError, OSError):
                return

    Thread(target=renew, daemon=True).start()
    try:
        yield grant
    finally:
        stop.set()
        ledger.abort(grant)


def _mend_timeline(now: TableCheck, set_aside: Callable[[str], None]) -> None:
    restored = {path: data for path, data in now.rewritten.items() if path.startswith(f"{TIMELINE}/")}
    if not now.is_lost:
        for path, content in restored.items():
            _replace(now.storage, path, content, set_aside)
    for path in now.bad_instants:
        if now.is_lost or path not in restored:
            set_aside(path)


def _replace(storage: Storage, path: str, content: bytes, set_aside: Callable[[str], None]) -> None:
    if storage.is_folder(path):
        set_aside(path)
    storage.replace(path, content)


def _throw_away(storage: Storage, ledger: Ledger, grant: Grant, set_aside: Callable[[str], None]) -> None:
    ledger.check(grant)
    set_aside(PROPERTIES)
    instants = [(parse_completed(file.name), file) for file in storage.list(TIMELINE) if not file.is_folder]
    for _, file in sorted(instants, key=lambda each: each[0].completed_time if each[0] else "", reverse=True):
        set_aside(f"{TIMELINE}/{file.name}")
    for file in storage.list():
        if not file.is_folder:
            set_aside(file.name)
        elif file.name != HUDI_FOLDER:
            storage.delete_folder(file.name)
    ledger.forget_before(grant)
