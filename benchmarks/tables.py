"""The tables that benchmarks read: web_sales-like, made once under .bench/ and kept between runs.

Every file group holds as many rows as rows / groups. A merge-on-read table got an upsert after its bulk
insert, so that every tenth file group has a log.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["COW", "LOCK_PROVIDER", "MOR", "bulk_insert", "changed_rows", "copy_of", "kept_table", "upsert"]

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
_ROOT = Path(__file__).resolve().parent.parent
# What tests and benchmarks share is in `tests.support`.
sys.path.append(str(_ROOT))
FOLDER = _ROOT / ".bench"

LOCK_PROVIDER = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
OPTIONS = {
    "hoodie.table.name": "web_sales",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.table.ordering.fields": "sold_at",
    "hoodie.bulkinsert.sort.mode": "NONE",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.compact.inline": "false",
    # A file group of a few thousand rows is small; without this an upsert would write new rows there.
    "hoodie.parquet.small.file.limit": "0",
    # Hudi's defaults are a hundred tasks and more, for clusters: on two cores most of an upsert.
    "hoodie.upsert.shuffle.parallelism": "4",
    "hoodie.simple.index.parallelism": "4",
    "hoodie.write.lock.provider": LOCK_PROVIDER,
}


def kept_table(spark: SparkSession, table_type: str, rows: int, groups: int) -> Path:
    """The table of this shape, made if it is not there yet."""
    path = FOLDER / f"web_sales-{'cow' if table_type == COW else 'mor'}-{rows}-{groups}"
    if path.exists():
        return path
    making = path.with_name(path.name + "-making")
    shutil.rmtree(making, ignore_errors=True)
    _make(spark, making, table_type, rows, groups)
    if table_type == MOR:
        upsert(making, changed_rows(spark, making, rows, groups, groups // 10))
    making.rename(path)
    return path


def copy_of(path: Path, name: str) -> Path:
    """A copy to work on, under another name."""
    copied = path.with_name(f"{path.name}-{name}")
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(path, copied)
    return copied


def _make(spark: SparkSession, path: Path, table_type: str, rows: int, groups: int) -> None:
    """One task, and so one file group, per range of ids."""
    frame = spark.range(0, rows, 1, groups).selectExpr(
        "concat('order-', id) AS id",
        f"concat('customer-', abs(hash(id)) % {max(1, rows // 150)}) AS customer",
        "concat('mode-', id % 12) AS ship_mode",
        "cast(abs(hash(id, 1)) % 100000 / 100 AS double) AS price",
        "cast(abs(hash(id, 2)) % 100 AS int) AS quantity",
        "cast(1600000000000 + id * 1000 AS bigint) AS sold_at",
        "repeat('x', 80) AS note",
    )
    bulk_insert(frame, path, table_type, groups)


def bulk_insert(frame: DataFrame, path: Path, table_type: str, groups: int) -> None:
    """Make a table of as many file groups."""
    options = {
        **OPTIONS,
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.bulkinsert.shuffle.parallelism": str(groups),
    }
    frame.write.format("hudi").options(**options).mode("overwrite").save(str(path))


def changed_rows(
    spark: SparkSession, path: Path, rows: int, groups: int, touched: int, *, salt: int = 0
) -> DataFrame:
    """One row of each of `touched` file groups, with another customer.

    They are fetched here: Hudi would run whatever makes them several times over.
    """
    step, size = groups // touched, rows // groups
    ids = [place * step * size + size // 2 + salt for place in range(touched)]
    found = (
        spark.read.format("hudi")
        .load(str(path))
        .where(f"id IN ({', '.join(f'{_id!r}' for _id in map('order-{}'.format, ids))})")
    )
    changed = found.selectExpr(
        "id",
        f"'customer-new-{salt}' AS customer",
        "ship_mode",
        "price",
        "quantity",
        "sold_at + 1 AS sold_at",
        "note",
    )
    return spark.createDataFrame(changed.collect(), changed.schema)


def upsert(path: Path, rows: DataFrame, **more: str) -> None:
    """Let Hudi upsert rows."""
    options = {**OPTIONS, "hoodie.datasource.write.operation": "upsert", **more}
    rows.write.format("hudi").options(**options).mode("append").save(str(path))
