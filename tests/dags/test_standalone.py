"""Through a running scheduler and triggerer: a commit starts maintenance, a kill ends a job."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from airflow_hudi_index.local_job import LocalJob
from hudi_index import IndexedTable
from tests.dags.standalone import Airflow, standalone
from tests.parity.tables import MOR, HudiTable, hostile_rows
from tests.support.airflow import WITH_AIRFLOW
from tests.support.airflow_home import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, *WITH_AIRFLOW]

SOON = timedelta(seconds=30)
"""What is promised of the way from a commit to its run; a few seconds are usual."""


def test_commits_start_maintenance(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", MOR)
    hudi.bulk_insert(hostile_rows(range(12)))
    table = IndexedTable.open(hudi.path)
    table.sql("CREATE INDEX by_name ON t (name)")
    settings = {"HUDI_INDEX_TABLE": str(hudi.path), "AIRFLOW__CORE__TEST_CONNECTION": "Enabled"}
    files = [ROOT / "dags" / "hudi_index_maintenance.py", ROOT / "tests" / "provider" / "dags" / "checks.py"]
    with standalone(tmp_path / "home", files, settings) as airflow:
        _a_commit_by_plain_spark_starts_a_run(airflow, hudi, table)
        _reports_are_for_those_who_may_see_the_task(airflow)
        _the_test_button_works(airflow, hudi)
        _killing_a_task_ends_its_job(airflow, hudi)


def _a_commit_by_plain_spark_starts_a_run(airflow: Airflow, hudi: HudiTable, table: IndexedTable) -> None:
    dag = "hudi_index_maintenance"
    # Assets of paused DAGs are not watched. What was there before is told of once: a run with nothing to do.
    airflow.until(
        "the DAG", lambda: airflow.ask("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})[0] == 200
    )
    first = airflow.until("the first run", lambda: airflow.ended_runs_of(dag))
    assert [run["state"] for run in first] == ["success"]
    hudi.upsert(hostile_rows(range(4), ts=2, salt=1))
    committed = datetime.now(timezone.utc)
    assert not table.status().is_fresh
    second = airflow.until("a run by the commit", lambda: airflow.ended_runs_of(dag)[:-1])
    assert [(run["run_type"], run["state"]) for run in second] == [("asset_triggered", "success")]
    assert datetime.fromisoformat(second[0]["start_date"]) - committed < SOON
    assert table.status().is_fresh
    airflow.ask("PATCH", f"/api/v2/dags/{dag}", {"is_paused": True})


def _reports_are_for_those_who_may_see_the_task(airflow: Airflow) -> None:
    dag = "hudi_index_maintenance"
    run = quote(airflow.runs_of(dag)[0]["dag_run_id"], safe="")
    instance = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/maintain"
    _, links = airflow.ask("GET", f"{instance}/links")
    link = links["extra_links"]["Job log"]
    path = link.removeprefix(airflow.address)
    assert airflow.ask("GET", path)[0] == 200
    assert airflow.ask("GET", path, anonymous=True)[0] == 401
    assert airflow.ask("GET", path.replace("job.log", "report.json"))[1]["verb"] == "maintain"
    for bad in ("command.json", "lock", quote("../../../airflow.db", safe="")):
        assert airflow.ask("GET", path.replace("job.log", bad))[0] == 404


def _the_test_button_works(airflow: Airflow, hudi: HudiTable) -> None:
    described = {"connection_id": "tried", "conn_type": "hudi_index", "host": str(hudi.path)}
    code, answer = airflow.ask("POST", "/api/v2/connections/test", described)
    assert (code, answer["status"]) == (200, True)
    assert "by_name" in answer["message"]


def _killing_a_task_ends_its_job(airflow: Airflow, hudi: HudiTable) -> None:
    # With an expression the job has to start Spark: without, it would be done before it can be killed.
    IndexedTable.open(hudi.path).sql("CREATE INDEX shout ON t (upper(name))", spark=hudi.spark)
    hudi.upsert(hostile_rows(range(2), ts=3, salt=2))
    airflow.ask("PATCH", "/api/v2/dags/killed", {"is_paused": False})
    body = {"logical_date": None, "conf": {"table": str(hudi.path)}}
    code, run = airflow.ask("POST", "/api/v2/dags/killed/dagRuns", body)
    assert code == 200, run

    def started() -> LocalJob | None:
        found = list((airflow.home / "hudi_index" / "killed").glob("*/maintain/-1/lock"))
        job = LocalJob(found[0].parent) if found else None
        return job if job and job.exit_code() is None else None

    job = airflow.until("the job", started)
    instance = f"/api/v2/dags/killed/dagRuns/{quote(run['dag_run_id'], safe='')}/taskInstances/maintain"
    code, _ = airflow.ask("PATCH", instance, {"new_state": "failed"})
    assert code == 200
    assert job.wait(120) is not None
    assert job.was_cancelled
