"""A repair that dies anywhere is run again; one that meets a writer waits for it; the dead block nobody."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import Catalog, IndexState
from hudi_index.errors import LeaseHeldError
from hudi_index.lifecycle import LocalExecutor, maintain
from hudi_index.lifecycle import state as state_module
from hudi_index.lifecycle.repair import RepairReport
from hudi_index.metadata_table import MetadataTable
from tests.repair.support import Trips
from tests.repair.test_verbs import DAMAGES, _check_queries
from tests.repair.test_verbs import indexed as indexed
from tests.support.entries import check_indexes
from tests.support.storage import CrashingStorage, dying_at, points_counted

CRASHED = (
    "commit lost",
    "files garbage",
    "entries deleted",
    "ledger garbage",
    "index.json garbage, history missing",
    "newest history garbage, index.json gone",
)
SAMPLED = 5


def _repair(path: Path) -> None:
    IndexedTable(CrashingStorage.open(path)).repair()


def _check_crashes(damage: str, indexed: Trips, tmp_path: Path, sample: Callable[[int], list[int]]) -> None:
    whole = indexed.copied(tmp_path / "whole")
    DAMAGES[damage](whole)
    with points_counted() as bomb:
        _repair(whole.path)
    assert bomb.passed > 10
    for point in sample(bomb.passed):
        trips = indexed.copied(tmp_path / str(point))
        DAMAGES[damage](trips)
        with dying_at(point):
            _repair(trips.path)
        _check_queries(trips)
        # The dead one is this very process, which lives: its lease is let go as after a minute.
        for file in (trips.metadata_table / ".hoodie/ledger").glob("*.json"):
            file.with_suffix(".lease").write_text("{}")
        report = _repair_after_lease(trips)
        assert report.exit_code == 0, point
        assert {each.name for each in trips.table.indexes()} == {"by_n", "st"}
        assert {each.state for each in trips.table.indexes()} == {IndexState.READY}
        check_indexes(trips.storage)
        assert trips.table.repair(check=True).damage == [], point


def _repair_after_lease(trips: Trips) -> RepairReport:
    """As another process on this host would: the one that had the lease is gone."""
    patch = pytest.MonkeyPatch()
    patch.setattr("hudi_index.metadata_table.decisions.WriterId.is_gone", lambda _: True)
    try:
        return trips.table.repair()
    finally:
        patch.undo()


@pytest.mark.parametrize("damage", CRASHED)
def test_repair_that_died_is_run_again(damage: str, indexed: Trips, tmp_path: Path) -> None:
    def sample(points: int) -> list[int]:
        return list(range(hash(damage) % 3, points, max(1, points // SAMPLED)))

    _check_crashes(damage, indexed, tmp_path, sample)


@pytest.mark.slow
@pytest.mark.parametrize("damage", CRASHED)
def test_repair_that_died_at_any_point_is_run_again(damage: str, indexed: Trips, tmp_path: Path) -> None:
    _check_crashes(damage, indexed, tmp_path, lambda points: list(range(points)))


def test_repair_beside_a_writer_is_refused_and_changes_nothing(indexed: Trips, tmp_path: Path) -> None:
    trips = indexed.copied(tmp_path / "t")
    with MetadataTable.of(trips.storage).begin():
        commit = min((trips.metadata_table / ".hoodie/timeline").glob("*_*"))
        commit.write_bytes(b"garbage")
        with pytest.raises(LeaseHeldError):
            trips.table.repair()
        assert commit.read_bytes() == b"garbage"
        commit.unlink()
    assert trips.table.repair().exit_code == 0
    check_indexes(trips.storage)


def test_repair_of_whole_indexes_changes_nothing(indexed: Trips, tmp_path: Path) -> None:
    trips = indexed.copied(tmp_path / "t")
    trips.table.maintain()
    before = _contents(trips)
    report = trips.table.repair()
    assert (report.damage, report.rebuilt, report.kept) == ([], [], ["by_n", "st"])
    assert _contents(trips) == before


def _contents(trips: Trips) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in trips.index_file.parent.rglob("*") if file.is_file()}


def test_check_says_what_is_damaged_and_changes_nothing(indexed: Trips, tmp_path: Path) -> None:
    trips = indexed.copied(tmp_path / "t")
    DAMAGES["entries deleted"](trips)
    before = _contents(trips)
    report = trips.table.repair(check=True)
    (damage,) = report.damage
    assert damage.path.startswith(f"{MetadataTable.folder}/column_stats/")
    assert (damage.reason, damage.remedy) == ("is missing", "column_stats built anew")
    assert report.exit_code == 3
    assert damage.path in str(report)
    assert _contents(trips) == before
    assert trips.table.repair().rebuilt == ["st"]


def test_only_the_damaged_partition_is_built_anew(indexed: Trips, tmp_path: Path) -> None:
    trips = indexed.copied(tmp_path / "t")
    trips.table.maintain()
    view = MetadataTable.of(trips.storage).view()
    kept = [file.path for file_slice in view.slices("secondary_index_by_n") for file in file_slice.files]
    DAMAGES["entries deleted"](trips)
    report = trips.table.repair()
    assert (report.rebuilt, report.kept) == (["st"], ["by_n"])
    view = MetadataTable.of(trips.storage).view()
    assert [
        file.path for file_slice in view.slices("secondary_index_by_n") for file in file_slice.files
    ] == kept


@pytest.mark.parametrize("state", [IndexState.BUILDING, IndexState.DROPPING, IndexState.INVALID])
def test_repair_finishes_what_the_dead_left(state: IndexState, indexed: Trips, tmp_path: Path) -> None:
    trips = indexed.copied(tmp_path / "t")
    reason = "seen to be wrong" if state is IndexState.INVALID else None
    Catalog(trips.storage).change_state("by_n", state, reason)
    report = trips.table.repair()
    assert report.exit_code == 0
    known = {each.name: each.state for each in trips.table.indexes()}
    if state is IndexState.DROPPING:
        assert (known, report.dropped) == ({"st": IndexState.READY}, ["by_n"])
    else:
        assert known == {"by_n": IndexState.READY, "st": IndexState.READY}
        assert "by_n" in report.rebuilt
    check_indexes(trips.storage)


def test_maintain_says_of_an_abandoned_build_that_it_is_not_under_way(
    indexed: Trips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = indexed.copied(tmp_path / "t")
    Catalog(trips.storage).change_state("by_n", IndexState.BUILDING)
    maintain(trips.storage, LocalExecutor())
    assert Catalog(trips.storage).load().definition_of("by_n").state is IndexState.BUILDING
    monkeypatch.setattr(state_module, "_LONG", timedelta(0))
    time.sleep(0.01)
    report = maintain(trips.storage, LocalExecutor())
    assert Catalog(trips.storage).load().definition_of("by_n").state is IndexState.INVALID
    assert any("hudi-index repair" in each for each in report.notes)
    assert trips.table.repair().rebuilt == ["by_n"]
    check_indexes(trips.storage)


@pytest.mark.parametrize("verb", ["compact", "repair"])
def test_temporary_files_of_the_dead_are_deleted_and_young_ones_left(
    verb: str, indexed: Trips, tmp_path: Path
) -> None:
    trips = indexed.copied(tmp_path / "t")
    folders = ["", "history", "mdt", "mdt/files", "mdt/.hoodie", "mdt/.hoodie/ledger", "mdt/.hoodie/timeline"]
    old = (datetime.now(timezone.utc) - timedelta(hours=2)).timestamp()
    places = [trips.index_file.parent / folder for folder in folders]
    for place in places:
        for name in ("old", "young"):
            (place / f".{name}.tmp").write_bytes(b"half")
        os.utime(place / ".old.tmp", (old, old))
    getattr(trips.table, verb)()
    assert [sorted(file.name for file in place.glob(".*.tmp")) for place in places] == [
        [".young.tmp"] for _ in places
    ]
