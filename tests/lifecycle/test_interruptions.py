"""Verbs that meet each other, or that died: no plan loses a row, and the next run makes everything right."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import Catalog, IndexState
from hudi_index.errors import LeaseHeldError
from hudi_index.lifecycle import LocalExecutor
from hudi_index.metadata_table import MetadataTable
from hudi_index.metadata_table.ledger import Ledger
from tests.support.entries import check_indexes, stored_entries
from tests.support.storage import path_of
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INSTANTS = [f"202401{day:02d}000000000" for day in range(1, 9)]


class Trips:
    """Three file groups; each `change` gives one of them other rows."""

    def __init__(self, path: Path) -> None:
        self.files = Fabricated(path, partition_fields="")
        self._instants = iter(INSTANTS)
        self.change({"a": (1, "x"), "b": (2, "y"), "c": (3, "z")})
        self.indexed = IndexedTable.open(path)

    def change(self, groups: dict[str, tuple[int, str]]) -> None:
        instant = next(self._instants)
        self.files.commit(instant)
        for group, (n, region) in groups.items():
            self.files.base_file(
                "",
                group,
                instant,
                [{"id": f"{group}{place}", "n": n, "region": region} for place in range(3)],
            )

    def groups_for(self, predicate: str) -> set[str]:
        plan = IndexedTable(self.indexed.storage).plan(predicate)
        return {file_slice.group.file_id for file_slice in plan.slices}


@pytest.fixture
def trips(tmp_path: Path) -> Trips:
    return Trips(tmp_path / "t")


def _before(patch: pytest.MonkeyPatch, owner: Any, name: str, action: Any) -> None:
    """Let something happen just before a method is called for the first time."""
    original = getattr(owner, name)

    def interrupted(*arguments: Any, **named: Any) -> Any:
        patch.setattr(owner, name, original)
        action()
        return original(*arguments, **named)

    patch.setattr(owner, name, interrupted)


def test_index_that_gets_ready_after_somebody_elses_commit_is_not_asked_until_maintained(
    trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.indexed.sql("CREATE INDEX stats ON t USING column_stats (n)")

    def meanwhile() -> None:
        trips.change({"a": (7, "q")})
        trips.indexed.maintain()

    _before(monkeypatch, Catalog, "change_states", meanwhile)
    trips.indexed.sql("CREATE INDEX by_region ON t (region)")
    assert {each.state for each in trips.indexed.indexes()} == {IndexState.READY}
    assert "a" in trips.groups_for("region = 'q'")
    assert trips.groups_for("n = 7") == {"a"}
    report = trips.indexed.maintain()
    assert report.notes == ["built anew, entries were missing: by_region"]
    assert trips.groups_for("region = 'q'") == {"a"}
    check_indexes(trips.indexed.storage)
    assert trips.indexed.maintain().commit is None


def test_index_dropped_between_a_plans_two_looks_refutes_nothing(
    trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.indexed.sql("CREATE INDEX stats ON t USING column_stats (region)")
    trips.indexed.sql("CREATE INDEX by_n ON t (n)")
    _before(monkeypatch, MetadataTable, "reader", lambda: trips.indexed.drop("by_n"))
    assert "b" in trips.groups_for("n = 2")


def test_index_dropped_and_created_otherwise_between_a_plans_two_looks_refutes_nothing(
    trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.indexed.sql("CREATE INDEX it ON t (n)")

    def meanwhile() -> None:
        trips.indexed.drop("it")
        trips.indexed.sql("CREATE INDEX it ON t (region)")

    _before(monkeypatch, MetadataTable, "reader", meanwhile)
    assert "b" in trips.groups_for("n = 2")


def test_lost_index_metadata_table_refutes_nothing_and_is_built_anew(trips: Trips) -> None:
    trips.indexed.sql("CREATE INDEX by_n ON t (n)")
    trips.indexed.sql("CREATE INDEX stats ON t USING column_stats (n, region)")
    shutil.rmtree(path_of(trips.indexed.storage, MetadataTable.folder))
    assert trips.groups_for("n = 2") == {"a", "b", "c"}
    assert trips.indexed.status().file_groups_uncovered == 3
    assert trips.indexed.maintain().commit
    check_indexes(trips.indexed.storage)
    assert trips.groups_for("n = 2") == {"b"}


def test_create_over_a_dead_ones_entries_in_a_shared_partition_leaves_none_of_them(
    trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.indexed.sql("CREATE INDEX regions ON t USING bitmap (region)")

    def die() -> None:
        raise KeyboardInterrupt

    _before(monkeypatch, Catalog, "change_states", die)
    with pytest.raises(KeyboardInterrupt):
        trips.indexed.sql("CREATE INDEX numbers ON t USING bitmap (n)")
    trips.change({"a": (9, "x")})
    trips.indexed.maintain()
    trips.indexed.sql("CREATE INDEX numbers ON t USING bitmap (n)")
    check_indexes(trips.indexed.storage)
    # The dead one's bitmap said that all rows of `a` have n = 1.
    assert "a" in trips.groups_for("NOT (n = 1) AND region = 'x'")


def test_create_decides_again_if_another_create_made_the_shared_partition_first(
    trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is as well if a dead create had decided its commit: the next writer makes that visible."""
    first = "CREATE INDEX regions ON t USING bitmap (region)"
    _before(monkeypatch, MetadataTable, "begin", lambda: trips.indexed.sql(first))
    trips.indexed.sql("CREATE INDEX numbers ON t USING bitmap (n)")
    assert {each.state for each in trips.indexed.indexes()} == {IndexState.READY}
    check_indexes(trips.indexed.storage)
    assert trips.groups_for("n = 2 AND region = 'y'") == {"b"}


