"""The operator that writes through the record index: what its job is told, and what it is not."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from airflow_hudi_index.assets import hudi_index_asset
from airflow_hudi_index.lineage import lineage_of
from airflow_hudi_index.operators import HudiIndexedUpsertOperator
from airflow_hudi_index.outcome import JobRefusedError, summary_of
from hudi_index.errors import InvalidOptionError
from hudi_index.writer.report import TagCounts, WriteReport
from tests.support.airflow import WITH_AIRFLOW

if TYPE_CHECKING:
    from airflow_hudi_index.job_command import JobCommand

pytestmark = WITH_AIRFLOW


def _command(monkeypatch: pytest.MonkeyPatch, map_index: int = -1, **given: Any) -> JobCommand:
    """The job of a task that is run."""
    operator = HudiIndexedUpsertOperator(task_id="load", table="/t", **{"source": "/rows", **given})
    started: list[JobCommand] = []

    def run_here(_: object, command: JobCommand) -> dict[str, Any]:
        started.append(command)
        return {}

    monkeypatch.setattr(operator, "_run_here", run_here)
    instance = SimpleNamespace(dag_id="orders", run_id="manual__1", task_id="load", map_index=map_index)
    operator.execute({"ti": instance})  # type: ignore[typeddict-item]
    return started[0]


def test_a_try_names_its_batch_by_task_and_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _command(monkeypatch).script == "upsert.py"
    assert _command(monkeypatch).arguments == (
        *("--table=/t", "--source=/rows", "--format=parquet", "--operation=upsert", "--index=sync"),
        *("--lag=auto", "--writer=orders/load", "--batch=manual__1"),
    )
    assert "--batch=manual__1/3" in _command(monkeypatch, map_index=3).arguments
    named = _command(monkeypatch, writer="w", batch="{{ ds }}").arguments
    assert ("--writer=w" in named, "--batch={{ ds }}" in named) == (True, True)


def test_whatever_a_value_holds_stays_in_its_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _command(
        monkeypatch,
        source=["/a --table=/b", "/c"],
        deletes="--batch=x",
        options={"hoodie.compact.inline": True},
        source_options={"sep": ";"},
    ).arguments
    assert told[1:3] == ("--source=/a --table=/b", "--source=/c")
    assert {"--deletes=--batch=x", "--option=hoodie.compact.inline=true", "--source-option=sep=;"} < set(told)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"source": ""}, "expected where the rows are"),
        ({"source": []}, "expected where the rows are"),
        ({"source": "relative"}, "'source' = 'relative': it is no absolute path"),
        ({"options": {"hoodie.client.password": "hunter2"}}, "everybody can read it"),
        ({"source_options": {"url": "jdbc://me:hunter2@host/x"}}, "everybody can read it"),
        ({"options": ["a"]}, "expected names and values"),
    ],
)
def test_what_can_not_be_is_refused_before_any_spark(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any], reason: str
) -> None:
    with pytest.raises(JobRefusedError, match=reason) as raised:
        _command(monkeypatch, **wrong)
    assert "hunter2" not in str(raised.value)


def test_rows_come_from_where_the_connection_lets_tables_be(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = {
        "conn_type": "hudi_index",
        "host": "/data",
        "extra": {"tables": {"landing": "/elsewhere/landing"}},
    }
    monkeypatch.setenv("AIRFLOW_CONN_LIMITED", json.dumps(connection))
    operator = HudiIndexedUpsertOperator(
        task_id="load", table="t", source=["in/1", "landing"], hudi_index_conn_id="limited"
    )
    assert operator.command("/data/t").arguments[1:3] == (
        "--source=/data/in/1",
        "--source=/elsewhere/landing",
    )
    operator.source = "/etc"
    with pytest.raises(InvalidOptionError, match="'source' = '/etc': it is outside"):
        operator.command("/data/t")
    # The name of a table is no place.
    operator.format = "table"
    assert "--source=/etc" in operator.command("/data/t").arguments


def test_passwords_are_refused_and_so_is_the_other_backend() -> None:
    operator = HudiIndexedUpsertOperator(task_id="load", table="/t", source="s3://me:hunter2@bucket/rows")
    with pytest.raises(JobRefusedError, match="credentials") as raised:
        operator.render_template_fields({})
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ValueError, match="Hudi's own writer"):
        HudiIndexedUpsertOperator(task_id="load", table="/t", source="/rows", backend="native")


def test_a_report_is_told_and_is_lineage() -> None:
    counts = TagCounts(rows=9, inserted=2, updated=3, moved=1, late=3)
    report = WriteReport("upsert", "file:///t", "w", "1", file_groups=4, counts=counts, indexes=["r"])
    report.is_repeated = True
    said = summary_of(report.as_dict())
    assert "2 inserted, 3 updated, 1 moved, 0 deleted, 3 late; the batch was committed before" in said
    (written,) = lineage_of(report.as_dict()).outputs
    assert (written.namespace, written.name) == ("file", "/t")
    assert written.outputFacets["outputStatistics"].rowCount == 6
    operator = HudiIndexedUpsertOperator(task_id="load", table="/t", source="/rows")
    assert operator.outlets == [hudi_index_asset("/t")]
