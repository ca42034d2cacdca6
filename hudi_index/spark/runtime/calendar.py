"""Sessions that read dates and timestamps as files have them.

What an index holds must not depend on the session that built it. Files and log blocks that don't say which
calendar they use are shifted, refused or left alone as a session's settings say; here they are left alone, as
hudi-rs and pyarrow do. What a file says of itself still holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.rdd import RDD
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["reading_as_stored"]

_MODES = (
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
    "spark.sql.avro.datetimeRebaseModeInRead",
)


def reading_as_stored(spark: SparkSession) -> SparkSession:
    """A session of its own with the settings, views and functions of another, but for the calendar."""
    java: Any = spark._jsparkSession
    # A new session of Python's takes over a method of all RDDs.
    kept: Callable[..., Any] = RDD.toDF
    session = SparkSession(spark.sparkContext, java.cloneSession())
    RDD.toDF = kept  # type: ignore[method-assign]
    for name in _MODES:
        session.conf.set(name, "CORRECTED")
    session.conf.set("spark.sql.parquet.int96TimestampConversion", "false")
    return session
