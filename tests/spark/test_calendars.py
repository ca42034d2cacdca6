"""Old dates and timestamps in sessions, files and logs of either calendar: pruned reads as full ones."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from hudi_index.engine import IndexedTable
from hudi_index.errors import SliceRefusedError
from hudi_index.spark import last_plans, read_indexed
from tests.parity.tables import COW, MOR, HudiTable
from tests.support.entries import stored_entries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

DAYS = (
    ("0001-01-01", "0001-01-03", "2024-01-01"),
    ("1500-03-01", "1582-10-04", "1582-10-15"),
    ("1850-06-01", "1899-12-31", "1900-01-01"),
    ("1900-01-02", "1970-01-01", "2024-02-29"),
)
"""By partition: the values of its rows."""
MODES = ("parquet.datetimeRebaseMode", "parquet.int96RebaseMode", "avro.datetimeRebaseMode")
STATEMENTS = [
    "CREATE INDEX stats ON t USING column_stats (d, at)",
    "CREATE INDEX blooms ON t USING bloom_filters (d, at)",
    "CREATE INDEX maps ON t USING bitmap (d, at)",
    "CREATE INDEX by_d ON t (d)",
    "CREATE INDEX by_at_and_d ON t (at, d)",
    "CREATE FUNCTION INDEX years ON t USING column_stats (year(d))",
    "CREATE FUNCTION INDEX months ON t USING bitmap (month(at))",
    "CREATE INDEX texts ON t USING secondary_index (date_format(d, 'dd.MM.yyyy'))",
]
AT_ONCE = 10
SHIFTED = ("0001-01-03", "0000-12-30", "1500-02-20", "1500-03-10", "1582-09-24", "1582-10-14", "1582-10-05")
"""What the values above become when they are shifted, one way or the other."""


def predicates() -> list[str]:
    days = [*(day for part in DAYS for day in part), *SHIFTED]
    found = [f"d = date'{day}'" for day in days]
    found += [f"at = timestamp'{day} 00:00:00Z'" for day in days]
    found += [
        "at < timestamp'1583-01-01 00:00:00'",
        "at < timestamp'1900-01-01 00:00:00' AND at > timestamp'1800-01-01 00:00:00'",
        "d < date'1582-10-15'",
        "d BETWEEN date'1582-10-01' AND date'1582-10-31'",
        "d >= date'1900-01-01'",
        "d <> date'0001-01-01'",
        "NOT (d > date'1000-01-01')",
        "d = date'1500-03-01' AND at = timestamp'1500-03-01 00:00:00Z'",
        "year(d) = 1",
        "year(d) = 1500",
        "year(d) = 2024",
        "month(at) = 3",
        "month(at) = 2",
        "month(d) = 10",
        "date_format(d, 'dd.MM.yyyy') = '01.01.0001'",
        "date_format(d, 'dd.MM.yyyy') = '03.01.0001'",
        "date_format(d, 'dd.MM.yyyy') = '29.02.2024'",
        "cast(d AS string) LIKE '1500%'",
        "d IS NULL",
    ]
    return found


@contextmanager
def modes(spark: SparkSession, way: str, value: str) -> Iterator[None]:
    names = [f"spark.sql.{mode}In{way}" for mode in MODES]
    for name in names:
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)


def rows(spark: SparkSession, ts: int = 1) -> DataFrame:
    values = [
        f"('{part}-{place}', 'p{part}', {ts}L, date'{day}', timestamp'{day} 00:00:00Z')"
        for part, days in enumerate(DAYS)
        for place, day in enumerate(days)
    ]
    return spark.sql(f"SELECT * FROM VALUES {', '.join(values)} AS t(id, part, ts, d, at)").coalesce(1)


def make(
    spark: SparkSession, path: Path, table_type: str, written: str, options: dict[str, str]
) -> HudiTable:
    hudi = HudiTable(
        spark,
        path,
        table_type,
        partition_by="part",
        schema="id string, part string, ts bigint, d date, at timestamp",
        options=options,
    )
    with modes(spark, "Write", written):
        if table_type == MOR:
            modern = rows(spark).selectExpr(
                "id", "part", "ts", "date'2001-01-01' AS d", "timestamp'2001-01-01' AS at"
            )
            hudi.write(modern, "bulk_insert")
            hudi.write(rows(spark, 2), "upsert")
        else:
            hudi.write(rows(spark), "bulk_insert")
    return hudi


def _slow(name: str, *slow: str) -> Any:
    return pytest.param(name, marks=pytest.mark.slow) if name in slow else name


VIA_AVRO = {"hoodie.datasource.write.row.writer.enable": "false"}
SHAPES: dict[str, tuple[str, str, dict[str, str]]] = {
    "row-writer": (COW, "CORRECTED", {}),
    "row-writer-legacy": (COW, "LEGACY", {}),
    "avro": (COW, "CORRECTED", VIA_AVRO),
    "avro-logs": (MOR, "CORRECTED", {}),
    "parquet-logs": (MOR, "LEGACY", {"hoodie.logfile.data.block.format": "parquet"}),
}


def compare(spark: SparkSession, hudi: HudiTable, asked: list[str]) -> tuple[int, dict[str, list[str]]]:
    """Pruned against full in the present session: how many file groups were left out, and the answers."""
    saved, found = 0, {}
    pruned = read_indexed(spark, hudi.path, strict=True)
    named = [f"({text}) AS p{place}" for place, text in enumerate(asked)]
    answers = hudi.read().selectExpr("id", *named).collect()
    for place, text in enumerate(asked):
        found[text] = sorted(row["id"] for row in answers if row[f"p{place}"])
    # Some at a time: each is planned for itself, and one job runs them.
    for start in range(0, len(asked), AT_ONCE):
        some = asked[start : start + AT_ONCE]
        parts = [pruned.where(text).selectExpr("id", f"{place} AS p") for place, text in enumerate(some)]
        rows_of_all = reduce(lambda one, other: one.unionAll(other), parts).collect()
        for place, text in enumerate(some):
            assert sorted(row["id"] for row in rows_of_all if row["p"] == place) == found[text], text
        plans = last_plans(len(some))
        assert len(plans) == len(some)
        saved += sum(plan.total - plan.kept for plan in plans)
    return saved, found


@pytest.mark.parametrize("shape", [_slow(name, "row-writer", "parquet-logs", "avro") for name in SHAPES])
def test_old_values_are_found_in_sessions_of_either_calendar(
    shape: str, spark: SparkSession, tmp_path: Path
) -> None:
    table_type, written, options = SHAPES[shape]
    hudi = make(spark, tmp_path / "t", table_type, written, options)
    table = IndexedTable.open(hudi.path)
    table.create_all(STATEMENTS, spark=spark)
    asked = predicates()
    with modes(spark, "Read", "LEGACY"):
        saved, shifted = compare(spark, hudi, asked)
        read_indexed(spark, hudi.path, strict=True).where("month(at) = 3").collect()
        assert "shifts old dates" in last_plans(1)[0].explain()
    with modes(spark, "Read", "CORRECTED"):
        saved_at_best, found = compare(spark, hudi, asked)
    # Nothing is given up where nothing is shifted, and what is new enough is pruned everywhere.
    assert saved_at_best > 2 * len(asked)
    assert len(asked) // 2 < saved <= saved_at_best
    assert (shifted != found) == (shape in ("avro", "avro-logs"))
    if shape == "row-writer-legacy":
        with pytest.raises(SliceRefusedError, match="values of d are in the calendar of Spark 2"):
            table.scan("d = date'1500-03-01'", ["id"]).read_all()
        return
    for text in asked:
        if "(" not in text and "'0000" not in text:
            scanned: list[Any] = table.scan(text, ["id"]).read_all().column("id").to_pylist()
            assert sorted(scanned) == found[text], text


SPARK_2 = {"org.apache.spark.version": "2.4.8", "org.apache.spark.timeZone": "UTC"}
FOOTERS: dict[str, tuple[dict[str, str], bool]] = {
    "spark-2": (SPARK_2, False),
    "spark-2-int96": (SPARK_2, True),
    "spark-3.0-int96": ({**SPARK_2, "org.apache.spark.version": "3.0.1"}, True),
    "spark-3-int96": ({"org.apache.spark.version": "3.5.0"}, True),
    "unsaid-int96": ({}, True),
}


def rewrite_footers(path: Path, said: dict[str, str], *, int96: bool) -> None:
    """The same values in base files of the same names, as another writer would have put them there."""
    for file in path.glob("p*/*.parquet"):
        content = pq.read_table(file, partitioning=None).replace_schema_metadata(None)
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        settings: dict[str, Any] = {"store_schema": False, "use_deprecated_int96_timestamps": int96}
        with pq.ParquetWriter(file, content.schema, **settings) as writer:
            writer.write_table(content)
            writer.add_key_value_metadata(said)
        footer = pq.read_metadata(file)
        kinds = [each.physical_type for each in footer.schema if each.path == "at"]  # type: ignore[attr-defined]  # not in pyarrow's stubs
        assert kinds == ["INT96" if int96 else "INT64"]
        assert (footer.metadata or {}) == {key.encode(): value.encode() for key, value in said.items()}


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(spark, tmp_path_factory.mktemp("plain") / "t", COW, "CORRECTED", {}).path


@pytest.mark.parametrize(
    "footer", [_slow(name, "spark-3.0-int96", "spark-3-int96", "spark-2-int96") for name in FOOTERS]
)
def test_files_that_name_their_calendar_are_read_by_it(
    footer: str, plain: Path, spark: SparkSession, tmp_path: Path
) -> None:
    said, int96 = FOOTERS[footer]
    path = shutil.copytree(plain, tmp_path / "t")
    rewrite_footers(path, said, int96=int96)
    hudi = HudiTable(spark, path, COW, partition_by="part")
    table = IndexedTable.open(path)
    table.create_all(STATEMENTS[:6], spark=spark)
    asked = predicates()[::2]
    for read in ("CORRECTED", "LEGACY"):
        with modes(spark, "Read", read):
            assert compare(spark, hudi, asked)[0] > len(asked) // 3
    shifted = {"spark-2": ["d", "at"], "spark-2-int96": ["d", "at"], "spark-3.0-int96": ["at"]}.get(
        footer, []
    )
    for column in ("d", "at"):
        if column in shifted:
            with pytest.raises(SliceRefusedError, match=f"values of {column} are in the calendar of Spark 2"):
                table.scan("id = '1-0'", ["id", column]).read_all()
        else:
            found = table.scan("id = '1-0'", ["id", column]).read_all().to_pylist()
            assert [str(row[column])[:10] for row in found] == ["1500-03-01"]
    # Values that both calendars have are read from any file, but for INT96, which tells no bounds.
    if not (int96 and shifted):
        assert table.scan("part = 'p3'", ["d", "at"]).read_all().num_rows == 3


def test_an_index_is_the_same_whatever_session_built_it(spark: SparkSession, tmp_path: Path) -> None:
    # Two ordering fields: only Hudi on Spark merges the logs.
    hudi = make(
        spark, tmp_path / "t", MOR, "CORRECTED", {"hoodie.datasource.write.precombine.field": "ts,id"}
    )
    found: list[Any] = []
    for read in ("EXCEPTION", "LEGACY"):
        path = shutil.copytree(hudi.path, tmp_path / read)
        with modes(spark, "Read", read):
            IndexedTable.open(path).create_all(STATEMENTS, spark=spark)
        found.append(stored_entries(IndexedTable.open(path).storage))
    assert found[0] == found[1]
