"""RFC-102's examples, each by its name, on real tables and beside Hudi's own writer with a global index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest

from hudi_index.entries.keys import shards_of
from hudi_index.kind_parts.record_keys import record_key_parts
from hudi_index.spark.write.tagging import by_bucket
from tests.parity.tables import COW, MOR
from tests.writer.twins import RECORDS, SMALL, Twins, row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hudi_index.spark import WriteReport

pytestmark = pytest.mark.spark

# "for two records r1:{key: k1, orderingValue: 2, partition: par1} and r2:{key: k1, orderingValue: 1,
# partition: par2}, r2 comes behind r1 in a different commit"
R1 = row("k1", 2, "par1", "r1")
R2 = row("k1", 1, "par2", "r2")

BEFORE = [
    R1,
    row("k2", 2, "par1", "before"),
    row("k3", 2, "par1", "before"),
    row("k4", 2, "par1", "before"),
    row("k5", 2, "par1", "before"),
    row("k6", 2, "par1", "before"),
    row("k7", 2, "par1", "before"),
    row("k8", 2, "par1", "before"),
]
BATCH = [
    R2,
    row("k2", 3, "par2", "moved"),
    row("k3", 1, "par1", "late"),
    row("k4", 1, "par1", "late delete", deletes=True),
    row("k5", 3, "par1", "delete", deletes=True),
    row("k6", 3, "par2", "delete that names another partition", deletes=True),
    row("k7", 2, "par1", "tie"),
    row("k8", 2, "par2", "tie that moves"),
    row("new", 1, "par1", "insert"),
    row("new", 2, "par1", "update of what this commit inserts"),
    row("absent", 1, "par1", "delete of nothing", deletes=True),
]


class Written(NamedTuple):
    """A table after the batch above."""

    twins: Twins
    report: WriteReport
    records: dict[str, tuple[Any, ...]]
    """Ordering value, partition path and value, by key."""
    commits: int
    """How many the batch made."""


@pytest.fixture(scope="module", params=[COW, MOR])
def written(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Written:
    twins = Twins(spark, tmp_path_factory.mktemp("examples"), request.param, shape=SMALL, statements=RECORDS)
    twins.begin(BEFORE)
    before = len(twins.ours.completed())
    report = twins.upsert(BATCH)
    records = {key: rest for key, *rest in twins.records()}
    return Written(
        twins,
        report,
        {key: tuple(rest) for key, rest in records.items()},
        len(twins.ours.completed()) - before,
    )


def test_hudis_own_writer_leaves_the_same_records(written: Written) -> None:
    assert written.twins.records() == written.twins.records(written.twins.hudis)


def test_r2_comes_behind_r1_with_a_smaller_ordering_value_and_is_no_valid_update(written: Written) -> None:
    assert written.records["k1"] == (2, "par1", "r1")


def test_r3_with_a_greater_ordering_value_moves_k1_in_one_commit(written: Written) -> None:
    assert written.records["k2"] == (3, "par2", "moved")
    assert written.commits == 1
    timeline = written.twins.indexed.timeline()
    latest = timeline.commits[-1]
    assert latest.requested_time == written.report.instant
    # The delete at the old place and the insert at the new one.
    assert set(timeline.files_written_by(latest)) == {"par1", "par2"}


def test_late_record_of_the_same_partition_updates_nothing(written: Written) -> None:
    assert written.records["k3"] == (2, "par1", "before")


def test_delete_is_valid_if_its_ordering_value_is_greater(written: Written) -> None:
    assert written.records["k4"] == (2, "par1", "before")
    assert "k5" not in written.records


def test_cross_partition_delete_takes_the_record_where_it_stands(written: Written) -> None:
    assert "k6" not in written.records


def test_tie_is_an_update(written: Written) -> None:
    assert written.records["k7"] == (2, "par1", "tie")
    assert written.records["k8"] == (2, "par2", "tie that moves")


def test_insert_followed_by_an_update_within_the_same_commit_goes_to_one_file_group(written: Written) -> None:
    assert written.records["new"] == (2, "par1", "update of what this commit inserts")


def test_report_counts_each_of_them(written: Written) -> None:
    counts = written.report.counts
    assert (counts.rows, counts.settled, counts.keys_looked_up) == (11, 1, 10)
    assert (counts.inserted, counts.updated, counts.moved) == (1, 1, 2)
    assert (counts.late, counts.deleted, counts.absent) == (3, 2, 1)
    assert written.report.file_groups == len(
        {
            (path, name.partition("_")[0].lstrip("."))
            for path, names in _files_of_latest(written.twins).items()
            for name in names
        }
    )


def _files_of_latest(twins: Twins) -> dict[str, list[str]]:
    timeline = twins.indexed.timeline()
    return timeline.files_written_by(timeline.commits[-1])


def test_index_is_committed_with_the_data_instant_and_equals_one_built_anew(written: Written) -> None:
    written.twins.check()
    assert written.twins.indexed.status().is_fresh
    assert written.report.index_commit


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_records_are_shuffled_by_the_hash_of_the_index_partitioner(spark: SparkSession, shards: int) -> None:
    """ "hash(record_key) % num_index_shards", so that a task reads a subset of the shards: one of them."""
    tasks = 2 * shards
    keys = [f"key-{place}-ä" for place in range(200)]
    frame = by_bucket(spark.createDataFrame([(key,) for key in keys], "_hoodie_record_key string"), tasks)
    parts: list[list[str]] = frame.rdd.map(lambda each: each[0]).glom().collect()
    assert len(parts) == tasks
    assert sorted(key for part in parts for key in part) == sorted(keys)
    for part in parts:
        places = shards_of(record_key_parts(pa.array(part, pa.string())), shards).tolist() if part else []
        assert len(set(places)) <= 1
