from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from hudi_index.table import FileGroupId, Snapshot
from hudi_index.table.listing import list_partitions
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

T1, T2, T3, T4, T5 = (f"2024010{day}000000000" for day in range(1, 6))
Names = dict[tuple[str, str], tuple[str | None, tuple[str, ...]]]


def slices_of(table: Fabricated, as_of: str | None = None) -> Names:
    snapshot = Snapshot.load(table.storage, as_of)
    return {(s.group.partition_path, s.group.file_id): (s.base_file, s.log_files) for s in snapshot.slices}


@pytest.mark.parametrize("version", [6, 9])
def test_latest_committed_base_file_is_current(tmp_path: Path, version: int) -> None:
    table = Fabricated(tmp_path, version=version)
    table.commit(T1)
    table.commit(T2)
    table.write(f"{table.timeline_folder}/{T3}.inflight")
    table.base_file("eu", "a", T1)
    second = table.base_file("eu", "a", T2)
    table.base_file("eu", "a", T3)
    first_of_b = table.base_file("eu/sub", "b", T1)
    table.base_file("us", "c", T3)
    assert slices_of(table) == {("eu", "a"): (second, ()), ("eu/sub", "b"): (first_of_b, ())}
    assert slices_of(table, T1)["eu", "a"][0] != second


def test_only_folders_that_hudi_marked_are_partitions(tmp_path: Path) -> None:
    table = Fabricated(tmp_path)
    table.commit(T1)
    table.base_file("eu", "a", T1)
    table.base_file("elsewhere", "b", T1)
    (tmp_path / "elsewhere/.hoodie_partition_metadata").unlink()
    table.write("eu/notes.txt")
    table.write(f"eu/.a_0-1-2_{T1}.parquet.crc")
    assert list(slices_of(table)) == [("eu", "a")]


def test_unpartitioned_table_is_its_root_folder(tmp_path: Path) -> None:
    table = Fabricated(tmp_path, partition_fields="")
    table.commit(T1)
    name = table.base_file("", "a", T1)
    assert slices_of(table) == {("", "a"): (name, ())}


@pytest.mark.parametrize("version", [6, 9])
def test_replaced_group_is_gone_from_its_replace_commit_on(tmp_path: Path, version: int) -> None:
    table = Fabricated(tmp_path, version=version)
    table.commit(T1)
    table.commit(T2, "replacecommit", replaced={"eu": ["a"]})
    old, new = table.base_file("eu", "a", T1), table.base_file("eu", "b", T2)
    assert slices_of(table) == {("eu", "b"): (new, ())}
    assert slices_of(table, T1) == {("eu", "a"): (old, ())}


def test_version_9_log_belongs_to_the_slice_that_was_current_when_it_completed(tmp_path: Path) -> None:
    table = Fabricated(tmp_path, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T2, "deltacommit", completed="20240102000001000")
    table.commit(T3, "deltacommit", completed="20240104000005000")
    table.commit(T4, "commit", completed="20240104000009000")
    table.base_file("eu", "a", T1)
    table.log_file("eu", "a", T2)
    beside = table.log_file("eu", "a", T3)
    compacted = table.base_file("eu", "a", T4)
    # Requested before the compaction and completed after its request: the compaction did not see it.
    assert slices_of(table) == {("eu", "a"): (compacted, (beside,))}


def test_version_9_uncommitted_and_later_logs_are_left_out(tmp_path: Path) -> None:
    table = Fabricated(tmp_path, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T2, "deltacommit")
    table.commit(T4, "deltacommit")
    table.write(f"{table.timeline_folder}/{T3}.deltacommit.inflight")
    base = table.base_file("eu", "a", T1)
    second = table.log_file("eu", "a", T2)
    table.log_file("eu", "a", T3)
    fourth = table.log_file("eu", "a", T4)
    table.log_file("us", "b", T3)
    assert slices_of(table) == {("eu", "a"): (base, (second, fourth))}
    assert slices_of(table, T3) == {("eu", "a"): (base, (second,))}


