"""One committer at a time: leases, fencing, and what the loser is told."""

from __future__ import annotations

import shutil
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.errors import CommitConflictError, LeaseHeldError, StorageUnreachableError, UserError
from hudi_index.metadata_table import decisions
from hudi_index.metadata_table import ledger as ledger_module
from hudi_index.metadata_table.ledger import WriterId
from hudi_index.metadata_table.table import MetadataTable, Settings
from hudi_index.storage import Storage
from tests.store import operations
from tests.store.support import (
    SETTINGS,
    Change,
    Clock,
    agreed,
    entries_of,
    leftovers,
    open_table,
    ours,
    write_changes,
)
from tests.support.unreachable import refusing

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path, clock: Clock) -> Path:
    path = tmp_path / "mdt"
    open_table(path, clock).create()
    operations.create_partition("files", 1, Change({"a$1": "1"}), as_base=True)(path, clock)
    return path


def test_second_writer_is_told_who_holds_the_lease_and_until_when(path: Path, clock: Clock) -> None:
    with open_table(path, clock, owner="ann").begin() as transaction:
        with pytest.raises(LeaseHeldError) as raised:
            open_table(path, clock, owner="bob").begin()
        assert "ann@elsewhere, process 1" in str(raised.value)
        assert raised.value.until == transaction.grant.expires.isoformat(timespec="seconds")
        transaction.commit()
    with open_table(path, clock, owner="bob").begin() as transaction:
        transaction.commit()


def test_writer_whose_lease_expired_loses_to_the_next(path: Path, clock: Clock) -> None:
    slow = open_table(path, clock, owner="slow").begin()
    write_changes(slow, {"files": Change({"a$1": "slow"})})
    clock.advance(seconds=61)
    with open_table(path, clock, owner="fast").begin() as fast:
        write_changes(fast, {"files": Change({"a$1": "fast"})})
        with pytest.raises(CommitConflictError, match="fast@elsewhere"):
            slow.commit()
        fast.commit()
    with pytest.raises(CommitConflictError):
        slow.commit()
    slow.abort()
    assert agreed(path, clock) == {"files": {"a$1": "fast"}}
    assert not leftovers(path, clock)


