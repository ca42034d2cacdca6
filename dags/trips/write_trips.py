"""Writes the example tables with Hudi on Spark: python write_trips.py make|change TABLE ….

make     a table of 18 file groups: six cities, three writes of each
change   upsert some trips of two cities, delete some, insert new ones
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hudi_index.spark import SHORT_RUN, local_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

CITIES = ("san_francisco", "sao_paulo", "chennai", "berlin", "lagos", "tokyo")
SCHEMA = (
    "trip_id string, ts bigint, rider string, driver string, fare double, payment string, vehicle string, "
    "city string"
)
FIRST_DAY = 1_704_067_200  # 2024-01-01
DAY = 86_400
PER_CITY = 200
TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}

# Small tables: Hudi's defaults are made for many tasks, nearly all of them empty here.
OPTIONS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "trip_id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.metadata.enable": "false",
    "hoodie.embed.timeline.server": "false",
    "hoodie.parquet.small.file.limit": "0",
    **{
        f"hoodie.{name}.parallelism": "2"
        for name in (
            "bulkinsert.shuffle",
            "upsert.shuffle",
            "delete.shuffle",
            "simple.index",
            "finalize.write",
        )
    },
}


def trip(number: int, day: int, city: str, *, rider: str | None = None) -> tuple[Any, ...]:
    """A trip; the same arguments give the same trip."""
    return (
        f"trip-{number:06d}",
        FIRST_DAY + day * DAY + number * 37 % DAY,
        rider or f"rider-{number * 7919 % 400:03d}",
        f"driver-{number % 50:02d}",
        round(3 + day * 10 + number * 31 % 97 / 10, 2),
        ("card", "cash", "voucher")[number % 3 if number % 100 else 2],
        ("car", "bike", "van")[number % 2 if number % 150 else 2],
        city,
    )


def trips_of_day(day: int) -> list[tuple[Any, ...]]:
    """A day's trips in all cities."""
    start = day * PER_CITY * len(CITIES)
    return [
        trip(start + place * PER_CITY + number, day, city)
        for place, city in enumerate(CITIES)
        for number in range(PER_CITY)
    ]


def write(
    spark: SparkSession, path: str, table_type: str, operation: str, rows: Iterable[tuple[Any, ...]]
) -> None:
    """One commit."""
    frame = spark.createDataFrame(list(rows), schema=SCHEMA).coalesce(1)
    options = {
        **OPTIONS,
        "hoodie.datasource.write.table.type": TYPES[table_type],
        "hoodie.datasource.write.operation": operation,
    }
    frame.write.format("hudi").options(**options).mode("append").save(path)


def make(spark: SparkSession, path: str, table_type: str) -> None:
    """Three days, a commit each, in place of whatever table is there."""
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    place.getFileSystem(spark._jsc.hadoopConfiguration()).delete(place, True)  # noqa: FBT003  with all in it
    for day in range(3):
        write(spark, path, table_type, "bulk_insert", trips_of_day(day))


def change(spark: SparkSession, path: str, table_type: str) -> None:
    """Some of the first day's trips get another rider, some are deleted; a new day comes for one city."""
    first = trips_of_day(0)
    changed = [trip(number, 0, first[number][-1], rider="rider-new") for number in range(0, 400, 40)]
    later = [trip(90_000 + number, 9, "berlin") for number in range(50)]
    write(spark, path, table_type, "upsert", [*changed, *later])
    write(spark, path, table_type, "delete", first[1:400:50])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("make", "change"))
    parser.add_argument("table", nargs="+", help="path or URI; its type is how it ends, _cow or _mor")
    asked = parser.parse_args(arguments)
    # How to reach a store is in the environment: AWS_ENDPOINT_URL, AWS_SECRET_ACCESS_KEY and their like.
    settings = {**SHORT_RUN, "spark.log.level": "ERROR"}
    spark = local_session("trips", settings=settings, table=asked.table[0])
    try:
        for path in asked.table:
            (make if asked.what == "make" else change)(spark, path, path.rpartition("_")[2])
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
