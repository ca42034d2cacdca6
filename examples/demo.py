"""`make demo`: the DAG hudi_index_quickstart with real Airflow, and what came of it, in a terminal.

Airflow's home and the tables are in `.demo/`. What Airflow, Spark and Hudi print goes to `.demo/demo.log`.
With HUDI_INDEX_TABLES=s3a://bucket, and the store's address and keys in the environment (AWS_ENDPOINT_URL,
AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), the tables are there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from hudi_index import IndexedTable, ScanReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".demo"
FOLDER = f"{(os.environ.get('HUDI_INDEX_TABLES') or str(HOME)).rstrip('/')}/hudi_index_quickstart"
LOG = HOME / "demo.log"
DAG_ID = "hudi_index_quickstart"

# A few seconds for each of a dozen short jobs.
SHORT_JOBS = {
    "spark.driver.extraJavaOptions": "-Djol.skipHotspotSAAttach=true -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "2",
}


def airflow_environment(home: Path = HOME) -> dict[str, str]:
    """An Airflow of its own: SQLite, this repository's DAGs, no examples."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    connection = {"conn_type": "hudi_index", "extra": {"spark_conf": SHORT_JOBS}}
    return {
        **os.environ,
        "PATH": path,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__API_AUTH__JWT_SECRET": "only for the demo on this machine " * 2,
        "AIRFLOW_CONN_HUDI_INDEX_DEFAULT": json.dumps(connection),
        "HUDI_INDEX_TABLE": f"{FOLDER}/trips_mor",
    }


def main() -> int:
    """Run the DAG, then tell."""
    HOME.mkdir(exist_ok=True)
    LOG.write_bytes(b"")
    started = time.monotonic()
    for what, command in (
        ("making Airflow's database", ["db", "migrate"]),
        (f"running the DAG {DAG_ID}: two tables, five indexes each", ["dags", "test", DAG_ID]),
    ):
        print(f"{what} …", flush=True)
        with LOG.open("ab") as log:
            done = subprocess.run(
                ["airflow", *command], env=airflow_environment(), stdout=log, stderr=log, check=False
            )
        if done.returncode:
            print(f"that failed; the end of {LOG.relative_to(ROOT)}:\n", file=sys.stderr)
            print("\n".join(LOG.read_text(errors="replace").splitlines()[-25:]), file=sys.stderr)
            return 1
    reports = newest_reports()
    for table in ("trips_cow", "trips_mor"):
        tell(table, reports)
        tell_count(table)
    show_session(f"{FOLDER}/trips_mor")
    print(f"\nall of it took {time.monotonic() - started:.0f} s\n")
    print(NEXT)
    return 0


def show_session(table: str) -> None:
    """Plain SQL of an enabled session; where the tables are far away, only how."""
    print("\nall queries of a Spark session, pruned: hudi_index.spark.enable(spark)")
    if "://" in table:
        return
    with LOG.open("ab") as log:
        told = subprocess.run(
            [sys.executable, "-c", SESSION, table], stdout=subprocess.PIPE, stderr=log, text=True, check=False
        )
    # Java greets first.
    _, query, found = told.stdout.partition(QUERY)
    print("\n".join(f"    {line}" for line in (query + found).splitlines()))


def newest_reports() -> dict[str, dict[str, Any]]:
    """The report of each task of the newest run."""
    runs = sorted((HOME / "hudi_index" / DAG_ID).iterdir(), key=lambda folder: folder.stat().st_mtime)
    return {
        file.parent.parent.name: {**json.loads(file.read_text()), "file": str(file)}
        for file in runs[-1].glob("*/-1/report.json")
    }


def tell(table: str, reports: Mapping[str, dict[str, Any]]) -> None:
    """What happened to one table."""
    kind = {"trips_cow": "copy on write", "trips_mor": "merge on read"}[table]
    print(f"\n{table}, {kind}: {FOLDER}/{table}")
    steps = [(verb, reports[f"{table}.{verb}"]) for verb in ("create", "maintain", "compact", "drop")]
    print_rows(
        "what the jobs did",
        ("job", "indexes", "file groups read", "rows read", "entries written", "bytes written", "seconds"),
        [
            (
                verb,
                ", ".join(report["indexes"]) or "-",
                f"{report['file_groups_changed']} of {report['file_groups']}"
                if report["file_groups"]
                else "-",
                report["rows_read"],
                report["entries_added"],
                report["bytes_written"],
                f"{sum(report['seconds'].values()):.1f}",
            )
            for verb, report in steps
        ],
    )
    validation = reports[f"{table}.validate"]
    given = [each for each in validation["queries"] if each["origin"] == "given"]
    made = [each for each in validation["queries"] if each["origin"] != "given"]
    print_rows(
        "queries with indexes, against the full scan",
        ("WHERE …", "rows", "file groups read", "bytes read", "not read", "equal"),
        [query_row(each) for each in given],
    )
    equal = sum(each["result"] == "same" for each in made)
    print(f"    and {equal} of {len(made)} queries made up from the data were equal too")
    print(f"    report for people: {Path(validation['file']).with_name('validation.html')}")
    print(f"    report for machines: {validation['file']}")


def tell_count(table: str) -> None:
    """The same table without a JVM: a number from the indexes, and DuckDB over a dataset."""
    opened, report = IndexedTable.open(f"{FOLDER}/{table}"), ScanReport()
    rows = opened.count(report=report)
    print(
        f"    table.count() = {rows}, with {report.file_groups_read} of {report.file_groups} file groups read"
    )
    trips = opened.dataset()  # DuckDB finds it by this name, and hands it the query's filter
    found = duckdb.execute(QUERY).fetchall()
    print(
        f"    trips = table.dataset(); duckdb.execute({QUERY!r}): {len(found)} rows, with "
        f"{trips.report.file_groups_read} of {trips.report.file_groups} file groups read"
    )


def query_row(query: Mapping[str, Any]) -> tuple[object, ...]:
    """One query as a person wants to see it."""
    total, read = query["bytes"], query["bytes_read"]
    known = total is not None and read is not None
    return (
        query["query"],
        query["rows"],
        f"{query['file_groups_read']} of {query['file_groups']}",
        f"{read:,} of {total:,}" if known else "unknown",
        f"{1 - read / total:.0%}" if known and total else "-",
        "yes" if query["result"] == "same" else query["result"].upper(),
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


QUERY = "SELECT * FROM trips WHERE rider = 'rider-042'"
SESSION = f"""
import sys
from hudi_index.spark import SHORT_RUN, enable, explain, local_session

spark = local_session(settings=SHORT_RUN)
enable(spark)
spark.read.format("hudi").load(sys.argv[1]).createOrReplaceTempView("trips")
found = spark.sql({QUERY!r})
print({QUERY!r}, f"{{found.count()}} rows", explain(found), sep=chr(10))
spark.stop()
"""

NEXT = f"""What to try next
  .venv/bin/hudi-index status  --table {FOLDER}/trips_mor
  .venv/bin/hudi-index explain --table {FOLDER}/trips_mor "rider = 'rider-042'"
  make ui      Airflow's web pages with these DAGs
  dags/        the DAGs; docs/airflow.md tells how to write your own"""


if __name__ == "__main__":
    sys.exit(main())
