"""Two small Hudi tables with indexes, written with Spark and read back without Spark or a JVM.

The tables hold the trips of RFC-77's examples: one is copy-on-write, one merge-on-read. Eight trips are
inserted and indexes are created; then one commit corrects two fares and adds a trip, and maintenance brings
the indexes in step. What that did is then shown: copy-on-write made new base files, merge-on-read a log file
where rows only changed, and maintenance read only the file groups that changed.

Run it with `make demo`. It starts afresh each time and leaves its tables in `.demo/`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_index import IndexedTable
from hudi_index.spark.session import SHORT_RUN, local_session
from hudi_index.storage import Storage
from hudi_index.table import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

FOLDER = Path(__file__).resolve().parent.parent / ".demo"
SPARK_LOG = FOLDER / "spark.log"
TABLE_TYPES = {"trips_cow": "COPY_ON_WRITE", "trips_mor": "MERGE_ON_READ"}

SCHEMA = "uuid string, ts bigint, rider string, driver string, fare double, city string"
TRIPS = [
    ("334e26e9", 1695159649087, "rider-A", "driver-K", 19.10, "san_francisco"),
    ("e96c4396", 1695091554788, "rider-C", "driver-M", 27.70, "san_francisco"),
    ("9909a8b1", 1695046462179, "rider-D", "driver-L", 33.90, "san_francisco"),
    ("1dced545", 1695516137016, "rider-E", "driver-O", 93.50, "san_francisco"),
    ("e3cf430c", 1695332066204, "rider-F", "driver-P", 34.15, "sao_paulo"),
    ("7a84095f", 1695376420876, "rider-G", "driver-Q", 43.40, "sao_paulo"),
    ("3eeb61f7", 1695173887231, "rider-I", "driver-S", 41.06, "chennai"),
    ("c8abbe79", 1695115999911, "rider-J", "driver-T", 17.85, "chennai"),
]
CORRECTIONS = [
    ("334e26e9", 1695159649999, "rider-A", "driver-K", 25.00, "san_francisco"),
    ("c8abbe79", 1695115999999, "rider-J", "driver-T", 20.00, "chennai"),
    ("5f1b2d77", 1695600000000, "rider-B", "driver-N", 12.40, "chennai"),
]
INDEXES = [
    "CREATE INDEX by_rider ON trips (rider)",
    "CREATE INDEX fares ON trips USING column_stats (fare, ts)",
    "CREATE INDEX drivers ON trips USING bitmap (driver)",
    "CREATE FUNCTION INDEX hour_of_day ON trips USING bitmap (hour(timestamp_millis(ts)))",
]


def main() -> int:
    """Write the tables, then show them."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    started = time.monotonic()
    print(f"Writing {' and '.join(TABLE_TYPES)} with Hudi on Spark, with {len(INDEXES)} indexes each …")
    try:
        write_tables()
    except Exception:
        print(f"Spark failed; its own output is in {SPARK_LOG}", file=sys.stderr)
        raise
    print(f"… took {time.monotonic() - started:.0f} s. From here on without Spark.")

    started = time.monotonic()
    for name in TABLE_TYPES:
        show_table(FOLDER / name)
    print(f"\nRead in {time.monotonic() - started:.2f} s. The tables stay in {FOLDER}")
    return 0


def write_tables() -> None:
    """Make each table with one insert, its indexes, one upsert and the maintenance after it."""
    with output_to(SPARK_LOG):
        spark = local_session("hudi-index-demo", settings={**SHORT_RUN, "spark.log.level": "ERROR"})
    try:
        for name, table_type in TABLE_TYPES.items():
            write_table(spark, FOLDER / name, table_type)
    finally:
        spark.stop()


def write_table(spark: SparkSession, path: Path, table_type: str) -> None:
    """Make one table, partitioned by city."""
    options = {
        "hoodie.table.name": path.name,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.datasource.write.recordkey.field": "uuid",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.metadata.enable": "false",
        "hoodie.embed.timeline.server": "false",
    }

    def write(operation: str, rows: Sequence[tuple[object, ...]]) -> None:
        writer = spark.createDataFrame(rows, SCHEMA).write.format("hudi").options(**options)
        writer.option("hoodie.datasource.write.operation", operation).mode("append").save(str(path))

    write("insert", TRIPS)
    table = IndexedTable.open(path)
    for statement in INDEXES:
        table.sql(statement, spark=spark)
    write("upsert", CORRECTIONS)
    report = table.maintain(spark=spark)
    print(
        f"  {path.name}: maintenance read {report.rows_read} rows of {report.file_groups_changed} changed "
        f"file groups, wrote {report.entries_added} entries and removed {report.entries_removed}"
    )


def show_table(path: Path) -> None:
    """Print a table's commits, file groups and rows."""
    snapshot = Snapshot.load(Storage.open(path))
    config = snapshot.config
    print(f"\n{config.name}  ({config.table_type.value}, table version {config.version})")
    print_rows(
        "commits",
        ("requested", "completed", "action"),
        [(each.requested_time, each.completed_time, each.action) for each in snapshot.timeline.commits],
    )
    print_rows(
        "file groups, each with its latest slice",
        ("partition", "file group", "base file of", "log files", "rows", "bytes"),
        [
            (
                piece.group.partition_path,
                piece.group.file_id[:8],
                piece.base_instant,
                len(piece.log_files),
                snapshot.reader.row_count(piece),
                piece.size,
            )
            for piece in snapshot.slices
        ],
    )

    trips = defaultdict(list)
    for piece in snapshot.slices:
        for batch in snapshot.reader.rows(piece, ["city", "rider", "fare"]).batches():
            for row in batch.to_pylist():
                trips[row["city"]].append((row["rider"], row["fare"]))
    print_rows(
        "rows by city",
        ("city", "trips", "fares", "riders"),
        [
            (city, len(rows), f"{sum(fare for _, fare in rows):.2f}", " ".join(sorted(r for r, _ in rows)))
            for city, rows in sorted(trips.items())
        ],
    )
    status = IndexedTable.open(path).status()
    print_rows(
        f"indexes, {'in step with' if status.is_fresh else 'behind'} the table",
        ("index", "kind", "on", "state", "entries", "bytes", "log files"),
        [
            (each.name, each.kind, each.on, each.state, each.entries_written, each.bytes, each.log_files)
            for each in status.indexes
        ],
    )


def print_rows(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print aligned columns under a title: whole numbers to the right, all else to the left."""
    lines = [header, *([str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligns = [
        ">" if rows and all(isinstance(row[c], int) for row in rows) else "<" for c in range(len(header))
    ]
    lines.insert(1, ["-" * width for width in widths])
    print(f"\n  {title}")
    for line in lines:
        cells = [f"{cell:{align}{width}}" for cell, align, width in zip(line, aligns, widths, strict=True)]
        print("    " + "  ".join(cells).rstrip())


@contextlib.contextmanager
def output_to(path: Path) -> Iterator[None]:
    """Send stdout and stderr to a file for a while; a process started meanwhile keeps it.

    The JVM is such a process: Ivy's, Spark's and Hudi's chatter stays out of the terminal for good.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, descriptor)
            os.close(copy)


if __name__ == "__main__":
    sys.exit(main())
