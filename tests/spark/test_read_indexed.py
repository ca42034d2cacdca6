"""Spark reads through the indexes: what is read, what is left out, and what a DataFrame goes on showing."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.engine import IndexedTable
from hudi_index.errors import InvalidOptionError, NoJvmError, NoSuchTableError, UnsupportedTableError
from hudi_index.spark import NotPlannedWarning, last_plans, read_indexed
from hudi_index.spark.read import file_index
from hudi_index.spark.read import indexed as read
from hudi_index.spark.read.base_files import read_base_files
from hudi_index.spark.read.file_index import FilePlanner, index_factory
from hudi_index.spark.validate.parity import session_settings as session
from hudi_index.storage import Storage
from hudi_index.table import Snapshot
from tests.parity.tables import COW, MOR, HudiTable, canonical_rows, hostile_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

STATEMENTS = (
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX by_key ON t USING record_index (id)",
    "CREATE INDEX stats ON t USING column_stats (n, ratio, born, seen, address.zip)",
    "CREATE INDEX shout ON t USING secondary_index (upper(name)) OPTIONS (time_zone = 'UTC')",
    "CREATE INDEX hours ON t USING bitmap (hour(seen)) OPTIONS (time_zone = 'UTC')",
)
SLICES = 6


def indexed(
    spark: SparkSession,
    path: Path,
    table_type: str,
    *,
    statements: tuple[str, ...] = STATEMENTS[:2],
    **how: Any,
) -> HudiTable:
    """Two bulk inserts into three partitions, an upsert, and indexes over all of it."""
    hudi = HudiTable(spark, path, table_type, **how)
    hudi.bulk_insert(hostile_rows(range(12)))
    hudi.bulk_insert(hostile_rows(range(12, 24)))
    hudi.upsert(hostile_rows([1, 14], ts=3, salt=1))
    table = IndexedTable.open(hudi.path)
    for statement in statements:
        table.sql(statement, spark=spark if "time_zone" in statement else None)
    return hudi


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, HudiTable]:
    """Tables that no test changes."""
    root = tmp_path_factory.mktemp("indexed")
    return {
        COW: indexed(spark, root / COW, COW, statements=STATEMENTS),
        MOR: indexed(spark, root / MOR, MOR, statements=STATEMENTS[:3]),
    }


@pytest.fixture(params=[COW, MOR])
def hudi(request: pytest.FixtureRequest, tables: dict[str, HudiTable]) -> HudiTable:
    return tables[request.param]


@pytest.fixture(autouse=True)
def no_views_left(spark: SparkSession) -> Iterator[None]:
    yield
    for name in ("t", "trips", "pinned", *(f"{side}_{name}" for side in ("ours", "full") for name in "ab")):
        spark.catalog.dropTempView(name)


def ids(frame: DataFrame) -> list[str]:
    return sorted(row["id"] for row in frame.select("id").collect())


def test_view_is_pruned_by_the_filters_of_plain_sql(spark: SparkSession, hudi: HudiTable) -> None:
    frame = read_indexed(spark, hudi.path, strict=True)
    assert frame.schema == hudi.read().schema
    frame.createOrReplaceTempView("trips")
    where = "name = 'ascii' AND region = 'us'"
    found = spark.sql(f"SELECT id FROM trips WHERE {where}")
    assert ids(found) == ids(hudi.read().where(where))
    (plan,) = last_plans(1)
    assert plan.plan is not None
    assert (plan.total, plan.error, plan.plan.unknown) == (SLICES, None, [])
    assert plan.kept < 3
    assert "asked         by_name" in plan.explain()
    assert "IndexedFileIndex" in found._jdf.queryExecution().toString()


@pytest.mark.parametrize(
    "where",
    [
        "region = 'us'",
        "REGION IN ('eu', 'mars')",
        "NOT region <=> 'asia'",
        "Name = 'ascii'",
        "`name` = 'ascii' AND t.address.ZIP > 3",
        "upper(name) = 'ASCII'",
        "cast(n AS string) = '2'",
        "n = '2'",
        "id IN ('k0003', 'k0004') OR region = 'us' AND hour(seen) = 12",
        "length(name) > 10",
        "exists(tags, x -> x = 'ascii')",
        "n = (SELECT max(n) FROM t)",
        "id IN (SELECT id FROM t WHERE name = 'ascii')",
        "rand() >= 0 AND name = 'ascii'",
    ],
)
def test_filter_of_any_form_finds_what_a_full_scan_finds(
    where: str, spark: SparkSession, tables: dict[str, HudiTable]
) -> None:
    hudi = tables[MOR]
    read_indexed(spark, hudi.path, strict=True).createOrReplaceTempView("t")
    found = ids(spark.sql(f"SELECT id FROM t WHERE {where}"))
    hudi.read().createOrReplaceTempView("t")
    assert found == ids(spark.sql(f"SELECT id FROM t WHERE {where}"))


def test_joins_prune_each_side_by_its_own_filters(spark: SparkSession, tables: dict[str, HudiTable]) -> None:
    for name, hudi in (("a", tables[COW]), ("b", tables[MOR])):
        read_indexed(spark, hudi.path, strict=True).createOrReplaceTempView(f"ours_{name}")
        hudi.read().createOrReplaceTempView(f"full_{name}")
    queries = [
        # One table twice; two tables; a filter that follows from the other side's.
        "SELECT x.id, y.n FROM {0}_a x JOIN {0}_a y ON x.id = y.id WHERE x.name = 'ascii' AND y.n > 3",
        "SELECT a.region, count(*), max(b.n) FROM {0}_a a JOIN {0}_b b USING (id) GROUP BY a.region",
        "SELECT a.id FROM {0}_a a JOIN {0}_b b ON a.id = b.id WHERE b.id = 'k0007'",
        "SELECT a.id FROM {0}_a a LEFT ANTI JOIN {0}_b b ON a.name = b.name AND b.region = 'eu'",
        "SELECT /*+ BROADCAST(b) */ a.id FROM {0}_a a JOIN {0}_b b USING (region) WHERE b.id = 'k0004'",
    ]
    for query in queries:
        found, full = (
            canonical_rows(spark.sql(query.format(w))._collect_as_arrow()) for w in ("ours", "full")
        )
        assert found == full, query
    spark.sql(queries[2].format("ours")).collect()
    assert [plan.kept for plan in last_plans(2)] == [1, 1]


def test_dataframe_shows_the_table_as_it_was_and_a_new_one_shows_it_as_it_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    hudi = indexed(spark, tmp_path / "t", MOR)
    frame = read_indexed(spark, hudi.path, strict=True)
    before, query = ids(frame), frame.where("name = 'ascii'")
    named = ids(query)
    frame.createOrReplaceTempView("pinned")
    cached = read_indexed(spark, hudi.path, strict=True).where("name = 'ascii'").cache()
    assert ids(cached) == named
    # Row 10 is 'ascii' already; 2 becomes it, in a log; 30 is new, in a new file group.
    hudi.upsert(hostile_rows([2, 30], ts=9, salt=8))
    IndexedTable.open(hudi.path).maintain()
    for forget in (lambda: None, lambda: spark.sql("REFRESH TABLE pinned")):
        forget()
        assert ids(frame) == before
        assert ids(query) == ids(spark.sql("SELECT * FROM pinned WHERE name = 'ascii'")) == named
        assert ids(cached) == named
    cached.unpersist()
    fresh = read_indexed(spark, hudi.path, strict=True).where("name = 'ascii'")
    assert ids(fresh) == ids(hudi.read().where("name = 'ascii'"))
    assert "k0002" in ids(fresh)


def test_table_opened_anew_is_seen_as_before_until_it_is_another(spark: SparkSession, tmp_path: Path) -> None:
    hudi = indexed(spark, tmp_path / "t", MOR)
    where, seen = "name = 'ascii'", []
    for salt in (0, 8):
        if salt:
            hudi.upsert(hostile_rows([2], ts=9, salt=salt))
        for _ in range(2):
            found = read_indexed(spark, hudi.path, strict=True).where(where)
            assert ids(found) == ids(hudi.read().where(where))
            assert last_plans(1)[0].plan is not None
            seen.append(last_plans(1)[0].plan.snapshot)  # type: ignore[union-attr]
    assert seen[0] is seen[1]
    assert seen[1] is not seen[2]
    assert seen[2] is seen[3]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_commit_between_hudis_look_and_ours_loses_nothing(
    table_type: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hudi = indexed(spark, tmp_path / "t", table_type)
    storage = Storage.open(hudi.path)
    # We look first: the row that becomes 'ascii' is in a file group that our plan refutes.
    planner = FilePlanner(storage, is_strict=True)
    assert planner.snapshot
    hudi.upsert(hostile_rows([2], ts=9, salt=8))
    frame = hudi.read()
    relation = read.relation_of(frame, storage)
    factory = index_factory(spark.sparkContext._gateway, relation.location())
    ours = read._frame_over(frame, relation, factory.over(relation.location(), planner, True))
    assert ids(ours.where("name = 'ascii'")) == ids(hudi.read().where("name = 'ascii'"))
    assert last_plans(1)[0].kept == last_plans(1)[0].plan.kept + 1  # type: ignore[union-attr]
    # Hudi looks first: the row is 'ascii' there, and nowhere in what we see and what the index describes.
    wanted, load = ids(hudi.read().where("name = 'ascii'")), Snapshot.load.__func__  # type: ignore[attr-defined]

    def commit_and_load(storage: Storage, as_of: str | None = None, **known: Any) -> Snapshot:
        monkeypatch.undo()
        hudi.upsert(hostile_rows([2], ts=11, salt=3))
        IndexedTable.open(hudi.path).maintain()
        return load(Snapshot, storage, as_of, **known)  # type: ignore[no-any-return]

    monkeypatch.setattr(Snapshot, "load", commit_and_load)
    late = read_indexed(spark, hudi.path, strict=True)
    assert ids(late.where("name = 'ascii'")) == wanted
    assert "k0002" in wanted
    assert "k0002" not in ids(hudi.read().where("name = 'ascii'"))


def test_time_zone_is_the_sessions_when_the_query_is_planned(
    spark: SparkSession, tables: dict[str, HudiTable]
) -> None:
    hudi = tables[COW]
    frame = read_indexed(spark, hudi.path, strict=True)
    texts = ["seen < TIMESTAMP'1969-12-31 20:00:00'", "to_date(seen) = DATE'2024-02-29'", "hour(seen) = 12"]
    for zone in ("UTC", "America/New_York"):
        with session(spark, {"spark.sql.session.timeZone": zone}):
            for text in texts:
                assert ids(frame.where(text)) == ids(hudi.read().where(text)), (zone, text)
                assert last_plans(1)[0].time_zone == zone
    # Analysed in one zone, run in another: the index is of the zone that the tree names.
    for text, is_answered in (
        ("hour(seen) = 12", True),
        ("date_trunc('year', seen) < DATE'2000-01-01'", False),
    ):
        query, full = frame.where(text), hudi.read().where(text)
        with session(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
            assert ids(query) == ids(full)
        told = last_plans(1)[0].explain()
        assert ("it was analysed in time zone UTC and runs in Asia/Tokyo" not in told) == is_answered, told


MINE = """
public class Mine implements org.apache.spark.sql.api.java.UDF1 {
  public Object call(Object text) { return "mine"; }
}
"""


def test_function_of_the_users_own_is_not_taken_for_sparks(
    spark: SparkSession, tables: dict[str, HudiTable]
) -> None:
    # Functions belong to a session, and Spark lets nobody take back one that hides its own.
    other = spark.newSession()
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    frame = read_indexed(other, tables[COW].path, strict=True)
    assert _slices_read(frame.where("upper(name) = 'MINE'")) == 0
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(MINE)
    mine = compiler.getClassLoader().loadClass("Mine").newInstance()
    other._jsparkSession.udf().register("upper", mine, jvm.org.apache.spark.sql.types.DataTypes.StringType)
    assert _slices_read(frame.where("upper(name) = 'MINE'")) == SLICES
    assert "a function of somebody's own" in last_plans(1)[0].explain()


def _slices_read(frame: DataFrame) -> int:
    """By the plan alone: nothing is run."""
    return len(frame._jdf.queryExecution().executedPlan().collectLeaves().head().selectedPartitions())


def test_explicit_where_plans_at_once_and_reads_only_those_slices(
    spark: SparkSession, hudi: HudiTable
) -> None:
    where = "name = 'ascii' AND region != 'mars'"
    found = read_indexed(spark, hudi.path, where=where, strict=True)
    (plan,) = last_plans(1)
    assert plan.kept < plan.total == SLICES
    assert ids(found) == ids(hudi.read().where(where))
    assert ids(found.where("region = 'us'")) == ids(hudi.read().where(f"{where} AND region = 'us'"))
    files = found.selectExpr("split(_hoodie_file_name, '_')[0]").distinct().count()
    assert files <= plan.kept
    assert last_plans(1) == [plan]


def test_failed_plan_reads_everything_with_a_warning_or_fails_when_strict(
    spark: SparkSession,
    tables: dict[str, HudiTable],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hudi = tables[COW]
    lenient, strict = read_indexed(spark, hudi.path), read_indexed(spark, hudi.path, strict=True)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is gone")

    monkeypatch.setattr(file_index, "plan", broken)
    where = "name = 'ascii'"
    with pytest.warns(NotPlannedWarning, match="the disk is gone"), caplog.at_level(logging.WARNING):
        assert ids(lenient.where(where)) == ids(hudi.read().where(where))
    assert "in broken" in caplog.text
    (plan,) = last_plans(1)
    assert (plan.kept, plan.error) == (SLICES, "RuntimeError: the disk is gone")
    with pytest.raises(Exception, match=r"in broken[\s\S]*the disk is gone"):
        strict.where(where).collect()
    with pytest.raises(Exception, match="the disk is gone"):
        read_indexed(spark, hudi.path, where=where, strict=True)
    with pytest.warns(NotPlannedWarning):
        assert ids(read_indexed(spark, hudi.path, where=where)) == ids(hudi.read().where(where))


def test_planning_makes_the_same_few_calls_however_many_files_there_are(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    answer = FilePlanner.apply
    monkeypatch.setattr(FilePlanner, "apply", lambda self, text: asked.append(text) or answer(self, text))
    client = spark.sparkContext._gateway._gateway_client  # type: ignore[union-attr]
    sent: list[str] = []
    send = type(client).send_command
    monkeypatch.setattr(
        type(client),
        "send_command",
        lambda self, text, *rest, **how: sent.append(text) or send(self, text, *rest, **how),
    )
    counts = []
    for partitions in ("region", "region,day"):
        hudi = HudiTable(spark, tmp_path / partitions, COW, partition_by=partitions)
        hudi.bulk_insert(hostile_rows(range(12)))
        frame = read_indexed(spark, hudi.path, strict=True)
        # Python's finalizers send commands too, whenever they run.
        sent.clear()
        asked.clear()
        frame.where("name = 'ascii'")._jdf.queryExecution().executedPlan().execute()
        counts.append((len([text for text in sent if not text.startswith("m\n")]), len(asked)))
    assert counts[0] == counts[1]
    assert counts[0][1] == 2


def test_version_6_table_with_logs_is_pruned(spark: SparkSession, tmp_path: Path) -> None:
    hudi = indexed(spark, tmp_path / "t", MOR, version=6)
    found = read_indexed(spark, hudi.path, strict=True).where("name = 'ascii'")
    assert ids(found) == ids(hudi.read().where("name = 'ascii'"))
    (plan,) = last_plans(1)
    assert plan.plan is not None
    assert plan.kept == plan.plan.kept < SLICES


def test_earlier_instant_is_read_through_the_indexes(spark: SparkSession, hudi: HudiTable) -> None:
    second = hudi.completed()[1]
    for where in ("name = 'ascii'", "id = 'k0014'"):
        found = read_indexed(spark, hudi.path, as_of=second, strict=True).where(where)
        assert ids(found) == ids(hudi.read(second).where(where))
    assert last_plans(1)[0].kept < SLICES


def test_request_that_makes_no_sense_is_refused(spark: SparkSession, tables: dict[str, HudiTable]) -> None:
    path = tables[COW].path
    optimized: dict[str, Any] = {"hoodie.datasource.query.type": "read_optimized"}
    earlier: dict[str, Any] = {"as.of.instant": "20240101000000"}
    with pytest.raises(NoSuchTableError):
        read_indexed(spark, path / "nowhere")
    with pytest.raises(InvalidOptionError, match="snapshot query"):
        read_indexed(spark, path, **optimized)
    with pytest.raises(InvalidOptionError, match="say as_of"):
        read_indexed(spark, path, **earlier)
    with pytest.raises(InvalidOptionError, match="yyyyMMddHHmmss"):
        read_indexed(spark, path, as_of="yesterday")


def test_session_without_a_jvm_is_told_the_explicit_way(
    spark: SparkSession, tables: dict[str, HudiTable]
) -> None:
    connect = pytest.importorskip("pyspark.sql.connect.session")
    remote = object.__new__(connect.SparkSession)
    with pytest.raises(NoJvmError, match='where="…"'):
        read_indexed(remote, tables[COW].path)
    where = "name = 'ascii'"
    storage = Storage.open(tables[COW].path)
    assert ids(read_base_files(spark, storage, where, None)) == ids(tables[COW].read().where(where))
    assert ids(read_base_files(spark, storage, "name = 'nobody'", None)) == []
    with pytest.raises(UnsupportedTableError, match="log files of 1 file slices can't be merged"):
        read_base_files(spark, Storage.open(tables[MOR].path), "id = 'k0001'", None)


SCRIPT = """
import sys
from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.runtime.session import SHORT_RUN, local_session

def found(spark):
    count = read_indexed(spark, sys.argv[1], where="name = 'ascii'").count()
    server = spark.sparkContext._gateway.__dict__.get("_callback_server")
    counts = (count, read_indexed(spark, sys.argv[1]).where("name = 'ascii'").count(), last_plans(1)[0].kept)
    assert counts[0] == counts[1], counts
    return server, counts[2]

spark = local_session(settings=SHORT_RUN)
server, kept = found(spark)
assert server is None, "the explicit way needs no callbacks"
spark.stop()
server, again = found(local_session(settings=SHORT_RUN))
assert server is not None
assert kept == again < 6
print("done")
"""


def test_sessions_come_and_go_and_the_process_ends(tables: dict[str, HudiTable]) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tables[COW].path)]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert (ended.returncode, ended.stdout.strip().splitlines()[-1:]) == (0, ["done"]), ended.stderr[-3000:]
