"""The rows of a write that is told where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from hudi_index.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["source_rows"]


def source_rows(
    spark: SparkSession,
    sources: Sequence[str],
    kind: str,
    *,
    schema: str | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """The rows at some places, or of a table of the session's catalog.

    Raises:
        InvalidOptionError: they can't be read so; it names the place and Spark's reason.
    """
    if kind == "table" and (schema or options or len(sources) != 1):
        reason = "a table is one, and says itself what its columns are"
        raise InvalidOptionError(option="--source", value=", ".join(sources), reason=reason)
    try:
        if kind == "table":
            return spark.read.table(sources[0])
        reader = spark.read.format(kind).options(**(options or {}))
        if schema:
            reader = reader.schema(schema)
        return reader.load(list(sources) if len(sources) > 1 else sources[0])
    except PySparkException as error:
        reason = str(error).strip().splitlines()[0]
        raise InvalidOptionError(option="--source", value=", ".join(sources), reason=reason) from error
