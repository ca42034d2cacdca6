"""Spark sessions that speak Hudi."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from hudi_index.spark.java import ensure_java
from hudi_index.spark.trust import trust_options

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HUDI_BUNDLE", "SHORT_RUN", "local_session"]

HUDI_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"

# Hudi measures objects with a library that first tries for seconds to attach a debugger to its own process.
_NO_ATTACH = "-Djol.skipHotspotSAAttach=true"

_JVM_OPTIONS = "spark.driver.extraJavaOptions"

SHORT_RUN = {_JVM_OPTIONS: f"{_NO_ATTACH} -XX:TieredStopAtLevel=1"}
"""Settings for a session of a minute or two: compile soon rather than well. Measured: a third less time."""

_SETTINGS = {
    "spark.jars.packages": HUDI_BUNDLE,
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    # The default of 200 makes jobs on small tables wait for 198 empty tasks.
    "spark.sql.shuffle.partitions": "4",
    _JVM_OPTIONS: _NO_ATTACH,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def local_session(
    name: str = "hudi-index", *, cores: int = 2, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process, started if need be, with Java found and Hudi on its class path."""
    java = ensure_java()
    # Workers would otherwise run whatever `python3` the PATH finds, without our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").appName(name)
    chosen = {**_SETTINGS, **(settings or {})}
    chosen[_JVM_OPTIONS] = f"{chosen[_JVM_OPTIONS]} {trust_options(java)}".strip()
    for key, value in chosen.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
