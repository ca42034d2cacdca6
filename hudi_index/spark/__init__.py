"""Spark: sessions that speak Hudi, the Java they run on, jobs, and reads through the indexes.

The only package that imports pyspark.
"""

from hudi_index.spark.read.file_index import NotPlannedWarning, SparkPlan, last_plans
from hudi_index.spark.read.indexed import read_indexed
from hudi_index.spark.runtime.session import SHORT_RUN, local_session
from hudi_index.spark.runtime.stores import storage_settings

__all__ = [
    "SHORT_RUN",
    "NotPlannedWarning",
    "SparkPlan",
    "last_plans",
    "local_session",
    "read_indexed",
    "storage_settings",
]
