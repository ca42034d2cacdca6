"""The provider on tables in an object store, whose keys are in Airflow's connection to it."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_hudi_index.assets import hudi_table_asset
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.operators import HudiMaintainIndexesOperator
from airflow_hudi_index.outcome import JobRefusedError
from airflow_hudi_index.sensors import HudiCommitSensor
from airflow_hudi_index.triggers.commits import HudiCommitTrigger
from hudi_index import IndexedTable
from hudi_index.errors import StorageUnreachableError
from hudi_index.spark.runtime.session import SHORT_RUN
from tests.support.airflow import WITH_AIRFLOW, dags_of, run_dag
from tests.support.airflow_home import FEW_TASKS, HOME, ROOT
from tests.support.canaries import Watch, database_texts, found_in, left_over
from tests.support.object_store import BUCKET
from tests.support.tables import T1, T2, fabricated, write

if TYPE_CHECKING:
    from tests.support.object_store import ObjectStore

pytestmark = WITH_AIRFLOW

SECRET = "testsecret"
"""The store's own."""


class Lake:
    """Connections `lake` and `lake_store`, and tables below them."""

    def __init__(self, store: ObjectStore, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.folder, self._environment = store, folder, monkeypatch
        self.base_path = f"s3a://{BUCKET}/{folder}"
        self.connect()

    def connect(self, *, password: str = SECRET, endpoint: str = "", **extra: Any) -> HudiIndexHook:
        store = {
            "conn_type": "aws",
            "login": "testkey",
            "password": password,
            "extra": {"endpoint_url": endpoint or self.store.endpoint, "region_name": "us-east-1"},
        }
        lake = {
            "conn_type": "hudi_index",
            "host": self.base_path,
            "extra": {"storage_conn_id": "lake_store", "spark_conf": FEW_TASKS, **extra},
        }
        self._environment.setenv("AIRFLOW_CONN_LAKE_STORE", json.dumps(store))
        self._environment.setenv("AIRFLOW_CONN_LAKE", json.dumps(lake))
        return HudiIndexHook("lake")

    @property
    def files(self) -> Path:
        """Its objects are plain files."""
        return self.store.bucket / self.folder

    def open(self, name: str) -> IndexedTable:
        return IndexedTable.open(f"{self.base_path}/{name}", self.store.options)


@pytest.fixture
def lake(object_store: ObjectStore, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Lake:
    return Lake(object_store, request.node.name, monkeypatch)


def test_whole_life_by_operators(lake: Lake, capfd: pytest.CaptureFixture[str]) -> None:
    table = fabricated(lake.files / "t", indexed=False)
    lake.open("t").create_all(["CREATE INDEX by_region ON t (region)"])
    write(table, T2, "b", range(20, 25))
    dag = dags_of(ROOT / "tests" / "provider" / "dags")["on_a_store"]
    with Watch(SECRET) as watch:
        run = run_dag(dag, table="t")
    assert set(run.states.values()) == {"success"}, run.states
    assert "by_n" in run.xcom("create")["indexes"]
    assert run.xcom("create")["table"] == f"{lake.base_path}/t"
    assert run.xcom("fresh")["is_fresh"]
    assert run.xcom("compact")["commit"]
    assert [each.name for each in lake.open("t").indexes()] == ["by_region"]
    # One address for all names of the store.
    assert {uri for uri, _ in run.asset_events()} == {f"s3://{BUCKET}/{lake.folder}/t/.hoodie/.index"}
    assert "local.py" in watch.seen
    assert watch.found == set()
    assert [(name, found) for name, text in database_texts() for found in found_in(text, SECRET)] == []
    assert left_over(HOME / "hudi_index" / "on_a_store", HOME / "logs", mark=SECRET) == []
    assert found_in("".join(capfd.readouterr()), SECRET) == []


def test_deferred_sensor_and_watched_asset_find_their_way_by_the_connection(lake: Lake) -> None:
    from airflow.sdk.exceptions import TaskDeferred

    table = fabricated(lake.files / "t", indexed=False)
    sensor = HudiCommitSensor(
        task_id="s", table="t", after=T1, hudi_index_conn_id="lake", deferrable=True, poke_interval=0.1
    )
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})
    _, arguments = deferred.value.trigger.serialize()
    assert found_in(json.dumps(arguments), SECRET) == []
    waiting = HudiCommitTrigger(**arguments)

    async def first_event(trigger: HudiCommitTrigger) -> Any:
        return (await anext(trigger.run())).payload

    async def second_commit() -> Any:
        found = asyncio.create_task(first_event(waiting))
        write(table, T2, "b", range(20, 25))
        return await found

    event = asyncio.run(asyncio.wait_for(second_commit(), 600))
    assert [each["completed"] for each in event["commits"]] == [T2]
    asset = hudi_table_asset(f"{lake.base_path}/t", hudi_index_conn_id="lake", storage_conn_id="lake_store")
    (watcher,) = asset.watchers
    classpath, arguments = watcher.trigger.serialize()
    assert classpath.endswith("HudiCommitTrigger")
    event = asyncio.run(asyncio.wait_for(first_event(HudiCommitTrigger(**arguments)), 600))
    assert len(event["commits"]) == 2


