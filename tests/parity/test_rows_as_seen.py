"""Rows of a slice are those of the timeline that the snapshot saw, whatever became of it since."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index.errors import MissingSliceFileError, TimelineMovedError
from hudi_index.storage import Storage
from hudi_index.table import Snapshot
from tests.parity.tables import MOR, HudiTable, hostile_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", params=[6, 9])
def written(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: Any) -> HudiTable:
    """A savepoint, and two delta commits after it."""
    hudi = HudiTable(spark, tmp_path_factory.mktemp("rows") / "t", MOR, version=request.param)
    hudi.bulk_insert(hostile_rows(range(12)))
    hudi.upsert(hostile_rows(range(4), ts=2, salt=1))
    hudi.savepoint()
    hudi.upsert(hostile_rows(range(6), ts=3, salt=2))
    hudi.delete(hostile_rows([0, 1], ts=4))
    return hudi


@pytest.fixture
def hudi(written: HudiTable, tmp_path: Path) -> HudiTable:
    shutil.copytree(written.path, tmp_path / "t")
    return HudiTable(written.spark, tmp_path / "t", MOR, version=written.version)


def names_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The rows of all slices, some columns of them."""
    found: list[dict[str, Any]] = []
    for file_slice in snapshot.slices:
        batches = list(snapshot.reader.rows(file_slice, ["id", "ts", "name"]).batches())
        found += pa.Table.from_batches(batches).to_pylist()
    return found


def test_a_commit_that_comes_between_look_and_reading_is_not_seen(hudi: HudiTable) -> None:
    expected = names_of(Snapshot.load(Storage.open(hudi.path)))
    copy = Storage.open(shutil.copytree(hudi.path, hudi.path.parent / "copy"))
    seen = Snapshot.load(copy)
    late = HudiTable(hudi.spark, hudi.path.parent / "copy", MOR, version=hudi.version)
    late.upsert(hostile_rows(range(20), ts=9, salt=5))
    assert names_of(seen) == expected
    assert names_of(Snapshot.load(copy)) != expected


def test_a_commit_taken_back_between_look_and_reading_is_seen_or_the_reading_fails(hudi: HudiTable) -> None:
    expected = names_of(Snapshot.load(Storage.open(hudi.path)))
    copy = shutil.copytree(hudi.path, hudi.path.parent / "copy")
    seen = Snapshot.load(Storage.open(copy))
    timeline = copy / ".hoodie" / ("timeline" if hudi.version > 6 else "")
    # What a restore does first; the log files are still there.
    for file in sorted(timeline.glob("*.deltacommit"))[-2:]:
        file.unlink()
    if hudi.version > 6:
        assert names_of(seen) == expected
    else:
        with pytest.raises(TimelineMovedError, match=r"delta commit \d+ was completed or taken back"):
            names_of(seen)
    assert names_of(Snapshot.load(Storage.open(copy))) != expected


def test_a_restore_between_look_and_reading_is_seen(hudi: HudiTable) -> None:
    seen = Snapshot.load(Storage.open(hudi.path))
    (savepoint,) = {
        file.name.partition(".")[0].partition("_")[0] for file in hudi.path.glob(".hoodie/**/*.savepoint")
    }
    hudi.restore(savepoint)
    with pytest.raises((MissingSliceFileError, TimelineMovedError)):
        names_of(seen)
