"""Selective queries on Spark: through our indexes, by full scan, and through Hudi's own secondary index.

    python benchmarks/queries.py [--rows 3000000] [--groups 1000] [--many 50000] [--hudi] [--short]

Three rows in three file groups match. Tables are made once under .bench/ and kept. `--hudi` lets Hudi build
its record and secondary index on a copy, which takes minutes. The table of `--many` file groups is one base
file under many names: only its planning is measured. Times are the best of a few warm runs. Sessions are
compared as plain `spark.sql` over a catalog table, enabled and not, in turns; planning times are medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import time
import uuid
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions
from tables import COW, FOLDER, LOCK_PROVIDER, bulk_insert

from hudi_index import IndexedTable
from hudi_index.spark import disable, enable, last_plans, read_indexed
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


def measure_session(spark: SparkSession, rows: int, groups: int, runs: int, *, with_hudi: bool) -> None:
    """Plain SQL in a session that is enabled, and in one that is not."""
    path = FOLDER / f"queries-{rows}-{groups}"
    spark.sql(f"CREATE TABLE bench_session USING hudi LOCATION '{path}'")
    query = f"SELECT * FROM bench_session WHERE {WHERE}"
    try:
        plain, wanted = best(lambda: spark.sql(query).collect(), runs)
        enable(spark)
        ours, found = best(lambda: spark.sql(query).collect(), runs)
    finally:
        disable(spark)
        spark.sql("DROP TABLE bench_session")
    assert len(found) == len(wanted) == 3
    print("\nplain spark.sql over a catalog table")
    row("session not enabled", plain)
    row("enabled", ours, plain, "goal: 10 x")
    if with_hudi:
        native = measure_hudi(spark, path, runs)
        row("Hudi through its own secondary index", native)
        row("enabled, against that", ours, native, "goal: 5 x")


def linked_copy(path: Path, name: str) -> Path:
    """A table of its own over the same data files, which nobody writes to."""
    made = path.with_name(f"{path.name}-{name}")
    shutil.rmtree(made, ignore_errors=True)
    # What is not a data file may be replaced in place.
    shutil.copytree(
        path,
        made,
        copy_function=lambda one, two: (os.link if one.endswith(".parquet") else shutil.copy2)(one, two),
    )
    return made


def kept_by_hudi(spark: SparkSession, path: Path) -> Path:
    """A copy that has Hudi's metadata table, as has every table that was written by SQL before."""
    written = path.with_name(f"{path.name}-written")
    if not written.exists():
        making = linked_copy(path, "writing")
        spark.sql(f"CREATE TABLE bench_written USING hudi LOCATION '{making}'")
        spark.sql("UPDATE bench_written SET price = 0 WHERE id = 'order-1'")
        spark.sql("DROP TABLE bench_written")
        IndexedTable.open(making).maintain(spark=spark)
        making.rename(written)
    return written


def customer_of_three(spark: SparkSession, rows: int, groups: int) -> str:
    """A customer of three orders in as many file groups, amid the others: bounds rule out nothing."""
    orders = spark.range(0, rows, 1, 8).selectExpr(
        f"concat('customer-', abs(hash(id)) % {rows // 3}) AS customer", f"id div {rows // groups} AS place"
    )
    counted = orders.groupBy("customer").agg(
        functions.count("*").alias("orders"), functions.countDistinct("place").alias("places")
    )
    found = counted.where("orders = 3 AND places = 3 AND customer LIKE 'customer-5%'").orderBy("customer")
    return str(found.first()["customer"])


def measure_delete(spark: SparkSession, rows: int, groups: int, runs: int) -> None:
    """DELETE of three rows, on a fresh copy each time, with Hudi's metadata table kept and without one.

    A table that has none gets one by its first write with Hudi's defaults: statistics of every file,
    seconds of work. That is told apart.
    """
    path = FOLDER / f"queries-{rows}-{groups}"
    where = f"customer = '{customer_of_three(spark, rows, groups)}'"
    print(f"\nDELETE of 3 rows in 3 of {groups:,} file groups")
    for name, source, setting in (
        ("Hudi's metadata table kept", kept_by_hudi(spark, path), "true"),
        ("no metadata table", path, "false"),
    ):
        spark.conf.set("hoodie.metadata.enable", setting)
        seconds: dict[bool, list[float]] = {False: [], True: []}
        # The first of each warms up.
        for turn in range(2 * runs + 2):
            seconds[turn % 2 == 1].append(time_of_delete(spark, source, where, is_enabled=turn % 2 == 1))
        spark.conf.unset("hoodie.metadata.enable")
        plain, ours = (min(seconds[each][1:]) for each in (False, True))
        row(f"{name}: session not enabled", plain)
        row(f"{name}: enabled", ours, plain, "goal: 2 x")
    first = time_of_delete(spark, path, where, is_enabled=True)
    row("enabled, the write that makes the metadata table", first)


