"""Operators run by real Airflow: good and bad parameters, deferral, spark-submit, lineage."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from airflow.sdk import DAG

from airflow_hudi_index.assets import hudi_index_asset
from airflow_hudi_index.lineage import lineage_of
from airflow_hudi_index.operators import (
    HudiCompactIndexesOperator,
    HudiCreateIndexOperator,
    HudiMaintainIndexesOperator,
    HudiRepairIndexesOperator,
    HudiValidateIndexesOperator,
)
from airflow_hudi_index.sensors import HudiCommitSensor, HudiIndexFreshSensor
from hudi_index import IndexedTable
from hudi_index.errors import UserError
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.native import NativeIndexes
from tests.parity.tables import COW, HudiTable, hostile_rows
from tests.spark.test_jobs import cluster
from tests.support.airflow import WITH_AIRFLOW, dags_of, run_dag
from tests.support.airflow_home import ROOT
from tests.support.shared_java import another_java, shared_java
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["another_java", "cluster", "shared_java"]

pytestmark = WITH_AIRFLOW


@pytest.fixture(scope="module")
def dags() -> dict[str, Any]:
    return dags_of(ROOT / "tests" / "provider" / "dags")


@pytest.mark.parametrize(
    "bad",
    [
        {"name": "x` ON TABLE t (n) OPTIONS (shards = 9) --"},
        {"name": "$(touch x)"},
        {"name": "x", "columns": None, "expression": "n) OPTIONS (shards = 9"},
        {"name": "x", "columns": None},
    ],
)
def test_bad_parameters_fail_at_once(dags: dict[str, Any], tmp_path: Path, bad: dict[str, Any]) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    run = run_dag(dags["create_by_parts"], table=str(table.path), **bad)
    (instance,) = run.dag_run.get_task_instances()
    # Retries are left, and not used.
    assert (instance.state, instance.try_number, instance.max_tries) == ("failed", 1, 3)
    assert IndexedTable.open(table.path).indexes() == ()


@pytest.mark.spark
def test_lifecycle_group_deferred(dags: dict[str, Any], tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    run = run_dag(dags["lifecycle"], table=str(table.path))
    assert run.state == "success", run.states
    assert run.xcom("hudi_indexes.create")["indexes"] == ["by_n"]
    assert run.xcom("hudi_indexes.maintain")["notes"]
    assert "job.log" in run.xcom("hudi_indexes.create", key="hudi_index_log_url")
    told = run.asset_events()
    assert {uri for uri, _ in told} == {hudi_index_asset(str(table.path)).uri}
    assert [extra["verb"] for _, extra in told] == ["create", "maintain", "compact"]
    assert told[0][1]["indexes"] == ["by_n"]
    assert IndexedTable.open(table.path).status().is_fresh
    again = run_dag(dags["lifecycle"], table=str(table.path))
    assert again.state == "success", again.states
    assert again.xcom("hudi_indexes.create")["notes"] == ["index by_n exists already"]


@pytest.mark.spark
def test_request_that_the_job_refuses_is_not_tried_again(dags: dict[str, Any], tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    run = run_dag(dags["create_by_parts"], table=str(table.path), columns=["--help", "absent"])
    (instance,) = run.dag_run.get_task_instances()
    assert (instance.state, instance.try_number) == ("failed", 1)


@pytest.mark.spark
def test_spark_submit_on_a_standalone_cluster(
    dags: dict[str, Any],
    spark: SparkSession,
    cluster: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    from hudi_index.spark.runtime.java import ensure_java

    ensure_java()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("AIRFLOW_CONN_THE_CLUSTER", json.dumps({"conn_type": "spark", "host": cluster}))
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(24)))
    run = run_dag(dags["on_spark"], table=str(hudi.path), connection="the_cluster")
    assert run.state == "success", run.states
    assert run.xcom("create")["rows_read"] == 24
    assert run.xcom("create", key="hudi_index_spark_ui").startswith("http")
    assert IndexedTable.open(hudi.path).status().is_fresh
    # The index is there now; which Spark refuses does not matter, and this one starts no executors.
    monkeypatch.setenv("AIRFLOW_CONN_NO_CLUSTER", json.dumps({"conn_type": "spark", "host": "local[1]"}))
    refused = run_dag(dags["on_spark"], table=str(hudi.path), connection="no_cluster")
    (instance,) = refused.dag_run.get_task_instances()
    assert (instance.state, instance.try_number) == ("failed", 1)


def test_spark_submit_without_a_connection_fails_at_once(dags: dict[str, Any], tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    run = run_dag(dags["on_spark"], table=str(table.path), connection="absent")
    (instance,) = run.dag_run.get_task_instances()
    assert (instance.state, instance.try_number) == ("failed", 1)


@pytest.mark.spark
@pytest.mark.usefixtures("shared_java")
def test_hudis_own_indexes(dags: dict[str, Any], spark: SparkSession, tmp_path: Path) -> None:
    """Each verb on an index that Hudi keeps itself, the job scripts with `--backend native` included."""
    hudi = HudiTable(
        spark,
        tmp_path / "t",
        COW,
        partition_by="g",
        ordering=None,
        schema="id string, g int, v double",
        options={"hoodie.metadata.enable": "true"},
    )
    for part in (range(4), range(4, 8)):
        hudi.bulk_insert([{"id": f"id-{n}", "g": n % 2, "v": float(n)} for n in part])
    run = run_dag(dags["hudis_own"], table=str(hudi.path))
    assert run.state == "success", run.states
    assert run.xcom("create")["indexes"] == ["record_index"]
    assert "nothing to do" in run.xcom("maintain")["notes"][0]
    assert run.xcom("compact")["commit"]
    report = run.xcom("validate")
    assert (report["backend"], report["passed"]) == ("native", True)
    (query,) = report["queries"]
    # Without the index all four files are read; so it was there, and asked.
    assert (query["rows"], query["file_groups"], query["file_groups_read"]) == (1, 4, 1)
    assert "validation.html" in run.xcom("validate", key="hudi_index_validation_url")
    own = NativeIndexes.open(spark, hudi.path)
    assert "record_index" not in str(own.show())
    statement = "CREATE INDEX IF NOT EXISTS record_index ON t (id)"
    assert own.run_statement(statement).notes == []
    assert own.run_statement(statement).notes == ["index record_index exists already"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"run_mode": "yarn"},
        {"backend": "other"},
        {"run_mode": "spark_submit", "deferrable": True},
    ],
)
def test_arguments_that_do_not_fit_are_refused_while_parsing(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"none of|deferred"):
        HudiMaintainIndexesOperator(task_id="t", table="/t", **wrong)
    with pytest.raises(ValueError, match="statement"):
        HudiCreateIndexOperator(task_id="t", table="/t")


def test_retries_hold_for_mapped_tasks_and_those_of_a_dag_win() -> None:
    with DAG("ours", schedule=None):
        ours: list[Any] = [
            HudiMaintainIndexesOperator(task_id="one", table="/t"),
            HudiMaintainIndexesOperator.partial(task_id="mapped").expand(table=["/t"]),
        ]
    with DAG("theirs", schedule=None, default_args={"retries": 7, "poke_interval": 9}):
        theirs: list[Any] = [
            HudiMaintainIndexesOperator(task_id="one", table="/t"),
            HudiMaintainIndexesOperator.partial(task_id="mapped").expand(table=["/t"]),
        ]
        sensors = [
            kind(task_id=kind.__name__, table="/t") for kind in (HudiCommitSensor, HudiIndexFreshSensor)
        ]
    assert [(each.retries, each.retry_delay) for each in ours] == [(3, timedelta(seconds=30))] * 2
    assert [each.retries for each in theirs] == [7, 7]
    assert [each.poke_interval for each in sensors] == [9, 9]


def test_commands_are_argument_lists() -> None:
    validate = HudiValidateIndexesOperator(
        task_id="v",
        table="/t",
        where=["name = '--force'", "name = '$(rm -rf /)'"],
        queries=5,
        indexes=["by_n"],
        quarantine=False,
        backend="native",
    )
    command = validate.command("/t")
    assert command.application.endswith("validate.py")
    assert command.arguments == (
        "--table=/t",
        "--backend=native",
        "--queries=5",
        "--where=name = '--force'",
        "--where=name = '$(rm -rf /)'",
        "--index=by_n",
        "--no-quarantine",
    )
    compact = HudiCompactIndexesOperator(task_id="c", table="/t", partitions=["files"], force="True")
    assert compact.command("/t").arguments == ("--table=/t", "--partition=files", "--force")
    lone = HudiCompactIndexesOperator(task_id="one", table="/t", partitions="files")
    assert lone.command("/t").arguments == ("--table=/t", "--partition=files")
    one = HudiValidateIndexesOperator(task_id="o", table="/t", where="n = 1", indexes="by_n")
    assert one.command("/t").arguments == ("--table=/t", "--where=n = 1", "--index=by_n")
    repair = HudiRepairIndexesOperator(task_id="r", table="/t", check="True")
    assert repair.command("/t").arguments == ("--table=/t", "--check")
    assert HudiRepairIndexesOperator(task_id="r", table="/t").command("/t").arguments == ("--table=/t",)


def test_only_queries_are_asked() -> None:
    requests: list[dict[str, Any]] = [{"sql": ["DROP TABLE t"]}, {"where": ["n = 1); DROP TABLE t; --"]}]
    for wrong in requests:
        with pytest.raises(UserError):
            HudiValidateIndexesOperator(task_id="v", table="/t", **wrong).command("/t")


def test_operators_announce_what_they_change() -> None:
    assert HudiMaintainIndexesOperator(task_id="t", table="/t").outlets == [hudi_index_asset("/t")]
    native = HudiMaintainIndexesOperator(task_id="n", table="/t", backend="native")
    assert [each.uri for each in native.outlets] == ["file:///t/.hoodie/metadata"]
    (alias,) = HudiMaintainIndexesOperator(task_id="t", table="{{ params.table }}").outlets
    assert alias.name == "hudi_index/t"
    assert HudiValidateIndexesOperator(task_id="t", table="/t").outlets == []


def test_lineage_names_table_and_indexes(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t")
    report = IndexedTable.open(table.path).sql("CREATE INDEX m ON t USING bitmap (region)")
    lineage = lineage_of(report.as_dict())  # type: ignore[union-attr]
    (read,) = lineage.inputs
    written = lineage.outputs[0]
    assert (read.namespace, read.name) == ("file", str(table.path))
    assert f"{table.path}/.hoodie/.index/m" in [each.name for each in lineage.outputs]
    assert written.outputFacets["outputStatistics"].size > 0
    operator = HudiMaintainIndexesOperator(task_id="t", table=str(table.path))
    assert operator.get_openlineage_facets_on_complete(None).inputs == []


def test_lease_of_another_writer_is_a_conflict(tmp_path: Path) -> None:
    """What the job would meet: the error that becomes exit code 4, and so a retry."""
    from hudi_index.errors import ConflictError

    table = IndexedTable.open(fabricated(tmp_path / "t").path)
    with MetadataTable.of(table.storage).begin(), pytest.raises(ConflictError):
        table.sql("CREATE INDEX m ON t USING bitmap (region)")
