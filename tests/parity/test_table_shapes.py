"""Tables of every shape: what the JVM-free table says must be what Hudi on Spark says.

Every table is made by Hudi on Spark. What operations do to a table is in `test_table_operations`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import hudi
import pyarrow as pa
import pytest

from hudi_index.errors import UnsupportedTableError
from hudi_index.table import SliceReader
from tests.parity.shapes import assert_same, history, make, our_slices, snapshot_of
from tests.parity.tables import COW, MOR, hostile_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from tests.parity.shapes import MakeRows, MakeTable, Rows

__all__ = ["make"]

pytestmark = pytest.mark.spark

KEY_GENERATOR = "hoodie.datasource.write.keygenerator.class"
HIVE_STYLE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
URL_ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
COMMIT_TIME = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
PAYLOAD_CLASS = "hoodie.datasource.write.payload.class"
PAYLOAD = "org.apache.hudi.common.model."


def weird_regions(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> Rows:
    values = ["a/b", "a b", "$x", "zürich", "100%", "x=y", None, "", "日本", "%2F"]
    rows = hostile_rows(keys, ts=ts, salt=salt)
    for row in rows:
        row["region"] = values[int(row["id"][1:]) % len(values)]
    return rows


@pytest.mark.parametrize(
    ("partition_by", "rows", "options"),
    [
        pytest.param("", hostile_rows, {}, id="unpartitioned"),
        pytest.param("region,day", hostile_rows, {}, id="two-fields"),
        pytest.param("region,day", hostile_rows, HIVE_STYLE, id="two-fields-hive"),
        pytest.param("region", weird_regions, {}, id="odd-values"),
        pytest.param("region", weird_regions, URL_ENCODED, id="odd-values-encoded"),
        pytest.param(
            "region,day", weird_regions, {**URL_ENCODED, **HIVE_STYLE}, id="odd-values-encoded-hive"
        ),
        # `a/b` makes three folders of two fields. Without the names in the path Spark refuses to read that.
        pytest.param("region,day", weird_regions, HIVE_STYLE, id="unaligned-hive"),
    ],
)
def test_partition_values_are_those_that_spark_sees(
    make: MakeTable, partition_by: str, rows: MakeRows, options: dict[str, str]
) -> None:
    history(make(table_type=MOR, partition_by=partition_by, options=options), rows, deletes=False)


@pytest.mark.parametrize("column", ["n", "big", "flag", "born"])
def test_typed_partition_values_come_from_the_path(make: MakeTable, column: str) -> None:
    def rows(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> Rows:
        made = hostile_rows(keys, ts=ts, salt=salt)
        for row in made:
            row[column] = hostile_rows([int(row["id"][1:]) % 5])[0][column]
        return made

    table = make(partition_by=column)
    table.bulk_insert(rows(range(12)))
    snapshot = snapshot_of(table)
    if all(snapshot.slice_reader_of(s).reader is SliceReader.HUDI_RS for s in snapshot.slices):
        assert_same(table)
    else:
        assert column == "born"


PARQUET_BLOCKS = {"hoodie.logfile.data.block.format": "parquet"}
OVERWRITE_PAYLOAD = {PAYLOAD_CLASS: f"{PAYLOAD}OverwriteWithLatestAvroPayload"}
COMPLEX_KEYS = {KEY_GENERATOR: "org.apache.hudi.keygen.ComplexKeyGenerator"}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"options": PARQUET_BLOCKS}, id="parquet-log-blocks"),
        pytest.param({"version": 6, "options": {**PARQUET_BLOCKS, **OVERWRITE_PAYLOAD}}, id="commit-time-6"),
        pytest.param({"version": 8}, id="version-8"),
        pytest.param({"version": 8, "ordering": None, "options": COMMIT_TIME}, id="commit-time-8"),
        pytest.param({"ordering": None, "options": COMMIT_TIME}, id="commit-time-9"),
        pytest.param(
            {"record_key": "id,day", "partition_by": "region,day", "options": COMPLEX_KEYS},
            id="composite-key",
        ),
        pytest.param({"options": BUCKETS}, id="buckets"),
        pytest.param({"ordering": "seen"}, id="ordering-by-timestamp"),
        pytest.param({"ordering": "day", "partition_by": "day"}, id="ordering-field-is-partition-field"),
    ],
)
def test_merge_on_read_shapes(make: MakeTable, arguments: dict[str, Any]) -> None:
    history(make(table_type=MOR, **arguments), with_seen)


def with_seen(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> Rows:
    """Rows that can be ordered by any column that is an ordering field here."""
    return [row for row in hostile_rows(keys, ts=ts, salt=salt) if row["seen"] is not None]


def test_maps_and_deeply_nested_columns_are_read_beside_a_metadata_table(make: MakeTable) -> None:
    def rows(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> Rows:
        made = hostile_rows(keys, ts=ts, salt=salt)
        for row in made:
            k = int(row["id"][1:]) + salt
            row["attributes"] = None if k % 4 == 0 else {"a": k, "b": None} if k % 3 else {}
            row["deep"] = None if k % 5 == 0 else {"list": [{"x": k, "y": None}], "map": {"q": "ü"}}
        return made

    table = make(table_type=MOR, options={"hoodie.metadata.enable": "true"})
    table.schema += ", attributes map<string,bigint>"
    table.schema += ", deep struct<list:array<struct<x:int,y:string>>,map:map<string,string>>"
    history(table, rows)


def test_columns_added_later_are_null_in_older_files(make: MakeTable) -> None:
    for_type = {}
    for table_type in (COW, MOR):
        table = make(table_type=table_type)
        table.path = table.path / table_type
        table.bulk_insert(hostile_rows(range(20)))
        table.schema += ", extra string, more bigint"
        table.upsert([{**row, "extra": "e", "more": 7} for row in hostile_rows(range(0, 12, 3), ts=2)])
        snapshot = assert_same(table)
        assert_same(table, columns=["more", "extra"])
        for_type[table_type] = snapshot
    statistics = [for_type[COW].reader.statistics(s, ["extra"])["extra"] for s in for_type[COW].slices]
    assert any(found is not None and found.null_count == found.value_count for found in statistics)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_types_that_grew_are_read_as_the_new_type(make: MakeTable, table_type: str) -> None:
    table = make(table_type=table_type)
    table.bulk_insert(hostile_rows(range(20)))
    table.schema = table.schema.replace("n int", "n bigint").replace("small float", "small double")
    table.upsert(hostile_rows(range(0, 12, 3), ts=2, salt=1))
    snapshot = assert_same(table)
    assert snapshot.schema.field("n").type == pa.int64()


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("record_key", ["id", "id,n"])
def test_record_keys_are_computed_where_no_meta_fields_are_stored(
    make: MakeTable, table_type: str, record_key: str
) -> None:
    def rows(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> Rows:
        return [{**row, "n": int(row["id"][1:])} for row in hostile_rows(keys, ts=ts, salt=salt)]

    table = make(
        table_type=table_type, record_key=record_key, options={"hoodie.populate.meta.fields": "false"}
    )
    snapshot = history(table, rows, deletes=False)
    for file_slice in snapshot.slices:
        for batch in snapshot.reader.rows(file_slice, ["id", "n"]).batches():
            columns = (batch.column(name).to_pylist() for name in ("_hoodie_record_key", "id", "n"))
            for key, id_, n in zip(*columns, strict=True):
                assert key == (id_ if record_key == "id" else f"id:{id_},n:{n}")


def test_dropped_partition_columns_come_from_the_path(make: MakeTable) -> None:
    options = {"hoodie.datasource.write.drop.partition.columns": "true"}
    table = make(table_type=COW, options=options)
    table.upsert(weird_regions(range(20)))
    assert_same(table)


def test_timestamp_key_generator_column_is_a_string(make: MakeTable) -> None:
    options = {
        KEY_GENERATOR: "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "SCALAR",
        "hoodie.keygen.timebased.timestamp.scalar.time.unit": "days",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    }
    table = make(table_type=MOR, partition_by="big", options=options)

    def rows(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> Rows:
        return [
            {**row, "big": 19_000 + int(row["id"][1:]) % 4} for row in hostile_rows(keys, ts=ts, salt=salt)
        ]

    snapshot = history(table, rows)
    assert snapshot.schema.field("big").type == pa.string()


def test_custom_key_generator_is_listed(make: MakeTable) -> None:
    options = {
        KEY_GENERATOR: "org.apache.hudi.keygen.CustomKeyGenerator",
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    table = make(table_type=MOR, partition_by="region:simple,day:timestamp", options=options)
    snapshot = history(table)
    assert snapshot.config.partition_fields == ("region", "day")
    # hudi-rs 0.5.0 takes the escaped text of hoodie.properties for the field's name.
    with pytest.raises(Exception, match="is not present in the table schema"):
        hudi.HudiTable(table.uri).get_file_slices()


def test_change_logs_of_cdc_tables_are_no_logs(make: MakeTable) -> None:
    table = make(table_type=COW, options={"hoodie.table.cdc.enabled": "true"})
    table.bulk_insert(hostile_rows(range(20)))
    table.upsert(hostile_rows(range(0, 20, 2), ts=2, salt=4))
    assert not any(s.log_files for s in assert_same(table).slices)


def test_partial_updates_by_merge_into_are_merged(make: MakeTable, spark: SparkSession) -> None:
    table = make(table_type=MOR)
    table.bulk_insert(hostile_rows(range(20)))
    table.frame(hostile_rows(range(0, 20, 2), ts=3, salt=5)).createOrReplaceTempView("updates")
    spark.sql(f"create table merged using hudi location '{table.path}'")
    try:
        spark.sql(
            "merge into merged t using updates s on t.id = s.id "
            "when matched then update set ts = s.ts, name = s.name, tags = s.tags"
        )
    finally:
        spark.sql("drop table merged")
    assert any(s.log_files for s in assert_same(table).slices)


@pytest.mark.parametrize(
    ("version", "arguments", "reason"),
    [
        (
            6,
            {"options": {PAYLOAD_CLASS: f"{PAYLOAD}PartialUpdateAvroPayload"}},
            "class",
        ),
        (8, {"options": {PAYLOAD_CLASS: f"{PAYLOAD}AWSDmsAvroPayload"}}, "class"),
        (
            9,
            {"options": {PAYLOAD_CLASS: f"{PAYLOAD}PartialUpdateAvroPayload"}},
            "in part",
        ),
        (
            9,
            {"options": {PAYLOAD_CLASS: f"{PAYLOAD}AWSDmsAvroPayload"}},
            "depends on",
        ),
        (9, {"ordering": "ts,n"}, "several fields"),
    ],
)
def test_what_hudi_rs_cannot_merge_is_left_to_spark(
    make: MakeTable, version: int, arguments: dict[str, Any], reason: str
) -> None:
    table = make(table_type=MOR, version=version, **arguments)
    table.schema += ", Op string"
    table.bulk_insert([{**row, "Op": "I"} for row in hostile_rows(range(20))])
    table.upsert([{**row, "Op": "U"} for row in hostile_rows(range(0, 20, 2), ts=2, salt=4)])
    snapshot = snapshot_of(table)
    assert our_slices(snapshot) == table.file_slices()
    with_logs = next(s for s in snapshot.slices if s.log_files)
    choice = snapshot.slice_reader_of(with_logs)
    assert choice.reader is SliceReader.SPARK
    assert choice.reason is not None
    assert reason in choice.reason
    with pytest.raises(UnsupportedTableError, match="through Spark"):
        next(snapshot.reader.rows(with_logs).batches())


def test_columns_changed_by_schema_on_read_are_left_to_spark(make: MakeTable, spark: SparkSession) -> None:
    table = make(table_type=COW)
    table.bulk_insert(hostile_rows(range(6)))
    spark.sql(f"create table evolved using hudi location '{table.path}'")
    spark.conf.set("hoodie.schema.on.read.enable", "true")
    try:
        spark.sql("alter table evolved add columns (later string)")
    finally:
        spark.conf.unset("hoodie.schema.on.read.enable")
        spark.sql("drop table evolved")
    snapshot = snapshot_of(table)
    assert {snapshot.slice_reader_of(s).reason for s in snapshot.slices} == {
        "columns were changed by schema-on-read"
    }


def test_hudi_rs_gets_partial_update_mode_wrong(make: MakeTable) -> None:
    options = {PAYLOAD_CLASS: f"{PAYLOAD}PartialUpdateAvroPayload"}
    table = make(table_type=MOR, options=options)
    table.bulk_insert(hostile_rows(range(20)))
    table.upsert(hostile_rows(range(0, 20, 2), ts=2, salt=4))
    merged = hudi.HudiTable(table.uri).read()
    tags = Counter(
        (key, tuple(value) if value is not None else None)
        for batch in merged
        for key, value in zip(batch.column("id").to_pylist(), batch.column("tags").to_pylist(), strict=True)
    )
    by_spark = Counter(
        (row["id"], tuple(row["tags"]) if row["tags"] is not None else None)
        for row in table.read().select("id", "tags").collect()
    )
    assert tags != by_spark


def test_footer_statistics_are_those_of_the_rows(make: MakeTable) -> None:
    table = make(table_type=COW)
    table.bulk_insert(hostile_rows(range(40)))
    snapshot = snapshot_of(table)
    columns = [*snapshot.schema.names, "address.city", "address.zip", "_hoodie_record_key", "nowhere"]
    unproven = set()
    for file_slice in snapshot.slices:
        rows = pa.Table.from_batches(list(snapshot.reader.rows(file_slice).batches()))
        for name, found in snapshot.reader.statistics(file_slice, columns).items():
            if found is None:
                unproven.add(name)
                continue
            values = list(_values(rows, name))
            present = [value for value in values if value is not None]
            assert found.value_count == len(values)
            assert found.null_count == len(values) - len(present)
            bounds = [None if bound is None else bound.as_py() for bound in (found.minimum, found.maximum)]
            assert bounds == [order(present, default=None, key=_order) for order in (min, max)]
    assert unproven == {"ratio", "small", "tags", "address", "nowhere"}


def _values(rows: pa.Table, name: str) -> Iterator[Any]:
    first, _, rest = name.partition(".")
    for value in rows.column(first).to_pylist():
        yield value.get(rest) if rest and value is not None else value


def _order(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def test_footer_of_nan_proves_nothing(make: MakeTable) -> None:
    table = make(table_type=COW, partition_by="")
    table.bulk_insert([{"id": "a", "ts": 1, "ratio": math.nan}, {"id": "b", "ts": 1, "ratio": 1.0}])
    snapshot = snapshot_of(table)
    assert snapshot.reader.statistics(snapshot.slices[0], ["ratio"]) == {"ratio": None}
