"""The whole life of indexes on Spark over s3a: python store_lifecycle.py URI VERSION TYPE EVENTS.

How to reach the store is on standard input, as JSON. Prints what Spark's pages and its event log show, for
whoever looks for a secret in it.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

from hudi_index import IndexedTable
from hudi_index.spark import SHORT_RUN, last_plans, local_session, read_indexed

INDEXES = [
    "CREATE INDEX record_index ON t (id)",
    "CREATE INDEX by_rider ON t (rider)",
    "CREATE INDEX pay ON t USING bitmap (payment)",
    "CREATE INDEX stats ON t USING column_stats (fare)",
    "CREATE INDEX blooms ON t USING bloom_filters (rider)",
    "CREATE INDEX day ON t USING column_stats (from_unixtime(ts, 'yyyy-MM-dd'))",
]
PREDICATES = ["rider = 'r-7'", "id = 'id-11'", "fare > 95", "payment = 'cash' AND rider = 'new'", "ts = -1"]


def rows(first: int, last: int, rider: str | None = None) -> list[tuple[Any, ...]]:
    return [
        (
            f"id-{n}",
            1_704_067_200 + n * 3600,
            rider or f"r-{n % 40}",
            float(n % 100),
            "cash" if n % 2 else "card",
        )
        for n in range(first, last)
    ]


def write(spark: Any, uri: str, version: str, kind: str, found: list[tuple[Any, ...]]) -> None:
    schema = "id string, ts bigint, rider string, fare double, payment string"
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "payment",
        "hoodie.datasource.write.table.type": kind,
        "hoodie.write.table.version": version,
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.datasource.write.operation": "upsert",
    }
    spark.createDataFrame(found, schema).coalesce(1).write.format("hudi").options(**options).mode(
        "append"
    ).save(uri)


def compare(spark: Any, uri: str, options: dict[str, str], table: IndexedTable) -> None:
    full = {tuple(row) for row in spark.read.format("hudi").load(uri).select("id", "rider").collect()}
    assert {(r["id"], r["rider"]) for r in table.scan("true", ["id", "rider"]).read_all().to_pylist()} == full
    pruned = 0
    for predicate in PREDICATES:
        frame = read_indexed(spark, uri, storage_options=options, strict=True).where(predicate)
        plain = spark.read.format("hudi").load(uri).where(predicate)
        asked = [sorted(map(tuple, each.select("id", "rider").collect())) for each in (frame, plain)]
        assert asked[0] == asked[1], predicate
        pruned += last_plans(1)[0].kept < last_plans(1)[0].total
        rows_scanned = table.scan(predicate, ["id"]).read_all().num_rows
        assert rows_scanned == len(asked[1]), predicate
    assert pruned >= 3


def main(uri: str, version: str, kind: str, events: str) -> None:
    options = json.load(sys.stdin)
    settings = {
        **SHORT_RUN,
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "true",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": Path(events).as_uri(),
    }
    spark = local_session(settings=settings, table=uri, storage_options=options)
    for first in range(0, 400, 100):
        write(spark, uri, version, kind, rows(first, first + 100))
    table = IndexedTable.open(uri, options)
    assert table.timeline().config.version == int(version)
    table.create_all(INDEXES, spark=spark)
    compare(spark, uri, options, table)
    write(spark, uri, version, kind, [*rows(0, 60, "new"), *rows(900, 920)])
    assert not table.status().is_fresh
    assert table.maintain(spark=spark).file_groups_changed
    assert table.status().is_fresh
    compare(spark, uri, options, table)
    table.compact(force=True, spark=spark)
    report = table.validate(queries=6, spark=spark)
    assert report.passed, str(report)
    assert table.repair(check=True, spark=spark).exit_code == 0
    # By the other name of the store it is the same table with the same indexes.
    other = uri.replace("s3a://", "s3://")
    assert IndexedTable.open(other, options).plan("rider = 'r-7'").kept < table.plan("true").total
    for index in ("stats", "day"):
        table.drop(index)
    assert len(table.indexes()) == 4
    address = spark.sparkContext.uiWebUrl
    application = spark.sparkContext.applicationId
    for page in ("environment/", f"api/v1/applications/{application}/environment", "executors/", "SQL/"):
        with urllib.request.urlopen(f"{address}/{page}", timeout=300) as answer:
            sys.stdout.write(answer.read().decode(errors="replace"))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
