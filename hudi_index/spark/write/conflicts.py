"""What Hudi takes for a conflict as it commits rows that were located by an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.spark.catalyst.trees import compile_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__all__ = ["conflict_options"]

_SOURCE = "AnyCommitConflicts.java"
_REGISTER = "hudi_index.AnyCommitConflicts$Registration"
_STRATEGY = "hoodie.write.lock.conflict.resolution.strategy"


def conflict_options(spark: SparkSession, given: Mapping[str, str]) -> dict[str, str]:
    """The rule that Hudi asks where a table has several writers and a lock; the caller's own goes before.

    By Hudi's rule two writes conflict if they meet in a file group. Two that insert one key do not.
    """
    if _STRATEGY in given:
        return {}
    gateway: Any = spark.sparkContext._gateway
    beneath = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = compile_source(gateway, beneath, _SOURCE, package=__package__)
    name = loader.loadClass(_REGISTER).newInstance().run()
    return {_STRATEGY: name} if name else {}
