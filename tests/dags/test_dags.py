"""Each example DAG, run by real Airflow on real Spark and Hudi."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from airflow_hudi_index.assets import hudi_table_asset
from hudi_index import IndexedTable
from tests.parity.tables import COW, HudiTable, hostile_rows
from tests.support.airflow import WITH_AIRFLOW, dags_of, run_dag
from tests.support.airflow_home import ROOT, SETTINGS
from tests.support.shared_java import another_java, shared_java
from tests.support.tables import T2, fabricated, write

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["another_java", "shared_java"]

pytestmark = [pytest.mark.spark, *WITH_AIRFLOW]


def take_entries(source: Path, target: Path) -> None:
    """Put the base files of one index in the place of another's."""
    theirs, ours = (sorted(folder.glob("*.parquet")) for folder in (source, target))
    assert len(theirs) == len(ours) > 0
    for one, other in zip(theirs, ours, strict=True):
        shutil.copy(one, other)


@pytest.fixture(scope="module")
def dags() -> dict[str, Any]:
    return dags_of()


def test_every_dag_explains_itself(dags: dict[str, Any]) -> None:
    assert set(dags) == {
        "hudi_index_quickstart",
        "hudi_index_maintenance",
        "hudi_index_maintenance_by_sensor",
        "hudi_index_compaction",
        "hudi_index_upsert",
        "hudi_index_validation",
    }
    listed = (ROOT / "dags" / "README.md").read_text(encoding="utf-8")
    for dag_id, dag in dags.items():
        assert dag.doc_md.strip().startswith("###")
        assert dag.description
        assert f"`{dag_id}`" in listed


def test_every_dag_can_be_drawn(dags: dict[str, Any]) -> None:
    """Airflow's pages sort the tasks and groups; a group that waits for its own follower breaks them."""
    for dag in dags.values():
        assert dag.task_group.topological_sort()