@pytest.mark.parametrize("version", [6, 9])
def test_log_only_group_is_a_slice_without_base_file(tmp_path: Path, version: int) -> None:
    table = Fabricated(tmp_path, version=version, table_type="MERGE_ON_READ")
    table.commit(T1, "deltacommit")
    log = table.log_file("eu", "a", T1)
    snapshot = Snapshot.load(table.storage)
    assert slices_of(table) == {("eu", "a"): (None, (log,))}
    assert snapshot.slices[0].base_instant == T1
    assert snapshot.groups[FileGroupId("eu", "a")].size == 1


def test_version_6_pending_compaction_is_read_with_the_slice_before(tmp_path: Path) -> None:
    table = Fabricated(tmp_path, version=6, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T2, "deltacommit")
    table.write(f".hoodie/{T3}.compaction.requested")
    table.commit(T4, "deltacommit")
    base = table.base_file("eu", "a", T1)
    before = table.log_file("eu", "a", T1)
    beside = table.log_file("eu", "a", T3)
    assert slices_of(table) == {("eu", "a"): (base, (before, beside))}
    table.commit(T3, "commit")
    compacted = table.base_file("eu", "a", T3)
    assert slices_of(table) == {("eu", "a"): (compacted, (beside,))}


def test_version_6_log_of_an_unknown_slice_is_left_out(tmp_path: Path) -> None:
    table = Fabricated(tmp_path, version=6, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T3)
    base = table.base_file("eu", "a", T1)
    table.log_file("eu", "a", T2)
    assert slices_of(table) == {("eu", "a"): (base, ())}


def test_version_6_identity_as_of_an_instant_is_not_the_current_one(tmp_path: Path) -> None:
    table = Fabricated(tmp_path, version=6, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T2, "deltacommit")
    table.commit(T4, "deltacommit")
    table.base_file("eu", "a", T1)
    table.log_file("eu", "a", T1)
    table.base_file("eu", "b", T1)
    now, then = Snapshot.load(table.storage), Snapshot.load(table.storage, T2)
    # The log holds records of both delta commits, and only its reader leaves the later ones out.
    assert [s.as_of for s in then.slices] == [T2, None]
    assert [s.identity == now.groups[s.group].identity for s in then.slices] == [False, True]
    assert Snapshot.load(table.storage, T4).slices == now.slices


@pytest.mark.parametrize("version", [6, 9])
def test_slice_under_a_running_delta_commit_has_an_identity_of_its_own(tmp_path: Path, version: int) -> None:
    table = Fabricated(tmp_path, version=version, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T2, "deltacommit")
    table.base_file("eu", "a", T1)
    table.log_file("eu", "a", T1 if version == 6 else T2)
    table.base_file("eu", "b", T1)
    settled = Snapshot.load(table.storage)
    assert settled.slices == Snapshot.load(table.storage).slices
    table.write(f"{table.timeline_folder}/{T3}.deltacommit.requested")
    first, second = Snapshot.load(table.storage), Snapshot.load(table.storage)
    same = [s.identity == second.groups[s.group].identity for s in first.slices]
    assert same == [version == 9, True]


@pytest.mark.parametrize(("version", "is_equal"), [(6, False), (9, True)])
def test_log_rewritten_under_its_old_name_and_size_is_another_slice_in_version_6(
    tmp_path: Path, version: int, *, is_equal: bool
) -> None:
    table = Fabricated(tmp_path, version=version, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T2, "deltacommit")
    table.base_file("eu", "a", T1)
    name = table.log_file("eu", "a", T1 if version == 6 else T2)
    (before,) = Snapshot.load(table.storage).slices
    path = tmp_path / "eu" / name
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime + 60))
    (after,) = Snapshot.load(table.storage).slices
    # Later versions name a log by its delta commit, so nothing else can have its name.
    assert (before.identity == after.identity) is is_equal


def test_both_ways_to_list_find_the_same(tmp_path: Path) -> None:
    table = Fabricated(tmp_path / "t", version=6, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.base_file("eu/day=1", "a", T1)
    table.log_file("eu/day=1", "a", T1, size=7)
    table.base_file("us", "b", T1)
    table.write("us/.b.parquet.crc")
    table.write("no partition/x_0-1-2_1.parquet")
    (tmp_path / "elsewhere").mkdir()
    (table.path / "us" / "empty").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (table.path / "us" / "nowhere").symlink_to(tmp_path / "gone")
    assert list_partitions(table.storage).keys() == {"eu/day=1", "us"}