def _die_with_the_commit_decided(monkeypatch: pytest.MonkeyPatch, run: Callable[[], object]) -> None:
    """The ledger has the decision; the file of the timeline is never made."""
    original = Ledger._complete

    def die_before(ledger: Ledger, decision: Any) -> None:
        if decision.completes and not ledger._storage.exists(decision.completes):
            raise KeyboardInterrupt
        original(ledger, decision)

    monkeypatch.setattr(Ledger, "_complete", die_before)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.undo()


@pytest.mark.parametrize(
    "other", [None, "CREATE INDEX numbers ON t USING bitmap (n)"], ids=["alone", "shared"]
)
def test_drop_after_one_that_died_with_its_commit_decided_goes_on(
    other: str | None, trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.indexed.create_all(["CREATE INDEX regions ON t USING bitmap (region)", *([other] if other else [])])
    _die_with_the_commit_decided(monkeypatch, lambda: trips.indexed.drop("regions"))
    IndexedTable.open(trips.indexed.storage.location).drop("regions")
    assert [each.name for each in trips.indexed.indexes()] == (["numbers"] if other else [])
    check_indexes(trips.indexed.storage)


def test_create_after_one_that_died_with_its_commit_decided_starts_over(
    trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = "CREATE INDEX regions ON t USING bitmap (region)"
    _die_with_the_commit_decided(monkeypatch, lambda: trips.indexed.sql(statement))
    trips.indexed.sql(statement)
    assert {each.state for each in trips.indexed.indexes()} == {IndexState.READY}
    check_indexes(trips.indexed.storage)


def test_create_beside_an_invalid_index_of_the_same_column_leaves_none_of_its_entries(trips: Trips) -> None:
    trips.indexed.sql("CREATE INDEX one ON t USING column_stats (n)")
    trips.indexed.sql("CREATE INDEX other ON t USING column_stats (region)")
    Catalog(trips.indexed.storage).change_state("one", IndexState.INVALID, "seen to be wrong")
    instant = next(trips._instants)
    trips.files.commit(instant, "replacecommit", replaced={"": ["a"]})
    trips.indexed.maintain()
    assert any(key.startswith("n$") and key.endswith("$a") for key in _stats(trips))
    trips.indexed.sql("CREATE INDEX two ON t USING column_stats (n)")
    check_indexes(trips.indexed.storage)


def _stats(trips: Trips) -> set[str]:
    return set(stored_entries(trips.indexed.storage)["column_stats"])


def test_rebuild_refused_for_another_writer_leaves_the_index_in_service(trips: Trips) -> None:
    trips.indexed.sql("CREATE INDEX by_n ON t (n)")
    with MetadataTable.of(trips.indexed.storage).begin(), pytest.raises(LeaseHeldError):
        trips.indexed.sql("REBUILD INDEX by_n ON t")
    assert trips.groups_for("n = 2") == {"b"}


def test_rebuild_that_died_is_not_asked_and_starts_over(
    trips: Trips, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.indexed.sql("CREATE INDEX by_n ON t (n)")

    def die() -> None:
        raise KeyboardInterrupt

    _before(monkeypatch, LocalExecutor, "run", die)
    with pytest.raises(KeyboardInterrupt):
        trips.indexed.sql("REBUILD INDEX by_n ON t")
    assert trips.groups_for("n = 2") == {"a", "b", "c"}
    trips.indexed.sql("REBUILD INDEX by_n ON t")
    assert trips.groups_for("n = 2") == {"b"}
    check_indexes(trips.indexed.storage)


def test_query_that_began_before_drop_and_clean_finishes_on_its_snapshot(trips: Trips) -> None:
    trips.indexed.sql("CREATE INDEX by_n ON t (n)")
    reader = MetadataTable.of(trips.indexed.storage).reader()
    trips.indexed.drop("by_n")
    trips.indexed.compact(force=True)
    MetadataTable.of(trips.indexed.storage).clean()
    found = reader.scan("secondary_index_by_n").read_all()
    assert found.num_rows == 9
    assert "secondary_index_by_n" not in stored_entries(trips.indexed.storage)


def test_table_whose_file_groups_all_went_away_is_indexed_from_nothing(trips: Trips) -> None:
    trips.indexed.sql("CREATE INDEX by_n ON t (n)")
    trips.indexed.sql("CREATE INDEX stats ON t USING column_stats (n)")
    trips.files.commit(next(trips._instants), "replacecommit", replaced={"": ["a", "b", "c"]})
    trips.change({"d": (2, "y"), "e": (4, "y")})
    report = trips.indexed.maintain()
    assert report.notes == ["none of the indexed file groups is left: all indexes were built anew"]
    assert report.rows_read == 6  # of the old slices nothing
    assert trips.groups_for("n = 2") == {"d"}
    check_indexes(trips.indexed.storage)
