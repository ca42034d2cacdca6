"""Running DAGs with real Airflow in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from airflow.dag_processing.dagbag import DagBag

from tests.support.airflow_home import ROOT

if TYPE_CHECKING:
    from pathlib import Path

WITH_AIRFLOW = [
    pytest.mark.usefixtures("airflow_home"),
    # What Airflow and its libraries deprecate among themselves is no fault of ours.
    pytest.mark.filterwarnings("default"),
]


@dataclass(frozen=True)
class Run:
    """A finished run."""

    dag_run: Any

    @property
    def state(self) -> str:
        return str(self.dag_run.state)

    @property
    def states(self) -> dict[str, str]:
        """Of each task, by id, with the map index of mapped ones."""
        found = {}
        for each in self.dag_run.get_task_instances():
            name = each.task_id if each.map_index < 0 else f"{each.task_id}[{each.map_index}]"
            found[name] = str(each.state)
        return found

    def xcom(self, task_id: str, key: str = "return_value", map_index: int = -1) -> Any:
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session

        with create_session() as session:
            found = session.scalars(
                XComModel.get_many(
                    key=key,
                    run_id=self.dag_run.run_id,
                    dag_ids=self.dag_run.dag_id,
                    task_ids=task_id,
                    map_indexes=map_index,
                )
            ).first()
            return XComModel.deserialize_value(found) if found else None

    def asset_events(self) -> list[tuple[str, dict[str, Any]]]:
        """Address and extra of each asset event of this run."""
        from airflow.models.asset import AssetEvent, AssetModel
        from airflow.utils.session import create_session
        from sqlalchemy import select

        with create_session() as session:
            found = session.execute(
                select(AssetModel.uri, AssetEvent.extra)
                .join(AssetModel, AssetModel.id == AssetEvent.asset_id)
                .where(AssetEvent.source_run_id == self.dag_run.run_id)
                .order_by(AssetEvent.id)
            )
            return [(uri, extra) for uri, extra in found]


def dags_of(folder: Path = ROOT / "dags") -> dict[str, Any]:
    bag = DagBag(str(folder))
    assert bag.import_errors == {}
    return dict(bag.dags)


def run_dag(dag: Any, **conf: Any) -> Run:
    """Run it as an event or a person would start it: without a logical date, which no DAG may rely on."""
    return Run(dag.test(run_conf=conf, logical_date=None))
