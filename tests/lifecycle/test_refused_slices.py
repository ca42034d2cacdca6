"""Slices that hudi-rs turns out to refuse when it reads them: Hudi on Spark reads them in the same verb."""

from __future__ import annotations

import pickle
import shutil
from typing import TYPE_CHECKING

import pytest

from hudi_index.engine import IndexedTable
from hudi_index.errors import NeedsSparkError, SliceRefusedError, TableFileError
from hudi_index.spark import read_indexed
from tests.lifecycle.test_slices_read_by_spark import named_by_owner
from tests.parity.tables import COW, MOR, HudiTable
from tests.support.entries import load_state

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = "id string, part string, ts bigint, v string"
MOVES = {"hoodie.index.type": "GLOBAL_SIMPLE", "hoodie.simple.index.update.partition.path": "true"}
STATEMENTS = [
    "CREATE INDEX record_index ON t (id)",
    "CREATE INDEX by_v ON t (v)",
    "CREATE INDEX stats ON t USING column_stats (ts, v)",
    "CREATE INDEX maps ON t USING bitmap (v)",
]
SHOUT = "CREATE FUNCTION INDEX shout ON t USING secondary_index (upper(v))"
PREDICATES = [
    "v = 'v3'",
    "v = 'gone'",
    "v = 'moved'",
    "id = 'k1'",
    "ts > 10",
    "v LIKE 'v%'",
    "upper(v) = 'V4'",
]


def mixed_table(spark: SparkSession, path: Path, table_type: str) -> HudiTable:
    hudi = HudiTable(spark, path, table_type, partition_by="part", schema=SCHEMA)
    hudi.bulk_insert([{"id": f"k{i}", "part": "p0", "ts": 10, "v": f"v{i}"} for i in range(10)])
    return hudi


def move_and_delete(hudi: HudiTable, moved: str = "k1", deleted: str = "k2") -> None:
    """Hudi's own global index moves a record and deletes another in one upsert.

    Of a merge-on-read table that is a delete block with ordering values of two types: 0 as an int for what
    moved, the column's type for what was deleted.
    """
    hudi.schema = f"{SCHEMA}, _hoodie_is_deleted boolean"
    changed = [
        {"id": moved, "part": f"of-{moved}", "ts": 11, "v": "moved", "_hoodie_is_deleted": False},
        {"id": deleted, "part": "p0", "ts": 11, "v": "gone", "_hoodie_is_deleted": True},
    ]
    hudi.write(hudi.frame(changed), "upsert", options=MOVES)


def check(hudi: HudiTable, table: IndexedTable, statements: list[str]) -> None:
    """As a rebuild from nothing, all covered, pruned reads as full ones."""
    state = load_state(table.storage)
    assert {file_slice.group: file_slice.identity for file_slice in state.snapshot.slices} == {
        group: known.identity for group, known in state.indexed.items()
    }
    copy = hudi.path.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(hudi.path, copy, ignore=shutil.ignore_patterns(".index"))
    fresh = IndexedTable.open(copy)
    fresh.create_all(statements, spark=hudi.spark)
    assert named_by_owner(table.storage) == named_by_owner(fresh.storage)
    for predicate in PREDICATES:
        full = hudi.read().where(predicate).select("id", "v").collect()
        pruned = read_indexed(hudi.spark, hudi.path, strict=True).where(predicate).select("id", "v").collect()
        assert sorted(full) == sorted(pruned), predicate


