"""What may come in a batch: rows that delete, odd keys and values, other schemas, keys that stand twice."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import functions as F  # noqa: N812  as everyone calls it

from hudi_index.errors import ClusteringPendingError, NoRecordIndexError, RowsRefusedError
from hudi_index.spark import delete, upsert
from tests.parity.tables import COW, MOR
from tests.support.entries import check_indexes
from tests.writer.twins import RECORDS, SMALL, Twins, row

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

BEGIN = [
    *(row(f"k{place}", 5, ("eu", "us")[place % 2], "begin") for place in range(6)),
    row("null", None, "eu", "begin"),
]
ODD = [
    "a b",
    "a/b",
    "a:b",
    "a,b",
    "a$b",
    "$",
    "%24",
    "a=b&c",
    "100%",
    "ключ",
    "𝄞",
    "'",
    '"',
    "\\",
    "x" * 1200,
]


@pytest.fixture(scope="module", params=[COW, MOR])
def made(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Twins:
    folder = tmp_path_factory.mktemp("batches")
    twins = Twins(spark, folder, request.param, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    return twins


@pytest.fixture
def twins(made: Twins, tmp_path: Path) -> Twins:
    return made.copied(tmp_path / "copy")


def test_rows_delete_by_the_marker_by_a_column_and_by_their_keys(twins: Twins) -> None:
    frame = twins.ours.frame(
        [row("k0", 6, "eu", "x", deletes=True), row("k1", 6, "us", "gone"), row("k2", 6, "eu", "stays")]
    ).withColumn("gone", F.col("v") == "gone")
    report = upsert(frame, twins.ours.path, deletes="gone", **twins._given)
    assert (report.counts.deleted, report.counts.updated) == (2, 1)
    assert "gone" not in twins.ours.read().columns
    # Whatever their ordering values, and without a partition.
    report = delete(frame.select("id").where("id = 'k2'"), twins.ours.path, **twins._given)
    assert (report.counts.deleted, report.counts.rows) == (1, 1)
    assert {key for key, *_ in twins.records()} == {"k3", "k4", "k5", "null"}
    assert twins.indexed.status().is_fresh


def test_a_row_without_ordering_value_is_inserted_and_meets_no_record(twins: Twins) -> None:
    """Where the two have to be compared, Hudi fails: as it writes, or later when somebody reads."""
    before = twins.ours.completed()
    for case, who in (
        (row("k0", None, "eu", "x"), "row of key 'k0'"),
        (row("null", 6, "us", "x"), "record of"),
    ):
        with pytest.raises(RowsRefusedError, match=f"the {who}.* has no value of ts"):
            upsert(twins.ours.frame([case]), twins.ours.path, **twins._given)
        with pytest.raises(Py4JJavaError):
            twins.hudis.upsert([case])
    assert twins.ours.completed() == before
    twins.upsert([row("new", None, "eu", "x"), row("k1", 6, "us", "x")])
    twins.delete([row("null", None, "eu", "x")])
    assert twins.records() == twins.records(twins.hudis)
    assert ("new", None, "eu", "x") in twins.records()


def test_odd_keys_are_one_record_each(twins: Twins) -> None:
    for moment, region in ((5, "eu"), (6, "us")):
        report = twins.upsert([row(key, moment, region, f"v{moment}") for key in ODD])
        assert (report.counts.inserted, report.counts.moved) == ((len(ODD), 0), (0, len(ODD)))[moment - 5]
        assert twins.records() == twins.records(twins.hudis)
    twins.check()


@pytest.mark.parametrize("key", [None, ""], ids=["null", "empty"])
def test_a_key_that_hudi_refuses_is_refused(twins: Twins, key: str | None) -> None:
    rows = [{**row("", 6, "eu", "x"), "id": key}]
    before = twins.ours.completed()
    with pytest.raises(Py4JJavaError, match="HoodieKeyException"):
        twins.hudis.upsert(rows)
    with pytest.raises(RowsRefusedError, match=r"nothing was written: .*non-.*HoodieKeyException"):
        upsert(twins.ours.frame(rows), twins.ours.path, **twins._given)
    assert twins.ours.completed() == before


@pytest.mark.parametrize(("name", "kind"), [("id", "timestamp"), ("id", "binary"), ("region", "timestamp")])
def test_a_key_that_hudi_spells_in_two_ways_is_refused(twins: Twins, name: str, kind: str) -> None:
    """Two timestamps of one millisecond would be one record, and bytes never the same one again."""
    frame = twins.ours.frame([row("2024-01-01", 6, "2024-01-01", "x")])
    frame = frame.withColumn(name, F.col(name).cast(kind))
    before = twins.ours.completed()
    for verb in (upsert, delete) if name == "id" else (upsert,):
        with pytest.raises(RowsRefusedError, match=f"{name}, a {kind}, .* spell such values differently"):
            verb(frame, twins.ours.path)
    assert twins.ours.completed() == before


@pytest.mark.parametrize("kind", ["double", "string"])
def test_rows_that_would_make_the_ordering_column_another_kind_are_refused(twins: Twins, kind: str) -> None:
    frame = twins.ours.frame([row("k0", 6, "eu", "x")]).withColumn("ts", F.col("ts").cast(kind))
    before = twins.ours.completed()
    with pytest.raises(RowsRefusedError, match=f"int64 in the table and {kind} in these rows"):
        upsert(frame, twins.ours.path, **twins._given)
    assert twins.ours.completed() == before
    delete(frame.where("false"), twins.ours.path, **twins._given)


def test_an_index_whose_ordering_column_became_another_kind_is_not_used(twins: Twins) -> None:
    """By the entries that are there 9.0 would be less than 5, and a record that moves would stand twice."""
    frame = twins.ours.frame([row("k0", 9, "eu", "by another")])
    twins.ours.write(frame.withColumn("ts", F.col("ts").cast("double")), "upsert")
    rows = twins.ours.frame([row("k1", 9, "eu", "x")]).withColumn("ts", F.col("ts").cast("double"))
    before = twins.ours.completed()
    for verb in (upsert, delete):
        with pytest.raises(NoRecordIndexError, match="by ts int64, and the table has them by ts double"):
            verb(rows, twins.ours.path, **twins._given)
    report = twins.indexed.maintain()
    assert any("is invalid: its entries hold ordering values by ts int64" in each for each in report.notes)
    with pytest.raises(NoRecordIndexError, match="records is invalid"):
        upsert(rows, twins.ours.path, **twins._given)
    assert twins.ours.completed() == before
    twins.indexed.sql("REBUILD INDEX records ON t")
    counts = upsert(rows, twins.ours.path, **twins._given).counts
    assert (counts.moved, counts.updated, counts.late) == (1, 0, 0)
    check_indexes(twins.indexed.storage)


def test_a_new_column_that_is_never_null_is_refused_as_by_hudi(twins: Twins) -> None:
    frame = twins.ours.frame([row("k0", 6, "eu", "x")]).withColumn("more", F.lit(1))
    before = twins.ours.completed()
    with pytest.raises(Py4JJavaError, match="SchemaBackwardsCompatibilityException"):
        twins.hudis.write(frame, "upsert")
    with pytest.raises(RowsRefusedError, match="SchemaBackwardsCompatibilityException"):
        upsert(frame, twins.ours.path, **twins._given)
    assert twins.ours.completed() == before


@pytest.mark.slow
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_rows_of_a_wider_ordering_column_are_written_as_by_hudi(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    narrow = str(SMALL["schema"]).replace("ts bigint", "ts int")
    twins = Twins(spark, tmp_path, table_type, shape={"schema": narrow}, statements=RECORDS)
    twins.begin([row(f"k{at}", 5, "eu", "a") for at in range(6)])
    wide = replace(twins.ours, schema=SMALL["schema"])
    for moment, large in enumerate((1 << 31, (1 << 31) - 1, 1 << 40)):
        rows = [
            row(f"k{at}", ts, ("eu", "us")[(at + moment) % 2], f"b{moment}")
            for at, ts in enumerate((4, 4, 6, 6, large, large))
        ]
        twins.hudis.write(wide.frame(rows), "upsert")
        upsert(wide.frame(rows), twins.ours.path, **twins._given)
        twins.check()


def _other_schemas(frame: DataFrame) -> dict[str, DataFrame]:
    return {
        "other order": frame.select("_hoodie_is_deleted", "v", "region", "ts", "id"),
        "narrower type": frame.withColumn("ts", F.col("ts").cast("int")),
        "one column more": frame.withColumn("more", F.when(F.col("ts") > 5, F.col("ts"))),
    }


def test_rows_of_another_schema_go_the_way_of_hudis_writer(twins: Twins) -> None:
    for moment, name in enumerate(_other_schemas(twins.ours.frame([])), 6):
        frame = twins.ours.frame(
            [
                row("k0", moment, "eu", name),
                row("k1", moment, ("eu", "us")[moment % 2], name),
                row(name, 1, "us", "x"),
            ]
        )
        given = _other_schemas(frame)[name]
        twins.hudis.write(given, "upsert")
        upsert(given, twins.ours.path, **twins._given)
        assert twins.rows_of(twins.ours) == twins.rows_of(twins.hudis)
    assert "more" in twins.ours.read().columns
    twins.check()


def test_a_missing_column_is_refused_as_by_hudi(twins: Twins) -> None:
    frame = twins.ours.frame([row("k0", 6, "eu", "x")]).drop("v")
    before = twins.ours.completed()
    with pytest.raises(Py4JJavaError, match="MissingSchemaFieldException"):
        twins.hudis.write(frame, "upsert")
    with pytest.raises(RowsRefusedError, match=r"Fields missing from incoming schema: .*v"):
        upsert(frame, twins.ours.path, **twins._given)
    assert twins.ours.completed() == before


@pytest.mark.slow
@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("kind", ["double", "float"])
def test_odd_ordering_values_are_ordered_as_by_hudi(
    spark: SparkSession, tmp_path: Path, table_type: str, kind: str
) -> None:
    """Hudi takes -0.0 for less than 0.0, and NaN for more than all others."""
    values = (-0.0, 0.0, 1.5, math.inf, math.nan)
    pairs = [(one, other) for one in values for other in values]
    shape = {"schema": str(SMALL["schema"]).replace("ts bigint", f"ts {kind}")}
    twins = Twins(spark, tmp_path, table_type, shape=shape, statements=RECORDS)
    twins.begin([{**row(f"k{at}", 0, "eu", "a"), "ts": one} for at, (one, _) in enumerate(pairs)])
    for moved in (0, 1):
        twins.upsert(
            [
                {**row(f"k{at}", 0, ("eu", "us")[(at + moved) % 2], f"b{moved}"), "ts": other}
                for at, (_, other) in enumerate(pairs)
            ]
        )
        twins.check(validates=bool(moved))


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_key_that_stands_twice_is_decided_at_each_place(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    """Hudi's own global index does so too, but inserts what it moves once for each place."""
    twins = Twins(spark, tmp_path, table_type, shape=SMALL, statements=RECORDS)
    for table in (twins.ours, twins.hudis):
        table.bulk_insert([row(f"k{place}", 3, "eu", "a") for place in range(1, 7)])
        table.bulk_insert(
            [
                row(f"k{place}", 8 if place > 4 else 3, "eu" if place in (1, 6) else "us", "b")
                for place in range(1, 7)
            ]
        )
    twins.indexed.create_all(RECORDS, spark=spark)
    report = twins.upsert(
        [
            row("k1", 6, "eu", "c"),
            row("k2", 6, "us", "c"),
            row("k3", 6, "asia", "c"),
            row("k4", 6, "us", "c", deletes=True),
            row("k5", 6, "asia", "c"),
            row("k6", 6, "eu", "c"),
        ]
    )

    def of(table: Any, key: str) -> list[tuple[Any, ...]]:
        chosen = table.read().where(f"id = '{key}'").select("ts", "_hoodie_partition_path", "v")
        return sorted(tuple(each) for each in chosen.collect())

    # In one partition: both updated, or the one that is not newer.
    assert of(twins.ours, "k1") == of(twins.hudis, "k1") == [(6, "eu", "c")] * 2
    assert of(twins.ours, "k6") == of(twins.hudis, "k6") == [(6, "eu", "c"), (8, "eu", "b")]
    assert of(twins.ours, "k4") == of(twins.hudis, "k4") == []
    # In several: one is left, and none where a newer one stands.
    assert of(twins.ours, "k2") == [(6, "us", "c")]
    assert of(twins.ours, "k3") == [(6, "asia", "c")]
    assert of(twins.ours, "k5") == [(8, "us", "b")]
    for key in ("k2", "k3", "k5"):
        assert set(of(twins.ours, key)) <= set(of(twins.hudis, key))
    counts = report.counts
    assert (counts.updated, counts.moved, counts.deleted, counts.late) == (4, 1, 2, 2)
    twins_report = twins.indexed.status()
    assert twins_report.is_fresh


