"""Indexes over stretches of text and over elements of arrays: what they cost, and what they save.

    python benchmarks/patterns.py [--rows 300000] [--groups 100]

Built in Spark tasks over one table, beside a secondary index over the same text. Texts are of eight words out
of a thousand, arrays of three tags out of 5,000; a rare word and a rare tag stand in three file groups. The
table is made once under .bench/ and kept. Query times are the best of a few warm runs.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from tables import COW, FOLDER, bulk_insert, copy_of

from hudi_index import IndexedTable
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.runtime.session import local_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

STATEMENTS = {
    "secondary_index": "CREATE INDEX by_text ON t (text)",
    "ngram": "CREATE INDEX grams ON t USING ngram (text)",
    "array": "CREATE INDEX tagged ON t USING array (tags)",
}
PREDICATES = (
    "text LIKE '%rhubarb%'",
    "text RLIKE 'rhu(barb)+'",
    "array_contains(tags, 'the rare one')",
)


def make_table(spark: SparkSession, path: Path, rows: int, groups: int) -> None:
    """One bulk insert with one file group per task."""
    rare = ", ".join(str(place * rows // 10 + 7) for place in (1, 5, 8))
    word = "substr(md5(cast(abs(hash(id, {})) % 1000 AS string)), 1, 7)"
    words = ", ' ', ".join(word.format(place) for place in range(8))
    tags = ", ".join(f"concat('tag-', abs(hash(id, {place})) % 5000)" for place in (20, 21, 22))
    frame = spark.range(0, rows, 1, groups).selectExpr(
        "concat('order-', id) AS id",
        f"concat({words}, CASE WHEN id IN ({rare}) THEN ' rhubarb' ELSE '' END) AS text",
        f"array({tags}, CASE WHEN id IN ({rare}) THEN 'the rare one' ELSE 'any' END) AS tags",
        "cast(1600000000000 + id * 1000 AS bigint) AS sold_at",
    )
    making = path.with_name(f"{path.name}-making")
    bulk_insert(frame, making, COW, groups)
    making.rename(path)


def best(work: Callable[[], Any], runs: int = 3) -> tuple[float, Any]:
    """The least seconds of some runs, and the result."""
    spent, result = [], None
    for _ in range(runs):
        started = time.perf_counter()
        result = work()
        spent.append(time.perf_counter() - started)
    return min(spent), result


def main() -> None:
    """Make the table if need be, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--groups", type=int, default=100)
    asked = parser.parse_args()
    spark = local_session("bench", settings={"spark.log.level": "ERROR", "spark.driver.memory": "4g"})
    kept = FOLDER / f"patterns-{asked.rows}-{asked.groups}"
    if not kept.exists():
        make_table(spark, kept, asked.rows, asked.groups)
    path = copy_of(kept, "indexed")
    table = IndexedTable.open(path)
    # Starts the Python workers.
    table.sql("CREATE INDEX warm ON t USING bitmap (sold_at) OPTIONS (max_values = 1)", spark=spark)
    size_of_table = sum(file.stat().st_size for file in path.glob("*.parquet")) / 1e6
    print(f"{asked.rows:,} rows, {asked.groups} file groups, {size_of_table:.1f} MB")
    base: tuple[float, float] | None = None
    for kind, statement in STATEMENTS.items():
        seconds, report = best(lambda statement=statement: table.sql(statement, spark=spark), 1)
        (folder,) = (each.partition for each in table.indexes() if each.kind == kind)
        slices = MetadataTable.of(table.storage).view().slices(folder)
        size = sum(file.size for each in slices for file in each.files) / 1e6
        base = base or (seconds, size)
        print(
            f"create {kind:<16} {seconds:7.2f} s ({seconds / base[0]:5.2f} x)  {size:7.1f} MB "
            f"({size / base[1]:5.2f} x)  {report.entries_added:,} entries",
            flush=True,
        )
    indexed = read_indexed(spark, path)
    full = spark.read.format("hudi").load(str(path))
    for predicate in PREDICATES:
        ours, found = best(lambda text=predicate: indexed.where(text).count())
        (plan,) = last_plans(1)
        theirs, wanted = best(lambda text=predicate: full.where(text).count())
        alone, rows = best(lambda text=predicate: table.scan(text, ["id"]).read_all().num_rows)
        assert found == wanted == rows, predicate
        print(
            f"{predicate:<40} {ours:6.3f} s, full scan {theirs:6.3f} s = {theirs / ours:5.1f} x; "
            f"{plan.kept} of {plan.total} file groups; without a JVM {alone:6.3f} s",
            flush=True,
        )
    spark.stop()


if __name__ == "__main__":
    main()
