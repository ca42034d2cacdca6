"""The examples by which RFCs 63, 77 and 92 say what indexes are for: what is read, and the answers.

RFC-77's example of merging is in `tests/store/test_rfc77_merge.py`; here the same rows are a table.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from hudi_index import IndexedTable
from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.validate.parity import session_settings as session
from tests.parity.tables import COW, HudiTable
from tests.parity.test_queries_on_spark import collected, exact, full_scan
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

DAYS, HOURS, ROWS = 2, 24, 2


def _check(hudi: HudiTable, where: str, kept: int) -> int:
    """The rows of a full scan from so many file slices; how many rows."""
    (wanted,) = full_scan(hudi.read(), ["id"], [where])
    frame = read_indexed(hudi.spark, hudi.path, strict=True)
    assert collected(frame.where(where).select("id")) == wanted
    assert last_plans(1)[0].kept == kept, last_plans(1)[0].explain()
    return wanted.total()


@pytest.mark.spark
def test_rfc_63_time_of_day_reads_two_of_24_files_a_day(spark: SparkSession, tmp_path: Path) -> None:
    """Use case 1, and a range of the source column through the index over its function."""
    schema = "id string, ts bigint, seen timestamp"
    hudi = HudiTable(spark, tmp_path / "t", COW, partition_by="", schema=schema)
    start = datetime(2022, 10, 1, tzinfo=timezone.utc)
    rows = [
        (f"k{hour}-{n}", 1, start + timedelta(hours=hour, minutes=20 * n))
        for hour in range(DAYS * HOURS)
        for n in range(ROWS)
    ]
    # A task for each hour, and so a file.
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, DAYS * HOURS), schema)
    keys = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    hudi.write(frame, "bulk_insert", options={"hoodie.datasource.write.keygenerator.class": keys})
    table = IndexedTable.open(hudi.path)
    table.create_all(
        [
            "CREATE INDEX hours ON t (date_format(seen, 'HH')) OPTIONS (time_zone = 'UTC')",
            "CREATE INDEX days ON t (date_format(seen, 'yyyy-MM-dd')) OPTIONS (time_zone = 'UTC')",
            "CREATE INDEX stats ON t USING column_stats (seen)",
        ],
        spark=spark,
    )
    assert table.plan("true").total == DAYS * HOURS
    month = "date_format(seen, 'yyyy-MM-dd') BETWEEN '2022-10-01' AND '2022-10-31'"
    with session(spark, exact()):
        found = _check(hudi, f"{month} AND date_format(seen, 'HH') BETWEEN '12' AND '13'", 2 * DAYS)
        assert found == 2 * DAYS * ROWS
        assert _check(hudi, "date_format(seen, 'yyyy-MM-dd') = '2022-10-02'", HOURS) == HOURS * ROWS
        # The index over the day answers what a range of the column means for days.
        noon = "seen >= TIMESTAMP'2022-10-02 12:00:00' AND seen < TIMESTAMP'2022-10-02 13:00:00'"
        assert _check(hudi, noon, 1) == ROWS
        assert table.plan(noon, only=["days"]).kept == HOURS
        # And the other way about: a function that rises with the column is answered by the column.
        assert table.plan("to_date(seen) = DATE'2022-10-01'", only=["stats"]).kept == HOURS


def test_rfc_63_evolved_partitioning_is_skipped_by_ranges_wherever_files_lie(tmp_path: Path) -> None:
    """Use case 2: `org/day` before, `org` alone later, in one table; `n` is the day, `region` is `org`."""
    table = Fabricated(tmp_path / "t", partition_fields="")
    table.commit("20221001000000000")
    old = {("1", 1): 1, ("1", 2): 2, ("2", 1): 3, ("3", 1): 4}
    for (org, day), number in old.items():
        rows = [{"id": f"k{number}", "n": 20221000 + day, "region": org}]
        table.base_file(f"{org}/2022-10-{day:02d}", f"f{number}", "20221001000000000", rows)
    table.commit("20221010000000000")
    for number, (org, first, last) in enumerate((("1", 10, 11), ("2", 10, 15)), start=10):
        rows = [{"id": f"k{number}-{n}", "n": 20221000 + n, "region": org} for n in range(first, last + 1)]
        table.base_file(org, f"f{number}", "20221010000000000", rows)
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX stats ON t USING column_stats (n, region)")
    files = [file for file in table.path.rglob("*.parquet") if ".hoodie" not in file.parts]
    every = [row for file in files for row in pq.read_table(file).to_pylist()]
    for where, passes, kept in (
        ("region = '1' AND n = 20221001", lambda row: row["region"] == "1" and row["n"] == 20221001, ["f1"]),
        (
            "n BETWEEN 20221002 AND 20221010",
            lambda row: 20221002 <= row["n"] <= 20221010,
            ["f10", "f11", "f2"],
        ),
        ("region = '2' AND n > 20221012", lambda row: row["region"] == "2" and row["n"] > 20221012, ["f11"]),
    ):
        assert sorted(file_slice.group.file_id for file_slice in indexed.plan(where).slices) == kept
        wanted = sorted(row["id"] for row in every if passes(row))
        assert wanted
        assert sorted(indexed.scan(where, ["id"]).read_all().column("id").to_pylist()) == wanted  # type: ignore[type-var]  # no null among them


@pytest.mark.spark
def test_rfc_92_commute_meets_both_bitmaps_row_by_row(spark: SparkSession, tmp_path: Path) -> None:
    schema = "id string, ts bigint, region string, gender string, commute_type string, age int"
    hudi = HudiTable(spark, tmp_path / "t", COW, schema=schema)
    people = {
        "north": [("female", "bus", 30), ("male", "car", 41), ("female", "walk", 19)],
        "south": [("female", "car", 27), ("male", "bus", 50)],
        "east": [("male", "car", 33), ("male", "car", 22)],
        "west": [("female", "car", 24), ("female", "car", 61), ("male", "walk", 18)],
    }
    hudi.bulk_insert(
        [
            {"id": f"{region}{n}", "ts": 1, "region": region, "gender": g, "commute_type": c, "age": age}
            for region, rows in people.items()
            for n, (g, c, age) in enumerate(rows)
        ]
    )
    IndexedTable.open(hudi.path).sql("CREATE INDEX bits ON t USING bitmap (gender, commute_type)")
    with session(spark, exact()):
        # North holds women and cars, on different rows: only what bitmaps say per row leaves it out.
        assert _check(hudi, "gender = 'female' AND commute_type = 'car'", 2) == 3
        assert _check(hudi, "gender = 'female' AND NOT commute_type = 'car'", 1) == 2
    read_indexed(spark, hudi.path, strict=True).createOrReplaceTempView("hudi_table")
    query = "SELECT MIN(age) FROM hudi_table WHERE gender = 'female' AND commute_type = 'car'"
    assert [tuple(row) for row in spark.sql(query).collect()] == [(24,)]
    assert (last_plans(1)[0].kept, last_plans(1)[0].total) == (2, 4)


@pytest.mark.spark
def test_rfc_77_cities_are_found_before_and_after_the_log_and_its_compaction(
    spark: SparkSession, tmp_path: Path
) -> None:
    keys = {
        "c8abbe79": "chennai",
        "9909a8b1": "los-angeles",
        "9809a8b1": "los-angeles",
        "334e26e9-330": "sfo",
        "334e26e9-329": "sfo",
    }
    schema = "id string, ts bigint, rider string, city string, shard string"
    hudi = HudiTable(spark, tmp_path / "t", COW, partition_by="shard", schema=schema)
    row = lambda key, city, ts=1: {  # noqa: E731
        "id": key,
        "ts": ts,
        "rider": f"rider-{key}",
        "city": city,
        "shard": str(sorted([*keys, "e3cf430c"]).index(key) % 4),
    }
    hudi.bulk_insert([row(key, city) for key, city in keys.items()])
    table = IndexedTable.open(hudi.path)
    table.sql("CREATE INDEX idx_city ON hudi_table USING secondary_index (city)")
    wanted = {"chennai": 1, "los-angeles": 2, "sfo": 2, "austin": 0}
    folder = hudi.path / ".hoodie/.index/mdt/secondary_index_idx_city"
    with session(spark, exact()):
        _check_cities(hudi, wanted)
        hudi.delete([row("334e26e9-329", "sfo")])
        hudi.upsert([row("e3cf430c", "chennai"), row("9809a8b1", "austin", 2)])
        wanted = {"chennai": 2, "los-angeles": 1, "sfo": 1, "austin": 1}
        _check_cities(hudi, wanted)
        table.maintain()
        assert list(folder.glob(".*.log.*"))
        _check_cities(hudi, wanted)
        table.compact(force=True)
        _check_cities(hudi, wanted)
    reader = table._kept.metadata_table.reader()
    entries = reader.scan("secondary_index_idx_city", columns=["key"]).read_all().column("key").to_pylist()
    assert [tuple(str(key).split("$")[:2]) for key in entries] == [
        ("austin", "9809a8b1"),
        ("chennai", "c8abbe79"),
        ("chennai", "e3cf430c"),
        ("los-angeles", "9909a8b1"),
        ("sfo", "334e26e9-330"),
    ]


def _check_cities(hudi: HudiTable, wanted: dict[str, int]) -> None:
    texts = [f"city = '{city}'" for city in wanted]
    frame = read_indexed(hudi.spark, hudi.path, strict=True)
    for text, count, full in zip(texts, wanted.values(), full_scan(hudi.read(), ["id"], texts), strict=True):
        assert (collected(frame.where(text).select("id")), full.total()) == (full, count)
