"""Validation on Spark: queries run twice over real tables, entries compared in tasks."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.errors import UserError
from hudi_index.spark import read_indexed
from hudi_index.spark.read.indexed import Readings
from hudi_index.spark.runtime.session import HUDI_BUNDLE
from hudi_index.validation import ValidationReport
from tests.parity.tables import MOR, HudiTable, hostile_rows
from tests.spark.test_jobs import _submit as submit
from tests.validation.corruption import dropped, rewritten

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = (
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX stats ON t USING column_stats (n, ratio, name, seen, price)",
    "CREATE INDEX flags ON t USING bitmap (flag, region)",
    "CREATE INDEX shout ON t USING secondary_index (upper(name)) OPTIONS (time_zone = 'UTC')",
)


@pytest.fixture
def hudi(spark: SparkSession, tmp_path: Path) -> HudiTable:
    hudi = HudiTable(spark, tmp_path / "t", MOR)
    hudi.bulk_insert(hostile_rows(range(24)))
    hudi.upsert(hostile_rows(range(0, 24, 7), ts=2, salt=3))
    return hudi


def test_healthy_and_corrupt_indexes_on_spark(hudi: HudiTable, spark: SparkSession) -> None:
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS:
        table.sql(statement, spark=spark)
    before = dict(spark.sparkContext.getConf().getAll()), spark.conf.get("spark.sql.parquet.filterPushdown")
    sql = "SELECT region, count(*) AS c, max(n) FROM t WHERE name = 'ascii' GROUP BY region"
    report = table.validate(spark=spark, queries=6, seed=3, sql=(sql,), with_hudi=True)
    assert report.passed, str(report)
    assert [query.result for query in report.queries] == ["same"] * 7
    assert report.content.rows_read == 24
    assert report.content.entries > 50
    assert report.effect["queries_pruned"] > 0
    after = dict(spark.sparkContext.getConf().getAll()), spark.conf.get("spark.sql.parquet.filterPushdown")
    assert before == after
    assert "t" not in [each.name for each in spark.catalog.listTables()]

    is_open = read_indexed(spark, hudi.path)
    rewritten("secondary_index_by_name", dropped("ascii$"))(table)
    # A query that asks another index alone does not see the damage; one that asks this one alone does.
    counts = {}
    for name in ("by_name", "stats"):
        readings = Readings(spark, table.storage)
        pruned, planner = readings.prune([name])
        counts[name] = pruned.where("name = 'ascii'").count(), readings.full.where("name = 'ascii'").count()
        assert planner.last is not None
        assert planner.last.plan is not None
        assert {answer.index.split()[0] for answer in planner.last.plan.answers} == {name}
    assert counts["by_name"][0] == 0 < counts["stats"][0] == counts["stats"][1]
    only: dict[str, Any] = {"queries": 0, "where": ("name = 'ascii'",), "indexes": ("by_name",)}
    report = table.validate(spark=spark, invalidates=False, **only)
    (wrong,) = report.wrong_queries
    assert wrong.rows
    assert wrong.rows_missing == wrong.rows
    assert json.loads(wrong.missing[0])["9_name"] == "ascii"
    assert report.content.differences == {"missing": wrong.rows_missing}
    assert is_open.where("name = 'ascii'").count() == 0  # only reported so far: rows are lost
    report = table.validate(spark=spark, **only)
    assert report.exit_code == 3
    assert report.invalidated == ["by_name"]
    # Open before, and right at its next plan.
    assert is_open.where("name = 'ascii'").count() == wrong.rows
    table.sql("REBUILD INDEX by_name ON t", spark=spark)
    assert table.validate(spark=spark, **only).passed
    states = {each.name: each.state for each in table.indexes()}
    assert set(states.values()) == {IndexState.READY}


def test_query_that_was_asked_for_and_fails_is_no_pass(hudi: HudiTable, spark: SparkSession) -> None:
    table = IndexedTable.open(hudi.path)
    # The second one fails as it runs, in a job.
    where = ("nobody = 1", "element_at(tags, n - n) = 'x'", "region = 'us'")
    report = table.validate(spark=spark, queries=0, where=where)
    assert [query.result for query in report.queries] == ["failed", "failed", "same"]
    assert "INVALID_INDEX_OF_ZERO" in str(report.queries[1].reason)
    assert report.exit_code == 3
    assert "'nobody = 1' could not be asked" in report.summary()
    spark.range(1).createOrReplaceTempView("mine")
    try:
        sql = ("SELECT count(*) FROM mine", "SELECT sum(ratio) FROM mine")
        report = table.validate(spark=spark, queries=0, sql=sql, view="MINE")
        assert [query.result for query in report.queries] == ["same", "failed"]
        assert "floating-point" in str(report.queries[1].reason)
        assert report.exit_code == 3
        assert spark.table("mine").count() == 1
    finally:
        spark.catalog.dropTempView("mine")


def test_what_is_not_deterministic_takes_no_index_out_of_service(
    hudi: HudiTable, spark: SparkSession, tmp_path: Path
) -> None:
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS[:2]:
        table.sql(statement, spark=spark)
    canary = tmp_path / "canary"
    requests: tuple[dict[str, Any], ...] = (
        {"where": ("name = 'ascii' AND rand() > 0.5",)},
        {"sql": ("SELECT n, uuid() FROM t",)},
        {"sql": (f"SELECT TRANSFORM(name) USING 'sh -c \"touch {canary}\"' FROM t",)},
    )
    for request in requests:
        with pytest.raises(UserError):
            table.validate(spark=spark, queries=0, sample=0, **request)
    assert not canary.exists()
    assert {each.state for each in table.indexes()} == {IndexState.READY}
    # Without a look at the entries: the damaged index is found by asking each alone, the right one stays.
    rewritten("secondary_index_by_name", dropped("ascii$"))(table)
    sql = "SELECT region, count(*) FROM t WHERE name = 'ascii' GROUP BY region"
    report = table.validate(spark=spark, queries=0, sample=0, sql=(sql,), indexes=("by_name", "stats"))
    assert [query.cause for query in report.wrong_queries] == ["by_name"]
    states = {each.name: each.state for each in table.indexes()}
    assert states["stats"] is IndexState.READY
    assert report.invalidated == ["by_name"], str(report)


def test_no_false_alarm_while_a_writer_commits(hudi: HudiTable, spark: SparkSession) -> None:
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS[:3]:
        table.sql(statement, spark=spark)
    stop = threading.Event()
    commits: list[object] = []

    def write() -> None:
        while not stop.wait(1.0):
            number = len(commits)
            commits.append(hudi.upsert(hostile_rows(range(number % 5, 24, 5), ts=3 + number, salt=number)))
            if number % 2:
                table.maintain()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        reports: list[ValidationReport] = []
        while len(commits) < 4:
            reports.append(table.validate(spark=spark, queries=3, seed=len(reports)))
    finally:
        stop.set()
        writer.join()
    for report in reports:
        assert report.passed, str(report)
        assert [query.result for query in report.queries] == ["same"] * 3
    assert {each.state for each in table.indexes()} == {IndexState.READY}


def test_job_fails_with_code_3_and_writes_its_page(
    hudi: HudiTable, spark: SparkSession, tmp_path: Path
) -> None:
    table = IndexedTable.open(hudi.path)
    table.sql(STATEMENTS[0])
    rewritten("secondary_index_by_name", dropped("ascii$"))(table)
    page = tmp_path / "report.html"
    asked = ["--table", str(hudi.path), "--queries", "0", "--where", "name = 'ascii'", "--html", str(page)]
    # Queries are compared through Hudi on Spark: without it, a bad request.
    assert "--packages" in submit("local[2]", "validate.py", *asked, "--no-quarantine", code=2)["error"]
    packages = f"--packages={HUDI_BUNDLE}"
    serializer = "--conf=spark.serializer=org.apache.spark.serializer.KryoSerializer"
    report = submit("local[2]", "validate.py", *asked, code=3, options=(packages, serializer))
    assert report["invalidated"] == ["by_name"]
    assert report["queries"][0]["rows_missing"] > 0
    assert "<b>Failed</b>" in page.read_text()
