"""Shapes of tables that the indexed writer takes, against Hudi's own writer, and those that it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from hudi_index import IndexedTable
from hudi_index.errors import (
    InvalidOptionError,
    NoRecordIndexError,
    UnknownColumnError,
    UnsupportedTableError,
)
from hudi_index.spark import delete, upsert
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.writer.twins import HUDIS_INDEX, History, Twins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_KEYGEN = "hoodie.datasource.write.keygenerator.class"
_HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
_TIMES = {
    _KEYGEN: "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
    "hoodie.keygen.timebased.timestamp.type": "SCALAR",
    "hoodie.keygen.timebased.timestamp.scalar.time.unit": "DAYS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy-MM",
    "hoodie.keygen.timebased.timezone": "UTC",
}
_MICROSECONDS = {
    **_TIMES,
    "hoodie.keygen.timebased.timestamp.scalar.time.unit": "MICROSECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd HH",
}
# Hudi reads such a column from the path: as a number, if it is one.
_CUSTOM = {
    **_TIMES,
    _KEYGEN: "org.apache.hudi.keygen.CustomKeyGenerator",
    "hoodie.keygen.timebased.output.dateformat": "yyyyMM",
}
# Tables of this key generator do not keep them.
_CUSTOM_TIMES = {name: value for name, value in _CUSTOM.items() if name != _KEYGEN}
_RECORDS = ("CREATE INDEX records ON t USING record_index (id)",)


class Shape(NamedTuple):
    """A table, and what is said to the writer of it."""

    table: dict[str, Any]
    statements: Sequence[str] = _RECORDS
    arguments: dict[str, Any] = {}  # noqa: RUF012  never changed
    version: int = 9
    finds: dict[str, str] = HUDIS_INDEX
    """What Hudi's own writer finds records by."""
    lag: str = "read"


_BY_PARTITION = {"hoodie.index.type": "SIMPLE"}

SHAPES = {
    "hive": Shape({"options": _HIVE}, version=8),
    "two keys": Shape(
        {"record_key": "id,day", "options": {_KEYGEN: "org.apache.hudi.keygen.ComplexKeyGenerator"}},
        ("CREATE INDEX records ON t USING record_index (id, day)",),
        version=6,
    ),
    "number as key": Shape({"record_key": "big"}, ("CREATE INDEX records ON t USING record_index (big)",)),
    "two partition fields": Shape(
        {
            "partition_by": "region,day",
            "options": {**_HIVE, _KEYGEN: "org.apache.hudi.keygen.ComplexKeyGenerator"},
        }
    ),
    "unpartitioned": Shape(
        {"partition_by": "", "options": {_KEYGEN: "org.apache.hudi.keygen.NonpartitionedKeyGenerator"}}
    ),
    "by time": Shape({"partition_by": "n", "options": _TIMES}, version=8),
    "custom": Shape(
        {"partition_by": "region:SIMPLE,n:TIMESTAMP", "options": _CUSTOM},
        arguments={"options": _CUSTOM_TIMES},
        version=8,
    ),
    "custom in version 6": Shape(
        {"partition_by": "region:SIMPLE,n:TIMESTAMP", "options": _CUSTOM},
        # Nor do they keep of what kinds their fields are.
        arguments={
            "options": {
                "hoodie.datasource.write.partitionpath.field": "region:SIMPLE,n:TIMESTAMP",
                **_CUSTOM_TIMES,
            }
        },
        version=6,
    ),
    "url": Shape({"options": {"hoodie.datasource.write.partitionpath.urlencode": "true", **_HIVE}}),
    "arrival decides": Shape({"options": {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}}),
    "no ordering": Shape({"ordering": None}),
    "two ordering fields": Shape({"ordering": "ts,big"}, lag="auto"),
    "partitioned index": Shape(
        {},
        ("CREATE INDEX records ON t USING record_index (id) OPTIONS (partitioned = 'true')",),
        finds=_BY_PARTITION,
    ),
    "keys of partitions": Shape({}, arguments={"keys": "partition"}, finds=_BY_PARTITION),
    "hudi's metadata": Shape({"options": {"hoodie.metadata.enable": "true"}}),
    "hudi's record index": Shape(
        {
            "options": {
                "hoodie.metadata.enable": "true",
                "hoodie.metadata.record.index.enable": "true",
                "hoodie.metadata.global.record.level.index.enable": "true",
            }
        }
    ),
    "compacted inline": Shape(
        {"options": {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}}
    ),
    "compaction left pending": Shape(
        {
            "options": {
                "hoodie.compact.schedule.inline": "true",
                "hoodie.compact.inline.max.delta.commits": "1",
            }
        }
    ),
    "changes": Shape({"options": {"hoodie.table.cdc.enabled": "true"}}),
    "version 6": Shape({}, version=6),
}
_DEFAULT = {("two keys", MOR), ("partitioned index", MOR), ("arrival decides", COW)}


