"""Rows that come as files, written through the record index."""

from __future__ import annotations

import os
from datetime import datetime, timezone

from airflow.sdk import DAG, Param, chain

from airflow_hudi_index.operators import HudiIndexedUpsertOperator, HudiValidateIndexesOperator

TABLE = os.environ.get("HUDI_INDEX_TABLE", "/data/trips")

with DAG(
    "hudi_index_upsert",
    description="Upsert files into a Hudi table through its record index, then prove all indexes right",
    doc_md="""
### Rows in, indexes in step

1. **upsert** the rows of `source` into `table`, which has a record index: it tells where each record is, so
   Hudi looks for none. Rows insert, update, move to another partition, or, where the column `deletes` is
   true, delete. All indexes are brought to the commit in the same task.
2. **validate**: queries with indexes against full scans.

A run writes its rows once, however often its tasks are tried or cleared: the commit names the task and the
run. A DAG of yours gives `source` as a template, such as `/landing/trips/{{ ds }}`.
""",
    schedule=None,
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["hudi", "example"],
    params={
        "table": Param(TABLE, type="string", description="Path, URI or name"),
        "source": Param("/data/landing/trips", type="string", description="Path or URI of the rows"),
        "format": Param("parquet", enum=["parquet", "orc", "json", "csv", "hudi", "table"]),
        "deletes": Param(
            None, type=["null", "string"], description="The column that is true for rows that delete"
        ),
    },
    render_template_as_native_obj=True,
):
    chain(
        HudiIndexedUpsertOperator(
            task_id="upsert",
            table="{{ params.table }}",
            source="{{ params.source }}",
            format="{{ params.format }}",
            deletes="{{ params.deletes }}",
        ),
        HudiValidateIndexesOperator(task_id="validate", table="{{ params.table }}", queries=5),
    )
