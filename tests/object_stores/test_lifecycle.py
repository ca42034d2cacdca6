"""The whole life of indexes in every object store, beside the same table on a disk."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from tests.support.entries import check_indexes, stored_entries
from tests.support.tables import T1, T2, T3, Fabricated, schema_of

if TYPE_CHECKING:
    from pathlib import Path

    from hudi_index.storage import Storage
    from tests.support.far_stores import StoreRoot

# The first test in a store waits for the program that is fetched or built for it.
pytestmark = pytest.mark.timeout(3600)

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
COLUMNS = schema_of(
    pa.field("id", pa.string(), nullable=False),
    pa.field("n", pa.int32()),
    pa.field("s", pa.string()),
    pa.field("tags", pa.list_(pa.field("element", pa.string()))),
    pa.field("region", pa.string()),
)
STATEMENTS = [
    "CREATE INDEX record_index ON t (id)",
    "CREATE INDEX by_s ON t (s)",
    "CREATE INDEX stats ON t USING column_stats (n, s)",
    "CREATE INDEX blooms ON t USING bloom_filters (id)",
    "CREATE INDEX bits ON t USING bitmap (region)",
    "CREATE INDEX texts ON t USING ngram (s)",
    "CREATE INDEX arrays ON t USING array (tags)",
]
REGIONS = ("eu", "a b%20c", "ä€")
GROUPS = 6
# Whether file groups are passed over that the predicate has nothing to do with, once indexes are fresh.
PREDICATES = {
    "true": False,
    "id = 'k2-7'": True,
    "n BETWEEN 305 AND 311": True,
    "s = 'new 3'": True,
    "s LIKE '%rd 4-1%'": True,
    "array_contains(tags, 'tag5')": True,
    "region = 'eu'": True,
    "n = -1": True,
}


def _rows(group: int, numbers: range, word: str = "word") -> list[dict[str, Any]]:
    return [
        {
            "id": f"k{group}-{number}",
            "n": group * 100 + number,
            "s": f"{word} {group}-{number}" if word == "word" else f"{word} {group}",
            "tags": [f"tag{group}", None] if number % 3 else None,
            "region": _partition(group),
        }
        for number in numbers
    ]


def _partition(group: int) -> str:
    return REGIONS[group % len(REGIONS)]


def _made(path: Path, version: int, table_type: str) -> Fabricated:
    files = Fabricated(path, version=version, table_type=table_type, columns=COLUMNS)
    for group in range(GROUPS):
        files.base_file(_partition(group), f"g{group}", T1, _rows(group, range(20)))
    files.commit(T1, "commit" if table_type == COW else "deltacommit")
    return files


def _upsert(files: Fabricated, group: int, instant: str) -> None:
    """New versions of some rows: in a new base file, or in a log."""
    changed = _rows(group, range(5), "new")
    if files.table_type == COW:
        rows = [*changed, *_rows(group, range(5, 20))]
        files.base_file(_partition(group), f"g{group}", instant, rows)
        files.commit(instant)
    else:
        files.log_of_rows(_partition(group), f"g{group}", T1, instant, changed)
        files.commit(instant, "deltacommit")


def _copy(files: Fabricated, storage: Storage) -> None:
    """Bring what the table has and the store has not; indexes are the store's own."""
    there = {file.name for file in storage.walk()}
    for file in sorted(files.path.rglob("*")):
        path = str(file.relative_to(files.path))
        if file.is_file() and path not in there and not path.startswith(".hoodie/.index/"):
            storage.write(path, file.read_bytes())


def _compare(far: IndexedTable, disk: IndexedTable, *, is_fresh: bool) -> None:
    """Both tables plan, scan and say the same, and have the same entries."""
    for predicate, is_selective in PREDICATES.items():
        ours, plain = far.plan(predicate), disk.plan(predicate)
        assert (ours.kept, ours.total, ours.files) == (plain.kept, plain.total, plain.files), predicate
        assert ours.kept < ours.total or not (is_fresh and is_selective), ours.explain()
        rows = far.scan(predicate).read_all().sort_by("id")
        assert rows == disk.scan(predicate).read_all().sort_by("id")
        assert rows.num_rows or predicate == "n = -1" or not is_fresh
    assert far.status().is_fresh is disk.status().is_fresh is is_fresh
    assert stored_entries(far.storage) == stored_entries(disk.storage)


@pytest.mark.parametrize(
    ("version", "table_type"),
    [
        (6, COW),
        (9, MOR),
        # Each part of these two is in one of the others.
        pytest.param(6, MOR, marks=pytest.mark.slow),
        pytest.param(9, COW, marks=pytest.mark.slow),
    ],
)
def test_whole_life_is_that_on_a_disk(
    far_root: StoreRoot, tmp_path: Path, version: int, table_type: str
) -> None:
    files = _made(tmp_path / "t", version, table_type)
    far = IndexedTable(far_root.storage(f"{uuid.uuid4().hex}/a b"))
    disk = IndexedTable.open(files.path)
    _copy(files, far.storage)
    for table in (far, disk):
        report = table.create_all(STATEMENTS)
        assert (report.file_groups_changed, len(report.indexes)) == (GROUPS, len(STATEMENTS))

    for instant, group in ((T2, 3), (T3, 4)):
        _upsert(files, group, instant)
        _copy(files, far.storage)
        _compare(far, disk, is_fresh=False)
        for table in (far, disk):
            assert table.maintain().file_groups_changed == 1
            assert table.maintain().commit is None
    _compare(far, disk, is_fresh=True)
    check_indexes(far.storage)

    for table in (far, disk):
        assert table.compact(force=True).commit
        validation = table.validate(queries=15, seed=1)
        assert validation.passed, str(validation)
        assert table.repair(check=True).exit_code == 0
    _compare(far, disk, is_fresh=True)

    # By every name it is the same table, with the same indexes.
    path = far.storage.location.removeprefix(far_root.names[0] + "/")
    for number in range(len(far_root.names)):
        other = IndexedTable.open(far_root.location(path, number), far_root.options)
        assert other.plan("s = 'new 3'").kept < GROUPS
        assert other.scan("s = 'new 3'").read_all().num_rows == 5

    for table in (far, disk):
        table.drop("texts")
    assert stored_entries(far.storage) == stored_entries(disk.storage)
    for definition in far.indexes():
        far.drop(definition.name)
    assert far.indexes() == ()
    assert far.scan("s = 'new 4'").read_all().num_rows == 5
