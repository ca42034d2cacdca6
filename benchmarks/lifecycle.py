"""Building and maintaining indexes: each measure beside what it is measured against, in one run.

    python benchmarks/lifecycle.py [--short] [--rows 3000000] [--groups 1000]

Prints ratios with their goals; seconds depend on the machine and on who else uses it, ratios less so. The
tables are made once under .bench/ and kept. `--short` takes a tenth of the rows and file groups.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from tables import COW, LOCK_PROVIDER, MOR, changed_rows, copy_of, kept_table, upsert

from hudi_index import IndexedTable
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.runtime.session import local_session
from hudi_index.table import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

STATEMENTS = {
    "secondary_index": "CREATE INDEX by_customer ON t (customer)",
    "record_index": "CREATE INDEX record_index ON t (id)",
    "bitmap": "CREATE INDEX ships ON t USING bitmap (ship_mode)",
    "column_stats": "CREATE INDEX stats ON t USING column_stats (sold_at, quantity, customer)",
    "bloom_filters": "CREATE INDEX blooms ON t USING bloom_filters (customer)",
}
READ = {
    "secondary_index": ["_hoodie_record_key", "customer"],
    "record_index": ["_hoodie_record_key", "sold_at", "_hoodie_commit_time"],
    "bitmap": ["_hoodie_record_key", "ship_mode"],
}
ALL_READ = sorted({name for names in READ.values() for name in names})
TOUCHED = 10


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that some work took, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def compare(name: str, ours: float, other: float, against: str, goal: str, unit: str = "s") -> None:
    """Print one measure."""
    figures = f"{ours:9.2f} {unit} / {other:8.2f} {unit}"
    print(f"{name:<34} {figures} = {ours / other:6.2f}   goal {goal:<8} {against}", flush=True)


def read_alone(spark: SparkSession, files: Sequence[str], columns: list[str] | None) -> int:
    """pyarrow alone reading columns in Spark tasks, or footers for None: what no build can undercut."""

    def read(names: Iterator[str]) -> Iterator[int]:
        for name in names:
            if columns is None:
                yield pq.read_metadata(name).num_rows
            else:
                yield pq.read_table(name, columns=columns, use_threads=False).num_rows

    tasks = min(len(files), spark.sparkContext.defaultParallelism * 4)
    return int(spark.sparkContext.parallelize(files, tasks).mapPartitions(read).sum())


def base_files(path: Path) -> dict[str, str]:
    """Base files of the current slices by file id."""
    slices = Snapshot.load(IndexedTable.open(path).storage).slices
    return {each.group.file_id: str(path / each.base_path) for each in slices if each.base_path}


def measure_create(spark: SparkSession, path: Path) -> dict[str, float]:
    """Each kind against reading alone, then five at once against their sum."""
    table, files = IndexedTable.open(path), list(base_files(path).values())
    read_alone(spark, files, ALL_READ)  # starts the Python workers
    spent = {}
    for kind, statement in STATEMENTS.items():
        least, _ = timed(lambda kind=kind: read_alone(spark, files, READ.get(kind)))
        spent[kind], _ = timed(lambda statement=statement: table.sql(statement, spark=spark))
        if kind in READ:
            compare(f"create {kind}", spent[kind], least, "pyarrow alone, same columns", "<= 2")
        elif kind == "column_stats":
            compare(f"create {kind}", spent[kind], least, "reading footers alone", "<= 1.5")
    for each in table.indexes():
        table.drop(each.name)
    together, _ = timed(lambda: table.create_all(list(STATEMENTS.values()), spark=spark))
    compare("five indexes in one create", together, sum(spent.values()), "one by one", "<= 0.5")
    return spent


def measure_maintain(
    spark: SparkSession, path: Path, rows: int, groups: int, *, salt: int = 1
) -> tuple[float, float]:
    """Maintenance after an upsert of ten file groups; returns its seconds and the upsert's."""
    table, before = IndexedTable.open(path), base_files(path)
    changed = changed_rows(spark, path, rows, groups, TOUCHED, salt=salt)
    upserting, _ = timed(lambda: upsert(path, changed))
    after = base_files(path)
    touched = [name for group, name in after.items() if before[group] != name]
    old = [before[group] for group, name in after.items() if before[group] != name]
    files = [*touched, *old] or list(before.values())[: 2 * TOUCHED]
    least, _ = timed(lambda: read_alone(spark, files, ALL_READ))
    seconds, report = timed(lambda: table.maintain(spark=spark))
    print(f"  {report.file_groups_changed} file groups, {report.rows_read} rows, {report.seconds}")
    compare("maintain ten file groups", seconds, least, "reading them, old and new", "<= 3 +4s")
    idle, _ = timed(lambda: table.maintain(spark=spark))
    print(f"  again, nothing to do: {idle:.2f} s")
    return seconds, upserting


