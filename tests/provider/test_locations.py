"""Tables by name stay below their connection's base path, whatever the name says."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.locations import TableLocations
from airflow_hudi_index.sensors import HudiCommitSensor, HudiIndexFreshSensor
from airflow_hudi_index.triggers.commits import HudiCommitTrigger
from airflow_hudi_index.triggers.freshness import HudiIndexFreshTrigger
from hudi_index import IndexedTable
from hudi_index.errors import UserError
from tests.support.airflow import WITH_AIRFLOW, dags_of, run_dag
from tests.support.airflow_home import ROOT
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = WITH_AIRFLOW

HOSTILE = [
    "../outside",
    "a/../../outside",
    "a/../b",
    "./a",
    "a//b",
    "a/./b",
    "..",
    ".",
    "a/..",
    "%2e%2e/outside",
    "%2E%2e%2foutside",
    "a/%252e%252e/outside",
    "..%2foutside",
    "..%5coutside",
    "..\\outside",
    "a\\b",
    "a\x00b",
    "a%00b",
    "a\nb",
    "//outside",
    "/etc",
    "/data/wh/../outside",
    "/data/wh2",
    "/data/wh/%2e%2e/outside",
    "file:///etc",
    "file:/etc",
    "FILE:///etc",
    "file://localhost/etc",
    "file:///data/wh/%2e%2e/outside",
    "s3://other/t",
    "hdfs://nn/data/wh/t",
    "",
    "   ",
]


@pytest.mark.parametrize("table", HOSTILE)
def test_names_that_leave_the_base_path_are_refused(table: str) -> None:
    with pytest.raises(UserError, match="option 'table' = ") as raised:
        TableLocations("/data/wh").location_of(table)
    assert repr(table) in str(raised.value)


@pytest.mark.parametrize("value", [None, 5, ["t"], b"t"])
def test_what_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(UserError, match="a path, a URI or a name"):
        TableLocations("/data/wh").location_of(value)


@pytest.mark.parametrize(
    "table",
    [
        "s3://b/wh/../x",
        "s3://b/wh/%2e%2e/x",
        "s3://b/wh2/t",
        "s3://c/wh/t",
        "s3a://b/wh2/t",
        "s3a://b/wh/../x",
        "gs://b/wh/t",
        "/b/wh/t",
        "../x",
        "s3://b/wh//t",
    ],
)
def test_base_paths_that_are_uris_hold_too(table: str) -> None:
    with pytest.raises(UserError):
        TableLocations("s3://b/wh").location_of(table)


def test_what_is_below_is_given_out() -> None:
    assert TableLocations("s3://b/wh/").location_of("a/t") == "s3://b/wh/a/t"
    assert TableLocations("s3://b/wh").location_of("s3://b/wh/t") == "s3://b/wh/t"
    # One store by all its names; each place as it was said, since Spark may know one of them only.
    assert TableLocations("s3://b/wh").location_of("s3a://b/wh/t") == "s3a://b/wh/t"
    assert TableLocations("s3a://b/wh/").location_of("s3n://b/wh") == "s3n://b/wh"
    assert TableLocations("s3a://b/wh").location_of("t") == "s3a://b/wh/t"
    assert (
        TableLocations(None, {"t": "s3://b/t"}, allow_absolute_paths=False).location_of("s3a://b/t")
        == "s3://b/t"
    )
    assert TableLocations("/data/wh").location_of("file:///data/wh/t") == "file:///data/wh/t"
    assert TableLocations("file:///data/wh").location_of("/data/wh/t") == "/data/wh/t"
    assert TableLocations("/").location_of("/any/t") == "/any/t"
    assert TableLocations("/data/wh").location_of("a b%c/t..1/..t") == "/data/wh/a b%c/t..1/..t"


def test_connection_may_allow_and_forbid_absolute_paths() -> None:
    assert TableLocations("/data/wh", allow_absolute_paths=True).location_of("/x/t") == "/x/t"
    with pytest.raises(UserError):
        TableLocations("/data/wh", allow_absolute_paths=True).location_of("../t")
    for forbidden in (
        TableLocations(None, {"a": "/t"}, allow_absolute_paths=False),
        TableLocations("/data/wh"),
    ):
        with pytest.raises(UserError):
            forbidden.location_of("/x/t")
    assert TableLocations(None, {"a": "/t"}, allow_absolute_paths=False).location_of("/t") == "/t"


def test_links_inside_do_not_lead_outside(tmp_path: Path) -> None:
    base = tmp_path / "wh"
    (base / "real").mkdir(parents=True)
    (tmp_path / "outside" / "t").mkdir(parents=True)
    (base / "link").symlink_to(tmp_path / "outside")
    (base / "inner").symlink_to(base / "real")
    (tmp_path / "other_name").symlink_to(base)
    locations = TableLocations(str(base))
    for table in ("link", "link/t", str(base / "link" / "t"), (base / "link" / "t").as_uri()):
        with pytest.raises(UserError, match="outside"):
            locations.location_of(table)
    assert locations.location_of("inner") == str(base / "inner")
    # The base path itself may be one.
    assert TableLocations(str(tmp_path / "other_name")).location_of("real") == str(
        tmp_path / "other_name" / "real"
    )


PIECES = [*"./\\%2eE5cfF \x00ab", "..", "%2e", "%252e", "file:", "//", "/data/wh", "s3://b/"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_name_leaves_the_base_path(name: str) -> None:
    try:
        location = TableLocations("/data/wh").location_of(name)
    except UserError:
        return
    local = location.removeprefix("file:")
    for _ in range(4):
        assert f"{os.path.realpath(local)}/".startswith("/data/wh/")
        local = unquote(local)


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A connection `warehouse` over one table, `t`; another table is beside it."""
    fabricated(tmp_path / "wh" / "t")
    fabricated(tmp_path / "secret")
    described = {"conn_type": "hudi_index", "host": str(tmp_path / "wh")}
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", json.dumps(described))
    return tmp_path