def time_of_delete(spark: SparkSession, source: Path, where: str, *, is_enabled: bool) -> float:
    """Seconds of one DELETE on a copy of its own."""
    copied = linked_copy(source, "delete")
    spark.sql(f"CREATE TABLE bench_delete USING hudi LOCATION '{copied}'")
    if is_enabled:
        enable(spark)
    started = time.perf_counter()
    spark.sql(f"DELETE FROM bench_delete WHERE {where}")
    seconds = time.perf_counter() - started
    disable(spark)
    assert spark.sql(f"SELECT count(*) FROM bench_delete WHERE {where}").collect()[0][0] == 0
    spark.sql("DROP TABLE bench_delete")
    shutil.rmtree(copied)
    return seconds


def measure_others(spark: SparkSession, blocks: int, each: int = 10) -> None:
    """What planning costs where there is nothing to prune: no Hudi table, or one without indexes."""
    parquet, unindexed = FOLDER / "queries-parquet", FOLDER / "queries-unindexed"
    if not parquet.exists():
        spark.range(1000).selectExpr("id", "id % 7 AS k", "'s' AS s").write.parquet(str(parquet))
    if not unindexed.exists():
        make_table(spark, unindexed, 3_000, 20)
    spark.read.parquet(str(parquet)).createOrReplaceTempView("bench_parquet")
    spark.sql(f"CREATE TABLE bench_unindexed USING hudi LOCATION '{unindexed}'")
    queries = {
        "Parquet files": "SELECT a.k, count(*) FROM bench_parquet a JOIN bench_parquet b USING (id) "
        "WHERE a.s > '3' GROUP BY a.k",
        "a Hudi table without indexes": "SELECT customer, sum(price) FROM bench_unindexed "
        "WHERE price > 7 GROUP BY customer",
    }

    def planned(query: str) -> float:
        started = time.perf_counter()
        spark.sql(query)._jdf.queryExecution().executedPlan()
        return time.perf_counter() - started

    print(f"\nplanning time, medians of {blocks * each} runs each, in turns of {each}")
    for name, query in queries.items():
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(300):
            planned(query)
        for block in range(2 * blocks):
            is_enabled = block % 2 == 1
            (enable if is_enabled else disable)(spark)
            # The first query of a session looks whether its table has indexes.
            planned(query)
            seconds[is_enabled] += [planned(query) for _ in range(each)]
        in_rules = time_in_rules(spark, lambda query=query: planned(query), each)
        disable(spark)
        plain, ours = (statistics.median(seconds[which]) for which in (False, True))
        print(
            f"{name:<30} {plain * 1000:7.2f} ms, enabled {ours * 1000:7.2f} ms: {ours / plain:.3f} x, goal: "
            f"1.02 x; our rules take {in_rules * 1000:.3f} ms of it"
        )
    spark.sql("DROP TABLE bench_unindexed")


def time_in_rules(spark: SparkSession, work: Callable[[], Any], runs: int) -> float:
    """Seconds that our optimizer rules take in one planning, by Spark's own clock."""
    enable(spark)
    work()
    rules = spark.sparkContext._jvm.org.apache.spark.sql.catalyst.rules.RuleExecutor
    rules.resetMetrics()
    for _ in range(runs):
        work()
    ours = [line for line in rules.dumpTimeSpent().splitlines() if line.startswith("hudi_index.")]
    return sum(int(line.split("/")[1].split()[0]) for line in ours) / runs / 1e9


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
        measure_session(spark, rows, groups, 3 if asked.short else 7, with_hudi=asked.hudi)
        measure_delete(spark, rows, groups, 1 if asked.short else 2)
        measure_others(spark, 10 if asked.short else 40)
        measure_planning(spark, many, 3)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
