"""Values that can't be are refused, by name and value, before anything is done with them."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_hudi_index.arguments import check_names, check_number, check_truth
from airflow_hudi_index.operators import HudiCompactIndexesOperator, HudiMaintainIndexesOperator
from airflow_hudi_index.sensors import HudiCommitSensor, HudiIndexFreshSensor
from airflow_hudi_index.settings import poll_interval, task_folder
from airflow_hudi_index.triggers.commits import HudiCommitTrigger
from airflow_hudi_index.triggers.freshness import HudiIndexFreshTrigger
from airflow_hudi_index.triggers.jobs import LocalJobTrigger
from hudi_index.errors import InvalidOptionError
from tests.support.airflow import WITH_AIRFLOW
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = WITH_AIRFLOW

NO_SPANS = [-1, math.nan, math.inf, -math.inf, "5", True, timedelta(seconds=-1)]


@pytest.mark.parametrize("wrong", NO_SPANS)
def test_spans_of_time(wrong: Any) -> None:
    made = [
        lambda: HudiMaintainIndexesOperator(task_id="t", table="/t", poll_interval=wrong),
        lambda: HudiCommitSensor(task_id="t", table="/t", poke_interval=wrong),
        lambda: HudiCommitSensor(task_id="t", table="/t", timeout=wrong),
        lambda: HudiIndexFreshSensor(task_id="t", table="/t", max_lag=wrong),
        lambda: HudiCommitTrigger(table="/t", poll_interval=wrong),
        lambda: HudiIndexFreshTrigger(table="/t", limits={}, poll_interval=wrong),
        lambda: LocalJobTrigger(folder="/f", poll_interval=wrong),
    ]
    for make in made:
        with pytest.raises(InvalidOptionError, match="expected a number") as raised:
            make()
        assert repr(wrong) in str(raised.value)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, math.nan, "2", True])
def test_counts(wrong: Any) -> None:
    with pytest.raises(InvalidOptionError, match="'cores'"):
        HudiMaintainIndexesOperator(task_id="t", table="/t", cores=wrong)
    if wrong != 0:
        with pytest.raises(InvalidOptionError, match="'max_commits_behind'"):
            HudiIndexFreshSensor(task_id="t", table="/t", max_commits_behind=wrong)


def test_values_that_can_be() -> None:
    assert check_number("x", None) is None
    assert check_number("x", 0.0) == 0.0
    assert check_number("x", timedelta(seconds=3)) == timedelta(seconds=3)
    assert check_names("x", ("a",), ("a", "b")) == ("a",)
    assert [check_truth("x", each) for each in (True, "True", "yes", "0", "", None)] == [
        *[True] * 3,
        *[False] * 3,
    ]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("partitions", "eu"), ("partitions", 5), ("actions", ["commit", "merge"]), ("actions", "commit")],
)
def test_commit_sensor_refuses_what_it_would_wait_for_in_vain(tmp_path: Path, name: str, wrong: Any) -> None:
    table = fabricated(tmp_path / "t", indexed=False)
    sensor = HudiCommitSensor(task_id="s", table=str(table.path), **{name: wrong})
    with pytest.raises(AirflowFailException, match=f"'{name}'"):
        sensor.execute({})


def test_one_text_is_no_list(tmp_path: Path) -> None:
    table = str(fabricated(tmp_path / "t").path)
    with pytest.raises(AirflowFailException, match="'indexes' = 'by_n'"):
        HudiIndexFreshSensor(task_id="s", table=table, indexes="by_n").execute({})  # type: ignore[arg-type]
    compact = HudiCompactIndexesOperator(task_id="c", table=table, partitions=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidOptionError, match="'partitions' = 5"):
        compact.command(table)
    with pytest.raises(InvalidOptionError, match="'force' = 'perhaps'"):
        HudiCompactIndexesOperator(task_id="c", table=table, force="perhaps").command(table)


@pytest.mark.parametrize("wrong", ["nan", "-1", "inf"])
def test_setting_of_airflow(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("AIRFLOW__HUDI_INDEX__POLL_INTERVAL", wrong)
    with pytest.raises(InvalidOptionError, match="poll_interval"):
        poll_interval()


def test_folders_of_long_ids_can_be_made_and_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__HUDI_INDEX__STATE_FOLDER", str(tmp_path))
    long = "ä" * 249
    folders = [task_folder(("d", f"{long}{end}", "t", "-1")) for end in "ab"]
    for folder in folders:
        folder.mkdir(parents=True)
    assert folders[0] != folders[1]
    assert task_folder(("d", "manual__1", "t", "-1")) == tmp_path / "d" / "manual__1" / "t" / "-1"
