"""The gate on Spark: what a text becomes is checked again, before anything of it runs.

Spark carries out commands as soon as a DataFrame is made of them, and reads files to analyse `json.`path``.
So a text is taken in steps, each looked through node by node, and only the last makes a DataFrame:

    text        by its structure, `hudi_index.gate`
    parsed      unresolved: calls by name, the table as the only relation; nothing was looked up so far
    analysed    leaves are the table's, classes are those of Spark's built-in functions that may be called,
                all is deterministic: a function that a session has put in the place of a built-in one is
                seen here

The table needs no name in the session: it joins the query as a common table expression.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame

from hudi_index.errors import RefusedTextError
from hudi_index.gate import ONE_SELECT, ONE_VALUE, ONLY_THESE, check_condition, check_query
from hudi_index.gate.functions import AGGREGATES, GENERATORS, SCALARS, WINDOW_FUNCTIONS, reason_against
from hudi_index.spark.catalyst.trees import active, compile_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["check_expression", "expression", "filter_rows", "query"]


def query(frame: DataFrame, text: str, *, view: str) -> DataFrame:
    """The answer to a query about the rows of a DataFrame, which the query calls `view`.

    Raises:
        RefusedTextError: it is something else.
        SqlSyntaxError: it is no SQL.
    """
    check_query(text, view=view)
    with active(frame.sparkSession):
        return _Gate.of(frame.sparkSession, text, in_query=True).query(frame, view)


def filter_rows(frame: DataFrame, text: str) -> DataFrame:
    """The rows for which a condition is true.

    Raises:
        RefusedTextError: it is something else.
        PredicateSyntaxError: it is no SQL.
    """
    check_condition(text)
    with active(frame.sparkSession):
        return _Gate.of(frame.sparkSession, text, in_query=False).filter_rows(frame)


def expression(spark: SparkSession, text: str) -> Column:
    """A scalar expression as a column that is not resolved yet.

    Raises:
        RefusedTextError: it is something else.
        PredicateSyntaxError: it is no SQL.
    """
    check_condition(text)
    with active(spark):
        return Column(_Gate.of(spark, text, in_query=False).parsed_expression())


def check_expression(rows: DataFrame, text: str, value: DataFrame) -> None:
    """Refuse an expression that Spark has resolved to something else than a value of one row.

    Args:
        rows: What it was computed from.
        text: As it was given.
        value: A column of it.

    Raises:
        RefusedTextError: see above.
    """
    gate = _Gate.of(rows.sparkSession, text, in_query=False)
    gate.check_analysed(_plan_of(value), _plan_of(rows))


_PACKAGES = (
    "org.apache.spark.sql.catalyst.analysis.",
    "org.apache.spark.sql.catalyst.expressions.",
    "org.apache.spark.sql.catalyst.expressions.aggregate.",
    "org.apache.spark.sql.catalyst.plans.logical.",
)


def _classes(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPERATORS = _classes(
    """
    Aggregate CTERelationDef CTERelationRef Distinct Except Expand Filter Generate Intersect Join Project Sort
    SubqueryAlias Union Window WithCTE
    """
)
_UNRESOLVED_OPERATORS = _classes(
    "UnresolvedHaving UnresolvedSubqueryColumnAliases UnresolvedWith WithWindowDefinition"
)
# What operators and syntax become, beyond functions. `->` has the names of its variables in the tree.
_VALUES = _classes(
    """
    Add AggregateExpression Alias And AttributeReference BinaryPad BinaryPredicate BitwiseAnd BitwiseNot
    BitwiseOr BitwiseXor CaseWhen Cast Ceil CheckOverflow Concat Contains CreateNamedStruct Cube CurrentRow$
    CurrentTimeZone DateAddInterval DateAddYMInterval DatetimeSub Divide DivideDTInterval DivideInterval
    DivideYMInterval EndsWith EqualNullSafe EqualTo Exists Explode ExtractANSIIntervalDays
    ExtractANSIIntervalHours ExtractANSIIntervalMinutes ExtractANSIIntervalMonths ExtractANSIIntervalSeconds
    ExtractANSIIntervalYears Floor GetArrayItem GetArrayStructFields GetMapValue GetStructField GreaterThan
    GreaterThanOrEqual GroupingSets ILike In InSubquery IntegralDivide IsNotNull IsNull
    KnownFloatingPointNormalized KnownNotNull LambdaFunction LessThan LessThanOrEqual Like LikeAll LikeAny
    ListQuery Literal Multiply MultiplyDTInterval MultiplyInterval MultiplyYMInterval NamedLambdaVariable
    Not NotLikeAll NotLikeAny Or OuterReference PercentileCont PercentileDisc PosExplode PrettyAttribute
    PromotePrecision Remainder RLike Rollup RoundCeil RoundFloor ScalarSubquery SecondWithFraction SortOrder
    SpecifiedWindowFrame StartsWith StringDecode StringLPad StringRPad StringTrim StringTrimLeft
    StringTrimRight Subtract SubtractDates SubtractTimestamps TimeAdd TimestampAdd TimestampAddYMInterval
    TimestampDiff TryEval TypedNullLiteral UnaryMinus UnaryPositive UnboundedFollowing$ UnboundedPreceding$
    UnscaledValue UnspecifiedFrame$ UpCast WindowExpression WindowSpecDefinition
    """
)
_UNRESOLVED_VALUES = _classes(
    """
    MultiAlias UnresolvedAlias UnresolvedAttribute UnresolvedExtractValue UnresolvedFunction
    UnresolvedGenerator UnresolvedNamedLambdaVariable UnresolvedStar UnresolvedWindowExpression
    WindowSpecReference
    """
)
_SUMS = _classes("Sum Average TryAverage")
_FLOATS = ("float", "double")
_TIMES = ("date", "timestamp", "timestamp_ntz")
_CLOCK = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_HEAD = 500
_SOURCE, _CLASS = "PlanNodes.java", "hudi_index.PlanNodes"


@dataclass(frozen=True)
class _Nodes:
    """What lists the nodes of plans in one JVM."""

    java: Any
    functions: frozenset[str]
    """Classes of the built-in functions that may be called."""

    @classmethod
    def of(cls, gateway: Any) -> _Nodes:
        for known, nodes in _known:
            if known is gateway:
                return nodes
        beneath = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        java = compile_source(gateway, beneath, _SOURCE).loadClass(_CLASS).newInstance()
        names = SCALARS | AGGREGATES | WINDOW_FUNCTIONS | GENERATORS
        classes = json.loads(java.functions())
        found = cls(java, frozenset(known for name, known in classes.items() if name in names))
        _known.append((gateway, found))
        return found


_known: list[tuple[Any, _Nodes]] = []
"""By gateway, of each JVM that this process has spoken to."""


@dataclass(frozen=True)
class _Gate:
    """One text on its way."""

    session: SparkSession
    text: str
    in_query: bool
    nodes: _Nodes

    @classmethod
    def of(cls, spark: SparkSession, text: str, *, in_query: bool) -> _Gate:
        return cls(spark, text, in_query, _Nodes.of(spark.sparkContext._gateway))

    def query(self, frame: DataFrame, view: str) -> DataFrame:
        self._refuse_variables()
        java, known = self.nodes.java, _plan_of(frame)
        with self._refuse_too_deep():
            parsed = java.named(java.over(self._parser().parsePlan(self.text), view, known))
        self.check_parsed(parsed, known)
        return self._analyse(parsed, known)

    def filter_rows(self, frame: DataFrame) -> DataFrame:
        condition, known = self.parsed_expression(), _plan_of(frame)
        filter_of = self._jvm().org.apache.spark.sql.catalyst.plans.logical.Filter
        return self._analyse(filter_of(condition.expr(), known), known)

    def parsed_expression(self) -> Any:
        """A Java Column."""
        self._refuse_variables()
        with self._refuse_too_deep():
            found = self._parser().parseExpression(self.text)
        self.check_parsed(found, None)
        return self._jvm().org.apache.spark.sql.Column(found)

    def check_parsed(self, root: Any, known: Any) -> None:
        values = _VALUES | _UNRESOLVED_VALUES
        for node in self._nodes_of(root, known):
            self._check_class(node, _OPERATORS | _UNRESOLVED_OPERATORS, values)
            if node["class"].endswith((".UnresolvedFunction", ".UnresolvedGenerator")):
                reason = reason_against(node["name"], in_query=self.in_query)
                if reason:
                    raise self._refusal(reason, ONLY_THESE)
            if node["class"].endswith(".SpecifiedWindowFrame") and node["name"] == "ROWS":
                what = "ROWS of a window, which differ when equal rows come in another order"
                raise self._refusal(what, "say RANGE")

    def check_analysed(self, root: Any, known: Any) -> None:
        for node in self._nodes_of(root, known):
            if node["is_plan"] and node["is_known"] and not node["is_streaming"]:
                continue
            self._check_class(node, _OPERATORS, _VALUES)
            if not node["is_plan"]:
                self._check_value(node)

    def _analyse(self, plan: Any, known: Any) -> DataFrame:
        session = self.session._jsparkSession
        with self._refuse_too_deep():
            found = self.nodes.java.analysed(session, plan)
        self.check_analysed(found, known)
        return DataFrame(self._jvm().org.apache.spark.sql.Dataset.ofRows(session, found), self.session)

    def _check_class(self, node: dict[str, Any], operators: frozenset[str], values: frozenset[str]) -> None:
        whole = node["class"]
        package, _, name = whole.rpartition(".")
        if name == "UnresolvedRelation":
            what = f"table {node['name']!r}, which is not the one that is asked"
            raise self._refusal(what, self._way_out)
        allowed = operators if node["is_plan"] else values
        if node["is_plan"] and not self.in_query and name not in ("Filter", "Project"):
            raise self._refusal(f"{name}, which is more than a value of one row", self._way_out)
        is_function = not node["is_plan"] and whole in self.nodes.functions
        if not is_function and (f"{package}." not in _PACKAGES or name not in allowed):
            raise self._refusal(f"{name} ({whole}), which no text may become", self._way_out)

    def _check_value(self, node: dict[str, Any]) -> None:
        name = node["class"].rpartition(".")[2]
        if node["is_foreign"]:
            raise self._refusal(f"{name}, a function of the session's own", ONLY_THESE)
        if not node["is_deterministic"]:
            what = f"{name}, which does not always give the same value for the same row"
            raise self._refusal(what, ONLY_THESE)
        if name in _SUMS and any(kind in _FLOATS for kind in node["inputs"]):
            raise self._refusal(
                f"{name} of floating-point numbers, which differs when rows come in another order",
                "add decimals: sum(CAST(x AS DECIMAL(38, 6)))",
            )
        if node.get("is_hidden"):
            raise self._refusal("a column that tells of files", self._way_out)
        # Spark takes `today` and its like for the time, also where a text is computed.
        text = node.get("text")
        if node.get("type") in _TIMES and (node["is_computed"] or _CLOCK.match(text or "")):
            shown = "a computed text" if text is None else repr(text)
            what = f"{shown} as a time, which may be another one each time"
            raise self._refusal(what, "write the time itself")

    @contextmanager
    def _refuse_too_deep(self) -> Iterator[None]:
        """Refuses what Spark itself can't get to the bottom of."""
        try:
            yield
        except (ParseException, Py4JJavaError) as error:
            if "StackOverflowError" in str(error)[:_HEAD]:
                raise self._refusal("it is nested too deeply for Spark", "nest it less") from None
            said = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise self._refusal(f"Spark can't read it: {said.strip()}", self._way_out) from error

    def _refuse_variables(self) -> None:
        if "${" in self.text:
            raise self._refusal("${…}, in whose place Spark puts its settings", self._way_out)

    def _refusal(self, what: str, way_out: str) -> RefusedTextError:
        return RefusedTextError(text=self.text, what=what, way_out=way_out)

    @property
    def _way_out(self) -> str:
        return ONE_SELECT if self.in_query else ONE_VALUE

    def _nodes_of(self, root: Any, known: Any) -> Iterator[dict[str, Any]]:
        yield from json.loads(self.nodes.java.of(root, known))

    def _parser(self) -> Any:
        return self.session._jsparkSession.sessionState().sqlParser()

    def _jvm(self) -> Any:
        return self.session.sparkContext._jvm


def _plan_of(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()