@pytest.mark.parametrize(
    ("name", "table_type"),
    [
        pytest.param(name, kind, marks=() if (name, kind) in _DEFAULT else pytest.mark.slow)
        for name in SHAPES
        for kind in (COW, MOR)
        if kind == MOR or not name.startswith("compact")
    ],
)
def test_a_shape_is_written_as_hudi_writes_it(
    spark: SparkSession, tmp_path: Path, name: str, table_type: str
) -> None:
    shape = SHAPES[name]
    twins = Twins(
        spark,
        tmp_path,
        table_type,
        shape.version,
        shape.table,
        shape.statements,
        shape.arguments,
        shape.finds,
    )
    history = History(seed=len(name))
    twins.begin(_with_keys(history.begin()))
    twins.upsert(_with_keys(history.batch()))
    twins.check(validates=False)
    twins.delete(_with_keys(history.some_keys()))
    twins.both("upsert", _with_keys(history.batch()))
    twins.upsert(_with_keys(history.batch()), lag=shape.lag)
    twins.check()


def _with_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows in which every column is set that is a key in some shape."""
    return [row for row in rows if row["big"] is not None and row["n"] is not None]


@pytest.mark.slow
def test_partitions_that_are_made_of_timestamps_are_those_of_hudis_upserts(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Hudi's bulk insert fails on such a table. Files are compared: it reads the column from the path."""
    shape = {"partition_by": "seen", "options": _MICROSECONDS}
    twins, history = Twins(spark, tmp_path, COW, shape=shape, statements=_RECORDS), History(seed=1)
    twins.begin([each for each in history.begin() if each["seen"]], "insert")
    rows = [each for each in history.batch() if each["seen"]]
    twins.hudis.upsert(rows)
    assert upsert(twins.ours.frame(rows), twins.ours.path, **twins._given).counts.rows == len(rows)
    assert _stored(twins.ours) == _stored(twins.hudis)


def _stored(table: HudiTable) -> set[tuple[str, ...]]:
    """Some columns of all rows in the latest base file of each file group."""
    latest: dict[str, Path] = {}
    for file in sorted(table.path.glob("*/*.parquet"), key=lambda each: each.stem.rpartition("_")[2]):
        latest[file.name.partition("_")[0]] = file
    names = ["_hoodie_record_key", "_hoodie_partition_path", "ts", "seen", "name"]
    found = [pq.ParquetFile(file).read(columns=names).to_pylist() for file in latest.values()]
    return {tuple(str(value) for value in row.values()) for rows in found for row in rows}


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        pytest.param(
            {"options": {"hoodie.populate.meta.fields": "false"}}, "meta columns", id="no meta columns"
        ),
        pytest.param(
            {"options": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}},
            "bucket index",
            id="bucket index",
        ),
        pytest.param(
            {"options": {"hoodie.datasource.write.drop.partition.columns": "true"}},
            "partition columns",
            id="dropped columns",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {
                "options": {
                    "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model."
                    "PartialUpdateAvroPayload"
                }
            },
            "has to see both",
            id="partial updates",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_table_that_can_not_be_written_so_is_refused_with_the_reason(
    spark: SparkSession, tmp_path: Path, table: dict[str, Any], reason: str
) -> None:
    made = HudiTable(spark, tmp_path / "t", COW, **table)
    made.upsert(hostile_rows(range(6)))
    IndexedTable.open(made.path).create_all(_RECORDS)
    with pytest.raises(UnsupportedTableError, match=reason):
        upsert(made.frame(hostile_rows(range(2), ts=2)), made.path)
    assert len(made.completed()) == 1


def test_what_contradicts_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    made = HudiTable(spark, tmp_path / "t", COW)
    made.bulk_insert(hostile_rows(range(6)))
    rows = made.frame(hostile_rows(range(2), ts=2))
    table = IndexedTable.open(made.path)
    with pytest.raises(NoRecordIndexError, match="has no record index"):
        upsert(rows, table)
    table.create_all(_RECORDS)
    for name, value, reason in (
        ("hoodie.datasource.write.operation", "insert", "here it is 'upsert'"),
        ("hoodie.datasource.write.recordkey.field", "name", "here it is 'id'"),
        ("hoodie.index.type", "BLOOM", "found by the table's record index"),
        ("hoodie.combine.before.upsert", "false", "one is written"),
        ("hoodie.datasource.write.payload.class", "x.Y", "the table says otherwise"),
        ("hoodie.record.index.update.partition.path", "false", "moves"),
        ("hoodie.datasource.write.slash.separated.date.partitioning", "true", "no such paths"),
    ):
        with pytest.raises(InvalidOptionError, match=reason):
            upsert(rows, table, options={name: value})
    with pytest.raises(InvalidOptionError, match="given together"):
        upsert(rows, table, writer="w")
    for name in ("index", "lag", "keys"):
        with pytest.raises(InvalidOptionError, match=f"option '{name}'"):
            upsert(rows, table, **{name: "nonsense"})  # type: ignore[arg-type]
    with pytest.raises(UnknownColumnError, match="gone"):
        upsert(rows, table, deletes="gone")
    with pytest.raises(UnknownColumnError, match="'ts'"):
        upsert(rows.drop("ts"), table)
    with pytest.raises(UnknownColumnError, match="'id'"):
        delete(rows.select("name"), table)
    assert len(made.completed()) == 1
