"""Each damage, and each verb after it: the right outcome, or an error that names repair."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import Catalog, IndexState
from hudi_index.errors import CorruptError, HudiIndexError
from hudi_index.lifecycle import LocalExecutor
from hudi_index.metadata_table import MetadataTable
from tests.repair.support import Trips
from tests.support.entries import check_indexes


def _commit(trips: Trips) -> Path:
    """The commit that made the indexes."""
    return min((trips.metadata_table / ".hoodie/timeline").glob("*_*"))


def _ledger(trips: Trips) -> list[Path]:
    return sorted((trips.metadata_table / ".hoodie/ledger").glob("*.json"))


def _data(trips: Trips, partition: str) -> list[Path]:
    view = MetadataTable.of(trips.storage).view()
    return [
        trips.metadata_table / file.path for file_slice in view.slices(partition) for file in file_slice.files
    ]


def _swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def _without_ledger(damage: Callable[[Trips], object]) -> Callable[[Trips], None]:
    """The ledger does not have it either: it has forgotten what is old."""

    def apply(trips: Trips) -> None:
        damage(trips)
        for file in _ledger(trips)[:-1]:
            file.unlink()

    return apply


DAMAGES: dict[str, Callable[[Trips], object]] = {
    "commit truncated": lambda t: _commit(t).write_bytes(_commit(t).read_bytes()[:200]),
    "commit garbage": lambda t: _commit(t).write_bytes(b"garbage"),
    "commit deleted": lambda t: _commit(t).unlink(),
    "commit lost": _without_ledger(lambda t: _commit(t).unlink()),
    "commit garbage, ledger without it": _without_ledger(lambda t: _commit(t).write_bytes(b"\0" * 9)),
    "newest commit garbage": lambda t: t.newest_commit().write_bytes(b"garbage"),
    "newest commit deleted": lambda t: t.newest_commit().unlink(),
    "commits swapped": lambda t: _swap(_commit(t), t.newest_commit()),
    "files deleted": lambda t: _data(t, "files")[0].unlink(),
    "files' folder deleted": lambda t: shutil.rmtree(t.metadata_table / "files"),
    "files swapped": lambda t: _swap(*_data(t, "files")[:2]),
    "files garbage": lambda t: _data(t, "files")[-1].write_bytes(b"garbage"),
    "entries deleted": lambda t: _data(t, "column_stats")[0].unlink(),
    "entries of another index": lambda t: shutil.copy(
        _data(t, "secondary_index_by_n")[0], _data(t, "column_stats")[0]
    ),
    "ledger garbage": lambda t: _ledger(t)[-1].write_bytes(b"garbage"),
    "ledger with stray names": lambda t: (_ledger(t)[0].parent / f"{10**20 - 1}.json").write_text("x"),
    "ledger deleted": lambda t: shutil.rmtree(_ledger(t)[0].parent),
    "history missing": lambda t: shutil.rmtree(t.index_file.parent / "history"),
    "index.json garbage": lambda t: t.index_file.write_text("garbage"),
    "index.json garbage, history missing": lambda t: (
        shutil.rmtree(t.index_file.parent / "history"),
        t.index_file.write_text("garbage"),
    ),
    "newest history garbage, index.json gone": lambda t: (
        max((t.index_file.parent / "history").glob("*.json")).write_text("garbage"),
        t.index_file.unlink(),
    ),
    "properties garbage": lambda t: (t.metadata_table / ".hoodie/hoodie.properties").write_text("x"),
    "properties deleted": lambda t: (t.metadata_table / ".hoodie/hoodie.properties").unlink(),
    "metadata table deleted": lambda t: shutil.rmtree(t.metadata_table),
    "a file for the metadata table": lambda t: (
        shutil.rmtree(t.metadata_table),
        t.metadata_table.write_text("x"),
    ),
    "a file for the timeline": lambda t: (
        shutil.rmtree(t.metadata_table / ".hoodie/timeline"),
        (t.metadata_table / ".hoodie/timeline").write_text("x"),
    ),
    "a file for everything": lambda t: (
        shutil.rmtree(t.index_file.parent),
        t.index_file.parent.write_text("x"),
    ),
}
LOSES_DEFINITIONS = {"a file for everything"}
VERBS: dict[str, Callable[[IndexedTable], object]] = {
    "status": lambda table: table.status(),
    "maintain": lambda table: table.maintain(),
    "compact": lambda table: table.compact(force=True),
    "create": lambda table: table.sql("CREATE INDEX by_region ON t (region)"),
    "rebuild": lambda table: table.sql("REBUILD INDEX by_n ON t"),
    "drop": lambda table: table.drop("by_n"),
    "repair": lambda table: table.repair(),
}
ALWAYS_WORK = {"rebuild", "drop", "repair"}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Trips:
    """Base files, logs, and a change that no index describes yet."""
    trips = Trips(tmp_path_factory.mktemp("tables") / "t")
    trips.table.create_all(["CREATE INDEX by_n ON t (n)", "CREATE INDEX st ON t USING column_stats (n)"])
    trips.change({"a": (4, "u")})
    trips.table.maintain()
    trips.change({"a": (5, "v")})
    trips.table.maintain()
    trips.change({"b": (6, "w")})
    return trips


# Each of these is like another one.
SLOW = {
    "commit truncated",
    "commit garbage, ledger without it",
    "newest commit deleted",
    "files swapped",
    "files' folder deleted",
    "ledger with stray names",
    "properties deleted",
    "index.json garbage",
    "a file for the timeline",
}


@pytest.mark.parametrize(
    "damage",
    [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in DAMAGES],
)
def test_every_verb_after_damage_does_right_or_names_repair(
    damage: str, indexed: Trips, tmp_path: Path
) -> None:
    trips, table = indexed, indexed.table
    for verb, run in VERBS.items():
        trips = indexed.copied(tmp_path / re.sub(r"\W", "-", verb))
        DAMAGES[damage](trips)
        if verb == "status":
            # The copies are alike: what no verb has touched is looked at once.
            _check_queries(trips)
        table = IndexedTable.open(trips.path)
        is_lost = damage in LOSES_DEFINITIONS
        failure = _failure_of(run, table)
        if isinstance(failure, CorruptError):
            assert verb not in ALWAYS_WORK, (verb, failure)
            assert f"hudi-index repair --table {trips.path}" in str(failure), verb
        elif failure is not None:
            # What nothing keeps can't be found.
            assert is_lost, (verb, failure)
            assert "no index 'by_n'" in str(failure), verb
        _check_queries(trips)
        report = IndexedTable.open(trips.path).repair()
        assert report.exit_code == 0, (verb, str(report))
        known = {each.name: each.state for each in table.indexes()}
        assert set(known.values()) <= {IndexState.READY}
        if not is_lost:
            assert ("st" in known, "by_n" in known) == (True, verb != "drop"), verb
            check_indexes(trips.storage)
        assert table.repair(check=True).exit_code == 0
        _check_queries(trips)
    # On the last one, which `repair` alone has mended.
    for again in VERBS.values():
        _run_again(again, table)
    assert {each.state for each in table.indexes()} == {IndexState.READY}
    check_indexes(trips.storage)


def _failure_of(run: Callable[[IndexedTable], object], table: IndexedTable) -> HudiIndexError | None:
    try:
        run(table)
    except HudiIndexError as error:
        return error
    return None


def _run_again(run: Callable[[IndexedTable], object], table: IndexedTable) -> None:
    missing = "by_n" not in {each.name for each in table.indexes()}
    if missing and run in (VERBS["rebuild"], VERBS["drop"]):
        table.sql("CREATE INDEX by_n ON t (n)")
    if run is VERBS["create"]:
        table.drop("by_region", if_exists=True)
    run(table)


def _check_queries(trips: Trips) -> None:
    for number, group in ((5, "a"), (6, "b"), (3, "c")):
        assert group in trips.groups_for(f"n = {number}")
    assert trips.groups_for("n IS NOT NULL") == {"a", "b", "c"}


@pytest.mark.parametrize("verb", ["create", "rebuild", "drop"])
def test_verb_that_fails_leaves_the_state_as_it_was(
    verb: str, indexed: Trips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips = indexed.copied(tmp_path / "t")
    before = {each.name: each.state for each in trips.table.indexes()}

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(LocalExecutor, "run", fail)
    monkeypatch.setattr(MetadataTable, "begin", fail)
    with pytest.raises(MemoryError):
        VERBS[verb](trips.table)
    monkeypatch.undo()
    assert {each.name: each.state for each in trips.table.indexes()} == before
    VERBS[verb](trips.table)
    trips.table.maintain()
    check_indexes(trips.storage)


def test_create_that_fails_after_its_commit_is_done(
    indexed: Trips, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entries are there, of the columns of a shared partition too: nobody else would keep them up."""
    trips = indexed.copied(tmp_path / "t")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Catalog, "change_states", fail)
    with pytest.raises(OSError, match="disk full"):
        trips.sql("CREATE INDEX regions ON t USING column_stats (region)")
    assert {each.state for each in trips.table.indexes()} == {IndexState.READY}
    check_indexes(trips.storage)
