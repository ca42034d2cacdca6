"""Catalog tables over the tables of tests, read through a session that is enabled for a while."""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hudi_index.spark import disable, enable, last_plans

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.spark import SparkPlan

__all__ = ["IS_LONG", "catalog_frame", "catalog_table", "enabled", "plans_since"]

IS_LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
"""Whether everything goes through an enabled session as well, not a sample only."""

_numbers = itertools.count()


@contextmanager
def enabled(spark: SparkSession, *, native_skipping: bool = False) -> Iterator[None]:
    """A session that is enabled; others find it as it was."""
    enable(spark, native_skipping=native_skipping)
    try:
        yield
    finally:
        disable(spark)


@contextmanager
def catalog_table(spark: SparkSession, path: Path) -> Iterator[str]:
    """A table of the catalog at a path, by its name."""
    name = f"catalog_table_{next(_numbers)}"
    place = str(path).replace("\\", "\\\\").replace("'", "\\'")
    spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{place}'")
    try:
        yield name
    finally:
        spark.sql(f"DROP TABLE {name}")


def catalog_frame(spark: SparkSession, path: Path, as_of: str | None = None) -> DataFrame:
    """A table as the catalog gives it to a query of this moment."""
    with catalog_table(spark, path) as name:
        return spark.sql(f"SELECT * FROM {name}" + (f" TIMESTAMP AS OF '{as_of}'" if as_of else ""))


def plans_since(before: list[SparkPlan]) -> list[SparkPlan]:
    """The plans that were made after `last_plans` gave these."""
    newest = before[-1].number if before else 0
    return [each for each in last_plans() if each.number > newest]