def measure_hudi(
    spark: SparkSession, path: Path, rows: int, groups: int, ours: dict[str, float], ours_upsert: float
) -> None:
    """Hudi's own record and secondary index on a copy, an upsert with them on, and their size."""
    spark.sql(f"CREATE TABLE web_sales USING hudi LOCATION '{path}'")
    spark.conf.set("hoodie.write.lock.provider", LOCK_PROVIDER)
    spark.conf.set("hoodie.metadata.enable", "true")
    # Hudi's CREATE INDEX wants its metadata table to be there; not timed.
    spark.sql("CALL create_metadata_table(table => 'web_sales')")
    record, _ = timed(lambda: spark.sql("CREATE INDEX record_index ON web_sales (id)"))
    secondary, _ = timed(lambda: spark.sql("CREATE INDEX by_customer ON web_sales (customer)"))
    against = "Hudi's CREATE INDEX"
    compare("create record_index", ours["record_index"], record, against, "")
    compare("create secondary_index", ours["secondary_index"], secondary, against, "<= 0.125")
    theirs = {
        folder.name.split("_index")[0]: _bytes_below(folder) / 1e6
        for folder in (path / ".hoodie/metadata").glob("*_index*")
    }
    mine = MetadataTable.of(IndexedTable.open(path.with_name(path.name.replace("-hudi", "-ours"))).storage)
    for name, folder in (("record", "record_index"), ("secondary", "secondary_index_by_customer")):
        # What was superseded stays for half an hour, for readers of the view before.
        size = sum(file.size for piece in mine.view().slices(folder) for file in piece.files) / 1e6
        compare(f"size of {name}_index", size, theirs[name], "Hudi's partition", "<= 0.75", "MB")
    changed = changed_rows(spark, path, rows, groups, TOUCHED, salt=1)
    options = {
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.global.record.level.index.enable": "true",
        "hoodie.metadata.index.secondary.enable": "true",
    }
    upserting, _ = timed(lambda: upsert(path, changed, **options))
    compare("upsert + maintain", ours_upsert, upserting, "upsert with Hudi's indexes on", "<= 0.5")


def _bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> None:
    """Make the tables if need be, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--short", action="store_true", help="a tenth of the rows and file groups")
    parser.add_argument("--no-hudi", action="store_true", help="leave Hudi's own indexes out")
    asked = parser.parse_args()
    rows, groups = (asked.rows // 10, asked.groups // 10) if asked.short else (asked.rows, asked.groups)
    spark = local_session("bench", settings={"spark.log.level": "ERROR", "spark.driver.memory": "4g"})
    # The smaller table comes first, twice: what is measured afterwards finds Java warm.
    smaller = copy_of(kept_table(spark, COW, rows // 10, groups // 10), "small")
    IndexedTable.open(smaller).create_all(list(STATEMENTS.values()), spark=spark)
    print(f"COPY_ON_WRITE, {rows // 10:,} rows, {groups // 10:,} file groups")
    for salt in (1, 2):
        less, _ = measure_maintain(spark, smaller, rows // 10, groups // 10, salt=salt)
    for table_type in (COW, MOR):
        kept = kept_table(spark, table_type, rows, groups)
        print(f"\n{table_type}, {rows:,} rows, {groups:,} file groups")
        path = copy_of(kept, "ours")
        spent = measure_create(spark, path)
        maintained, upserting = measure_maintain(spark, path, rows, groups)
        if table_type == COW:
            compare("maintain, ten times the table", maintained, less, "the smaller table", "<= 1.3")
            if not asked.no_hudi:
                theirs = copy_of(kept, "hudi")
                measure_hudi(spark, theirs, rows, groups, spent, upserting + maintained)
    spark.stop()


if __name__ == "__main__":
    main()
