"""DuckDB over `table.dataset()` against DuckDB over all files, and counts from bitmaps against counted rows.

    python benchmarks/dataset.py [--rows 3000000] [--groups 1000] [--runs 5]

The table is that of scan.py, copy-on-write, made once under .bench/ and kept, with a bitmap index on a column
of twelve values. Goals: at least 20 times as fast as `read_parquet` of all files where 3 of 1,000 file groups
match, and at least 20 times as fast as a scan that counts. All are warm: first runs are not counted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import duckdb
from scan import COLUMNS, RARE, make_table, median

from hudi_index import IndexedTable, ScanReport
from hudi_index.spark.runtime.session import local_session

MODE = "ship_mode = 'mode-3'"
BITMAP = "CREATE INDEX IF NOT EXISTS by_mode ON t USING bitmap (ship_mode)"


def prepare(path: Path, rows: int, groups: int) -> None:
    """Make the table and its indexes, if need be."""
    if not path.exists():
        spark = local_session("bench", settings={"spark.log.level": "ERROR", "spark.driver.memory": "6g"})
        make_table(spark, path, rows, groups)
        IndexedTable.open(path).sql(BITMAP, spark=spark)
        spark.stop()
    IndexedTable.open(path).sql(BITMAP)


def main() -> None:
    """Make the table if need be, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    path = Path(".bench").absolute() / f"scan-{asked.rows}-{asked.groups}"
    prepare(path, asked.rows, asked.groups)
    table, connection = IndexedTable.open(path), duckdb.connect()
    query = f"SELECT {', '.join(COLUMNS)} FROM {{}} WHERE {RARE}"
    files = f"read_parquet('{path}/*.parquet')"

    def through_indexes() -> int:
        connection.register("sales", table.dataset())
        return len(connection.execute(query.format("sales")).fetchall())

    slow = median(lambda: len(connection.execute(query.format(files)).fetchall()), asked.runs, expected=3)
    fast = median(through_indexes, asked.runs, expected=3)
    print(f"DuckDB, read_parquet of all files  {1000 * slow:8.1f} ms")
    print(f"DuckDB, table.dataset()            {1000 * fast:8.1f} ms   {slow / fast:.0f} x as fast")
    expected, report = table.count(MODE), ScanReport()
    counted = median(lambda: table.count(MODE, report=report), asked.runs, expected=expected)

    def by_scan() -> int:
        return sum(batch.num_rows for batch in table.scan(MODE, ["ship_mode"]))

    scanned = median(by_scan, min(asked.runs, 3), expected=expected)
    print(f"scan and count                     {1000 * scanned:8.1f} ms   {expected} rows")
    print(f"table.count by bitmaps             {1000 * counted:8.1f} ms   {scanned / counted:.0f} x as fast")
    print(f"  file groups whose rows were read {report.file_groups_read}")


if __name__ == "__main__":
    main()
