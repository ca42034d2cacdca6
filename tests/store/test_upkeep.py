"""Compaction when due, cleaning after the retention, and what status says of both."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hudi_index.errors import LeaseHeldError
from hudi_index.metadata_table.compaction import DueRule, compact_slice
from hudi_index.metadata_table.table import MetadataTable
from hudi_index.storage import TEMPORARY_SUFFIX, Storage
from tests.store import operations
from tests.store.support import SETTINGS, Change, Clock, agreed, crash_points, open_table, ours
from tests.support.storage import dying_at, only_on_disk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path, clock: Clock) -> Path:
    path = tmp_path / "mdt"
    open_table(path, clock).create()
    many = Change({f"k${place:04d}": str(place) for place in range(500)})
    operations.create_partition("record_index", 2, many, as_base=True)(path, clock)
    operations.create_partition("files", 1, Change({"a$1": "1"}), as_base=False)(path, clock)
    return path


def _data_files(path: Path) -> set[str]:
    return {file.name for file in path.glob("*/*") if file.parent.name != ".hoodie"}


def _with_rule(path: Path, clock: Clock, rule: DueRule) -> MetadataTable:
    return MetadataTable(Storage.open(path), replace(SETTINGS, due=rule), clock=clock)


def test_compaction_is_due_by_log_files_and_says_so(path: Path, clock: Clock) -> None:
    table = _with_rule(path, clock, DueRule(log_files=3))
    for round_ in range(3):
        assert table.compact() is None
        operations.maintain({"record_index": Change({"k$0001": str(round_)})})(path, clock)
    by_name = {status.partition: status for status in table.status()}
    assert by_name["record_index"].due == "3 log files, limit 3"
    assert by_name["record_index"].deepest_log == 3
    assert by_name["files"].due is None
    assert table.compact() is not None
    assert all(status.due is None for status in table.status())
    # `files` was not due: its log stays.
    assert {s.partition: s.log_files for s in table.status()} == {"files": 1, "record_index": 0}


def test_compaction_is_due_by_log_bytes_and_says_so(path: Path, clock: Clock) -> None:
    table = _with_rule(path, clock, DueRule(log_share=0.1, least_bytes=1))
    operations.maintain({"record_index": Change({"k$0001": "x"})})(path, clock)
    due = {status.partition: status.due for status in table.status()}["record_index"]
    assert due is not None
    assert due.endswith("bytes of base, limit 10%")


def test_compaction_of_named_partitions_leaves_others(path: Path, clock: Clock) -> None:
    operations.maintain({"record_index": Change({"k$0001": "x"})})(path, clock)
    table = open_table(path, clock)
    table.compact(partitions=["files"], force=True)
    assert {s.partition: s.log_files for s in table.status()} == {"files": 0, "record_index": 1}
    assert agreed(path, clock)["record_index"]["k$0001"] == "x"


def test_second_compaction_is_refused_while_one_runs(path: Path, clock: Clock) -> None:
    begun = open_table(path, clock).begin_compaction(force=True)
    assert begun
    with pytest.raises(LeaseHeldError, match="the compaction lease is held by one@elsewhere"):
        open_table(path, clock, owner="other").compact(force=True)
    begun[0].abort()
    assert open_table(path, clock, owner="other").compact(force=True)


def test_partition_dropped_while_it_is_compacted_stays_dropped(path: Path, clock: Clock) -> None:
    begun = open_table(path, clock, owner="compactor").begin_compaction(force=True)
    assert begun
    compaction, slices = begun
    operations.drop_partition("files")(path, clock)
    compaction.add([compact_slice(compaction.writer, shard_slice) for shard_slice in slices])
    compaction.commit()
    assert set(agreed(path, clock)) == {"record_index"}
    clock.advance(hours=2)
    open_table(path, clock).clean()
    assert set(agreed(path, clock)) == {"record_index"}
    assert not [file for file in (path / "files").iterdir() if "files-0000" in file.name]


def test_cleaning_keeps_superseded_files_for_the_retention(path: Path, clock: Clock) -> None:
    operations.maintain({"record_index": Change({"k$0001": "x"})})(path, clock)
    before = _data_files(path)
    reader = open_table(path, clock).reader()
    open_table(path, clock).compact(force=True)
    clock.advance(minutes=29)
    assert open_table(path, clock).clean() == 0
    assert before <= _data_files(path)
    assert reader.scan("record_index").read_all().num_rows == 500
    clock.advance(minutes=2)
    assert open_table(path, clock).clean() > 0
    assert not (before & _data_files(path)) - {".hoodie_partition_metadata"} - _live(path, clock)
    assert len(agreed(path, clock)["record_index"]) == 500


def _live(path: Path, clock: Clock) -> set[str]:
    return {live.partition("/")[2] for live in open_table(path, clock).view().live_paths}


def test_retention_counts_from_when_a_file_was_superseded(path: Path, clock: Clock) -> None:
    clock.advance(days=30)
    operations.maintain({"record_index": Change({"k$0001": "x"})})(path, clock)
    open_table(path, clock).compact(force=True)  # supersedes a base file that is a month old
    assert open_table(path, clock).clean() == 0
    # Superseding it again and again must not keep it for ever.
    for _ in range(3):
        clock.advance(minutes=15)
        operations.maintain({"record_index": Change({"k$0001": "y"})})(path, clock)
        open_table(path, clock).compact(force=True)
    assert len(_data_files(path)) < 12


def test_timeline_stays_short_over_many_commits(path: Path, clock: Clock) -> None:
    for round_ in range(40):
        operations.maintain({"record_index": Change({f"k${round_:04d}": "x"})})(path, clock)
        if round_ % 5 == 4:
            open_table(path, clock).compact(force=True)
        clock.advance(minutes=20)
    clock.advance(hours=1)
    open_table(path, clock).clean()
    assert len(list((path / ".hoodie/timeline").iterdir())) <= 12
    assert len(agreed(path, clock)["record_index"]) == 500


def test_replaced_partition_stays_gone_when_its_history_is_forgotten(path: Path, clock: Clock) -> None:
    operations.rebuild_partition("record_index", 1, Change({"new$1": "1"}))(path, clock)
    for _ in range(3):
        clock.advance(hours=1)
        open_table(path, clock).clean()
        assert agreed(path, clock) == {"record_index": {"new$1": "1"}, "files": {"a$1": "1"}}
    assert not [name for name in _data_files(path) if "record-index-0001" in name]


def test_data_snapshot_travels_with_every_commit(path: Path, clock: Clock) -> None:
    table = open_table(path, clock)
    with table.begin() as transaction:
        transaction.commit({"instant": "20261101000000000", "table": "trips"})
    table.compact(force=True)
    assert table.view().state.data_snapshot == {"instant": "20261101000000000", "table": "trips"}
    assert dict(table.view().state.shards) == {"record_index": 2, "files": 1}


def test_table_of_a_data_table_lives_in_its_index_folder(tmp_path: Path) -> None:
    table = MetadataTable.of(Storage.open(tmp_path))
    assert not table.exists()
    table.create()
    table.create()
    assert table.exists()
    assert (tmp_path / ".hoodie/.index/mdt/.hoodie/hoodie.properties").exists()
    assert ours(table) == {}


def _temporaries(path: Path) -> list[Path]:
    return sorted(path.rglob(f".*{TEMPORARY_SUFFIX}"))


@only_on_disk("an object store has no temporary files")
def test_cleaning_deletes_temporary_files_of_processes_that_died(path: Path, clock: Clock) -> None:
    work = operations.maintain({"record_index": Change({"k$0001": "x"})})
    content = agreed(path, clock)
    found = set()
    for point in range(crash_points(path, clock, work)):
        copy = path.with_name(f"died-{point}")
        shutil.copytree(path, copy)
        with dying_at(point):
            work(copy, replace(clock))
        found |= {file.parent.relative_to(copy).as_posix() for file in _temporaries(copy)}
        for file in _temporaries(copy):
            # The file system's clock is not the one that the test turns.
            os.utime(file, (clock.now.timestamp(), clock.now.timestamp()))

        later = replace(clock)
        later.advance(minutes=10)
        is_left = bool(_temporaries(copy))
        open_table(copy, later, owner="next").clean()
        assert bool(_temporaries(copy)) is is_left, "one who lives may need it"
        later.advance(minutes=40)
        open_table(copy, later, owner="next").clean()
        assert _temporaries(copy) == []
        assert agreed(copy, later)["files"] == content["files"]
    assert found == {".hoodie/ledger", ".hoodie/timeline"}
