"""DuckDB over `table.dataset()` against DuckDB over all files, and counts from bitmaps against counted rows.

    python benchmarks/dataset.py [--rows 3000000] [--groups 1000] [--runs 5]

The table is that of scan.py, copy-on-write, made once under .bench/ and kept, with a bitmap index on a column
of twelve values. Goals: at least 20 times as fast as `read_parquet` of all files where 3 of 1,000 file groups
match, and at least 20 times as fast as a scan that counts. All are warm: first runs are not counted. Beside
the time that passed stands that of the processors, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import duckdb
from scan import COLUMNS, RARE, make_table

from hudi_index import IndexedTable, ScanReport
from hudi_index.spark.runtime.session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable

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


class Taken(NamedTuple):
    """Milliseconds of some work."""

    passed: float
    worked: float

    @classmethod
    def by(cls, work: Callable[[], int], runs: int, *, expected: int) -> Taken:
        """The medians of some runs; the work returns how many rows it found."""
        taken = []
        for _ in range(runs + 1):
            passed, worked = time.perf_counter(), time.process_time()
            found = work()
            taken.append((time.perf_counter() - passed, time.process_time() - worked))
            assert found == expected, (found, expected)
        return cls(*(1000 * median(each) for each in zip(*taken[1:], strict=True)))

    def __str__(self) -> str:
        return f"{self.passed:8.1f} ms   processors {self.worked:8.1f} ms"

    def times(self, slow: Taken) -> str:
        """How much faster it is than other work."""
        return f"{slow.passed / self.passed:.0f} x as fast, by processors {slow.worked / self.worked:.0f} x"


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

    slow = Taken.by(lambda: len(connection.execute(query.format(files)).fetchall()), asked.runs, expected=3)
    fast = Taken.by(through_indexes, asked.runs, expected=3)
    print(f"DuckDB, read_parquet of all files  {slow}")
    print(f"DuckDB, table.dataset()            {fast}   {fast.times(slow)}")
    expected, report = table.count(MODE), ScanReport()
    counted = Taken.by(lambda: table.count(MODE, report=report), asked.runs, expected=expected)

    def by_scan() -> int:
        return sum(batch.num_rows for batch in table.scan(MODE, ["ship_mode"]))

    scanned = Taken.by(by_scan, asked.runs, expected=expected)
    print(f"scan and count                     {scanned}   {expected} rows")
    print(f"table.count by bitmaps             {counted}   {counted.times(scanned)}")
    print(f"  file groups whose rows were read {report.file_groups_read}")


if __name__ == "__main__":
    main()
