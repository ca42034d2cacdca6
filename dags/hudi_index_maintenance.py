"""Indexes that follow every commit."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG, chain

from airflow_hudi_index.assets import hudi_table_asset
from airflow_hudi_index.operators import HudiCompactIndexesOperator, HudiMaintainIndexesOperator
from airflow_hudi_index.sensors import HudiCommitSensor, HudiIndexFreshSensor

# One table, by path or URI: a watched asset is known when the DAG is parsed, so it can't be a run's
# parameter.
TABLE = os.environ.get("HUDI_INDEX_TABLE", "/data/trips")
START = datetime(2024, 1, 1, tzinfo=timezone.utc)


def upkeep() -> list[HudiMaintainIndexesOperator | HudiIndexFreshSensor | HudiCompactIndexesOperator]:
    """What both DAGs do once there is a commit."""
    return [
        HudiMaintainIndexesOperator(task_id="maintain", table=TABLE),
        # A commit that came meanwhile has its own run.
        HudiIndexFreshSensor(task_id="fresh", table=TABLE, max_commits_behind=1, timeout=300),
        HudiCompactIndexesOperator(task_id="compact", table=TABLE),
    ]


with DAG(
    "hudi_index_maintenance",
    description="Started by each commit of a Hudi table, whoever made it",
    doc_md="""
### Each commit starts a run: maintain, check, compact if due

The table of the environment variable `HUDI_INDEX_TABLE` is watched by the triggerer. A commit by any writer
starts a run within seconds. Commits that come in a
burst may share a run: maintenance works from what is indexed, not from the event, so none is missed.
""",
    schedule=[hudi_table_asset(TABLE)],
    start_date=START,
    catchup=False,
    max_active_runs=1,
    tags=["hudi", "example"],
):
    chain(*upkeep())

with DAG(
    "hudi_index_maintenance_by_sensor",
    description="The same without asset watchers: every five minutes, wait for a commit",
    doc_md="""
### For those without asset watchers

Each run waits, without holding a worker, for a commit completed since the last successful run began, then
does the same as `hudi_index_maintenance`. If none comes
within its time the run is skipped.
""",
    schedule=timedelta(minutes=5),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    tags=["hudi", "example"],
):
    wait = HudiCommitSensor(
        task_id="wait_for_commit",
        table=TABLE,
        after="{{ prev_start_date_success or '' }}",
        deferrable=True,
        timeout=240,
        soft_fail=True,
    )
    chain(wait, *upkeep())
