"""The whole lifecycle as one task group, to put behind one's own ingest task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskGroup, chain

from airflow_hudi_index.operators import (
    HudiCompactIndexesOperator,
    HudiCreateIndexOperator,
    HudiMaintainIndexesOperator,
    HudiValidateIndexesOperator,
)
from airflow_hudi_index.sensors import HudiIndexFreshSensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airflow.sdk import BaseOperator

__all__ = ["hudi_index_lifecycle"]


def hudi_index_lifecycle(
    table: str,
    indexes: Sequence[str] = (),
    *,
    group_id: str = "hudi_indexes",
    fresh: bool = True,
    compact: bool = True,
    validate: bool | Mapping[str, Any] = False,
    **job: Any,
) -> TaskGroup:
    """Create what is missing, bring all up to date, see that they are, compact if due, prove right.

        ingest >> hudi_index_lifecycle("/data/trips", ["CREATE INDEX IF NOT EXISTS i ON trips (rider)"])

    Args:
        table: path or URI of the table, or its name in the connection's catalog.
        indexes: CREATE INDEX IF NOT EXISTS statements, carried out in one job.
        group_id: the group's id.
        fresh: fail if the indexes don't cover the newest commit after maintenance, but for one that came
            meanwhile.
        compact: compact where that is due.
        validate: compare indexed answers with full scans; a mapping gives `HudiValidateIndexesOperator` its
            arguments.
        job: arguments of every operator of the group, such as `run_mode` or `conf`.
    """
    with TaskGroup(group_id, tooltip=f"Indexes of {table}") as group:
        tasks: list[BaseOperator] = []
        if indexes:
            tasks.append(
                HudiCreateIndexOperator(task_id="create", table=table, statement=list(indexes), **job)
            )
        tasks.append(HudiMaintainIndexesOperator(task_id="maintain", table=table, **job))
        if fresh:
            connection = {
                name: job[name] for name in ("hudi_index_conn_id", "storage_conn_id") if name in job
            }
            tasks.append(
                HudiIndexFreshSensor(
                    task_id="fresh", table=table, max_commits_behind=1, timeout=60, mode="poke", **connection
                )
            )
        if compact:
            tasks.append(HudiCompactIndexesOperator(task_id="compact", table=table, **job))
        if validate:
            chosen = {} if validate is True else dict(validate)
            tasks.append(HudiValidateIndexesOperator(task_id="validate", table=table, **{**job, **chosen}))
        chain(*tasks)
    return group
