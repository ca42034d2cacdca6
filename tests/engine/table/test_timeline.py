from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_index.errors import TableFileError
from hudi_index.table import FileGroupId, TableConfig, Timeline
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path


def timeline_of(table: Fabricated) -> Timeline:
    return Timeline.load(table.storage, TableConfig.load(table.storage))


@pytest.mark.parametrize("version", [6, 8, 9])
def test_completed_and_pending_instants_are_told_apart(tmp_path: Path, version: int) -> None:
    table = Fabricated(tmp_path, version=version)
    folder = table.timeline_folder
    table.commit("20240101000000000", completed="20240101000001000")
    table.commit("20240102000000000", "deltacommit", completed="20240102000001000")
    table.commit("20240102000000000", "clean", completed="20240102000001001")
    for name in (
        "20240101000000000.commit.requested",
        "20240101000000000.inflight",
        "20240103000000000.deltacommit.requested",
        "20240103000000000.deltacommit.inflight",
        "20240104000000000.compaction.requested",
        "20240105000000000.commit.requested",
        "20240105000000000.inflight",
        ".20240101000000000.commit.crc",
        "hoodie.properties.backup",
    ):
        table.write(f"{folder}/{name}")
    timeline = timeline_of(table)
    assert [(i.requested_time, i.action) for i in timeline.commits] == [
        ("20240101000000000", "commit"),
        ("20240102000000000", "deltacommit"),
    ]
    assert timeline.latest_commit == timeline.commits[-1]
    assert timeline.pending == {
        ("20240103000000000", "deltacommit"),
        ("20240104000000000", "compaction"),
        ("20240105000000000", "commit"),
    }
    assert timeline.pending_compactions == {"20240104000000000"}
    assert timeline.is_completed("20240102000000000")
    assert not timeline.is_completed("20240103000000000")
    assert timeline.is_completed("20231231000000000")


def test_latest_completed_is_not_always_the_latest_requested(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    table.commit("20240101000000000", completed="20240109000000000")
    table.commit("20240102000000000", completed="20240103000000000")
    timeline = timeline_of(table)
    assert timeline.latest_commit is not None
    assert timeline.latest_completed is not None
    assert timeline.latest_commit.requested_time == "20240102000000000"
    assert timeline.latest_completed.requested_time == "20240101000000000"


def test_version_6_completed_time_is_the_modification_time(tmp_path: Path) -> None:
    table = Fabricated(tmp_path, version=6, properties={"hoodie.table.timeline.timezone": "UTC"})
    table.commit("20240101000000000")
    moment = datetime(2024, 1, 1, 0, 0, 5, 250_000, tzinfo=timezone.utc).timestamp()
    os.utime(tmp_path / ".hoodie/20240101000000000.commit", (moment, moment))
    assert timeline_of(table).commits[0].completed_time == "20240101000005250"


def test_commits_before_a_savepoint_may_still_be_missing(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    table.commit("20240101000000000")
    table.commit("20240101000000000", "savepoint")
    table.commit("20240105000000000")
    # 3 January was archived; 1 January stayed because of its savepoint.
    assert timeline_of(table).is_completed("20240103000000000")


def test_completed_time_of_an_archived_commit_is_in_the_history(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    table.commit("20240105000000000", completed="20240105000001000")
    history = tmp_path / ".hoodie/timeline/history"
    history.mkdir()
    archived = {
        "instantTime": ["20240101000000000"],
        "completionTime": ["20240104000000000"],
        "action": ["x"],
    }
    pq.write_table(pa.table(archived), history / "1_2_0.parquet")
    timeline = timeline_of(table)
    assert timeline.completed_time_of("20240105000000000") == "20240105000001000"
    assert timeline.completed_time_of("20240101000000000") == "20240104000000000"
    assert timeline.completed_time_of("20240102000000000") == "20240102000000000"


@pytest.mark.parametrize("version", [6, 9])
def test_replaced_groups_come_from_replace_commits(tmp_path: Path, version: int) -> None:
    table = Fabricated(tmp_path, version=version)
    table.commit("20240101000000000", "replacecommit", replaced={"eu": ["a", "b"]})
    table.commit("20240103000000000", "replacecommit", replaced={"": ["c"]})
    timeline = timeline_of(table)
    eu = {FileGroupId("eu", "a"): "20240101000000000", FileGroupId("eu", "b"): "20240101000000000"}
    assert timeline.find_replaced_groups("20240102000000000") == eu
    assert timeline.find_replaced_groups() == {**eu, FileGroupId("", "c"): "20240103000000000"}


@pytest.mark.parametrize("data", [b"{", b"Obj\x01 but no Avro", b"[]"])
def test_commit_metadata_that_is_none_is_named(tmp_path: Path, data: bytes) -> None:
    table = Fabricated(tmp_path)
    table.write(".hoodie/timeline/20240101000000000_20240101000001000.replacecommit", data)
    with pytest.raises(TableFileError, match="20240101000001000"):
        timeline_of(table).find_replaced_groups()


@pytest.mark.parametrize("action", ["clean", "rollback", "restore"])
def test_deleting_actions_that_began_since_are_noticed(tmp_path: Path, action: str) -> None:
    table = Fabricated(tmp_path)
    table.commit("20240101000000000")
    table.write(f"{table.timeline_folder}/20240102000000000.{action}.inflight")
    before = timeline_of(table)
    table.commit("20240102000000000", action)
    table.commit("20240103000000000", "deltacommit")
    # It was deleting already when the timeline was read, and only what the timeline no longer needs.
    assert not before.may_lose_files_by(timeline_of(table))
    table.write(f"{table.timeline_folder}/20240104000000000.{action}.requested")
    assert before.may_lose_files_by(timeline_of(table))


def test_completed_restore_whose_begin_is_still_listed_is_not_pending(tmp_path: Path) -> None:
    table = Fabricated(tmp_path / "t")
    table.commit("20240101000000000")
    for suffix in ("requested", "inflight"):
        table.write(f".hoodie/timeline/20240102000000000.restore.{suffix}")
        table.write(f".hoodie/timeline/20240103000000000.rollback.{suffix}")
    table.write(".hoodie/timeline/20240102000000000_20240102000000001.restore")
    timeline = Timeline.load(table.storage, TableConfig.load(table.storage))
    assert timeline.pending == {("20240103000000000", "rollback")}
    assert timeline.has_removed_since("20240105000000000")
