"""The index metadata table as Hudi on Spark reads it == as we read it, on a sample of random histories."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudi_index.metadata_table.table import MetadataTable
from hudi_index.storage import Storage
from tests.store import operations
from tests.store.support import (
    Change,
    Clock,
    Content,
    Work,
    agreed,
    crash_points,
    open_table,
    ours,
    without_empty,
)
from tests.support.storage import dying_at

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hudi_index.metadata_table import WriteStat

pytestmark = pytest.mark.spark

KEYS = [f"{name}${place}" for name in ("a", "c d", "é", "%24", "x" * 5000) for place in range(4)]
PARTITIONS = ("files", "record_index", "secondary_index_a_b")


def by_spark(spark: SparkSession, path: Path) -> Content:
    rows = (
        spark.read.format("hudi")
        .load(str(path))
        .selectExpr("partition", "key", "recordIndexMetadata.orderingValue as value")
        .collect()
    )
    content: Content = {}
    for row in rows:
        partition = content.setdefault(row["partition"], {})
        assert row["key"] not in partition, "a key came twice"
        partition[row["key"]] = row["value"]
    return content


def _change(chance: random.Random) -> Change:
    upserts = {key: chance.choice(["1", "", "ü"]) for key in chance.sample(KEYS, chance.randint(1, 8))}
    return Change(upserts, set(chance.sample(KEYS, 4)) - set(upserts))


def _operation(chance: random.Random, live: list[str]) -> Work:
    name = chance.choice(PARTITIONS)
    inserts = Change(_change(chance).upserts)
    changes = {each: _change(chance) for each in live}
    if name not in live:
        return operations.create_partition(name, chance.randint(1, 2), inserts, as_base=chance.random() < 0.5)
    return chance.choice(
        [
            operations.maintain(changes),
            operations.maintain(changes),
            operations.compact(),
            operations.compact_beside_maintain(changes, compaction_first=True),
            operations.compact_beside_maintain(changes, compaction_first=False),
            operations.rebuild_partition(name, chance.randint(1, 2), inserts),
            operations.drop_partition(name) if len(live) > 1 else operations.compact(),
        ]
    )


@pytest.mark.parametrize("seed", range(6))
def test_random_history_with_crashes_reads_the_same_on_spark(
    seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    chance, path, clock = random.Random(seed), tmp_path / "mdt", Clock()
    open_table(path, clock).create()
    for _ in range(10):
        work = _operation(chance, sorted(ours(open_table(path, clock))))
        if chance.random() < 0.3 and (points := crash_points(path, clock, work)):
            with dying_at(chance.randrange(points)):
                work(path, clock)
            clock.advance(minutes=2)
        else:
            work(path, clock)
        if chance.random() < 0.2:
            clock.advance(minutes=40)
            operations.clean()(path, clock)
    content = agreed(path, clock)
    assert without_empty(content), "a history that ends empty shows nothing"
    assert by_spark(spark, path) == without_empty(content)


def test_compaction_in_every_state_reads_the_same_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Pending, finished before a delta commit that began earlier, finished after one that began later."""
    path, clock = tmp_path / "mdt", Clock()
    open_table(path, clock).create()
    operations.create_partition("files", 1, Change({"a$1": "1", "b$1": "1"}), as_base=False)(path, clock)
    base = Change(dict.fromkeys(KEYS, "base"))
    operations.create_partition("record_index", 2, base, as_base=True)(path, clock)
    operations.maintain({"record_index": Change({"a$1": "log"}, {"a$2"})})(path, clock)
    work = operations.compact_beside_maintain(
        {"record_index": Change({"a$2": "back"}, {"a$1"}), "files": Change({}, {"a$1"})},
        compaction_first=True,
    )
    points = crash_points(path, clock, work)
    seen = []
    for point in sorted({*range(0, points, points // 7), *range(points - 7, points, 2)}):
        copy = tmp_path / f"at-{point}"
        shutil.copytree(path, copy)
        with dying_at(point):
            work(copy, Clock(clock.now))
        content = agreed(copy, clock)
        assert by_spark(spark, copy) == without_empty(content)
        seen.append(content["record_index"].get("a$1"))
    assert "log" in seen
    assert None in seen


def test_table_inside_a_data_table_leaves_both_readable(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "trips"
    rows = spark.createDataFrame(
        [(f"r{place}", f"city{place % 3}", place) for place in range(30)], "id string, city string, ts long"
    )
    options = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.table.ordering.fields": "ts",
    }
    rows.write.format("hudi").options(**options).mode("overwrite").save(str(data))
    table = MetadataTable.of(Storage.open(data))
    table.create()
    with table.begin(shards={"files": 1}) as transaction:
        entries = pa.table({"key": ["city0$x", "city1$y"]})
        transaction.add([transaction.writer.write_base("files", 0, [entries])])
        transaction.commit()
    rows.limit(5).write.format("hudi").options(**options).mode("append").save(str(data))
    assert spark.read.format("hudi").load(str(data)).count() == 30
    assert set(by_spark(spark, data / MetadataTable.folder)["files"]) == {"city0$x", "city1$y"}


def test_shards_written_by_spark_tasks_are_committed_once(spark: SparkSession, tmp_path: Path) -> None:
    table = MetadataTable(Storage.open(tmp_path / "mdt"))
    table.create()
    with table.begin(shards={"record_index": 4}) as transaction:
        writer = transaction.writer

        def write(shard: int) -> WriteStat:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            if context.attemptNumber() == 0 and shard == 2:
                writer.write_base("record_index", shard, [_numbers(shard)], write_token="2-0-0")
            token = f"{context.partitionId()}-{context.stageId()}-{context.attemptNumber() + 1}"
            return writer.write_base("record_index", shard, [_numbers(shard)], write_token=token)

        transaction.add(spark.sparkContext.parallelize(range(4), 4).map(write).collect())
        transaction.commit()
    expected = {key for shard in range(4) for key in _numbers(shard).column("key").to_pylist()}
    assert set(by_spark(spark, tmp_path / "mdt")["record_index"]) == expected
    assert set(ours(table)["record_index"]) == expected


def _numbers(shard: int) -> pa.Table:
    return pa.table({"key": [f"{number:06d}" for number in range(shard, 1000, 4)]})
