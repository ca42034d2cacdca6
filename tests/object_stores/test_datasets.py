"""A dataset, counts and lists of files of a table in an object store are those of the table on a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pytest

from hudi_index import IndexedTable, ScanReport
from hudi_index.cli.files import FileList
from hudi_index.errors import UserError
from tests.support.tables import T1, Fabricated

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.object_store import ObjectStore

PARTITIONS = ("eu", "%2F x", "it's [1]", "日本")


@pytest.fixture
def both(object_store: ObjectStore, tmp_path: Path) -> tuple[IndexedTable, IndexedTable]:
    """Near and far."""
    made = Fabricated(object_store.bucket / tmp_path.name)
    for number, partition in enumerate(PARTITIONS):
        rows = [{"id": f"{number}-{n}", "n": number * 10 + n, "region": partition} for n in range(10)]
        made.base_file(partition, f"g{number}", T1, rows)
    made.commit(T1)
    near = IndexedTable.open(made.path)
    near.sql("CREATE INDEX stats ON t USING column_stats (n)")
    place = made.path.relative_to(object_store.folder)
    return near, IndexedTable.open(f"s3a://{place}", object_store.options)


def test_answers_are_those_of_the_disk(both: tuple[IndexedTable, IndexedTable]) -> None:
    near, far = both
    report = ScanReport()
    wanted = pc.field("n") >= 25
    found = far.dataset(report=report).to_table(filter=wanted)
    assert found.equals(near.dataset().to_table(filter=wanted))
    assert (found.num_rows, report.file_groups_read) == (15, 2)
    assert (far.count("n >= 25"), far.exists("n = 50"), far.min("n"), far.max("n")) == (15, False, 0, 39)


def test_files_are_named_where_they_are(both: tuple[IndexedTable, IndexedTable]) -> None:
    near, far = both
    plans = [each.plan("n < 15") for each in (near, far)]
    paths = [str(FileList(plan, "paths")).split("\n") for plan in plans]
    names = [[path.rpartition("/")[2] for path in each] for each in paths]
    assert names[0] == names[1]
    assert all(path.startswith("s3a://") for path in paths[1])
    assert str(FileList(plans[1], "duckdb")).count("'s3a://") == 2
    assert str(FileList(plans[1], "clickhouse")).startswith("s3('s3://")
    with pytest.raises(UserError, match="for a pattern"):
        str(FileList(far.plan("n >= 25"), "clickhouse"))
