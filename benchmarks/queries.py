"""Selective queries on Spark: through our indexes, by full scan, and through Hudi's own secondary index.

    python benchmarks/queries.py [--rows 3000000] [--groups 1000] [--many 50000] [--hudi] [--short]

Three rows in three file groups match. Tables are made once under .bench/ and kept. `--hudi` lets Hudi build
its record and secondary index on a copy, which takes minutes. The table of `--many` file groups is one base
file under many names: only its planning is measured. Times are the best of a few warm runs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
import uuid
from typing import TYPE_CHECKING, Any

from tables import COW, FOLDER, LOCK_PROVIDER, bulk_insert

from hudi_index import IndexedTable
from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.runtime.session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

WHERE = "customer = 'the rare one'"


def make_table(spark: SparkSession, path: Path, rows: int, groups: int) -> None:
    """One bulk insert with one file group per task; three rows far apart have the rare customer."""
    rare = ", ".join(str(place * rows // 10 + 7) for place in (1, 5, 8))
    frame = spark.range(0, rows, 1, groups).selectExpr(
        "concat('order-', id) AS id",
        f"CASE WHEN id IN ({rare}) THEN 'the rare one' "
        f"ELSE concat('customer-', abs(hash(id)) % {rows // 3}) END AS customer",
        "cast(abs(hash(id, 1)) % 100000 / 100 AS double) AS price",
        "cast(1600000000000 + id * 1000 AS bigint) AS sold_at",
        "repeat('x', 80) AS note",
    )
    making = path.with_name(f"{path.name}-making")
    bulk_insert(frame, making, COW, groups)
    making.rename(path)


def make_many(spark: SparkSession, path: Path, groups: int) -> None:
    """The base file of one commit under as many file ids as wanted."""
    making = path.with_name(f"{path.name}-making")
    make_table(spark, making, 30, 1)
    (base,) = making.glob("*.parquet")
    rest = base.name.partition("_")[2]
    for _ in range(groups - 1):
        os.link(base, making / f"{uuid.uuid4()}-0_{rest}")
    making.rename(path)


def best(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The shortest time of a few runs after one that warms up, and the last result."""
    result, seconds = work(), []
    for _ in range(runs):
        started = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - started)
    return min(seconds), result


def read_by_hudi(spark: SparkSession, path: Path, **options: str) -> DataFrame:
    return spark.read.format("hudi").options(**options).load(str(path))


def counted(frame: DataFrame) -> dict[str, int]:
    """What a scan read, by Spark's own counters."""
    frame.collect()
    leaf = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    found = {}
    for label, name in (("files", "numFiles"), ("bytes", "filesSize"), ("rows", "numOutputRows")):
        found[label] = int(leaf.metrics().apply(name).value())
    return found


def row(name: str, seconds: float, slower: float | None = None, goal: str = "") -> None:
    ratio = f"{slower / seconds:7.1f} x" if slower else ""
    print(f"{name:<58} {seconds * 1000:9.0f} ms {ratio:>10}  {goal}", flush=True)


def measure_queries(spark: SparkSession, rows: int, groups: int, runs: int, *, with_hudi: bool) -> None:
    path = FOLDER / f"queries-{rows}-{groups}"
    if not path.exists():
        make_table(spark, path, rows, groups)
    table = IndexedTable.open(path)
    table.sql("CREATE INDEX IF NOT EXISTS by_customer ON t (customer)", spark=spark)
    skipping_off = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
    full_frame = read_by_hudi(spark, path, **skipping_off)
    ours_frame = read_indexed(spark, path, strict=True)
    full, wanted = best(lambda: full_frame.where(WHERE).collect(), runs)
    ours, found = best(lambda: ours_frame.where(WHERE).collect(), runs)
    opened, _ = best(lambda: read_indexed(spark, path, strict=True).where(WHERE).collect(), runs)
    assert len(found) == len(wanted) == 3
    print(f"{rows:,} rows, {groups:,} file groups, matches in {last_plans(1)[0].kept} of them")
    row("full scan, Hudi, skipping off", full)
    row("read_indexed, view kept", ours, full, "goal: 8 x the full scan")
    row("read_indexed, opened anew for the query", opened, full)
    if with_hudi:
        native = measure_hudi(spark, path, runs)
        row("Hudi through its own secondary index", native, full)
        row("read_indexed, against that", ours, native, "goal: 4 x Hudi's own")
    print(f"\n{'':<30} {'files':>8} {'bytes':>14} {'rows':>12}")
    for name, frame in (("without index", full_frame), ("with index", ours_frame)):
        read = counted(frame.where(WHERE))
        print(f"{name:<30} {read['files']:>8,} {read['bytes']:>14,} {read['rows']:>12,}")


