"""What Hudi has archived of a version-6 table's timeline, which only Hudi reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.credentials import without_credentials
from hudi_index.table.archived import archived_extra_metadata_backwards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from hudi_index.table import Timeline

__all__ = ["archived_commits", "meta_client"]

_FIRST_VERSION_IN_PARQUET = 8
_ACTIONS = ("commit", "deltacommit", "replacecommit")


def meta_client(spark: SparkSession, location: str) -> Any:
    """Hudi's own view of a table."""
    context: Any = spark.sparkContext
    jvm = context._jvm
    configuration = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(
        context._jsc.hadoopConfiguration()
    )
    builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
    return builder.setConf(configuration).setBasePath(without_credentials(location)).build()


def archived_commits(
    spark: SparkSession, location: str, timeline: Timeline
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Requested time and extra metadata of each archived commit, latest first."""
    if timeline.config.version >= _FIRST_VERSION_IN_PARQUET:
        yield from archived_extra_metadata_backwards(timeline)
        return
    archived = meta_client(spark, location).getArchivedTimeline()
    archived.loadCompletedInstantDetailsInMemory()
    instants: list[Any] = list(archived.getInstants())
    for instant in reversed(instants):
        if instant.getAction() in _ACTIONS:
            extra: Any = archived.readCommitMetadata(instant).getExtraMetadata()
            yield instant.requestedTime(), dict(extra)
