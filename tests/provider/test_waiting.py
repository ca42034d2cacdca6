"""Sensors and triggers, on tables that change while they wait."""

from __future__ import annotations

import asyncio
import importlib
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_hudi_index.assets import hudi_index_asset, hudi_table_asset
from airflow_hudi_index.freshness import staleness
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.operators import HudiMaintainIndexesOperator
from airflow_hudi_index.sensors import HudiCommitSensor, HudiIndexFreshSensor
from airflow_hudi_index.triggers.commits import HudiCommitTrigger
from airflow_hudi_index.triggers.freshness import HudiIndexFreshTrigger
from hudi_index import IndexedTable
from hudi_index.storage import Storage
from hudi_index.table.footer import row_count_of
from tests.support.airflow import WITH_AIRFLOW
from tests.support.tables import T1, T2, T3, fabricated, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = WITH_AIRFLOW


class Store:
    """Airflow's asset state store, as a dictionary of JSON."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def aget(self, key: str, default: Any = None) -> Any:
        return json.loads(self.kept[key]) if key in self.kept else default

    async def aset(self, key: str, value: Any) -> None:
        self.kept[key] = json.dumps(value)


async def events(trigger: Any, count: int, then: Any = None) -> list[Any]:
    found: list[Any] = []
    async for event in trigger.run():
        found.append(event.payload)
        if len(found) == count:
            break
        if then:
            then()
    return found


def commits(payload: dict[str, Any]) -> list[str]:
    return [each["requested"] for each in payload["commits"]]


def test_trigger_tells_each_commit_once_and_a_burst_at_once(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    table.commit(T2)

    def later() -> None:
        # Completed last though requested first; its clock is behind.
        table.commit("20231231000000000", completed="20240101000000001")

    trigger = HudiCommitTrigger(table=str(table.path), poll_interval=0.01)
    first, second = asyncio.run(asyncio.wait_for(events(trigger, 2, later), 60))
    assert commits(first) == [T1, T2]
    assert commits(second) == ["20231231000000000"]


def test_trigger_of_an_asset_remembers_over_restarts(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    store = Store()

    def restarted() -> HudiCommitTrigger:
        (watcher,) = hudi_table_asset(str(table.path), poll_interval=0.01).watchers
        _, arguments = watcher.trigger.serialize()
        trigger = HudiCommitTrigger(**json.loads(json.dumps(arguments)))
        trigger.asset_state_store = store  # type: ignore[assignment]  # stands in for Airflow's
        return trigger

    async def first_life() -> list[Any]:
        found, lives = [], restarted().run()
        found.append((await anext(lives)).payload)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(lives), 0.3)
        return found

    assert commits(asyncio.run(first_life())[0]) == [T1]
    table.commit(T2)
    table.commit(T3)
    (again,) = asyncio.run(asyncio.wait_for(events(restarted(), 1), 60))
    assert commits(again) == [T2, T3]


def test_trigger_outlives_a_table_that_is_not_there(tmp_path: Path) -> None:
    trigger = HudiCommitTrigger(table=str(tmp_path / "t"), poll_interval=0.01, once=True)

    async def story() -> list[Any]:
        waiting = asyncio.create_task(events(trigger, 1))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        fabricated(tmp_path / "t", indexed=False)
        return await asyncio.wait_for(waiting, 60)

    assert commits(asyncio.run(story())[0]) == [T1]


def test_commits_are_chosen_by_completion_partition_and_action(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    table.commit(T2, "replacecommit", completed="20240105000000000", replaced={"us": ["x"]})
    table.commit(T3, "clean")
    hook = HudiIndexHook()
    path = str(table.path)

    def requested(**chosen: Any) -> list[str]:
        return [each["requested"] for each in hook.commits_after(path, **chosen)]

    assert requested() == [T1, T2]
    assert requested(after=T3) == [T2]
    assert requested(after="20240105000000000") == []
    assert requested(partitions=["us"]) == [T2]
    assert requested(partitions=["eu"]) == []
    assert requested(actions=["clean"]) == [T3]
    assert hook.latest_instant(path) == "20240105000000000"


def test_commit_sensor(tmp_path: Path) -> None:
    sensor = HudiCommitSensor(task_id="s", table=str(tmp_path / "t"), after=T1)
    assert not sensor.poke({})
    table = fabricated(tmp_path / "t", indexed=False)
    assert not sensor.poke({})
    sensor.deferrable = True
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})
    table.commit(T2)
    assert sensor.poke({}).xcom_value == [{"requested": T2, "completed": T2, "action": "commit"}]
    (event,) = asyncio.run(asyncio.wait_for(events(deferred.value.trigger, 1), 60))
    assert sensor.execute_complete({}, event) == sensor.execute({})


def test_commit_sensor_refuses_what_is_no_moment(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    sensor = HudiCommitSensor(task_id="s", table=str(table.path), after="yesterday")
    with pytest.raises(AirflowFailException, match="yesterday"):
        sensor.poke({})


def test_fresh_sensor_waits_for_maintenance(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t")
    sensor = HudiIndexFreshSensor(task_id="s", table=str(table.path), indexes=["by_n"], deferrable=True)
    assert sensor.execute({})["is_fresh"]
    write(table, T2, "b", range(20, 25))
    with pytest.raises(TaskDeferred) as deferred:
        sensor.execute({})
    trigger = deferred.value.trigger
    assert isinstance(trigger, HudiIndexFreshTrigger)
    IndexedTable.open(table.path).maintain()
    _, arguments = trigger.serialize()
    again = HudiIndexFreshTrigger(**json.loads(json.dumps(arguments)))
    (event,) = asyncio.run(asyncio.wait_for(events(again, 1), 60))
    assert sensor.execute_complete({}, event)["indexed_instant"] == T2


def test_file_cleaned_during_the_look_fails_neither_sensor_nor_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = fabricated(tmp_path / "t")
    write(table, T2, "b", range(20, 25))
    (cleaned,) = (table.path / "eu").glob("b_*.parquet")

    def clean_and_count(storage: Storage, path: str) -> int:
        cleaned.unlink(missing_ok=True)
        return row_count_of(storage, path)

    monkeypatch.setattr(
        importlib.import_module("hudi_index.lifecycle.status"), "row_count_of", clean_and_count
    )
    data = cleaned.read_bytes()

    assert not HudiIndexFreshSensor(task_id="s", table=str(table.path)).poke({})
    assert not cleaned.exists()

    cleaned.write_bytes(data)
    assert (
        HudiMaintainIndexesOperator(task_id="m", table=str(table.path)).skip_if_current(str(table.path))
        is None
    )
    assert not cleaned.exists()


def test_fresh_enough(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t")
    write(table, T2, "b", range(20, 25))
    status = HudiIndexHook().status(str(table.path))
    assert "1 of 2 file groups" in (staleness(status) or "")
    assert staleness(status, max_commits_behind=1) is None
    assert staleness(status, max_seconds_behind=timedelta(hours=1).total_seconds())
    assert staleness(status, max_seconds_behind=status["seconds_behind"] + 60) is None
    assert staleness(status, max_commits_behind=1, indexes=["other"]) == "index other is missing"
    assert staleness({**status, "indexes": []}, max_commits_behind=9) == "the table has no index"


def test_assets_name_places() -> None:
    assert hudi_table_asset("/data/t").uri == "file:///data/t"
    assert hudi_table_asset("s3://bucket/t/").uri == "s3://bucket/t"
    assert hudi_index_asset("/data/t").uri == "file:///data/t/.hoodie/.index"
