"""Tables whose slices hudi-rs can't merge: all kinds at once, built and kept through Hudi on Spark."""

from __future__ import annotations

import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyroaring import BitMap

from hudi_index.engine import IndexedTable
from hudi_index.entries import encode_value
from hudi_index.errors import NeedsSparkError
from hudi_index.table import SliceReader
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.entries import Entries, load_state, stored_entries

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PAYLOAD_CLASS = "hoodie.datasource.write.payload.class"
PAYLOAD = "org.apache.hudi.common.model."
SCHEMA_ON_READ = "hoodie.schema.on.read.enable"
STATEMENTS = [
    "CREATE INDEX by_name ON t (name)",
    "CREATE INDEX by_city_and_n ON t (address.city, n)",
    "CREATE INDEX stats ON t USING column_stats (ratio, seen, price, address.zip)",
    "CREATE INDEX blooms ON t USING bloom_filters (big, raw)",
    "CREATE INDEX record_index ON t (id)",
    "CREATE INDEX flags ON t USING bitmap (flag, day)",
    "CREATE FUNCTION INDEX shout ON t USING secondary_index (upper(name))",
    "CREATE INDEX hours ON t USING bitmap (hour(seen)) OPTIONS (time_zone = 'America/New_York')",
]
PREDICATES = [
    "name = 'zürich'",
    "name IS NULL",
    "address.city = 'ascii' AND n > 0",
    "price = 0",
    "ratio > 1",
    "id IN ('k0004', 'k0025')",
    "flag AND day = '2024-01-02'",
    "NOT flag",
    "upper(name) = 'ASCII'",
]


