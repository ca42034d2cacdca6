"""Switching the rules of a session on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.java_gateway import ensure_callback_server_started

from hudi_index.spark.session_rule.families import remember, switch_of
from hudi_index.spark.session_rule.plain_sql import leave_statements, take_statements
from hudi_index.spark.session_rule.planner import SessionPlanner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__all__ = ["disable", "enable"]


def enable(
    spark: SparkSession,
    *,
    storage_options: Mapping[str, str] | None = None,
    native_skipping: bool = False,
    statements: bool = False,
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
        statements: Take `CREATE`, `DROP`, `SHOW`, `REFRESH` and `REBUILD INDEX` of plain `spark.sql` on Hudi
            tables for this library's. They are Hudi's own otherwise, and again after
            `SET spark.hudi_index.statements=false`. Holds for this session and those made of it later.

    Raises:
        NoJvmError: Spark Connect.
        UserError: no Hudi on the session's class path, or a Spark whose sessions let nobody at their parser.
    """
    switch = switch_of(spark)
    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    if statements:
        take_statements(spark)
    else:
        leave_statements(spark)
    planner = SessionPlanner(storage_options)
    remember(spark, switch, planner)
    switch.on(planner, native_skipping)


def disable(spark: SparkSession) -> None:
    """Leave all queries of a session, and of those that share its extensions, as they are."""
    switch = switch_of(spark)
    switch.off()
    leave_statements(spark)
    remember(spark, switch, None)
