from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_session_writes_and_reads_hudi(spark: SparkSession, tmp_path: Path) -> None:
    options = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "uuid",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.metadata.enable": "false",
    }
    for fare in (19.1, 25.0):
        rows = spark.createDataFrame([("a", 1, fare), ("b", 1, fare)], "uuid string, ts int, fare double")
        rows.write.format("hudi").options(**options).mode("append").save(str(tmp_path / "trips"))

    read = spark.read.format("hudi").load(str(tmp_path / "trips")).select("uuid", "fare").collect()

    assert sorted(map(tuple, read)) == [("a", 25.0), ("b", 25.0)]


def test_workers_run_this_python_and_exchange_arrow(spark: SparkSession) -> None:
    def interpreters(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable] * batch.num_rows})

    rows = spark.range(3).mapInArrow(interpreters, "python string").collect()

    assert [row.python for row in rows] == [sys.executable] * 3


def test_workers_are_forked_with_the_engine_imported(spark: SparkSession) -> None:
    def origin(_: int) -> tuple[str, bool]:
        import sys

        spec = sys.modules["__main__"].__spec__
        assert spec is not None
        return spec.name, "hudi_index.lifecycle.tasks" in sys.modules

    found = spark.sparkContext.parallelize(range(2), 2).map(origin).collect()

    assert found == [("hudi_index.spark.daemon", True)] * 2


def test_session_runs_on_java_17(spark: SparkSession) -> None:
    assert spark._jvm is not None
    assert spark._jvm.java.lang.System.getProperty("java.specification.version") == "17"
