"""The sessions that are enabled, by family: those that share their extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from hudi_index.errors import NoJvmError, UserError
from hudi_index.spark.catalyst.trees import compile_source
from hudi_index.spark.read.file_index import index_loader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from hudi_index.spark.session_rule.planner import SessionPlanner

__all__ = ["forget_tables", "options_of", "parser_of", "remember", "switch_of"]

_INDEX = "SessionFileIndex.java"
_RULE = "SessionRule.java"
_PARSER = "SessionParser.java"
_RULE_FACTORY = "hudi_index.SessionRule$Factory"
_PARSER_FACTORY = "hudi_index.SessionParser$Factory"
_FILE_INDEX = "org.apache.hudi.HoodieFileIndex"

_planners: list[tuple[Any, Any, SessionPlanner]] = []
"""Gateway, switch and planner of each family of sessions that is enabled."""


def switch_of(spark: SparkSession) -> Any:
    """What the rules of a session go by; puts them there, switched off, if need be."""
    return _loader_of(spark).loadClass(_RULE_FACTORY).newInstance().of(spark._jsparkSession)


def parser_of(spark: SparkSession) -> Any:
    """What puts a parser into sessions."""
    gateway = spark.sparkContext._gateway
    loader = compile_source(gateway, _loader_of(spark), _PARSER, package=__package__)
    return loader.loadClass(_PARSER_FACTORY).newInstance()


def remember(spark: SparkSession, switch: Any, planner: SessionPlanner | None) -> None:
    """Who plans for a family from now on; nobody if None."""
    gateway = spark.sparkContext._gateway
    _planners[:] = [each for each in _planners if each[0] is not gateway or not each[1].equals(switch)]
    if planner is not None:
        _planners.append((gateway, switch, planner))


def forget_tables(spark: SparkSession) -> None:
    """Look anew whether tables have indexes: one just got one, whatever its place is called elsewhere."""
    found = _planner_of(spark)
    if found is not None:
        found[0].forget()


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


def _loader_of(spark: SparkSession) -> Any:
    """The class loader with the rules, in the JVM of a session."""
    if not hasattr(spark, "_jsparkSession"):
        raise NoJvmError(path="/path/of/table")
    gateway: Any = spark.sparkContext._gateway
    beneath = index_loader(gateway, _hudi_loader(gateway))
    loader = compile_source(gateway, beneath, _INDEX, package=__package__)
    return compile_source(gateway, loader, _RULE, package=__package__)


def _hudi_loader(gateway: Any) -> Any:
    context = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        return context.loadClass(_FILE_INDEX).getClassLoader()
    except Py4JJavaError as error:
        reason = "this session has no Hudi on its class path"
        raise UserError(f"{reason}: start it with the Hudi bundle (spark-submit --packages …)") from error
