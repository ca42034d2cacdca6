"""The catalog on real files: changes, concurrent changers, crashes at every step, damaged files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from hudi_index.catalog import Catalog, IndexDefinition, IndexState
from hudi_index.catalog.catalog import HISTORY, INDEX_FILE
from hudi_index.catalog.digest import digest_of
from hudi_index.catalog.snapshot import CatalogSnapshot
from hudi_index.errors import (
    CatalogCorruptError,
    IndexExistsError,
    NoSuchIndexError,
    StateConflictError,
)
from hudi_index.storage import Storage
from tests.support.own_processes import OWN_PROCESSES
from tests.support.storage import CrashingStorage, dying_at, points_counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROCESSES = 8
ADDS = 3


def definition(name: str, kind: str = "secondary_index") -> IndexDefinition:
    return IndexDefinition(name, kind, ("city",))


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(Storage.open(tmp_path))


def published(catalog: Catalog) -> CatalogSnapshot:
    return CatalogSnapshot.from_bytes(catalog.storage.read(INDEX_FILE), path=INDEX_FILE)


def names(catalog: Catalog) -> list[str]:
    return [each.name for each in catalog.load()]


def test_load_without_files_finds_no_index_and_writes_nothing(catalog: Catalog, tmp_path: Path) -> None:
    assert catalog.load() == CatalogSnapshot()
    assert list(tmp_path.iterdir()) == []


def test_add_then_load_by_another_finds_the_index(catalog: Catalog, tmp_path: Path) -> None:
    stored = catalog.add(definition("idx_city"))
    loaded = Catalog(Storage.open(tmp_path)).load()
    assert loaded.definitions == (stored,)
    assert loaded.generation == 1
    assert stored.id
    assert stored.created_time == stored.changed_time
    assert stored.state is IndexState.BUILDING


def test_index_file_after_changes_is_readable_and_sorted(catalog: Catalog, tmp_path: Path) -> None:
    for name in ("b", "C", "a"):
        catalog.add(definition(name))
    text = (tmp_path / ".hoodie" / ".index" / "index.json").read_text()
    content = json.loads(text)
    assert [each["name"] for each in content["indexes"]] == ["a", "b", "C"]
    assert content["version"] == 1
    assert "\n  " in text
    assert text.endswith("}\n")


def test_add_of_a_taken_name_in_another_case_refused(catalog: Catalog) -> None:
    catalog.add(definition("Idx"))
    with pytest.raises(IndexExistsError, match="'Idx'"):
        catalog.add(definition("iDX", "bitmap"))
    assert catalog.load().generation == 1


def test_find_in_another_case_gives_the_name_as_written(catalog: Catalog) -> None:
    catalog.add(definition("Idx"))
    assert catalog.load().definition_of("IDX").name == "Idx"


def test_change_state_to_invalid_and_back_keeps_reason_only_then(catalog: Catalog) -> None:
    created = catalog.add(definition("a"))
    assert catalog.change_state("A", IndexState.READY, index_id=created.id).state is IndexState.READY
    invalid = catalog.change_state("a", IndexState.INVALID, "3 rows lost")
    assert (invalid.state, invalid.reason) == (IndexState.INVALID, "3 rows lost")
    assert catalog.load().definition_of("a") == invalid
    assert catalog.change_state("a", IndexState.BUILDING).reason is None


def test_change_state_that_the_lifecycle_lacks_conflicts(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.change_state("a", IndexState.INVALID, "wrong")
    with pytest.raises(StateConflictError, match="is invalid and can't become ready"):
        catalog.change_state("a", IndexState.READY)


def test_change_or_removal_of_a_successor_with_the_same_name_conflicts(catalog: Catalog) -> None:
    first = catalog.add(definition("a"))
    catalog.remove("a")
    second = catalog.add(definition("a"))
    with pytest.raises(StateConflictError):
        catalog.change_state("a", IndexState.READY, index_id=first.id)
    with pytest.raises(StateConflictError):
        catalog.remove("a", index_id=first.id)
    assert catalog.change_state("a", IndexState.READY, index_id=second.id).state is IndexState.READY
    catalog.remove("a", index_id=second.id)
    assert names(catalog) == []


def test_change_to_the_same_state_makes_no_generation(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.change_state("a", IndexState.BUILDING)
    assert catalog.load().generation == 1


def test_change_of_no_index_names_those_there_are(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    changes: list[Callable[[], object]] = [
        lambda: catalog.remove("b"),
        lambda: catalog.change_state("b", IndexState.READY),
    ]
    for change in changes:
        with pytest.raises(NoSuchIndexError, match="indexes: a"):
            change()


def test_remove_leaves_the_others(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.add(definition("b"))
    catalog.remove("A")
    assert names(catalog) == ["b"]


def _add_many(uri: str, process: int) -> None:
    catalog = Catalog(Storage(uri))
    seen = 0
    for number in range(ADDS):
        added = catalog.add(definition(f"i{process}_{number}"))
        catalog.change_state(added.name, IndexState.READY, index_id=added.id)
        catalog.add(definition(f"gone{process}_{number}"))
        catalog.remove(f"gone{process}_{number}")
        snapshot = catalog.load()
        assert snapshot.generation > seen, "went back"
        assert snapshot.definition_of(added.name).state is IndexState.READY, "own change not seen"
        seen = snapshot.generation


def test_changes_by_many_processes_at_once_all_kept(catalog: Catalog) -> None:
    workers = [
        OWN_PROCESSES.Process(target=_add_many, args=(catalog.storage.uri, n)) for n in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=600)
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    expected = sorted(f"i{process}_{number}" for process in range(PROCESSES) for number in range(ADDS))
    assert names(catalog) == expected
    assert all(each.state is IndexState.READY for each in catalog.load())
    assert catalog.load().generation == 4 * PROCESSES * ADDS
    assert published(catalog) == catalog.load()


@dataclass(frozen=True)
class InterruptedStorage(Storage):
    """Lets others act right before its first `create` or `replace`."""

    others: dict[str, Callable[[], object]] = field(default_factory=dict, hash=False)

    def create(self, path: str, data: bytes) -> None:
        self.others.pop("create", lambda: None)()
        super().create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        self.others.pop("replace", lambda: None)()
        super().replace(path, data)


@pytest.mark.parametrize("step", ["create", "replace"])
def test_change_overtaken_by_others_keeps_all_and_publishes_the_newest(catalog: Catalog, step: str) -> None:
    def others() -> None:
        catalog.add(definition("b"))
        catalog.add(definition("c"))

    Catalog(InterruptedStorage(catalog.storage.uri, others={step: others})).add(definition("a"))
    assert names(catalog) == ["a", "b", "c"]
    assert published(catalog) == catalog.load()


def test_add_overtaken_by_one_of_the_same_name_refused(catalog: Catalog) -> None:
    overtaken = InterruptedStorage(
        catalog.storage.uri, others={"create": lambda: catalog.add(definition("A", "bitmap"))}
    )
    with pytest.raises(IndexExistsError):
        Catalog(overtaken).add(definition("a"))
    assert catalog.load().definition_of("a").kind == "bitmap"


CHANGES: dict[str, Callable[[Catalog], object]] = {
    "add": lambda catalog: catalog.add(definition("new")),
    "ready": lambda catalog: catalog.change_state("old", IndexState.READY),
    "remove": lambda catalog: catalog.remove("old"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_crash_at_every_point_leaves_old_or_new_and_later_changes_work(tmp_path: Path, change: str) -> None:
    def crashing(name: str) -> tuple[Catalog, Catalog]:
        catalog = Catalog(Storage.open(tmp_path / name))
        catalog.add(definition("old"))
        return catalog, Catalog(CrashingStorage(catalog.storage.uri))

    with points_counted() as bomb:
        CHANGES[change](crashing("whole")[1])
    outcomes = []
    for point in range(bomb.passed):
        catalog, dying = crashing(str(point))
        before = catalog.load()
        with dying_at(point):
            CHANGES[change](dying)

        after = catalog.load()
        is_committed = after.generation == before.generation + 1
        assert (after == before) is not is_committed
        assert published(catalog).generation <= after.generation
        outcomes.append(is_committed)

        catalog.add(definition("later"))
        assert catalog.load() == published(catalog)
        assert catalog.load().generation == after.generation + 1
        assert {each.key for each in catalog.load()} == {each.key for each in after} | {"later"}
    # Five points of a `create` and five of a `replace`; the link that `create` makes commits.
    assert outcomes == [False] * 3 + [True] * 7


def test_crash_during_the_very_first_change_keeps_it(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path)
    with dying_at(4):
        Catalog(CrashingStorage(storage.uri)).add(definition("a"))
    assert not storage.exists(INDEX_FILE)
    assert names(Catalog(storage)) == ["a"]


def test_index_file_swapped_back_by_a_sleeper_hides_nothing(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    old = catalog.storage.read(INDEX_FILE)
    catalog.add(definition("b"))
    catalog.add(definition("c"))
    catalog.storage.replace(INDEX_FILE, old)
    assert names(catalog) == ["a", "b", "c"]
    catalog.change_state("a", IndexState.BUILDING)
    assert [each.name for each in published(catalog)] == ["a", "b", "c"]


def test_index_file_deleted_found_again_in_the_history(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.add(definition("b"))
    catalog.storage.delete(INDEX_FILE)
    assert names(catalog) == ["a", "b"]


def test_history_deleted_index_file_goes_on(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.storage.delete_folder(HISTORY)
    catalog.add(definition("b"))
    assert names(catalog) == ["a", "b"]
    assert catalog.load().generation == 2


def test_temporary_files_of_the_dead_are_ignored(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.storage.write(f"{HISTORY}/.0000000002.json.0123.tmp", b"{")
    catalog.storage.delete(INDEX_FILE)
    assert names(catalog) == ["a"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 100_000,
        b"{}",
        b'{"version": 2}',
        b'{"version": true, "generation": 1, "indexes": []}',
        b'{"version": 1, "generation": 0, "indexes": []}',
        b'{"version": 1, "generation": "1", "indexes": []}',
        b'{"version": 1, "generation": 1, "indexes": {}}',
        b'{"version": 1, "generation": 1, "indexes": [7]}',
    ],
)
def test_load_of_a_damaged_index_file_names_it(catalog: Catalog, content: bytes) -> None:
    catalog.storage.write(INDEX_FILE, content)
    with pytest.raises(CatalogCorruptError, match=r"\.hoodie/\.index/index\.json: ") as raised:
        catalog.load()
    assert raised.value.path.endswith(INDEX_FILE)


def test_load_of_two_indexes_with_one_name_is_corrupt(catalog: Catalog) -> None:
    indexes = [definition(name).as_dict() for name in ("a", "A")]
    content = {"version": 1, "generation": 1, "indexes": indexes}
    catalog.storage.write(INDEX_FILE, json.dumps(content).encode())
    with pytest.raises(CatalogCorruptError, match="same name"):
        catalog.load()


def test_file_with_a_table_as_earlier_ones_have_is_read(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    facts = {
        name: value
        for name, value in json.loads(catalog.storage.read(INDEX_FILE)).items()
        if name != "digest"
    }
    earlier = {**facts, "table": {}}
    digest = digest_of({name: value for name, value in earlier.items() if name != "about"}, "catalog")
    for path in (INDEX_FILE, f"{HISTORY}/0000000001.json"):
        catalog.storage.write(path, json.dumps({**earlier, "digest": digest}).encode())
    assert names(catalog) == ["a"]
    catalog.storage.write(INDEX_FILE, json.dumps({**earlier, "table": {"a": "b"}, "digest": digest}).encode())
    catalog.storage.delete(f"{HISTORY}/0000000001.json")
    with pytest.raises(CatalogCorruptError, match="changed by other means"):
        catalog.load()
    catalog.storage.write(INDEX_FILE, json.dumps({**earlier, "digest": digest}).encode())
    catalog.add(definition("b"))
    assert "table" not in json.loads(catalog.storage.read(INDEX_FILE))


def test_damaged_index_file_beside_a_whole_history_is_made_anew(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.storage.write(INDEX_FILE, b"{")
    assert names(catalog) == ["a"]
    catalog.add(definition("b"))
    assert [each["name"] for each in json.loads(catalog.storage.read(INDEX_FILE))["indexes"]] == ["a", "b"]


def test_damaged_history_file_is_named(catalog: Catalog) -> None:
    catalog.add(definition("a"))
    catalog.storage.write(f"{HISTORY}/0000000002.json", catalog.storage.read(f"{HISTORY}/0000000001.json"))
    with pytest.raises(CatalogCorruptError, match=r"history/0000000002\.json: says it is generation 1"):
        catalog.load()


def test_snapshot_with_odd_characters_survives_its_file() -> None:
    odd = definition("a").with_state(IndexState.INVALID, 'half \ud800 "quote" ü \x00')
    snapshot = CatalogSnapshot().with_added(odd)
    assert CatalogSnapshot.from_bytes(snapshot.to_bytes(), path="p") == snapshot


def test_several_are_added_and_others_taken_out_in_one_generation(catalog: Catalog) -> None:
    left = catalog.add(definition("left"))
    stored = catalog.add_all([definition("a"), definition("b")], instead_of=[left])
    assert catalog.load() == published(catalog) == CatalogSnapshot(2, tuple(stored))
    again = catalog.add_all([definition("a"), definition("c")], instead_of=stored[:1])
    assert names(catalog) == ["a", "b", "c"]
    assert again[0].id != stored[0].id


def test_several_are_added_or_none(catalog: Catalog) -> None:
    a = catalog.add(definition("a"))
    with pytest.raises(IndexExistsError, match="a"):
        catalog.add_all([definition("new"), definition("A")])
    with pytest.raises(IndexExistsError, match="twice"):
        catalog.add_all([definition("twice"), definition("TWICE")])
    catalog.remove("a")
    other = catalog.add(definition("a"))
    with pytest.raises(StateConflictError, match="another index by now"):
        catalog.add_all([definition("new")], instead_of=[a])
    assert catalog.load().definitions == (other,)


def test_states_of_several_change_in_one_generation_or_not_at_all(catalog: Catalog) -> None:
    stored = catalog.add_all([definition("a"), definition("b")])
    catalog.change_states(stored, IndexState.READY)
    assert [(each.name, each.state) for each in catalog.load()] == [
        ("a", IndexState.READY),
        ("b", IndexState.READY),
    ]
    assert catalog.load().generation == published(catalog).generation == 2
    catalog.change_states(stored, IndexState.READY)
    assert catalog.load().generation == 2
    catalog.remove("b")
    with pytest.raises(NoSuchIndexError):
        catalog.change_states(stored, IndexState.DROPPING)
    assert [each.state for each in catalog.load()] == [IndexState.READY]


def test_catalog_that_is_kept_sees_what_others_change(catalog: Catalog, tmp_path: Path) -> None:
    catalog.add(definition("mine"))
    other = Catalog(Storage.open(tmp_path))
    for name in ("one", "two"):
        other.add(definition(name))
    assert names(catalog) == ["mine", "one", "two"]
    other.remove("one")
    assert names(catalog) == ["mine", "two"]


def test_catalog_that_is_kept_reads_nothing_while_nobody_changes_it(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.add(definition("mine"))
    known = catalog.load()
    read: list[str] = []
    monkeypatch.setattr(Storage, "read", lambda _, path: read.append(path))
    assert catalog.load() is known
    assert read == []


def test_catalog_that_is_kept_sees_that_the_table_was_made_again(catalog: Catalog, tmp_path: Path) -> None:
    """With as many generations as before, or fewer."""
    for name in ("a", "b", "c"):
        catalog.add(definition(name))
    for made in (["x", "y", "z"], ["x"], []):
        catalog.storage.delete_folder(".hoodie")
        other = Catalog(Storage.open(tmp_path))
        for name in made:
            other.add(definition(name))
        assert names(catalog) == made


def test_generation_that_nothing_leads_to_is_none(catalog: Catalog) -> None:
    for name in ("a", "b", "c", "d"):
        catalog.add(definition(name))
    index = catalog.storage.read(f"{HISTORY}/0000000002.json")
    catalog.storage.replace(INDEX_FILE, index)
    catalog.storage.delete(f"{HISTORY}/0000000003.json")
    assert names(Catalog(catalog.storage)) == ["a", "b"]