@pytest.mark.parametrize(
    ("table_type", "statements"),
    [
        pytest.param(MOR, STATEMENTS, id="MOR", marks=pytest.mark.slow),
        pytest.param(MOR, [*STATEMENTS, SHOUT], id="MOR-with-expression"),
        pytest.param(COW, STATEMENTS, id="COW", marks=pytest.mark.slow),
    ],
)
def test_moves_and_deletes_of_a_global_index_are_maintained(
    table_type: str, statements: list[str], spark: SparkSession, tmp_path: Path
) -> None:
    hudi = mixed_table(spark, tmp_path / "t", table_type)
    table = IndexedTable.open(hudi.path)
    table.create_all(statements, spark=spark)
    move_and_delete(hudi)
    if table_type == MOR:
        with pytest.raises(SliceRefusedError, match=r"p0/\..*log.* mixes ordering types .*read_indexed"):
            table.scan("v = 'v3'").read_all()
        if SHOUT not in statements:
            with pytest.raises(NeedsSparkError, match=r"p0/\..*log.*mixes ordering types .*Spark session"):
                table.maintain()
    report = table.maintain(spark=spark)
    assert report.file_groups_changed == 2
    assert any("mixes ordering types" in note for note in report.notes) == (table_type == MOR)
    check(hudi, table, statements)
    validated = table.validate(spark=spark, queries=4)
    assert (validated.passed, validated.content.file_groups_checked) == (True, 2)
    # A slice that only Spark could read is the old one now.
    move_and_delete(hudi, "k4", "k5")
    table.maintain(spark=spark)
    check(hudi, table, statements)
    if table_type == MOR:
        hudi.compact()
        table.maintain(spark=spark)
        check(hudi, table, statements)
        assert table.scan("v = 'v3'").read_all().num_rows == 1


def test_validation_leaves_out_a_refused_slice_that_is_not_current(
    spark: SparkSession, tmp_path: Path
) -> None:
    hudi = mixed_table(spark, tmp_path / "t", MOR)
    move_and_delete(hudi)
    table = IndexedTable.open(hudi.path)
    table.create_all(STATEMENTS, spark=spark)
    move_and_delete(hudi, "k4", "k5")
    validated = table.validate(spark=spark, queries=2)
    assert validated.passed
    assert (validated.content.file_groups_gone, validated.content.file_groups_checked) == (1, 1)


@pytest.fixture(scope="module")
def with_logs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    hudi = mixed_table(spark, tmp_path_factory.mktemp("logs") / "t", MOR)
    hudi.upsert([{"id": f"k{i}", "part": "p0", "ts": 11, "v": f"w{i}"} for i in range(5)])
    return hudi.path


def damage(path: Path, pattern: str, content: bytes | None = None) -> Path:
    """Spoil the only file of a pattern: all of it, or some bytes in the middle."""
    (file,) = (each for each in path.glob(pattern) if each.suffix != ".crc")
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    data = file.read_bytes()
    middle = data.index(b'"type"') if content is None else 0
    file.write_bytes(data[:middle] + b"\x00" * 40 + data[middle + 40 :] if content is None else content)
    return file


@pytest.mark.parametrize("on_spark", [False, True])
@pytest.mark.parametrize("pattern", ["p0/*.parquet", "p0/.*.log.*"])
def test_a_damaged_file_is_named_and_not_given_to_spark(
    pattern: str, on_spark: bool, with_logs: Path, spark: SparkSession, tmp_path: Path
) -> None:
    path = shutil.copytree(with_logs, tmp_path / "t")
    file = damage(path, pattern, b"no such thing " * 20)
    table = IndexedTable.open(path)
    with pytest.raises(TableFileError, match=file.name) as caught:
        table.sql("CREATE INDEX by_v ON t (v)", spark=spark if on_spark else None)
    assert "Hudi on Spark" not in caught.value.reason
    with pytest.raises(TableFileError, match=file.name):
        table.scan().read_all()


def test_a_slice_that_spark_cannot_read_either_is_named(
    with_logs: Path, spark: SparkSession, tmp_path: Path
) -> None:
    path = shutil.copytree(with_logs, tmp_path / "t")
    file = damage(path, "p0/.*.log.*")
    table = IndexedTable.open(path)
    with pytest.raises(TableFileError, match=file.name) as caught:
        table.sql("CREATE INDEX by_v ON t (v)", spark=spark)
    assert "hudi-rs refuses it" in caught.value.reason
    assert "Hudi on Spark fails" in caught.value.reason


