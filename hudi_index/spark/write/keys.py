"""Record keys and partition paths by the table's own key generator, in the JVM, as lazily as any column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everyone calls it
from pyspark.sql.types import TimestampType

from hudi_index.credentials import without_credentials
from hudi_index.spark.write.archive import meta_client
from hudi_index.writer.options import KEY_GENERATOR
from hudi_index.writer.tags import META, OPERATION

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import SparkSession

__all__ = ["with_keys"]

_BEFORE_COMMIT = "0"
_ASIDE = "_hudi_index_aside_"
_CONSISTENT = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"


def with_keys(
    spark: SparkSession,
    frame: DataFrame,
    location: str,
    options: Mapping[str, str],
    formatted: Collection[str] = (),
) -> DataFrame:
    """Rows with Hudi's meta columns in front: record key and partition path are set, the others empty.

    Args:
        spark: The session.
        frame: Rows; meta columns among them, as of rows that were read from a Hudi table, go.
        location: The table, as Hadoop spells it.
        options: Those of the write.
        formatted: The partition fields that the key generator takes for times.
    """
    frame = frame.drop(*META, OPERATION)
    # In an upsert of Hudi's own a key generator sees microseconds there; of Spark's timestamps it takes none.
    if options.get(_CONSISTENT, "").strip().lower() == "true":
        formatted = ()
    times = {name.lower() for name in formatted}
    aside = {
        each.name: f"{_ASIDE}{position}"
        for position, each in enumerate(frame.schema.fields)
        if each.name.lower() in times and isinstance(each.dataType, TimestampType)
    }
    for name, kept in aside.items():
        column = F.col(f"`{name.replace('`', '``')}`")
        frame = frame.withColumn(kept, column).withColumn(name, F.unix_micros(column))
    jvm: Any = spark.sparkContext._jvm
    path = without_credentials(location)
    table = meta_client(spark, location).getTableConfig()
    given = jvm.java.util.HashMap()
    all_options = {
        KEY_GENERATOR: table.getKeyGeneratorClassName(),
        **options,
        # Rows with one key are settled later, and not by Hudi.
        "hoodie.combine.before.insert": "false",
    }
    for name, value in all_options.items():
        given.put(name, value)
    config = jvm.org.apache.hudi.DataSourceUtils.createHoodieConfig(
        None, path, options["hoodie.table.name"], given
    )
    helper = jvm.org.apache.hudi.HoodieDatasetBulkInsertHelper
    unsorted = jvm.org.apache.hudi.execution.bulkinsert.NonSortPartitionerWithRows()
    keyed = helper.prepareForBulkInsert(frame._jdf, config, table, unsorted, _BEFORE_COMMIT)
    found = DataFrame(keyed, spark).withColumn(META[4], F.lit(""))
    for name, kept in aside.items():
        found = found.withColumn(name, F.col(kept)).drop(kept)
    return found