def odd_rows(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> list[dict[str, Any]]:
    """Rows in partitions whose paths need care in URIs."""
    folders = {"eu": "a b+c%20", "us": "zürich"}
    rows = hostile_rows(keys, ts=ts, salt=salt)
    return [{**row, "Op": "U", "region": folders.get(row["region"], row["region"])} for row in rows]


def named_by_owner(storage: Any) -> Entries:
    """Stored entries, with file groups by name where keys have a number, which depends on history."""
    state, stored = load_state(storage), stored_entries(storage)
    groups = {str(known.number): str(group) for group, known in state.indexed.items()}
    numbered = ("secondary_index_", "record_index", "func_index_shout")
    return {
        name: {
            f"{key.rpartition('$')[0]}${groups[key.rpartition('$')[2]]}": entry
            for key, entry in entries.items()
        }
        if name.startswith(numbered)
        else entries
        for name, entries in stored.items()
    }


def create_all(path: Path, spark: SparkSession) -> IndexedTable:
    table = IndexedTable.open(path)
    table.create_all(STATEMENTS, spark=spark)
    return table


def check_against_spark(hudi: HudiTable, table: IndexedTable, options: dict[str, str]) -> None:
    """As a rebuild from nothing, everything covered, and look-ups find the file groups that Spark does."""
    state = load_state(table.storage)
    assert {file_slice.group: file_slice.identity for file_slice in state.snapshot.slices} == {
        group: known.identity for group, known in state.indexed.items()
    }
    copy = hudi.path.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(hudi.path, copy, ignore=shutil.ignore_patterns(".index"))
    fresh = create_all(copy, hudi.spark)
    assert named_by_owner(table.storage) == named_by_owner(fresh.storage)

    rows = hudi.spark.read.format("hudi").options(**options).load(str(hudi.path))
    ids = rows.select("id", "_hoodie_partition_path", "_hoodie_file_name")
    rows_by_home = Counter(
        (row["_hoodie_partition_path"], row["_hoodie_file_name"].partition("_")[0], row["id"])
        for row in ids.collect()
    )
    homes = {key: (path, file_id) for path, file_id, key in rows_by_home}
    counts = {
        (group.partition_path, group.file_id): known.row_count for group, known in state.indexed.items()
    }
    found_counts: Counter[tuple[str, str]] = Counter()
    for (path, file_id, _), count in rows_by_home.items():
        found_counts[path, file_id] += count
    assert found_counts == counts
    read_less = 0
    for predicate in PREDICATES:
        # As a column: Hudi 1.2.0 fails where a filter on the record key alone meets a payload class.
        answers = rows.selectExpr("id", f"({predicate}) AS is_found").collect()
        found = {homes[row["id"]] for row in answers if row["is_found"]}
        plan = table.plan(predicate)
        kept = {(file_slice.group.partition_path, file_slice.group.file_id) for file_slice in plan.slices}
        assert found <= kept, predicate
        read_less += len(counts) - len(kept)
        if predicate.startswith(("name", "id")):
            assert found == kept, predicate
    assert read_less > 0


@pytest.mark.parametrize(
    ("version", "arguments"),
    [
        pytest.param(
            6,
            {"options": {PAYLOAD_CLASS: f"{PAYLOAD}PartialUpdateAvroPayload"}},
            id="payload-6",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            8,
            {"options": {PAYLOAD_CLASS: f"{PAYLOAD}AWSDmsAvroPayload"}},
            id="custom-merge-8",
            marks=pytest.mark.slow,
        ),
        pytest.param(9, {"options": {PAYLOAD_CLASS: f"{PAYLOAD}PartialUpdateAvroPayload"}}, id="partial-9"),
        pytest.param(9, {"ordering": "ts,n"}, id="several-ordering-fields"),
    ],
)
def test_indexes_over_logs_that_only_hudi_can_merge(
    version: int, arguments: dict[str, Any], spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", MOR, version=version, **arguments)
    hudi.schema += ", Op string"
    hudi.bulk_insert(odd_rows(range(16)) + odd_rows(range(3), salt=1))  # some keys stand twice
    hudi.upsert(odd_rows(range(0, 20, 4), ts=2, salt=4))
    with pytest.raises(NeedsSparkError, match=r"can only be read by Hudi on Spark, since .*: run this with"):
        IndexedTable.open(hudi.path).sql("CREATE INDEX by_name ON t (name)")
    assert IndexedTable.open(hudi.path).indexes() == ()
    table = create_all(hudi.path, spark)
    hudi.upsert(odd_rows([1, 4, 5, 25, 26], ts=3, salt=2))
    with pytest.raises(NeedsSparkError):
        table.maintain()
    assert table.maintain(spark=spark).file_groups_changed > 0
    state = load_state(table.storage)
    readers = {state.snapshot.slice_reader_of(file_slice).reader for file_slice in state.snapshot.slices}
    assert SliceReader.SPARK in readers
    hudi.compact()
    hudi.upsert([row for row in odd_rows(range(30), ts=4, salt=7) if row["region"] == "zürich"])
    table.maintain(spark=spark)
    assert table.maintain().commit is None
    check_against_spark(hudi, table, {})


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_indexes_over_columns_renamed_by_schema_on_read(
    table_type: str, spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(12)))
    hudi.upsert(hostile_rows(range(0, 12, 4), ts=2, salt=4))
    settings = (SCHEMA_ON_READ, "hoodie.datasource.write.schema.allow.auto.evolution.column.drop")
    for name in settings:
        spark.conf.set(name, "true")
    try:
        spark.sql(f"create table renamed using hudi location '{hudi.path}'")
        spark.sql("alter table renamed rename column name to title")
        hudi.schema = hudi.schema.replace("name string", "title string")
        rows = [{**row, "title": row["name"]} for row in hostile_rows(range(0, 12, 3), ts=3, salt=2)]
        hudi.upsert(rows, hoodie__schema__on__read__enable="true")
    finally:
        for name in settings:
            spark.conf.unset(name)
        spark.sql("drop table renamed")
    table = IndexedTable.open(hudi.path)
    with pytest.raises(NeedsSparkError, match="schema-on-read"):
        table.sql("CREATE INDEX by_title ON t (title)")
    statements = ["CREATE INDEX by_title ON t (title)", "CREATE INDEX titles ON t USING bitmap (title)"]
    table.create_all(statements, spark=spark)
    read = spark.read.format("hudi").option(SCHEMA_ON_READ, "true").load(str(hudi.path))
    expected = {
        (encode_value(row["title"], pa.string()), row["id"]) for row in read.select("id", "title").collect()
    }
    stored = stored_entries(table.storage)
    keys = {tuple(key.split("$")[:2]) for key in stored["secondary_index_by_title"]}
    assert {value for value, _ in expected} - {encode_value(None, pa.string())}
    assert {key for _, key in keys} == {f"k{i:04d}" for i in range(12)}
    # A long value is stored as its beginning and a digest.
    assert {pair for pair in keys if "%~" not in pair[0]} == {
        pair for pair in expected if len(pair[0]) < 1000
    }
    bitmaps = stored["bitmap_index"].values()
    assert sum(len(BitMap.deserialize(each["BitmapIndexMetadata"]["bitmap"])) for each in bitmaps) == 12