def test_hook_sensors_and_triggers_keep_to_it(warehouse: Path) -> None:
    hook = HudiIndexHook("warehouse")
    assert hook.status("t")["is_fresh"]
    for outside in ("../secret", str(warehouse / "secret")):
        for ask in (hook.open, hook.status, hook.commits_after, hook.location_of, hook.lag):
            with pytest.raises(UserError, match="table"):
                ask(outside)
        for kind in (HudiCommitSensor, HudiIndexFreshSensor):
            for deferrable in (False, True):
                sensor = kind(
                    task_id="s", table=outside, hudi_index_conn_id="warehouse", deferrable=deferrable
                )
                with pytest.raises(AirflowFailException, match="table"):
                    sensor.execute({})
        where: dict[str, Any] = {"table": outside, "hudi_index_conn_id": "warehouse"}
        for trigger in (HudiCommitTrigger(**where), HudiIndexFreshTrigger(limits={}, **where)):
            with pytest.raises(UserError, match="table"):
                trigger._look()
    assert HudiCommitTrigger(table="t", hudi_index_conn_id="warehouse")._look()


def test_parameters_of_a_run_keep_to_it(warehouse: Path) -> None:
    dag = dags_of(ROOT / "tests" / "provider" / "dags")["within"]
    before = IndexedTable.open(warehouse / "secret").indexes()
    for outside in ("../secret", str(warehouse / "secret")):
        run = run_dag(dag, table=outside)
        assert set(run.states.values()) == {"failed"}
        for instance in run.dag_run.get_task_instances():
            assert instance.try_number == 1
    assert IndexedTable.open(warehouse / "secret").indexes() == before
    inside = run_dag(dag, table="t")
    assert inside.states["maintain"] == "success"
    assert inside.xcom("maintain")["table"].endswith("/wh/t")
