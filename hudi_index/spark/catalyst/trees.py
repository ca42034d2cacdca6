"""Expressions as Spark understands them: trees, and sessions that give a text one meaning.

What is looked at node by node is looked at in the JVM (`CatalystTree.java`); one text comes over.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from hudi_index.errors import UserError
from hudi_index.predicate.catalyst.meaning import key_of
from hudi_index.predicate.session import TIME_ZONE, Session, meaningful

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.predicate.session import Settings

__all__ = ["Trees", "active", "compile_source", "in_session", "session_with"]

_TREE = "CatalystTree.java"
_compiled: list[tuple[Any, Any, str, Any]] = []
"""Gateway, class loader beneath, name of the source, and class loader: of each JVM that was spoken to."""
_sessions: dict[tuple[str, Settings], SparkSession] = {}
"""Sessions to compute expressions in, by application and settings."""


def compile_source(gateway: Any, beneath: Any, source: str = _TREE, *, package: str = __package__) -> Any:
    """The class loader with the classes of a source, compiled in the JVM when first asked for.

    Raises:
        UserError: if there is nothing to compile it with.
    """
    for known, known_beneath, name, loader in _compiled:
        if known is gateway and name == source and known_beneath.equals(beneath):
            return loader
    try:
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    except TypeError as error:
        reason = "this Spark comes without its own compiler, Janino"
        raise UserError(f"{reason}: indexes on Spark need org.codehaus.janino on the class path") from error
    compiler.setParentClassLoader(beneath)
    compiler.cook(resources.files(package).joinpath(source).read_text(encoding="utf-8"))
    loader = compiler.getClassLoader()
    _compiled.append((gateway, beneath, source, loader))
    return loader


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Let this be the session whose settings parser and analyser go by, in this thread, for a while."""
    jvm: Any = session.sparkContext._jvm
    java = jvm.org.apache.spark.sql.SparkSession
    before = java.getActiveSession()
    java.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        java.setActiveSession(before.get()) if before.isDefined() else java.clearActiveSession()


class Trees:
    """What one JVM tells of its expressions and sessions."""

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext._gateway
        beneath = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        loader = compile_source(gateway, beneath)
        self._factory = loader.loadClass("hudi_index.CatalystTree$Factory").newInstance()

    def of(self, expression: Any, output: Any) -> str:
        """The key of the tree of an expression over a plan's output."""
        return key_of(json.loads(self._factory.of(expression, output)))

    def session(self, spark: SparkSession) -> tuple[Session, dict[str, str]]:
        """What gives a session's expressions their meaning, and all that was ever set in it."""
        found = json.loads(self._factory.session(spark._jsparkSession))
        return Session.of_spark(found), found["explicit"]

    def configure(self, spark: SparkSession, settings: dict[str, str]) -> None:
        """Give a session these settings and no others."""
        self._factory.configure(spark._jsparkSession, json.dumps(settings))


def session_with(spark: SparkSession, settings: Settings, time_zone: str) -> SparkSession:
    """A session of the same application in which expressions mean what they mean under some settings.

    It has none of the functions that were registered in the other, which may hide Spark's own.
    """
    trees = Trees(spark)
    key = (spark.sparkContext.applicationId, settings)
    session = _sessions.get(key)
    if session is None:
        session = _sessions[key] = spark.newSession()
    _, explicit = trees.session(spark)
    odd = dict(meaningful(explicit))
    kept = {name: value for name, value in explicit.items() if name not in odd}
    trees.configure(session, {**kept, **dict(settings), TIME_ZONE: time_zone})
    return session


def in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same rows as a DataFrame of another session."""
    jvm: Any = session.sparkContext._jvm
    plan = frame._jdf.queryExecution().analyzed()
    return DataFrame(jvm.org.apache.spark.sql.Dataset.ofRows(session._jsparkSession, plan), session)
