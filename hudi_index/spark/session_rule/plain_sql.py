"""Statements about indexes through plain `spark.sql`: the Python half of `SessionParser.java`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from hudi_index.errors import HudiIndexError, UserError
from hudi_index.spark.session_rule.families import parser_of
from hudi_index.spark.session_rule.statements import is_on_a_hudi_table, sql

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["StatementRunner", "leave_statements", "take_statements"]

_takers: set[str] = set()
"""Applications in which statements were ever taken: in others there is no parser of ours to look for."""


def take_statements(spark: SparkSession) -> None:
    """Have plain `spark.sql` run statements about indexes here."""
    factory = parser_of(spark)
    try:
        factory.put(spark._jsparkSession, StatementRunner(spark.sparkContext))
    except Py4JJavaError as error:
        reason = "this Spark lets nobody at the parser of a session that runs"
        raise UserError(f"{reason}: use hudi_index.spark.sql, without statements=True") from error
    _takers.add(spark.sparkContext.applicationId)


def leave_statements(spark: SparkSession) -> None:
    """Leave all statements of plain `spark.sql` to whoever had them."""
    if spark.sparkContext.applicationId in _takers:
        known = parser_of(spark).of(spark._jsparkSession)
        if known is not None:
            known.stop()


@dataclass
class StatementRunner:
    """What the parser calls, and the commands that it makes; java.util.function.BiFunction."""

    context: SparkContext

    def apply(self, session: Any, request: str) -> str:
        """The lines of the answer, in JSON; none to "parse" for a text that is not ours."""
        verb, text = json.loads(request)
        spark = SparkSession(self.context, session)
        try:
            lines = [verb] if verb == "parse" and is_on_a_hudi_table(spark, text) else []
            if verb == "run":
                lines = _lines_of(sql(spark, text))
        except HudiIndexError as error:
            return json.dumps({"error": str(error)})
        return json.dumps({"lines": lines})

    class Java:
        """What py4j makes of it."""

        implements: ClassVar[list[str]] = ["java.util.function.BiFunction"]


def _lines_of(answer: Any) -> list[str]:
    """A report in one line of JSON, definitions in one each."""
    if isinstance(answer, tuple):
        return [json.dumps(each.as_dict(), sort_keys=True) for each in answer]
    return [answer.to_json()]
