"""Spark: sessions that speak Hudi, the Java they run on, jobs, reads and writes through the indexes.

The only package that imports pyspark.
"""

from hudi_index.spark.read.file_index import NotPlannedWarning, SparkPlan, last_plans
from hudi_index.spark.read.indexed import read_indexed
from hudi_index.spark.runtime.session import SHORT_RUN, local_session
from hudi_index.spark.runtime.stores import storage_settings
from hudi_index.spark.session_rule.explain import explain
from hudi_index.spark.session_rule.statements import sql
from hudi_index.spark.session_rule.switch import disable, enable
from hudi_index.spark.write.stream import StreamWriter, start_stream, stream_writer
from hudi_index.spark.write.verbs import delete, upsert
from hudi_index.writer.report import TagCounts, WriteReport

__all__ = [
    "SHORT_RUN",
    "NotPlannedWarning",
    "SparkPlan",
    "StreamWriter",
    "TagCounts",
    "WriteReport",
    "delete",
    "disable",
    "enable",
    "explain",
    "last_plans",
    "local_session",
    "read_indexed",
    "sql",
    "start_stream",
    "storage_settings",
    "stream_writer",
    "upsert",
]
