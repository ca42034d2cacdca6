"""DAGs that only the tests run."""

from __future__ import annotations

import json
import os
from datetime import datetime, timezone
from typing import Any

from airflow.sdk import DAG, chain

from airflow_hudi_index.operators import (
    HudiCompactIndexesOperator,
    HudiCreateIndexOperator,
    HudiDropIndexOperator,
    HudiMaintainIndexesOperator,
    HudiValidateIndexesOperator,
)
from airflow_hudi_index.sensors import HudiIndexFreshSensor
from airflow_hudi_index.task_groups import hudi_index_lifecycle

START = datetime(2024, 1, 1, tzinfo=timezone.utc)

with DAG(
    "create_by_parts",
    schedule=None,
    start_date=START,
    render_template_as_native_obj=True,
    params={"table": "", "name": "i", "columns": ["n"], "expression": None},
):
    HudiCreateIndexOperator(
        task_id="create",
        table="{{ params.table }}",
        name="{{ params.name }}",
        columns="{{ params.columns }}",  # type: ignore[arg-type]
        expression="{{ params.expression }}",
    )

with DAG("lifecycle", schedule=None, start_date=START, params={"table": ""}):
    hudi_index_lifecycle("{{ params.table }}", ["CREATE INDEX IF NOT EXISTS by_n ON t (n)"], deferrable=True)

with DAG("on_spark", schedule=None, start_date=START, params={"table": "", "connection": ""}):
    HudiCreateIndexOperator(
        task_id="create",
        table="{{ params.table }}",
        statement="CREATE INDEX by_name ON t (name)",
        run_mode="spark_submit",
        spark_conn_id="{{ params.connection }}",
        conf={"spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2"},
    )

with DAG("killed", schedule=None, start_date=START, params={"table": ""}):
    HudiMaintainIndexesOperator(task_id="maintain", table="{{ params.table }}", retries=0)

with DAG("hudis_own", schedule=None, start_date=START, params={"table": ""}):
    own: dict[str, Any] = {"table": "{{ params.table }}", "backend": "native"}
    chain(
        HudiCreateIndexOperator(task_id="create", name="record_index", columns=["id"], **own),
        HudiMaintainIndexesOperator(task_id="maintain", **own),
        HudiCompactIndexesOperator(task_id="compact", **own),
        HudiValidateIndexesOperator(task_id="validate", queries=0, where=["id = 'id-3'"], **own),
        HudiDropIndexOperator(task_id="drop", index="record_index", **own),
    )

with DAG("within", schedule=None, start_date=START, params={"table": ""}):
    within: dict[str, Any] = {"table": "{{ params.table }}", "hudi_index_conn_id": "warehouse"}
    HudiMaintainIndexesOperator(task_id="maintain", **within)
    HudiDropIndexOperator(task_id="drop", index="absent", if_exists=False, **within)

with DAG("on_a_store", schedule=None, start_date=START, params={"table": ""}):
    stored: dict[str, Any] = {
        "table": "{{ params.table }}",
        "hudi_index_conn_id": "lake",
        "storage_conn_id": "lake_store",
    }
    chain(
        HudiCreateIndexOperator(task_id="create", name="by_n", columns=["n"], **stored),
        HudiMaintainIndexesOperator(task_id="maintain", deferrable=True, **stored),
        HudiIndexFreshSensor(task_id="fresh", deferrable=True, timeout=600, **stored),
        HudiCompactIndexesOperator(task_id="compact", force=True, **stored),
        HudiDropIndexOperator(task_id="drop", index="by_n", **stored),
    )


def held() -> dict[str, str]:
    """What a template reads where it is rendered: no DAG holds it."""
    return dict(json.loads(value) for name, value in sorted(os.environ.items()) if name.startswith("HELD_"))


with DAG(
    "secretive",
    schedule=None,
    start_date=START,
    params={"table": ""},
    render_template_as_native_obj=True,
    user_defined_macros={"held": held},
):
    given: dict[str, Any] = {"hudi_index_conn_id": "secretive", "retries": 0}
    secrets: dict[str, Any] = {
        "conf": "{{ held() }}",
        "env_vars": "{{ held() }}",
        "submit_options": {"deep": ["{{ held() }}"]},
    }
    HudiDropIndexOperator(task_id="drop", table="{{ params.table }}", index="absent", **given, **secrets)
    HudiMaintainIndexesOperator(
        task_id="named", table="{{ 's3://user:' ~ (held().values() | first) ~ '@bucket/t' }}", **given
    )
    HudiIndexFreshSensor(
        task_id="fresh", table="{{ params.table }}", hudi_index_conn_id="secretive", timeout=60
    )