def test_a_lease_lost_before_the_table_was_looked_at_is_a_conflict(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = open_table(path, clock, owner="slow")
    listed = slow._views.list

    def late() -> Any:
        monkeypatch.undo()
        clock.advance(seconds=61)
        with open_table(path, clock, owner="fast").begin() as fast:
            write_changes(fast, {"files": Change({"a$1": "fast"})})
            fast.commit()
        return listed()

    monkeypatch.setattr(slow._views, "list", late)
    with pytest.raises(CommitConflictError, match="a later commit"):
        slow.begin()
    assert agreed(path, clock) == {"files": {"a$1": "fast"}}
    assert not leftovers(path, clock)


def test_expired_writer_that_nobody_replaced_still_commits(path: Path, clock: Clock) -> None:
    slow = open_table(path, clock).begin()
    write_changes(slow, {"files": Change({"a$1": "slow"})})
    clock.advance(hours=1)
    slow.commit()
    assert agreed(path, clock) == {"files": {"a$1": "slow"}}


def test_renewed_lease_keeps_others_out(path: Path, clock: Clock) -> None:
    table = open_table(path, clock)
    with table.begin() as transaction:
        clock.advance(seconds=50)
        table._ledger.renew(transaction.grant)
        clock.advance(seconds=50)
        with pytest.raises(LeaseHeldError):
            open_table(path, clock, owner="bob").begin()
        transaction.commit()


def test_lease_of_a_process_that_is_gone_is_free_at_once(path: Path, clock: Clock) -> None:
    dead = WriterId("ann", decisions._host(), 2**22 + 1, "12345")
    MetadataTable(Storage.open(path), SETTINGS, clock=clock, owner=dead, renews_lease=False).begin()
    with open_table(path, clock, owner="bob").begin() as transaction:
        instant = transaction.commit()
    assert open_table(path, clock).view().latest == instant


def test_lease_of_this_living_process_is_not_free(path: Path, clock: Clock) -> None:
    alive = MetadataTable(Storage.open(path), SETTINGS, clock=clock, renews_lease=False)
    with alive.begin(), pytest.raises(LeaseHeldError, match="process"):
        open_table(path, clock, owner="bob").begin()


def test_files_that_a_fenced_writer_writes_late_are_never_seen_and_go_away(path: Path, clock: Clock) -> None:
    slow = open_table(path, clock, owner="slow").begin()
    clock.advance(seconds=61)
    with open_table(path, clock, owner="fast").begin() as fast:
        fast.commit()
    write_changes(slow, {"files": Change({"a$1": "late"})})
    assert agreed(path, clock) == {"files": {"a$1": "1"}}
    clock.advance(minutes=31)
    open_table(path, clock).clean()
    assert not leftovers(path, clock)


def test_exception_in_a_commit_leaves_nothing_behind(path: Path, clock: Clock) -> None:
    def failing() -> None:
        with open_table(path, clock).begin() as transaction:
            write_changes(transaction, {"files": Change({"a$1": "never"})})
            raise RuntimeError("task failed")

    with pytest.raises(RuntimeError, match="task failed"):
        failing()
    assert agreed(path, clock) == {"files": {"a$1": "1"}}
    assert not leftovers(path, clock)
    assert not list((path / ".hoodie/timeline").glob("*.tmp"))
    with open_table(path, clock, owner="bob").begin() as transaction:
        transaction.commit()


def test_stray_file_of_a_task_that_ran_twice_is_not_committed(path: Path, clock: Clock) -> None:
    with open_table(path, clock).begin() as transaction:
        writer = transaction.writer
        first = writer.write_log("files", 0, upserts=entries_of({"a$1": "first"}), write_token="0-0-0")
        writer.write_log("files", 0, upserts=entries_of({"a$1": "second"}), write_token="0-0-1")
        transaction.add([first])
        transaction.commit()
    assert agreed(path, clock) == {"files": {"a$1": "first"}}
    assert not leftovers(path, clock)


def test_instants_only_grow_even_when_the_clock_goes_back(path: Path, clock: Clock) -> None:
    clock.advance(days=1)
    operations.maintain({"files": Change({"a$1": "2"})})(path, clock)
    clock.advance(days=-2)
    operations.maintain({"files": Change({"a$1": "3"})})(path, clock)
    operations.compact()(path, clock)
    operations.maintain({"files": Change({"b$1": "4"})})(path, clock)
    assert agreed(path, clock) == {"files": {"a$1": "3", "b$1": "4"}}
    times = [time for commit in open_table(path, clock).view().commits for time in _times(commit.instant)]
    assert times == sorted(set(times))


def _times(instant: object) -> tuple[str, str]:
    return instant.requested_time, instant.completed_time  # type: ignore[attr-defined]


def test_lease_is_renewed_in_the_background(path: Path) -> None:
    settings = Settings(lease=timedelta(seconds=2))
    table = MetadataTable(Storage.open(path), settings, owner=WriterId("ann", "elsewhere", 1, ""))
    with table.begin() as transaction:
        time.sleep(3)
        with pytest.raises(LeaseHeldError):
            MetadataTable(Storage.open(path), settings, owner=WriterId("bob", "elsewhere", 1, "")).begin()
        transaction.commit()


def test_ledger_forgets_what_is_many_and_old(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_KEPT_DECISIONS", 4)
    for _ in range(5):
        operations.maintain({"files": Change({"a$1": "x"})})(path, clock)
    assert len(list((path / ".hoodie/ledger").glob("*.json"))) == 12
    clock.advance(days=2)
    operations.maintain({"files": Change({"a$1": "y"})})(path, clock)
    assert len(list((path / ".hoodie/ledger").glob("*.json"))) <= 6
    assert agreed(path, clock) == {"files": {"a$1": "y"}}


def test_writer_that_slept_while_the_ledger_forgot_is_told_it_lost(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_KEPT_DECISIONS", 2)
    slow = open_table(path, clock, owner="slow")
    transaction = slow.begin()
    write_changes(transaction, {"files": Change({"a$1": "slow"})})
    clock.advance(days=2)
    for _ in range(4):
        operations.maintain({"files": Change({"a$1": "fast"})})(path, clock)
        clock.advance(days=2)
    # It goes on from its own begin, and so creates a decision with a number that was forgotten.
    tried: list[bool] = []

    def content(_: str, is_as_begun: bool) -> bytes:
        tried.append(is_as_begun)
        return b""

    with pytest.raises(CommitConflictError):
        slow._ledger.commit(transaction.grant, content)
    assert tried == [True]
    assert agreed(path, clock) == {"files": {"a$1": "fast"}}


def test_commit_decided_but_not_yet_visible_is_finished_by_the_next_writer(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = open_table(path, clock, owner="slow")
    transaction = slow.begin()
    write_changes(transaction, {"files": Change({"a$1": "slow", "s$1": "slow"})})
    paused: list[Any] = []
    monkeypatch.setattr(slow._ledger, "_complete", paused.append)
    transaction.commit()
    assert agreed(path, clock) == {"files": {"a$1": "1"}}
    operations.maintain({"files": Change({"a$1": "next"})})(path, clock)
    expected = {"files": {"a$1": "next", "s$1": "slow"}}
    assert agreed(path, clock) == expected
    # The slow one wakes up and finishes too: the same file with the same content, so nothing changes.
    monkeypatch.undo()
    slow._ledger._complete(paused[-1])
    assert agreed(path, clock) == expected


def test_bad_requests_say_what_is_wrong_and_release_the_lease(path: Path, clock: Clock) -> None:
    table = open_table(path, clock)
    with pytest.raises(UserError, match="'files' exists; replace it"):
        table.begin(shards={"files": 2})
    with pytest.raises(UserError, match="no partition 'nope'; partitions: files"):
        table.begin(replaced=["nope"])
    with pytest.raises(UserError, match="at least one shard, not 0"):
        table.begin(shards={"column_stats": 0})
    with pytest.raises(UserError, match="no partition 'nope'"):
        table.compact(partitions=["nope"])
    with table.begin() as transaction:
        transaction.commit()
    assert ours(table) == {"files": {"a$1": "1"}}


def test_commit_reads_nothing_of_the_ledger_while_nobody_else_decides(
    path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table(path, clock)
    transaction = table.begin()
    write_changes(transaction, {"files": Change({"a$1": "mine"})})
    read: list[str] = []
    monkeypatch.setattr(Storage, "read", lambda _, path: read.append(path))
    instant = transaction.commit()
    monkeypatch.undo()
    assert read == []
    assert open_table(path, clock).view().latest == instant


def test_commit_beside_another_ones_stands_on_that_too(path: Path, clock: Clock) -> None:
    """A compaction that completed meanwhile is among the commits that ours says it needs."""
    operations.maintain({"files": Change({"b$1": "2"})})(path, clock)
    table = open_table(path, clock)
    transaction = table.begin()
    write_changes(transaction, {"files": Change({"a$1": "mine"})})
    compacted = open_table(path, clock, owner="compactor").compact(force=True)
    assert compacted
    transaction.commit()
    view = open_table(path, clock).view()
    assert compacted.requested_time in view.state.needed
    assert agreed(path, clock) == {"files": {"a$1": "mine", "b$1": "2"}}


def test_commit_into_a_table_that_is_gone_is_refused_and_leaves_nothing(path: Path, clock: Clock) -> None:
    table = open_table(path, clock)
    transaction = table.begin()
    write_changes(transaction, {"files": Change({"a$1": "mine"})})
    shutil.rmtree(path / ".hoodie")
    with pytest.raises(CommitConflictError):
        transaction.commit()
    assert not list((path / ".hoodie").rglob("*.json"))
    assert not list((path / ".hoodie").rglob("*commit"))


def test_ledger_that_is_kept_sees_another_table_in_its_place(path: Path, clock: Clock) -> None:
    kept = open_table(path, clock, owner="kept")
    for _ in range(3):
        with kept.begin() as transaction:
            transaction.commit()
    shutil.rmtree(path)
    fresh = open_table(path, clock, owner="fresh")
    fresh.create()
    operations.create_partition("files", 1, Change({"n$1": "new"}), as_base=True)(path, clock)
    with kept.begin() as transaction:
        write_changes(transaction, {"files": Change({"m$1": "more"})})
        transaction.commit()
    assert agreed(path, clock) == {"files": {"n$1": "new", "m$1": "more"}}


def test_writer_of_another_boot_with_the_same_name_is_not_taken_for_dead() -> None:
    here = decisions._host()
    name, namespace, boot = here.split("/")
    assert boot
    assert WriterId("ann", here, 2**22 + 1, "12345").is_gone()
    assert not WriterId("ann", f"{name}/{namespace}/{boot[::-1]}x", 2**22 + 1, "12345").is_gone()
    # As an earlier version wrote it: nobody knows which machine that was.
    assert not WriterId("ann", f"{name}/{namespace}", 2**22 + 1, "12345").is_gone()


def test_lease_whose_renewal_can_not_be_read_now_is_not_taken(path: Path, clock: Clock) -> None:
    table = open_table(path, clock)
    with table.begin() as transaction:
        clock.advance(seconds=50)
        table._ledger.renew(transaction.grant)
        clock.advance(seconds=50)
        other = open_table(path, clock, owner="bob")
        with refusing(r"\.lease$", StorageUnreachableError), pytest.raises(StorageUnreachableError):
            other.begin()
        transaction.commit()
