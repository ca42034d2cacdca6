"""What an enabled session costs, counted: calls out of the JVM, looks at a table and at its indexes."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.spark import last_plans
from hudi_index.spark.session_rule.planner import SessionPlanner
from hudi_index.spark.validate.parity import session_settings
from tests.parity.tables import COW, HudiTable, hostile_rows
from tests.support.counting import counted
from tests.support.enabled import catalog_table, enabled, plans_since

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@contextmanager
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    """Every question that the rule puts to Python meanwhile."""
    found: list[dict[str, Any]] = []
    answer = SessionPlanner.apply
    with monkeypatch.context() as patch:
        patch.setattr(
            SessionPlanner,
            "apply",
            lambda self, request: found.append(json.loads(request)) or answer(self, request),
        )
        yield found


def kinds(questions: list[dict[str, Any]]) -> list[str]:
    return [
        "exists" if "exists" in each else "plan with slices" if "slices" in each else "plan"
        for each in questions
    ]


@pytest.fixture(scope="module")
def hudi(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    table = HudiTable(spark, tmp_path_factory.mktemp("cost") / "t", COW)
    table.bulk_insert(hostile_rows(range(12)))
    table.bulk_insert(hostile_rows(range(12, 24)))
    return table


def test_queries_without_a_hudi_table_ask_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.range(10).write.parquet(str(tmp_path / "p"))
    spark.read.parquet(str(tmp_path / "p")).createOrReplaceTempView("p")
    with asked(monkeypatch) as questions, enabled(spark):
        assert spark.sql("SELECT a.id FROM p a JOIN p b USING (id) WHERE a.id > 5").count() == 4
        assert spark.range(10).where("id > 5").count() == 4
    assert questions == []
    spark.catalog.dropTempView("p")


def test_table_without_indexes_is_asked_for_once_in_all_its_sessions(
    spark: SparkSession, hudi: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with catalog_table(spark, hudi.path) as name, enabled(spark), asked(monkeypatch) as questions:
        for session in (spark, spark, spark.newSession()):
            query = f"SELECT a.id FROM {name} a JOIN {name} b USING (id) WHERE a.name = 'ascii'"
            session.sql(query).collect()
            session.read.format("hudi").load(str(hudi.path)).where("name = 'ascii'").collect()
    assert kinds(questions) == ["exists"]


def test_scan_of_an_indexed_table_is_asked_once_and_looks_once(
    spark: SparkSession, hudi: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = IndexedTable.open(hudi.path)
    table.sql("CREATE INDEX IF NOT EXISTS by_name ON t (name)")
    with catalog_table(spark, hudi.path) as name, enabled(spark), asked(monkeypatch) as questions:
        query = f"SELECT id FROM {name} WHERE name = 'ascii'"
        spark.sql(query).collect()
        # Whether it has indexes; which slices these are; and the plan.
        assert kinds(questions) == ["exists", "plan", "plan with slices"]
        questions.clear()
        with counted() as work:
            spark.sql(query).collect()
            spark.newSession().read.format("hudi").load(str(hudi.path)).where("n = 3").collect()
        # Slices that are known by their digest are not told again, however they were listed.
        assert kinds(questions) == ["plan", "plan"]
        # Nobody wrote to the table: its timeline is looked at, its files are not.
        assert (work.table_listings, work.table_looks) == (0, 0)
        assert work.data_files == set()
        questions.clear()
        spark.sql(f"SELECT id FROM {name}").collect()
        spark.sql(f"SELECT id FROM {name} WHERE region = 'us'").collect()
        assert questions == []
    table.drop("by_name")


def test_plan_crosses_in_one_call_however_many_slices_there_are(
    spark: SparkSession, hudi: HudiTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = IndexedTable.open(hudi.path)
    table.sql("CREATE INDEX IF NOT EXISTS by_name ON t (name)")
    client: Any = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    with enabled(spark):
        frame = spark.read.format("hudi").load(str(hudi.path)).where("name = 'ascii'")
        frame.collect()
        sent: list[str] = []
        send = type(client).send_command
        with monkeypatch.context() as patch:
            patch.setattr(
                type(client),
                "send_command",
                lambda self, *given, **named: sent.append(given[0]) or send(self, *given, **named),
            )
            frame.where("n IS NOT NULL")._jdf.queryExecution().optimizedPlan()
    # Three calls of the test's own and what it made them of; planning itself calls nothing in the JVM.
    calls = [each for each in sent if each.startswith("c\n")]
    assert len(calls) <= 4, calls
    table.drop("by_name")


WRITES = {
    "DELETE": "DELETE FROM {t} WHERE name = 'ascii'",
    "UPDATE": "UPDATE {t} SET n = 7 WHERE name = 'ascii'",
    "MERGE": (
        "MERGE INTO {t} t USING (SELECT concat(id, '') id, concat(region, '') region, ts FROM {t} "
        "WHERE name = 'ascii') s ON t.id = s.id AND t.region = s.region WHEN MATCHED THEN DELETE"
    ),
}


@pytest.mark.parametrize("verb", WRITES)
def test_write_finds_its_rows_in_one_pruned_scan_and_adds_no_job(
    verb: str, spark: SparkSession, hudi: HudiTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [Path(shutil.copytree(hudi.path, tmp_path / name)) for name in ("enabled", "plain")]
    IndexedTable.open(paths[0]).sql("CREATE INDEX by_name ON t (name)")
    context: Any = spark.sparkContext._jsc.sc()

    def jobs() -> int:
        """The number of the newest: Spark keeps some of the others only."""
        context.listenerBus().waitUntilEmpty()
        return int(context.statusStore().jobsList(None).head().jobId())

    with (
        session_settings(spark, {"hoodie.metadata.enable": "false"}),
        catalog_table(spark, paths[0]) as ours,
        catalog_table(spark, paths[1]) as plain,
    ):
        before = jobs()
        spark.sql(WRITES[verb].format(t=plain))
        wanted, plans = jobs() - before, last_plans()
        with enabled(spark), asked(monkeypatch) as questions:
            before = jobs()
            spark.sql(WRITES[verb].format(t=ours))
            found = jobs() - before
        (plan,) = plans_since(plans)
    assert plan.kept < plan.total
    assert kinds(questions) == ["exists", "plan", "plan with slices"]
    # A job lists, one finds rows, others write: none is there for the indexes, and none runs twice.
    assert found <= wanted
