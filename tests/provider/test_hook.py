"""The hook: which table is meant, what it knows, what the Test button says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException

from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.job_command import JobCommand
from hudi_index.errors import UserError
from tests.support.airflow import WITH_AIRFLOW
from tests.support.tables import T1, T2, fabricated, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = WITH_AIRFLOW


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    def make(host: str = "", **extra: Any) -> HudiIndexHook:
        described = {"conn_type": "hudi_index", "host": host, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_TRIED", json.dumps(described))
        return HudiIndexHook("tried")

    return make


def test_tables_by_name_path_and_uri(connect: Any) -> None:
    hook = connect("/data/wh/", tables={"trips": "s3://b/trips"})
    assert hook.location_of("trips") == "s3://b/trips"
    # Said again, as by whoever asked where it is.
    assert hook.location_of("s3://b/trips") == "s3://b/trips"
    assert hook.location_of("sales/orders") == "/data/wh/sales/orders"
    assert hook.location_of("/data/wh/sales/orders") == "/data/wh/sales/orders"
    assert hook.location_of("/data/wh") == "/data/wh"
    hook = connect(tables='{"trips": "/t"}')
    assert hook.location_of("/x/t") == "/x/t"
    assert hook.location_of("s3://b/t") == "s3://b/t"
    with pytest.raises(UserError, match="no base path; it knows trips"):
        hook.location_of("other")


def test_default_connection_may_be_missing_others_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_HUDI_INDEX_DEFAULT")
    assert HudiIndexHook().settings.run_mode == "local"
    with pytest.raises(AirflowNotFoundException):
        _ = HudiIndexHook("absent").settings


@pytest.mark.parametrize(
    "extra",
    [
        {"run_mode": "yarn"},
        {"run_mode": 1},
        {"spark_conf": "no json"},
        {"tables": "[1]"},
        {"cores": 0},
        {"cores": "many"},
        {"cores": "nan"},
        {"cores": -2},
        {"cores": 1.5},
        {"allow_absolute_paths": "perhaps"},
    ],
)
def test_values_that_cannot_be_are_refused(connect: Any, extra: dict[str, Any]) -> None:
    with pytest.raises(AirflowFailException, match=next(iter(extra))):
        _ = connect(**extra).settings


def test_test_button(connect: Any, tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t")
    good, said = connect(str(table.path)).test_connection()
    assert good
    assert "version 9" in said
    assert "by_n (secondary_index, ready)" in said
    assert "in step" in said
    write(table, T2, "b", range(20, 25))
    good, said = connect(tables={"t": str(table.path)}).test_connection()
    assert good
    assert "1 commits behind" in said
    good, said = connect(str(tmp_path / "absent")).test_connection()
    assert not good
    assert "no Hudi table" in said


def test_questions_without_a_jvm(tmp_path: Path) -> None:
    table = str(fabricated(tmp_path / "t").path)
    hook = HudiIndexHook()
    assert hook.latest_instant(table) == T1
    assert hook.lag(table)["is_fresh"]
    assert hook.plan(table, "n = 5")["kept"] == 1
    assert hook.plan(table, "n = 55")["files"] == []


def test_missing_spark_connection_is_no_yarn() -> None:
    with pytest.raises(AirflowFailException, match="no Spark connection 'absent'"):
        HudiIndexHook().spark_job(JobCommand("maintain", "maintain.py", ()), spark_conn_id="absent")


def test_cluster_deploy_mode_needs_a_place_for_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    described = {"conn_type": "spark", "host": "spark://h:7077", "extra": {"deploy-mode": "cluster"}}
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(described))
    command = JobCommand("maintain", "maintain.py", ("--table=/t",))
    with pytest.raises(AirflowFailException, match="report_folder"):
        HudiIndexHook().spark_job(command, spark_conn_id="cluster")
    job = HudiIndexHook().spark_job(
        command, spark_conn_id="cluster", report_uri="s3://b/r.json", packages="g:a:1", archives="env.tgz#env"
    )
    argv = job.hook._build_spark_submit_command(command.application)
    assert argv[argv.index("--master") + 1] == "spark://h:7077"
    assert argv[argv.index("--archives") + 1] == "env.tgz#env"
    assert argv[argv.index("--packages") + 1] == "g:a:1"
    assert argv[-3:] == [command.application, "--table=/t", "--report=s3://b/r.json"]