def test_test_button_proves_what_indexes_need(lake: Lake) -> None:
    fabricated(lake.files / "t")
    good, said = lake.connect().test_connection()
    assert good, said
    assert "read, list, create once and delete work" in said
    good, said = lake.connect(tables={"trips": f"{lake.base_path}/t"}).test_connection()
    assert good, said
    assert "create once" in said
    assert "by_n (secondary_index, ready)" in said
    assert [file for file in lake.files.rglob("check-*") if file.is_file()] == []


def test_test_button_tells_what_is_denied(lake: Lake) -> None:
    fabricated(lake.files / "t")
    good, said = lake.connect(password="not-that-one").test_connection()
    assert not good
    assert "credentials" in said
    assert found_in(said, "not-that-one") == []


def test_denied_fails_at_once_and_no_answer_is_tried_again(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    fabricated(lake.files / "t")
    where: dict[str, Any] = {"table": "t", "hudi_index_conn_id": "lake"}
    lake.connect(password="not-that-one")
    with pytest.raises(JobRefusedError, match="credentials"):
        HudiMaintainIndexesOperator(task_id="m", **where).execute({})
    with pytest.raises(AirflowFailException, match="credentials"):
        HudiCommitSensor(task_id="s", **where).poke({})
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listened on
        lake.connect(endpoint=f"http://127.0.0.1:{nobody.getsockname()[1]}")
        with pytest.raises(StorageUnreachableError):
            HudiMaintainIndexesOperator(task_id="m", **where).execute({})
        caplog.set_level(logging.WARNING)
        found = HudiCommitSensor(task_id="s", **where).poke({})
    assert not found.is_done


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.timeout(3600)
def test_quickstart_on_the_store(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"storage_conn_id": "lake_store", "spark_conf": {**SHORT_RUN, **FEW_TASKS}}
    described = {"conn_type": "hudi_index", "host": lake.base_path, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_HUDI_INDEX_DEFAULT", json.dumps(described))
    with Watch(SECRET) as watch:
        run = run_dag(dags_of()["hudi_index_quickstart"], folder=f"{lake.base_path}/quickstart")
    assert run.state == "success", run.states
    assert {"local.py", "SparkSubmit", "hudi_index.spark.daemon"} <= watch.seen
    assert watch.found == set()
    assert left_over(HOME / "hudi_index" / "hudi_index_quickstart", HOME / "logs", mark=SECRET) == []
    for name in ("trips_cow", "trips_mor"):
        report = run.xcom(f"{name}.validate")
        assert report["passed"]
        assert any(each["file_groups_read"] < each["file_groups"] for each in report["queries"])
        table = lake.open(f"quickstart/{name}")
        assert len(table.indexes()) == 4
        assert table.status().is_fresh
        assert table.scan("rider = 'rider-new'", ["trip_id"]).read_all().num_rows == 10
