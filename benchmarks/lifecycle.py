"""Building and maintaining indexes, against the least that the same work could cost, in one run.

    python benchmarks/lifecycle.py [--rows 3000000] [--groups 1000] [--hudi]

The table, web_sales-like and copy-on-write, is made once under .bench/ and kept. `--hudi` also lets Hudi
build its own record and secondary index on a copy of it, which takes minutes.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from hudi_index import IndexedTable
from hudi_index.spark.session import local_session
from hudi_index.table import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

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
    "hoodie.upsert.shuffle.parallelism": "4",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
KINDS = {
    "secondary_index": "CREATE INDEX by_customer ON t (customer)",
    "record_index": "CREATE INDEX record_index ON t (id)",
    "bitmap": "CREATE INDEX ships ON t USING bitmap (ship_mode)",
    "column_stats": "CREATE INDEX stats ON t USING column_stats (price, sold_at)",
}
READ = {
    "secondary_index": ["_hoodie_record_key", "customer"],
    "record_index": ["_hoodie_record_key", "sold_at", "_hoodie_commit_time"],
    "bitmap": ["_hoodie_record_key", "ship_mode"],
    "column_stats": ["price", "sold_at"],
}


def make_table(spark: SparkSession, path: Path, rows: int, groups: int) -> None:
    """One bulk insert with one file group per task."""
    frame = spark.range(0, rows, 1, groups).selectExpr(
        "concat('order-', id) AS id",
        f"concat('customer-', abs(hash(id)) % {max(1, rows // 150)}) AS customer",
        "concat('mode-', id % 12) AS ship_mode",
        "cast(abs(hash(id, 1)) % 100000 / 100 AS double) AS price",
        "cast(1600000000000 + id * 1000 AS bigint) AS sold_at",
        "repeat('x', 80) AS note",
    )
    options = {**OPTIONS, "hoodie.datasource.write.operation": "bulk_insert"}
    options["hoodie.bulkinsert.shuffle.parallelism"] = str(groups)
    frame.write.format("hudi").options(**options).mode("overwrite").save(str(path))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that some work took, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def read_only(spark: SparkSession, path: Path, columns: list[str]) -> int:
    """pyarrow alone reading the same columns in the same Spark tasks: what no build can undercut."""
    files = [str(path / piece.paths[0]) for piece in Snapshot.load(IndexedTable.open(path).storage).slices]
    tasks = spark.sparkContext.defaultParallelism * 4

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            rows = [pq.read_table(name, columns=columns).num_rows for name in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"rows": pa.array([sum(rows)], pa.int64())})

    names = spark.createDataFrame([(name,) for name in files], "name string").repartition(tasks)
    found = names.mapInArrow(read, "rows long").groupBy().sum("rows").first()
    assert found is not None
    return int(found[0])


def report(name: str, seconds: float, least: float | None = None, against: str = "") -> None:
    ratio = f"{seconds / least:5.2f} x {against} ({least:.2f} s)" if least else ""
    print(f"{name:<46} {seconds:7.2f} s  {ratio}", flush=True)


def main() -> None:
    """Make the table if need be, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--hudi", action="store_true", help="also let Hudi build its own indexes")
    asked = parser.parse_args()
    spark = local_session("bench", settings={"spark.log.level": "ERROR", "spark.driver.memory": "6g"})
    kept = Path(".bench").absolute() / f"web_sales-{asked.rows}-{asked.groups}"
    if not kept.exists():
        report("make the table", timed(lambda: make_table(spark, kept, asked.rows, asked.groups))[0])
    path = kept.with_name(kept.name + "-indexed")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(kept, path)
    table = IndexedTable.open(path)
    read_only(spark, path, ["customer"])  # starts the Python workers
    singly = 0.0
    for kind, statement in KINDS.items():
        least, rows = timed(lambda kind=kind: read_only(spark, path, READ[kind]))
        assert rows == asked.rows
        seconds, done = timed(lambda statement=statement: table.sql(statement, spark=spark))
        singly += seconds
        report(f"create {kind}", seconds, least, "pyarrow alone")
        print(f"{'':<46} {done.seconds}, {done.bytes_written / 1e6:.1f} MB")
    changed = spark.read.format("hudi").load(str(path)).where("sold_at % 300000000 = 0").limit(10)
    changed = changed.selectExpr(
        "id", "'customer-new' AS customer", "ship_mode", "price", "sold_at + 1 AS sold_at", "note"
    )
    options = {**OPTIONS, "hoodie.datasource.write.operation": "upsert"}
    seconds, _ = timed(lambda: changed.write.format("hudi").options(**options).mode("append").save(str(path)))
    report("upsert of ten rows by Hudi", seconds)
    seconds, done = timed(lambda: table.maintain(spark=spark))
    report(f"maintain {done.file_groups_changed} file groups, {done.rows_read} rows", seconds)
    print(f"{'':<46} {done.seconds}")
    seconds, done = timed(lambda: table.maintain(spark=spark))
    report("maintain again, nothing to do", seconds)
    if asked.hudi:
        build_hudis(spark, kept, singly)
    spark.stop()


def build_hudis(spark: SparkSession, kept: Path, ours: float) -> None:
    """Hudi's own record and secondary index on a copy of the same table."""
    path = kept.with_name(kept.name + "-hudi")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(kept, path)
    spark.sql(f"CREATE TABLE web_sales USING hudi LOCATION '{path}'")
    spark.conf.set("hoodie.write.lock.provider", OPTIONS["hoodie.write.lock.provider"])
    spark.conf.set("hoodie.metadata.enable", "true")
    record, _ = timed(lambda: spark.sql("CREATE INDEX record_index ON web_sales (id)"))
    report("Hudi: create record_index", record)
    secondary, _ = timed(lambda: spark.sql("CREATE INDEX by_customer ON web_sales (customer)"))
    report("Hudi: create secondary index", secondary)
    report("ours, all four one by one", ours, record + secondary, "Hudi's two")
    for folder in sorted((path / ".hoodie/metadata").glob("*_index*")):
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"  Hudi's {folder.name}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