def test_values_of_all_types_arrive_as_by_hudi(spark: SparkSession, tmp_path: Path) -> None:
    schema = (
        "id string, ts bigint, region string, m map<string,bigint>, s array<struct<q:int,r:string>>, "
        "d decimal(38,10), t timestamp, n timestamp_ntz, b binary, f float, "
        "deep struct<a:array<map<string,date>>,z:struct<w:double>>"
    )
    made = [
        "map(id, ts, 'zürich', -1)",
        "array(named_struct('q', 1, 'r', id), named_struct('q', null, 'r', null))",
        "cast('-1234567890123456789012345678.0123456789' as decimal(38,10))",
        "timestamp_micros(-1000001 + ts)",
        "cast(timestamp_micros(ts) as timestamp_ntz)",
        "cast(concat(id, '\\0') as binary)",
        "cast('NaN' as float)",
        "named_struct('a', array(map('k', date'1600-01-01')), 'z', named_struct('w', double('-0.0')))",
    ]
    names = [part.split()[0] for part in ("m", "s", "d", "t", "n", "b", "f", "deep")]
    twins = Twins(spark, tmp_path, MOR, shape={"schema": schema}, statements=RECORDS)

    def frame(*rows: tuple[str, int, str, bool]) -> DataFrame:
        given = spark.createDataFrame(rows, "id string, ts bigint, region string, is_null boolean")
        values = [f"if(is_null, null, {each}) AS {name}" for name, each in zip(names, made, strict=True)]
        return given.selectExpr("id", "ts", "region", *values).coalesce(1)

    for table in (twins.ours, twins.hudis):
        table.write(frame(("a", 1, "eu", False), ("b", 1, "us", True), ("c", 1, "us", False)), "bulk_insert")
    twins.indexed.create_all(RECORDS, spark=spark)
    changed = frame(("a", 2, "us", False), ("b", 2, "us", False), ("c", 2, "us", True), ("d", 2, "eu", False))
    twins.hudis.write(changed, "upsert")
    upsert(changed, twins.ours.path, **twins._given)
    assert len(twins.rows_of(twins.ours)) == 4
    assert twins.rows_of(twins.ours) == twins.rows_of(twins.hudis)


