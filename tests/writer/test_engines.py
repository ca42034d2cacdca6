"""One history by several engines: Hudi on Spark, on Flink, in Java, and this writer. Indexes follow all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.spark import upsert
from hudi_index.validation import Request
from tests.parity.tables import COW, MOR, HudiTable
from tests.support.flink import Flink, flink
from tests.support.maven import Jar, fetched

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

JAVA_CLIENT = Jar(
    "org.apache.hudi",
    "hudi-java-client",
    "1.2.0",
    "5416eb8f57d179a9ac6e6d2b424420b5dad67f32368521d1499d02df69a1a69a",
)
_SCHEMA = "id string, part string, ts bigint, v string"
_AVRO = json.dumps(
    {
        "type": "record",
        "name": "t",
        "fields": [
            {"name": name, "type": ["null", kind], "default": None}
            for name, kind in (("id", "string"), ("part", "string"), ("ts", "long"), ("v", "string"))
        ],
    }
)
_FIRST = 1 << 40
"""py4j gives Java a long only of numbers that no int holds."""
Row = dict[str, Any]


def _rows(keys: Iterable[int], moment: int, word: str) -> list[Row]:
    return [{"id": f"k{i}", "part": f"p{i % 2}", "ts": _FIRST + moment, "v": f"{word}{i}"} for i in keys]


@dataclass
class JavaClient:
    """Writes with HoodieJavaWriteClient: Spark has no part in it but its Java."""

    spark: SparkSession
    path: Path

    def __post_init__(self) -> None:
        jvm: Any = self.spark._jvm
        # The loader that has Hudi's bundle.
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader.addURL(jvm.java.net.URL(fetched(JAVA_CLIENT).as_uri()))
        configuration = jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(
            self.spark.sparkContext._jsc.hadoopConfiguration()
        )
        properties = jvm.java.util.Properties()
        for name, value in {
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "part",
            "hoodie.table.ordering.fields": "ts",
            "hoodie.metadata.enable": "false",
            "hoodie.embed.timeline.server": "false",
            "hoodie.index.type": "BLOOM",
            "hoodie.clean.automatic": "false",
            "hoodie.parquet.small.file.limit": "0",
        }.items():
            properties.setProperty(name, value)
        config = (
            jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder()
            .withPath(str(self.path))
            .withSchema(_AVRO)
            .forTable("t")
            .withProps(properties)
            .withEngineType(jvm.org.apache.hudi.common.engine.EngineType.JAVA)
            .build()
        )
        context = jvm.org.apache.hudi.client.common.HoodieJavaEngineContext(configuration)
        self._client = jvm.org.apache.hudi.client.HoodieJavaWriteClient(context, config)
        self._schema = jvm.org.apache.avro.Schema.Parser().parse(_AVRO)

    def upsert(self, rows: list[Row]) -> None:
        jvm: Any = self.spark._jvm
        records = jvm.java.util.ArrayList()
        model = jvm.org.apache.hudi.common.model
        for row in rows:
            made = jvm.org.apache.avro.generic.GenericData.Record(self._schema)
            for name, value in row.items():
                made.put(name, value)
            payload = model.DefaultHoodieRecordPayload(made, row["ts"])
            records.add(model.HoodieAvroRecord(model.HoodieKey(row["id"], row["part"]), payload))
        instant = self._client.startCommit()
        assert self._client.commit(instant, self._client.upsert(records, instant))

    def close(self) -> None:
        self._client.close()


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_indexes_follow_spark_java_and_this_writer(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type, partition_by="part", schema=_SCHEMA)
    expected: dict[str, Row] = {}

    def noted(rows: list[Row]) -> list[Row]:
        expected.update({row["id"]: row for row in rows})
        return rows

    hudi.bulk_insert(noted(_rows(range(30), 0, "spark")))
    table = IndexedTable.open(hudi.path)
    table.create_all(
        ["CREATE INDEX records ON t USING record_index (id)", "CREATE INDEX by_v ON t (v)"], spark=spark
    )
    java = JavaClient(spark, hudi.path)
    for step, lag in enumerate(("read", "maintain")):
        moment = 10 * step
        java.upsert(noted(_rows(range(step, 40 + step, 3), moment + 1, f"java{step}-")))
        assert table.status().commits_behind == 1
        written = _rows(range(step, 50, 4), moment + 2, f"ours{step}-")
        report = upsert(hudi.frame(noted(written)), table, lag=lag)
        # What Java inserted is known, so it is updated.
        assert report.counts.inserted == sum(int(row["id"][1:]) not in _before(step) for row in written)
        assert table.status().commits_behind == 0
        hudi.upsert(noted(_rows(range(step, 45, 5), moment + 3, f"sparks{step}-")))
        table.maintain(spark=spark)
        found = [row.asDict() for row in hudi.read().select("id", "part", "ts", "v").collect()]
        assert sorted(found, key=lambda row: row["id"]) == [expected[key] for key in sorted(expected)]
    java.close()
    report_of = table.validate(Request(queries=4, sample=None), spark=spark)
    assert report_of.exit_code == 0, str(report_of)


def _before(step: int) -> set[int]:
    """The keys that are there when this writer comes."""
    found = set(range(30)) | set(range(0, 40, 3))
    return found if step == 0 else found | set(range(0, 50, 4)) | set(range(0, 45, 5)) | set(range(1, 41, 3))


def _flink_table(path: Path, table_type: str) -> str:
    options = {
        "connector": "hudi",
        "path": path.as_uri(),
        "table.type": table_type,
        "precombine.field": "ts",
        "index.type": "FLINK_STATE",
        # Each statement is a job of its own, which has to learn what is there.
        "index.bootstrap.enabled": "true",
        "index.global.enabled": "true",
        "compaction.async.enabled": "false",
        "write.tasks": "2",
        "metadata.enabled": "false",
    }
    told = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    columns = "id STRING PRIMARY KEY NOT ENFORCED, part STRING, ts BIGINT, v STRING"
    return f"CREATE TABLE t ({columns}) PARTITIONED BY (part) WITH ({told})"


def _by_flink(runs: Flink, rows: list[Row]) -> None:
    values = ", ".join(f"('{row['id']}', '{row['part']}', {row['ts']}, '{row['v']}')" for row in rows)
    runs.sql(f"INSERT INTO t VALUES {values}")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_indexes_follow_flink_and_this_writer(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type, 6, partition_by="part", schema=_SCHEMA)
    table_of: dict[str, Row] = {}

    def noted(rows: list[Row]) -> list[Row]:
        table_of.update({row["id"]: row for row in rows})
        return rows

    def is_home(row: Row) -> bool:
        return bool(table_of.get(row["id"], row)["part"] == row["part"])

    with flink() as runs:
        runs.sql(_flink_table(hudi.path, table_type))
        _by_flink(runs, noted(_rows(range(30), 0, "flink")))
        table = IndexedTable.open(hudi.path)
        table.create_all(
            ["CREATE INDEX records ON t USING record_index (id)", "CREATE INDEX by_v ON t (v)"], spark=spark
        )
        for step, lag in enumerate(("read", "maintain")):
            moment = 10 * step
            # Flink 0.14 takes a key that a log deletes for one that is there, and doubles what was moved.
            written = [row for row in _rows(range(step, 40, 3), moment + 1, f"flinks{step}-") if is_home(row)]
            _by_flink(runs, noted(written))
            # To the other partition.
            moved = [
                {**row, "part": f"p{int(row['part'][1:]) ^ 1}"}
                for row in _rows(range(step, 30, 7), moment + 2, f"moved{step}-")
            ]
            report = upsert(hudi.frame(noted(moved)), table, lag=lag)
            assert report.counts.inserted == 0
            assert report.counts.moved > 0
            assert table.status().commits_behind == 0
            found = [row.asDict() for row in hudi.read().select("id", "part", "ts", "v").collect()]
            assert sorted(found, key=lambda row: row["id"]) == [table_of[key] for key in sorted(table_of)]
    validated = table.validate(Request(queries=4, sample=None), spark=spark)
    assert validated.exit_code == 0, str(validated)
