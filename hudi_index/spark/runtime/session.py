"""Spark sessions that speak Hudi."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from hudi_index.credentials import is_secret
from hudi_index.spark.runtime.certificates import trust_options
from hudi_index.spark.runtime.java import ensure_java
from hudi_index.spark.runtime.stores import (
    PACKAGES,
    REDACTION,
    merged_packages,
    storage_settings,
    unsaid,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "DAEMON",
    "DAEMON_SETTING",
    "HUDI_BUNDLE",
    "SHORT_RUN",
    "LateSession",
    "local_session",
    "spare_workers",
    "tell_hadoop",
]

HUDI_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"

DAEMON_SETTING = "spark.python.daemon.module"
DAEMON = "hudi_index.spark.daemon"
"""By name: it imports all that workers need, which whoever starts a session may not."""

# Hudi measures objects with a library that first tries for seconds to attach a debugger to its own process.
_NO_ATTACH = "-Djol.skipHotspotSAAttach=true"

_JVM_OPTIONS = "spark.driver.extraJavaOptions"

SHORT_RUN = {_JVM_OPTIONS: f"{_NO_ATTACH} -XX:TieredStopAtLevel=1"}
"""Settings for a session of a minute or two: compile soon rather than well. Measured: a third less time."""

_HADOOP = "spark.hadoop."

_SETTINGS = {
    PACKAGES: HUDI_BUNDLE,
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    # The default of 200 makes jobs on small tables wait for 198 empty tasks.
    "spark.sql.shuffle.partitions": "4",
    # Up to so many partitions a shuffle opens a file and a serializer for each, in every task. Hudi's writes
    # shuffle to as many as there are file groups: nearly a tenth of writing a thousand rows to a hundred.
    "spark.shuffle.sort.bypassMergeThreshold": "8",
    _JVM_OPTIONS: _NO_ATTACH,
    DAEMON_SETTING: DAEMON,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    **REDACTION,
}


def local_session(
    name: str = "hudi-index",
    *,
    cores: int = 2,
    settings: Mapping[str, str] | None = None,
    table: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> SparkSession:
    """The session of this process, started if need be, with Java found and Hudi on its class path.

    Settings that hold a secret, by their name or by a password in a URI, are told to Spark once Java runs:
    pyspark puts the others on Java's command line, which everybody on this machine can read.

    Args:
        name: what the session is called.
        cores: threads that run tasks.
        settings: Spark settings, over those that are chosen here.
        table: a table on an object store that the session is to reach, or its warehouse: the connector and
            its settings are derived, see `storage_settings`.
        storage_options: how to reach it, as for `IndexedTable.open`.
    """
    java = ensure_java()
    # Workers would otherwise run whatever `python3` the PATH finds, without our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    given, derived = dict(settings or {}), storage_settings(table, storage_options) if table else {}
    connector = derived.pop(PACKAGES, "")
    derived = unsaid(derived, given)
    chosen = {
        "spark.master": f"local[{cores}]",
        "spark.app.name": name,
        **_SETTINGS,
        **derived,
        **given,
    }
    chosen[PACKAGES] = merged_packages(chosen[PACKAGES], connector)
    chosen[_JVM_OPTIONS] = f"{chosen[_JVM_OPTIONS]} {trust_options(java)}".strip()
    shown = [(key, value) for key, value in chosen.items() if not is_secret(key, value)]
    SparkContext._ensure_initialized(conf=SparkConf().setAll(shown))
    return tell_hadoop(spare_workers(SparkSession.builder.config(map=dict(chosen)).getOrCreate()), derived)


def tell_hadoop(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Tell Hadoop what a session that ran already was not started with; returns the session."""
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in settings.items():
        if name.startswith(_HADOOP):
            hadoop.set(name.removeprefix(_HADOOP), value)
    return spark


def spare_workers(spark: SparkSession) -> SparkSession:
    """Take jars off the path of a session's Python workers; returns the session.

    Spark puts those of `spark.jars.packages` there, and each Python task reads the directory of every zip
    file on its path anew: with Hudi's, a third of a second of CPU. For sessions of our own: a jar of somebody
    else's may hold Python.
    """
    context = spark.sparkContext
    context._python_includes = [name for name in context._python_includes or () if not name.endswith(".jar")]
    return spark


class LateSession:
    """Stands for a session that is started when something is first asked of it.

    Many a job finds nothing to do, or, as dropping, needs no Spark: it then ends before Spark would be up.
    """

    def __init__(self, start: Callable[[], SparkSession]) -> None:
        self._start = start
        self._session: SparkSession | None = None

    def __getattr__(self, name: str) -> Any:
        if self._session is None:
            self._session = self._start()
        return getattr(self._session, name)

    def stop(self) -> None:
        """Stop the session if there is one."""
        if self._session is not None:
            self._session.stop()
