"""After a batch all indexes are what they would be if they were built now, by what the write knows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.write.writer import IndexedWriter, Settings
from hudi_index.validation import Request
from tests.parity.tables import COW, MOR
from tests.support.counting import counted
from tests.writer.twins import AND_AN_EXPRESSION, History, Twins

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hudi_index.metadata_table import View

pytestmark = pytest.mark.spark


def _view(twins: Twins) -> View:
    return MetadataTable.of(twins.indexed.storage).view()


def _check_content(twins: Twins) -> None:
    report = twins.indexed.validate(Request(queries=0), spark=twins.spark)
    assert report.exit_code == 0, str(report)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_all_kinds_move_in_one_commit_and_the_table_is_not_listed(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    history, twins = History(seed=7), Twins(spark, tmp_path, table_type, statements=AND_AN_EXPRESSION)
    twins.begin(history.begin())
    options = twins._given["options"]
    writer = IndexedWriter(spark, twins.indexed.storage, str(twins.ours.path), Settings(options))
    for number in range(2):
        before = len(_view(twins).commits)
        with counted() as work:
            report = writer.upsert(twins.ours.frame(history.batch()))
        # Whoever opens a table looks at it once; who keeps it, only whether it is still so.
        assert (work.table_listings, work.table_looks) == ((1, 0), (0, 1))[number]
        # Rows are described in workers. Here no file of the table is opened.
        assert not work.data_files
        view = _view(twins)
        assert len(view.commits) == before + 1
        assert view.commits[-1].instant.file_name == report.index_commit
        assert view.state.data_snapshot["instant"] == report.instant == twins.ours.completed()[-1]
        assert set(report.indexes) == {each.name for each in twins.indexed.indexes()}
        assert len(report.indexes) == len(AND_AN_EXPRESSION)
        _check_content(twins)


@pytest.mark.parametrize("table_type", [pytest.param(COW, marks=pytest.mark.slow), MOR])
def test_async_leaves_a_lag_that_maintenance_closes(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    history, twins = History(seed=8), Twins(spark, tmp_path, table_type)
    twins.begin(history.begin())
    before = _view(twins).commits
    report = twins.upsert(history.batch(), index="async")
    assert report.index_commit is None
    assert not report.indexes
    assert _view(twins).commits == before
    assert twins.indexed.status().commits_behind == 1
    twins.indexed.maintain(spark=spark)
    assert twins.indexed.status().is_fresh
    twins.check(validates=False)
    _check_content(twins)
