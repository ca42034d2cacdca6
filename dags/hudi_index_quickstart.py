"""The whole life of indexes on two small tables."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from airflow.sdk import DAG, Param, TaskGroup, task

from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.operators import (
    HudiCompactIndexesOperator,
    HudiCreateIndexOperator,
    HudiDropIndexOperator,
    HudiMaintainIndexesOperator,
    HudiValidateIndexesOperator,
)
from airflow_hudi_index.sensors import HudiIndexFreshSensor

HOME = Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser()
# A folder, or a bucket such as s3a://warehouse.
TABLES = os.environ.get("HUDI_INDEX_TABLES") or str(HOME)
WRITER = Path(__file__).parent / "trips" / "write_trips.py"

INDEXES = [
    "CREATE INDEX IF NOT EXISTS record_index ON trips (trip_id)",
    "CREATE INDEX IF NOT EXISTS by_rider ON trips (rider)",
    "CREATE INDEX IF NOT EXISTS ride ON trips USING bitmap (payment, vehicle)",
    "CREATE INDEX IF NOT EXISTS fares ON trips USING column_stats (fare, ts)",
    "CREATE INDEX IF NOT EXISTS day ON trips USING column_stats (from_unixtime(ts, 'yyyy-MM-dd'))",
]
QUERIES = [
    "rider = 'rider-042'",
    "rider = 'rider-new'",
    "trip_id IN ('trip-000040', 'trip-000777')",
    "payment = 'voucher' AND vehicle = 'van'",
    "fare > 29.5",
    "from_unixtime(ts, 'yyyy-MM-dd') = '2024-01-02'",
    "city = 'tokyo' AND fare < 5",
    "driver = 'driver-07'",
]


def write_trips(what: str, folder: str) -> None:
    """Write both tables in a process of its own: Spark is none of Airflow's business."""
    tables = [f"{folder}/trips_cow", f"{folder}/trips_mor"]
    # Keys of a store go by the environment, which nobody else can read; a command line everybody can.
    options = HudiIndexHook().storage_options_of(tables[0])
    environment = {**os.environ, **{name.upper(): value for name, value in options.items()}}
    subprocess.run([sys.executable, str(WRITER), what, *tables], env=environment, check=True)


with DAG(
    "hudi_index_quickstart",
    description="Two small Hudi tables with five indexes: made, changed, maintained, compacted, proven right",
    doc_md="""
### Indexes on Hudi tables, from nothing to proven

Writes two small tables of taxi trips with plain Hudi on Spark, one copy-on-write and one merge-on-read, in
`folder`, on a disk or on an object store, then for each:

1. **create** five indexes in one job: record, secondary, bitmap, column statistics and a functional one
2. **change** the table: upserts, deletes and inserts by a writer that knows of no index
3. **maintain** them: only the file groups that changed are read
4. **fresh**: a sensor without a JVM sees that they cover the newest commit
5. **compact** them, though it isn't due yet
6. **validate**: the same queries with indexes and as full scans; a difference would fail the task
7. **drop** one

The XCom of each task is its job's report; *validate* has a link to one for people.
""",
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    tags=["hudi", "example"],
    params={
        "folder": Param(
            f"{TABLES.rstrip('/')}/hudi_index_quickstart",
            type="string",
            pattern="^(/|[a-z0-9]+://[^/]+/).*quickstart[^/]*$",
            description="Where the tables are made, anew each time; its name must have 'quickstart' in it",
        )
    },
) as dag:

    @task
    def make_tables(params: dict[str, str] | None = None) -> None:
        """Two tables, each of three commits."""
        write_trips("make", (params or {})["folder"])

    @task
    def change_tables(params: dict[str, str] | None = None) -> None:
        """Upserts, deletes and inserts, two commits each."""
        write_trips("change", (params or {})["folder"])

    made, changed = make_tables(), change_tables()
    for kind in ("cow", "mor"):
        table = f"{{{{ params.folder }}}}/trips_{kind}"
        # Not in the group: the pages can't draw a group that waits for a task that waits for the group.
        create = HudiCreateIndexOperator(task_id=f"trips_{kind}.create", table=table, statement=INDEXES)
        with TaskGroup(f"trips_{kind}"):
            maintain = HudiMaintainIndexesOperator(task_id="maintain", table=table)
            fresh = HudiIndexFreshSensor(task_id="fresh", table=table, timeout=60)
            compact = HudiCompactIndexesOperator(task_id="compact", table=table, force=True)
            validate = HudiValidateIndexesOperator(
                task_id="validate", table=table, where=QUERIES, queries=4, seed=1
            )
            drop = HudiDropIndexOperator(task_id="drop", table=table, index="fares")
            made >> create >> changed >> maintain >> fresh >> compact >> validate >> drop
