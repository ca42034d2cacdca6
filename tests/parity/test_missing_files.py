"""Files that a real timeline names: each that a reader needs is missed, none that Hudi took away is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index.engine import IndexedTable
from hudi_index.errors import InvalidOptionError, MissingTableFileError
from hudi_index.jobs import Failure
from hudi_index.spark.build.executor import SparkExecutor
from hudi_index.table import Snapshot
from tests.parity.shapes import assert_same, make, snapshot_of
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows

if TYPE_CHECKING:
    from tests.parity.shapes import MakeTable

__all__ = ["make"]

pytestmark = pytest.mark.spark

ONE_VERSION = {
    "hoodie.clean.automatic": "true",
    "hoodie.clean.async.enabled": "false",
    "hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.cleaner.fileversions.retained": "1",
}
ARCHIVED = {
    "hoodie.clean.automatic": "true",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.archive.automatic": "true",
}


def _each_file_is_missed(table: HudiTable) -> int:
    """Take each file of each slice away in turn; returns how many there were."""
    before: Snapshot = snapshot_of(table)
    paths = [path for file_slice in before.slices for path in file_slice.paths]
    for path in paths:
        file, aside = table.path / path, table.path.parent / "aside"
        file.rename(aside)
        with pytest.raises(MissingTableFileError) as found:
            snapshot_of(table)
        assert found.value.path == file.as_uri()
        aside.rename(file)
    assert [file_slice.identity for file_slice in snapshot_of(table).slices] == [
        file_slice.identity for file_slice in before.slices
    ]
    return len(paths)


@pytest.mark.parametrize(
    ("table_type", "version"),
    [
        (COW, 6),
        (MOR, 9),
        pytest.param(COW, 9, marks=pytest.mark.slow),
        pytest.param(MOR, 6, marks=pytest.mark.slow),
    ],
)
def test_every_file_of_a_slice_is_missed_and_no_cleaned_one(
    make: MakeTable, table_type: str, version: int
) -> None:
    table = make(table_type=table_type, version=version)
    table.bulk_insert(hostile_rows(range(24)))
    table.upsert(hostile_rows(range(0, 24, 5), ts=2, salt=1))
    if table_type == MOR:
        table.compact()
    table.upsert(hostile_rows(range(0, 24, 7), ts=3, salt=2))
    assert _each_file_is_missed(table) >= 3
    table.clean()
    table.insert_overwrite([row for row in hostile_rows(range(30, 40)) if row["region"] == "eu"])
    table.clean()
    assert_same(table)
    assert _each_file_is_missed(table) >= 3


def test_cleaning_by_versions_and_clustering_leave_nothing_to_miss(make: MakeTable) -> None:
    table = make(options=ONE_VERSION)
    first = table.bulk_insert(hostile_rows(range(12)))
    table.upsert(hostile_rows(range(12), ts=2, salt=1))
    table.upsert(hostile_rows(range(12), ts=3, salt=2))
    assert_same(table)
    # Hudi itself gives fewer rows of then, and says nothing.
    with pytest.raises(InvalidOptionError, match="cleaned files of that time"):
        snapshot_of(table, first)
    table.cluster()
    table.upsert(hostile_rows(range(4), ts=4, salt=3))
    assert_same(table)
    assert _each_file_is_missed(table) >= 3


@pytest.mark.parametrize("version", [pytest.param(6, marks=pytest.mark.slow), 9])
def test_archived_commits_name_nothing_to_miss(make: MakeTable, version: int) -> None:
    table = make(version=version, options=ARCHIVED)
    table.bulk_insert(hostile_rows(range(12)))
    for salt in range(1, 6):
        rows = [row for row in hostile_rows(range(12), ts=salt + 1, salt=salt) if row["region"] != "us"]
        table.upsert(rows)
        snapshot_of(table)
    table.delete_partition("us")
    for salt in range(6, 9):
        table.upsert(hostile_rows(range(4), ts=salt + 1, salt=salt))
        snapshot_of(table)
    assert_same(table)


def test_damage_and_case_are_the_same_on_spark(make: MakeTable) -> None:
    table = make()
    table.bulk_insert(hostile_rows(range(24)))
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX upper_name ON t (upper(NAME))", spark=table.spark)
    (index,) = indexed.indexes()
    assert (index.expression, index.source_fields) == ("UPPER(name)", ("name",))
    assert str(index.state) == "ready"
    table.upsert(hostile_rows(range(24), ts=2, salt=1))
    damaged = table.path / next(iter(snapshot_of(table).slices)).paths[0]
    damaged.write_bytes(damaged.read_bytes()[:-50])
    with pytest.raises(Exception, match=damaged.name) as found:
        indexed.maintain(spark=table.spark)
    failure = Failure.of(found.value)
    assert (failure.kind, failure.exit_code, failure.is_expected) == ("TableFileError", 1, True)
    assert failure.message.startswith(damaged.as_uri())
    assert "\n" not in failure.message
    assert SparkExecutor(table.spark)  # the session is still of use