def test_a_table_that_hudi_rs_panics_over_is_indexed_through_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", MOR, partition_by="part", schema=f"{SCHEMA}, at timestamp_ntz")
    rows = spark.sql(
        "SELECT concat('k', id) AS id, 'p0' AS part, 10L AS ts, concat('v', id) AS v,"
        " timestamp_ntz'2024-01-01 00:00:00' AS at FROM range(6)"
    ).coalesce(1)
    hudi.write(rows, "bulk_insert")
    hudi.write(rows.where("id < 'k3'").selectExpr("id", "part", "11L AS ts", "'w' AS v", "at"), "upsert")
    table = IndexedTable.open(hudi.path)
    table.sql("CREATE INDEX by_v ON t (v)")  # plain logs are merged without hudi-rs
    count_by_v(hudi, {"w": 3, "v1": 0, "v4": 1})
    hudi.write(rows.where("id = 'k4'"), "delete")
    with pytest.raises(NeedsSparkError, match="hudi-rs refuses it"):
        table.maintain()
    table.maintain(spark=spark)
    count_by_v(hudi, {"w": 3, "v1": 0, "v4": 0, "v5": 1})


EVOLVES = {
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop": "true",
    "hoodie.datasource.write.reconcile.schema": "false",
}


def test_a_column_that_was_dropped_and_came_back_is_read_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What was written without it has no value there, whatever was there before."""
    with_x = f"{SCHEMA}, x int"
    hudi = HudiTable(spark, tmp_path / "t", MOR, partition_by="part", schema=with_x, options=EVOLVES)
    hudi.bulk_insert([{"id": f"k{i}", "part": "p0", "ts": 10, "v": "v", "x": i} for i in range(5)])
    table = IndexedTable.open(hudi.path)
    statements = [*STATEMENTS, "CREATE INDEX by_x ON t (x)", "CREATE INDEX xs ON t USING column_stats (x)"]
    table.create_all(statements, spark=spark)
    hudi.schema = SCHEMA
    hudi.upsert([{"id": "k1", "part": "p0", "ts": 11, "v": "w"}])
    hudi.schema = with_x
    hudi.upsert([{"id": "k2", "part": "p0", "ts": 11, "v": "w", "x": 7}])
    with pytest.raises(SliceRefusedError, match="x are left out by a log"):
        table.scan("x IS NULL").read_all()
    report = table.maintain(spark=spark)
    assert any("left out by a log" in note for note in report.notes)
    check(hudi, table, statements)
    for predicate, ids in {
        "x IS NULL": ["k1"],
        "x = 1": [],
        "x = 7": ["k2"],
        "x > 2": ["k2", "k3", "k4"],
    }.items():
        assert sorted(row.id for row in hudi.read().where(predicate).collect()) == ids
        pruned = read_indexed(spark, hudi.path, strict=True).where(predicate)
        assert sorted(row.id for row in pruned.collect()) == ids
    assert table.validate(spark=spark, queries=4).passed


def test_a_column_that_changed_its_case_is_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    spelled = f"{SCHEMA}, X int"
    hudi = HudiTable(
        spark, tmp_path / "t", MOR, partition_by="part", schema=f"{SCHEMA}, x int", options=EVOLVES
    )
    hudi.bulk_insert([{"id": f"k{i}", "part": f"p{i % 2}", "ts": 10, "v": "v", "x": i} for i in range(6)])
    hudi.schema = spelled
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        hudi.upsert([{"id": "k0", "part": "p0", "ts": 11, "v": "w", "X": 9}])
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    table = IndexedTable.open(hudi.path)
    statements = [*STATEMENTS, "CREATE INDEX by_x ON t (X)"]
    table.create_all(statements, spark=spark)
    check(hudi, table, statements)
    for value, ids in {1: ["k1"], 4: ["k4"], 9: ["k0"], 0: []}.items():
        assert [row.id for row in hudi.read().where(f"X = {value}").collect()] == ids
        pruned = read_indexed(spark, hudi.path, strict=True).where(f"X = {value}")
        assert [row.id for row in pruned.collect()] == ids


def count_by_v(hudi: HudiTable, expected: dict[str, int]) -> None:
    for value, count in expected.items():
        pruned = read_indexed(hudi.spark, hudi.path, strict=True).where(f"v = '{value}'")
        assert pruned.count() == count, value


def test_errors_keep_their_fields_between_processes() -> None:
    error = SliceRefusedError(uri="file:/t", path="file:/t/f", reason="because", identity=("a",))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is SliceRefusedError
    assert (again.path, again.reason, again.identity, str(again)) == (
        "file:/t/f",
        "because",
        ("a",),
        str(error),
    )
