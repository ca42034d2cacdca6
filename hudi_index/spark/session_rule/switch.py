"""Switching the rule on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.java_gateway import ensure_callback_server_started

from hudi_index.errors import NoJvmError, UserError
from hudi_index.spark.catalyst.trees import compile_source
from hudi_index.spark.read.file_index import index_loader
from hudi_index.spark.session_rule.planner import SessionPlanner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__all__ = ["disable", "enable", "forget_table", "options_of", "switch_of"]

_INDEX = "SessionFileIndex.java"
_RULE = "SessionRule.java"
_FACTORY = "hudi_index.SessionRule$Factory"
_FILE_INDEX = "org.apache.hudi.HoodieFileIndex"

_planners: list[tuple[Any, Any, SessionPlanner]] = []
"""Gateway, switch and planner of each family of sessions that is enabled."""


def enable(
    spark: SparkSession,
    *,
    storage_options: Mapping[str, str] | None = None,
    native_skipping: bool = False,
) -> None:
    """Prune every Hudi snapshot read of a session by the indexes of its table, without a change to queries.

    That goes for catalog tables, `spark.read.format("hudi").load(…)`, views, subqueries, joins, and for the
    scans of `MERGE`, `UPDATE`, `DELETE` and `INSERT … SELECT`. Incremental, change-data and read-optimized
    queries and tables without indexes stay as they are. So does a query whenever something fails here.

    It holds for all sessions that are made of this one or that this one was made of (`newSession`, clones);
    `SET spark.hudi_index.enabled=false` is for one of them alone. Calling it again forgets which tables had
    no indexes.

    Args:
        spark: A session with Hudi on its class path, and a JVM of its own.
        storage_options: How to open tables in object stores from Python, as for `IndexedTable.open`.
        native_skipping: Leave Hudi's own data skipping on in reads that are planned here. It loses rows.

    Raises:
        NoJvmError: Spark Connect.
        UserError: no Hudi on the session's class path.
    """
    switch = switch_of(spark)
    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    gateway, planner = spark.sparkContext._gateway, SessionPlanner(storage_options)
    _forget(gateway, switch)
    _planners.append((gateway, switch, planner))
    switch.on(planner, native_skipping)


def disable(spark: SparkSession) -> None:
    """Leave all queries of a session, and of those that share its extensions, as they are."""
    switch = switch_of(spark)
    switch.off()
    _forget(spark.sparkContext._gateway, switch)


def forget_table(spark: SparkSession, location: str) -> None:
    """Look anew whether a table has indexes: it just got one, or lost one."""
    found = _planner_of(spark)
    if found is not None:
        switch, planner = found
        planner.forget(location)
        switch.forget(location)


def options_of(spark: SparkSession) -> Mapping[str, str] | None:
    """The storage options that a session was enabled with."""
    found = _planner_of(spark)
    return None if found is None else found[1].storage_options


def _planner_of(spark: SparkSession) -> tuple[Any, SessionPlanner] | None:
    # Of other JVMs, which may have ended, nothing is asked.
    gateway = spark.sparkContext._gateway
    ours = [(switch, planner) for known, switch, planner in _planners if known is gateway]
    if not ours:
        return None
    wanted = switch_of(spark)
    return next((each for each in ours if each[0].equals(wanted)), None)


def switch_of(spark: SparkSession) -> Any:
    """What the rules of a session go by; puts them there, switched off, if need be."""
    if not hasattr(spark, "_jsparkSession"):
        raise NoJvmError(path="/path/of/table")
    gateway: Any = spark.sparkContext._gateway
    beneath = index_loader(gateway, _hudi_loader(gateway))
    loader = compile_source(gateway, beneath, _INDEX, package=__package__)
    loader = compile_source(gateway, loader, _RULE, package=__package__)
    java: Any = spark._jsparkSession
    return loader.loadClass(_FACTORY).newInstance().of(java)


def _hudi_loader(gateway: Any) -> Any:
    context = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        return context.loadClass(_FILE_INDEX).getClassLoader()
    except Py4JJavaError as error:
        reason = "this session has no Hudi on its class path"
        raise UserError(f"{reason}: start it with the Hudi bundle (spark-submit --packages …)") from error


def _forget(gateway: Any, switch: Any) -> None:
    _planners[:] = [each for each in _planners if each[0] is not gateway or not each[1].equals(switch)]
