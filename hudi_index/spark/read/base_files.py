"""Reads without a JVM to plan in, as under Spark Connect: base files by name, through Spark's Parquet reader.

That shows the same rows as Hudi's reader only where a slice is its base file: no logs to merge, no column
that lives in the partition path alone, none that schema-on-read has renamed. Everything else is refused.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pyspark.sql.pandas.types import from_arrow_schema

from hudi_index.errors import UnsupportedTableError
from hudi_index.metadata_table import MetadataTable
from hudi_index.planner import plan
from hudi_index.predicate import CALENDAR_SETTINGS, Calendar, Session
from hudi_index.predicate.session import TIME_ZONE
from hudi_index.spark.read.file_index import NotPlannedWarning
from hudi_index.table import UnreadablePartitionValueError

if TYPE_CHECKING:
    from hudi_index.planner import ScanPlan
    from hudi_index.storage import Storage

__all__ = ["read_base_files"]

_MEANING = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.timeParserPolicy": "EXCEPTION",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""The defaults of settings that give the text of a predicate another meaning."""


def read_base_files(spark: Any, storage: Storage, where: str, as_of: str | None) -> Any:
    """The rows for which a predicate is true, as a DataFrame of the given session.

    Raises:
        UnsupportedTableError: if the base files alone are not what Hudi would show.
    """
    zone = str(spark.conf.get(TIME_ZONE))
    other = [name for name, value in _MEANING.items() if spark.conf.get(name, value) != value]
    if other:
        message = f"can't plan a scan of {storage.uri}, everything is read: {other[0]} is not at its default"
        warnings.warn(message, NotPlannedWarning, stacklevel=3)
    # A text is read here as Spark's defaults have it; which zone data the server has, nobody says.
    predicate, session = "true" if other else where, Session(zone, zone_data=None)
    calendar = Calendar.of_session({name: str(spark.conf.get(name)) for name in CALENDAR_SETTINGS})
    metadata_table = MetadataTable.of(storage)
    found = plan(metadata_table, storage, predicate, as_of=as_of, session=session, calendar=calendar)
    reason = _reason_against(found)
    if reason:
        hint = "read it from a session with a JVM, or with IndexedTable.scan"
        raise UnsupportedTableError(uri=storage.uri, reason=f"without Hudi's reader, {reason}; {hint}")
    schema = from_arrow_schema(found.snapshot.schema_with_meta_columns)
    if not found.files:
        return spark.createDataFrame([], schema).where(where)
    # Spark takes a path as it is written, without undoing a URI's quotes.
    files = map(storage.location_of, found.files)
    return spark.read.schema(schema).parquet(*files).where(where)


def _reason_against(found: ScanPlan) -> str | None:
    snapshot = found.snapshot
    with_logs = sum(1 for file_slice in found.slices if file_slice.log_files)
    if with_logs:
        return f"the log files of {with_logs} file slices can't be merged"
    if snapshot.config.drops_partition_columns:
        return "its partition columns are in the paths only"
    if snapshot.table_schema.has_internal_schema:
        return "its columns were changed by schema-on-read"
    for path in {file_slice.group.partition_path for file_slice in found.slices}:
        try:
            values = snapshot.shape.partitions.values_of(path)
        except UnreadablePartitionValueError as error:
            return str(error)
        if any(value.as_py() is None for value in values.values()):
            return f"partition {path!r} stands for null or for an empty string"
    return None
