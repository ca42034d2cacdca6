"""Rows without a JVM against Spark's full scan, in one run: matches in 3 of 1,000 file groups.

    python benchmarks/scan.py [--rows 3000000] [--groups 1000] [--runs 5]

The table, web_sales-like and copy-on-write, is made once under .bench/ with a secondary index and kept.
Goal: `scan` at least 100 times as fast as the full scan. Both are warm: the first run of each is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_index import IndexedTable, ScanReport
from hudi_index.spark.runtime.session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

COLUMNS = ["id", "customer", "price"]
RARE = "customer = 'customer-rare'"
OPTIONS = {
    "hoodie.table.name": "web_sales",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.bulkinsert.sort.mode": "NONE",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.clean.automatic": "false",
}


def make_table(spark: SparkSession, path: Path, rows: int, groups: int) -> None:
    """One file group per task; one customer bought three times, each in another file group."""
    rare = ", ".join(str(rows * part // 4 + 1) for part in (1, 2, 3))
    frame = spark.range(0, rows, 1, groups).selectExpr(
        "concat('order-', id) AS id",
        f"if(id IN ({rare}), 'customer-rare', concat('customer-', abs(hash(id)) % {max(1, rows // 150)})) "
        "AS customer",
        "concat('mode-', id % 12) AS ship_mode",
        "cast(abs(hash(id, 1)) % 100000 / 100 AS double) AS price",
        "cast(1600000000000 + id * 1000 AS bigint) AS sold_at",
        "repeat('x', 80) AS note",
    )
    options = {**OPTIONS, "hoodie.bulkinsert.shuffle.parallelism": str(groups)}
    frame.write.format("hudi").options(**options).mode("overwrite").save(str(path))
    IndexedTable.open(path).sql("CREATE INDEX by_customer ON t (customer)", spark=spark)


def median(work: Callable[[], int], runs: int, *, expected: int) -> float:
    """Seconds that some work takes, warm; it returns how many rows it found."""
    taken = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        found = work()
        taken.append(time.perf_counter() - started)
        assert found == expected, (found, expected)
    return statistics.median(taken[1:])


def main() -> None:
    """Make the table if need be, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    spark = local_session("bench", settings={"spark.log.level": "ERROR", "spark.driver.memory": "6g"})
    path = Path(".bench").absolute() / f"scan-{asked.rows}-{asked.groups}"
    if not path.exists():
        make_table(spark, path, asked.rows, asked.groups)
    table = IndexedTable.open(path)
    report = ScanReport()
    table.scan(RARE, COLUMNS, report=report).read_all()

    def full() -> int:
        reader = spark.read.format("hudi").option("hoodie.enable.data.skipping", "false")
        frame = reader.option("hoodie.metadata.enable", "false").load(str(path))
        return len(frame.where(RARE).select(*COLUMNS).collect())

    slow = median(full, asked.runs, expected=3)
    fast = median(lambda: table.scan(RARE, COLUMNS).read_all().num_rows, asked.runs, expected=3)
    planning = median(lambda: table.plan(RARE).kept, asked.runs, expected=3)
    print(f"Spark full scan      {1000 * slow:8.0f} ms")
    print(f"scan                 {1000 * fast:8.1f} ms   {slow / fast:.0f} x as fast")
    print(f"  of which planning  {1000 * planning:8.1f} ms")
    print(f"read                 {report}")
    spark.stop()


if __name__ == "__main__":
    main()