def test_dags_and_provider_load_fast_and_without_spark() -> None:
    code = """
import importlib, pkgutil, runpy, sys, time

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "pyarrow", "hudi", "pandas", "sqlglot", "fastavro"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import airflow.sdk, airflow.triggers.base, airflow.plugins_manager
# Airflow itself takes its time; ours begins here, in seconds of the processor, whatever else runs.
assert not [name for name in sys.modules if name.startswith("airflow_hudi_index.operators")]
began = time.process_time()
import airflow_hudi_index
for module in pkgutil.walk_packages(airflow_hudi_index.__path__, "airflow_hudi_index."):
    if ".spark_jobs" not in module.name:
        importlib.import_module(module.name)
for file in sys.argv[1:]:
    runpy.run_path(file)
print(time.process_time() - began)
"""
    files = [str(file) for file in sorted((ROOT / "dags").glob("*.py"))]
    done = subprocess.run(
        [sys.executable, "-c", code, *files], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < 2


@pytest.mark.usefixtures("shared_java")
def test_quickstart(dags: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "quickstart"
    run = run_dag(dags["hudi_index_quickstart"], folder=str(folder))
    assert run.state == "success", run.states
    for name in ("trips_cow", "trips_mor"):
        assert len(run.xcom(f"{name}.create")["indexes"]) == 5
        maintained = run.xcom(f"{name}.maintain")
        assert 0 < maintained["file_groups_changed"] < maintained["file_groups"]
        report = run.xcom(f"{name}.validate")
        assert report["passed"]
        given = {each["query"]: each for each in report["queries"] if each["origin"] == "given"}
        assert {each["result"] for each in given.values()} == {"same"}
        changed = given["rider = 'rider-new'"]
        assert changed["rows"] > 0
        assert changed["file_groups_read"] < changed["file_groups"]
        table = IndexedTable.open(folder / name)
        assert {each.name for each in table.indexes()} == {"record_index", "by_rider", "ride", "day"}
        assert table.status().is_fresh


def test_maintenance_by_sensor_then_nothing_to_do(dags: dict[str, Any]) -> None:
    from pathlib import Path

    path = Path(SETTINGS["HUDI_INDEX_TABLE"])
    table = fabricated(path)
    write(table, T2, "b", range(20, 25))
    by_sensor = run_dag(dags["hudi_index_maintenance_by_sensor"])
    assert by_sensor.state == "success", by_sensor.states
    assert [each["requested"] for each in by_sensor.xcom("wait_for_commit")][-1] == T2
    assert by_sensor.xcom("maintain")["file_groups_changed"] == 1
    by_event = run_dag(dags["hudi_index_maintenance"])
    assert by_event.state == "success", by_event.states
    assert by_event.xcom("maintain")["notes"] == [f"all indexes are at {T2} already"]
    assert by_event.xcom("fresh")["is_fresh"]
    assert IndexedTable.open(path).status().is_fresh
    watched = dags["hudi_index_maintenance"].timetable.asset_condition.objects
    assert list(watched) == [hudi_table_asset(str(path))]


def test_compaction_of_many_tables(dags: dict[str, Any], tmp_path: Path) -> None:
    tables = [fabricated(tmp_path / name) for name in ("one", "two")]
    for table in tables:
        write(table, T2, "b", range(20, 25))
        IndexedTable.open(table.path).maintain()
    asked = [str(table.path) for table in tables]
    run = run_dag(dags["hudi_index_compaction"], tables=asked)
    assert run.states["compact[1]"] == "success"
    assert run.xcom("compact", map_index=0)["notes"] == ["no partition is due"]
    run = run_dag(dags["hudi_index_compaction"], tables=asked[:1], force=True)
    assert run.state == "success", run.states
    assert run.xcom("compact", map_index=0)["commit"]


@pytest.mark.usefixtures("shared_java")
def test_validation_fails_on_a_wrong_index_takes_it_out_and_rebuilds_it(
    dags: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    tables = {}
    for name, keys in (("right", range(6)), ("wrong", range(6)), ("other", range(90, 96))):
        tables[name] = HudiTable(spark, tmp_path / name, COW)
        tables[name].bulk_insert(hostile_rows(keys))
        IndexedTable.open(tables[name].path).sql("CREATE INDEX by_name ON t (big) OPTIONS (shards = 1)")
    # Entries of another table: they say of rows that are there that they are not.
    place = ".hoodie/.index/mdt/secondary_index_by_name"
    take_entries(tables["other"].path / place, tables["wrong"].path / place)
    asked = [str(tables[name].path) for name in ("right", "wrong")]

    # The entries are compared whatever is asked, so one query will do.
    run = run_dag(dags["hudi_index_validation"], tables=asked, queries=1, rebuild=True)

    assert (run.states["validate[0]"], run.states["validate[1]"]) == ("success", "failed")
    assert run.xcom("validate", key="report", map_index=1)["invalidated"] == ["by_name"]
    # Rebuilt, since it was invalid; and the night's result stays what it was.
    assert run.states["rebuild[0]"] == "success"
    assert (run.states["result"], run.state) == ("failed", "failed")
    assert [each.state for each in IndexedTable.open(tables["wrong"].path).indexes()] == ["ready"]


@pytest.mark.usefixtures("shared_java")
def test_upsert_writes_the_rows_of_a_run_once(
    dags: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(6)))
    table = IndexedTable.open(hudi.path)
    table.create_all(["CREATE INDEX records ON t USING record_index (id)", "CREATE INDEX by_big ON t (big)"])
    rows = hudi.frame(hostile_rows(range(4, 8), ts=2, salt=1)).selectExpr("*", "id = 'k0004' as gone")
    rows.write.parquet(str(tmp_path / "rows"))

    run = run_dag(
        dags["hudi_index_upsert"], table=str(hudi.path), source=str(tmp_path / "rows"), deletes="gone"
    )

    assert run.state == "success", run.states
    report = run.xcom("upsert")
    assert (report["writer"], report["batch"]) == ("hudi_index_upsert/upsert", run.dag_run.run_id)
    assert (report["inserted"], report["updated"], report["deleted"]) == (2, 1, 1)
    assert sorted(report["indexes"]) == ["by_big", "records"]
    assert run.xcom("validate")["passed"]
    assert sorted(row.id for row in hudi.read().collect()) == [f"k000{i}" for i in (0, 1, 2, 3, 5, 6, 7)]
