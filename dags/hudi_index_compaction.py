"""Compaction of index metadata tables, at a time of one's choice."""

from __future__ import annotations

import os
from datetime import datetime, timezone

from airflow.sdk import DAG, Param

from airflow_hudi_index.operators import HudiCompactIndexesOperator

# Of the nightly runs; whoever triggers one by hand may give others.
TABLES = [table for table in [os.environ.get("HUDI_INDEX_TABLE")] if table]

with DAG(
    "hudi_index_compaction",
    description="Every night: compact the index metadata tables where that is due",
    doc_md="""
### Compact where it is due

One task per table of `tables`, by default the one of the environment variable `HUDI_INDEX_TABLE`. A table
where nothing is due costs a look without a JVM; with `force` all is compacted. Maintenance may go on
meanwhile.
""",
    schedule="0 3 * * *",
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    render_template_as_native_obj=True,
    tags=["hudi", "example"],
    params={
        "tables": Param(
            TABLES,
            type="array",
            items={"type": "string"},
            description="Paths, URIs, or names in the connection's catalog",
        ),
        "force": Param(default=False, type="boolean", description="Also what is not due"),
    },
) as dag:

    @dag.task
    def tables(params: dict[str, list[str]] | None = None) -> list[str]:
        """The tables of this run."""
        return (params or {})["tables"]

    HudiCompactIndexesOperator.partial(task_id="compact", force="{{ params.force }}").expand(table=tables())
