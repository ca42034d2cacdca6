"""Who writes the tables of writer.py, and the tables: one of each way of making them, kept under .bench/.

Rows lie in ten partitions and as many file groups as wanted, each a range of ids. Every side works on a copy
of its own, and all get the same batches.
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tables import COW, FOLDER, LOCK_PROVIDER

from hudi_index import IndexedTable
from hudi_index.spark import upsert

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.spark import WriteReport

__all__ = ["HUDIS", "OURS", "RECORD_INDEX", "SHARED", "SIDES", "Side", "batch_of", "checksum", "copy_for"]

PARTITIONS = 10
SHARED = {
    "hoodie.embed.timeline.server": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.compact.inline": "false",
    # A file group of a few thousand rows is small; without this an upsert would write new rows there.
    "hoodie.parquet.small.file.limit": "0",
    # Hudi's defaults are for clusters: a hundred tasks and more, on two cores most of an upsert.
    "hoodie.upsert.shuffle.parallelism": "4",
    "hoodie.simple.index.parallelism": "4",
    "hoodie.global.simple.index.parallelism": "4",
    "hoodie.bloom.index.parallelism": "4",
}
"""For all sides, so that none is slow for want of them."""
_MADE = {
    "hoodie.table.name": "sales",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "day",
    "hoodie.datasource.write.precombine.field": "sold_at",
    "hoodie.table.ordering.fields": "sold_at",
    "hoodie.write.lock.provider": LOCK_PROVIDER,
}
_LEAN = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
}
_RECORD_INDEX = {
    **_LEAN,
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
_WITHOUT = {"hoodie.metadata.enable": "false"}
STATEMENTS = (
    "CREATE INDEX records ON t USING record_index (id)",
    "CREATE INDEX by_customer ON t (customer)",
    "CREATE INDEX ships ON t USING bitmap (ship_mode)",
    "CREATE INDEX stats ON t USING column_stats (sold_at, price)",
)
"""All that we keep up with every write."""


@dataclass(frozen=True)
class Side:
    """A way of writing."""

    name: str
    made: str
    """Which of the kept tables it writes to."""
    options: Mapping[str, str] = field(default_factory=dict)

    def upsert(
        self, rows: DataFrame, path: Path, more: Mapping[str, str] | None = None
    ) -> WriteReport | None:
        """Write a batch; a report if it is by our index."""
        if self is OURS:
            return upsert(rows, path, options={**SHARED, **(more or {})})
        options = {**_MADE, **SHARED, **self.options, "hoodie.datasource.write.operation": "upsert"}
        rows.write.format("hudi").options(**{**options, **(more or {})}).mode("append").save(str(path))
        return None

    def stream_options(self) -> dict[str, str]:
        """Of Hudi's streaming sink."""
        return {**_MADE, **SHARED, **self.options, "hoodie.datasource.write.operation": "upsert"}


OURS = Side("ours", "ours")
RECORD_INDEX = Side(
    "Hudi, its record index", "record", {**_RECORD_INDEX, "hoodie.index.type": "RECORD_INDEX"}
)
HUDIS = (
    RECORD_INDEX,
    Side("Hudi, SIMPLE", "plain", {**_WITHOUT, "hoodie.index.type": "SIMPLE"}),
    Side("Hudi, GLOBAL_SIMPLE", "plain", {**_WITHOUT, "hoodie.index.type": "GLOBAL_SIMPLE"}),
    # Its metadata table with files, column and partition statistics; SIMPLE finds records.
    Side("Hudi, its defaults", "defaults"),
)
SIDES = (OURS, *HUDIS)
_MADE_WITH = {"plain": _WITHOUT, "ours": _WITHOUT, "record": _RECORD_INDEX, "defaults": {}}


def copy_for(spark: SparkSession, side: Side, table_type: str, rows: int, groups: int) -> Path:
    """A copy for one side of this run to write to. Data files are linked: nobody changes one."""
    kept = _kept(spark, side.made, table_type, rows, groups)
    path = kept.with_name(
        f"{kept.name}-{side.name.lower().replace(', ', '-').replace(' ', '-')}-{os.getpid()}"
    )
    shutil.rmtree(path, ignore_errors=True)

    def copied(one: str, two: str) -> None:
        (os.link if one.endswith(".parquet") and "/.hoodie/" not in one else shutil.copy2)(one, two)

    shutil.copytree(kept, path, copy_function=copied)
    return path


def _kept(spark: SparkSession, made: str, table_type: str, rows: int, groups: int) -> Path:
    path = FOLDER / f"writer-{'cow' if table_type == COW else 'mor'}-{rows}-{groups}-{made}"
    if path.exists():
        return path
    making = path.with_name(f"{path.name}-making")
    shutil.rmtree(making, ignore_errors=True)
    options = {
        **_MADE,
        **SHARED,
        **_MADE_WITH[made],
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.bulkinsert.sort.mode": "NONE",
        "hoodie.bulkinsert.shuffle.parallelism": str(groups),
    }
    frame = _rows_of(spark.range(0, rows, 1, groups), rows)
    frame.write.format("hudi").options(**options).mode("overwrite").save(str(making))
    if made == "ours":
        IndexedTable.open(making).create_all(STATEMENTS, spark=spark)
    making.rename(path)
    return path


def _rows_of(ids: DataFrame, rows: int) -> DataFrame:
    return ids.selectExpr(
        "concat('order-', id) AS id",
        # New ids are spread over all partitions, those of the table are ranges.
        f"concat('day-', CASE WHEN id < {rows} THEN id div {max(1, rows // PARTITIONS)} "
        f"ELSE id % {PARTITIONS} END) AS day",
        "cast(1600000000000 + id AS bigint) AS sold_at",
        f"concat('customer-', abs(hash(id)) % {max(1, rows // 150)}) AS customer",
        "concat('mode-', id % 12) AS ship_mode",
        "cast(abs(hash(id, 1)) % 100000 / 100 AS double) AS price",
        "repeat('x', 80) AS note",
    )


def batch_of(
    spark: SparkSession,
    rows: int,
    groups: int,
    count: int,
    *,
    touched: int,
    seed: int,
    new: Sequence[int] = (),
) -> DataFrame:
    """Changed records, spread evenly over some of the file groups, and new ones.

    They are computed here: Hudi would compute whatever makes them several times over.
    """
    chance, size, step = random.Random(seed), rows // groups, groups // touched
    ids = [
        group * step * size + place
        for group in range(touched)
        for place in chance.sample(range(size), (count - len(new)) // touched)
    ]
    frame = _rows_of(spark.createDataFrame([(each,) for each in [*ids, *new]], "id bigint"), rows)
    newer = f"sold_at + {(seed + 1) * 100_000_000} AS sold_at"
    return frame.selectExpr(
        "id",
        "day",
        newer,
        f"concat(customer, '-{seed}') AS customer",
        "ship_mode",
        "price + 1 AS price",
        "note",
    ).localCheckpoint()


def checksum(spark: SparkSession, path: Path) -> tuple[int, ...]:
    """Tells tables with different rows apart."""
    frame = spark.read.format("hudi").option("hoodie.metadata.enable", "false").load(str(path))
    found = frame.selectExpr("count(*)", "count(DISTINCT id)", "sum(sold_at)", "sum(hash(id, customer, day))")
    return tuple(map(int, found.collect()[0]))