def measure_hudi(spark: SparkSession, path: Path, runs: int) -> float:
    """The same query through Hudi's record and secondary index, on a copy."""
    copied = path.with_name(f"{path.name}-hudi")
    settings = {"hoodie.write.lock.provider": LOCK_PROVIDER, "hoodie.metadata.enable": "true"}
    if not copied.exists():
        making = path.with_name(f"{path.name}-hudi-making")
        shutil.rmtree(making, ignore_errors=True)
        shutil.copytree(path, making, ignore=shutil.ignore_patterns(".index"))
        for name, value in settings.items():
            spark.conf.set(name, value)
        try:
            spark.sql(f"CREATE TABLE bench_queries USING hudi LOCATION '{making}'")
            # Hudi's CREATE INDEX wants its metadata table to be there.
            spark.sql("CALL create_metadata_table(table => 'bench_queries')")
            spark.sql("CREATE INDEX record_index ON bench_queries (id)")
            spark.sql("CREATE INDEX by_customer ON bench_queries (customer)")
            spark.sql("DROP TABLE bench_queries")
        finally:
            for name in settings:
                spark.conf.unset(name)
        making.rename(copied)
    on = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
    frame = read_by_hudi(spark, copied, **on)
    seconds, found = best(lambda: frame.where(WHERE).collect(), runs)
    assert len(found) == 3
    return seconds


def measure_planning(spark: SparkSession, groups: int, runs: int) -> None:
    """What planning costs beyond the listing that Hudi makes anyway."""
    path = FOLDER / f"queries-many-{groups}"
    if not path.exists():
        make_many(spark, path, groups)
    IndexedTable.open(path).sql(
        "CREATE INDEX IF NOT EXISTS prices ON t USING column_stats (price)", spark=spark
    )

    def planned(frame: DataFrame) -> int:
        plan = frame.where("price < 0")._jdf.queryExecution().executedPlan()
        return len(plan.collectLeaves().head().selectedPartitions())

    # The best of some runs, after one that warms up: ours comes last and would find everything warm.
    listing, found = best(
        lambda: planned(read_by_hudi(spark, path, **{"hoodie.enable.data.skipping": "false"})), runs
    )
    assert found == groups
    started = time.perf_counter()
    frame = read_indexed(spark, path, strict=True)
    assert planned(frame) == 0
    first = time.perf_counter() - started
    again, _ = best(lambda: planned(frame), runs)
    print(f"\n{groups:,} file groups, all of them refuted")
    row("Hudi: open, list, plan", listing)
    row("read_indexed: open, list, plan", first)
    row("  beyond Hudi's own", max(first - listing, 0.0), goal="goal: at most 2,000 ms")
    row("read_indexed: plan another query", again)


def main() -> None:
    """Make the tables if need be, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--many", type=int, default=50_000)
    parser.add_argument("--hudi", action="store_true", help="also let Hudi build and use its own index")
    parser.add_argument("--short", action="store_true", help="small tables, under three minutes")
    asked = parser.parse_args()
    rows, groups, many = (60_000, 100, 2_000) if asked.short else (asked.rows, asked.groups, asked.many)
    spark = local_session("bench", settings={"spark.log.level": "ERROR", "spark.driver.memory": "6g"})
    try:
        measure_queries(spark, rows, groups, 3 if asked.short else 7, with_hudi=asked.hudi)
        measure_planning(spark, many, 3)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