@pytest.mark.parametrize("verb", ["schedule_compaction", pytest.param("cluster", marks=pytest.mark.slow)])
def test_a_table_under_a_table_service_is_written(spark: SparkSession, tmp_path: Path, verb: str) -> None:
    twins = Twins(spark, tmp_path, MOR, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    twins.upsert([row("k0", 6, "eu", "a"), row("new", 6, "us", "a")])
    twins.both(verb)
    report = twins.upsert([row("k0", 7, "eu", "b"), row("k1", 7, "eu", "b"), row("new", 7, "us", "b")])
    assert (report.counts.updated, report.counts.moved, report.counts.inserted) == (2, 1, 0)
    twins.check()
    twins.upsert([row("k0", 6, "us", "late"), row("new", 8, "eu", "c")])
    twins.check(validates=False)


@pytest.mark.slow
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_file_groups_under_a_pending_clustering_are_refused_as_by_hudi(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    twins = Twins(spark, tmp_path, table_type, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN[:-1])
    twins.both("schedule_clustering")
    before = twins.ours.completed()
    rows = [row("k0", 7, "us", "b"), row("k1", 7, "us", "b"), row("new", 7, "asia", "b")]
    with pytest.raises(Py4JJavaError, match="HoodieClusteringUpdateException"):
        twins.hudis.upsert(rows)
    with pytest.raises(ClusteringPendingError, match="when the clustering has run"):
        upsert(twins.ours.frame(rows), twins.ours.path, **twins._given)
    assert twins.ours.completed() == before
    # What goes to other file groups is written.
    twins.upsert(rows[2:])
    twins.check(validates=False)
    twins.both("run_pending_clustering")
    report = twins.upsert(rows)
    assert (report.counts.updated, report.counts.moved, report.counts.inserted) == (2, 1, 0)
    twins.check()
