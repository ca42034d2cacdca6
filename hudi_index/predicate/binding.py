"""Expression and schema to bound expression: every term as the table spells it, with its type.

A column that the table does not have is an error here, never silence further up. Names are compared without
regard to case. The table's name or alias may stand in front (`t.a`, `spark_catalog.default.t.a`) where that
can mean nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from hudi_index.errors import DdlSyntaxError, UnknownColumnError
from hudi_index.predicate.expression import (
    And,
    BoundTerm,
    Call,
    CompareTerms,
    Constant,
    Exists,
    Expression,
    IsTrue,
    Not,
    Operand,
    Or,
    Unknown,
)
from hudi_index.predicate.sql.calls import outer_call
from hudi_index.predicate.sql.canonical import with_columns
from hudi_index.predicate.sql.operands import column_parts
from hudi_index.predicate.sql.tokens import tokens_of
from hudi_index.predicate.values.condition import Term
from hudi_index.predicate.values.types import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.predicate.semantics.leaf_domains import Leaf
    from hudi_index.predicate.values.types import Column, SqlType

__all__ = ["bind", "bind_calls", "bind_expression", "with_expressions"]

_FUNCTIONS = (
    *("current_catalog", "current_database", "current_date", "current_schema", "current_timestamp"),
    *("current_timezone", "current_user", "localtimestamp", "session_user", "user"),
)
"""Functions that Spark calls by their bare name if no column has it."""


def bind(expression: Expression, schema: Schema) -> Expression:
    """The expression over the table's own terms.

    Args:
        expression: What a text was parsed to.
        schema: The table's columns, and the expressions that indexes are over.

    Raises:
        UnknownColumnError: for a column that the table does not have.
    """
    return _Binder(schema).bound(expression)


def bind_expression(text: str, schema: Schema) -> Term:
    """The term that an index expression is, for comparing it with those of a bound predicate.

    Raises:
        UnknownColumnError: for a column that the table does not have.
        DdlSyntaxError: if the text is no expression.
    """

    def resolve(parts: tuple[str, ...]) -> tuple[str, ...]:
        column = schema.look_up(parts)
        if column is None:
            raise UnknownColumnError(column=".".join(parts), known=schema.paths())
        return column.parts

    return Term(with_columns(text, resolve), is_expression=True)


def with_expressions(
    schema: Schema, types: Mapping[str, SqlType], names: Mapping[str, str] | None = None
) -> Schema:
    """The schema with the types of index expressions, and the names by which queries may call them.

    Args:
        schema: The table's columns.
        types: By the expression's text.
        names: Texts of expressions by name, usually the index's.

    Raises:
        UnknownColumnError: if an expression reads a column that the table does not have.
        DdlSyntaxError: if a text is no expression.
    """
    bound = {bind_expression(text, schema).text: sql_type for text, sql_type in types.items()}
    called = {name.lower(): bind_expression(text, schema).text for name, text in (names or {}).items()}
    return replace(schema, expressions={**schema.expressions, **bound}, names={**schema.names, **called})


class _UnresolvedError(Exception):
    """A name inside of an expression that is no column."""


@dataclass(frozen=True)
class _Binder:
    schema: Schema
    is_lambda: bool = False
    """Whether the schema is a variable's, in front of which no table's name stands."""

    def bound(self, expression: Expression) -> Expression:
        if isinstance(expression, And):
            return And.of(self.bound(child) for child in expression.children)
        if isinstance(expression, Or):
            return Or.of(self.bound(child) for child in expression.children)
        if isinstance(expression, Not):
            return Not.of(self.bound(expression.child))
        if isinstance(expression, IsTrue):
            return replace(expression, child=self.bound(expression.child))
        if isinstance(expression, Constant):
            return expression
        if isinstance(expression, Unknown):
            for term in expression.terms:
                self._column(term)
            return expression
        return expression if isinstance(expression.term, BoundTerm) else self._leaf(expression)

    def _leaf(self, expression: CompareTerms | Leaf) -> Expression:
        if isinstance(expression, CompareTerms):
            return self._pair(expression)
        bound = self._operand(expression.term)
        if isinstance(bound, Unknown):
            return bound
        if isinstance(expression, Exists):
            return self._exists(expression, bound)
        return replace(expression, term=bound)

    def _exists(self, expression: Exists, array: BoundTerm) -> Expression:
        element = None if array.calls or array.casts else array.type.element
        text = f"exists({array.text or array.term.text}, {expression.variable.text} -> …)"
        if element is None:
            return Unknown(text, "it is no array of which the elements are known")
        variable = _Binder(Schema({expression.variable.text: element}), is_lambda=True)
        try:
            condition = variable.bound(expression.condition)
        except UnknownColumnError as error:
            # One of the table's, or else an error.
            self._column(Term(error.column))
            return Unknown(text, f"its condition reads {error.column} too")
        return replace(expression, term=array, condition=condition)

    def _pair(self, expression: CompareTerms) -> Expression:
        one, other = self._operand(expression.term), self._operand(expression.other)
        if isinstance(one, Unknown):
            return one
        if isinstance(other, Unknown):
            return other
        return replace(expression, term=one, other=other)

    def _operand(self, operand: Operand) -> BoundTerm | Unknown:
        return operand if isinstance(operand, BoundTerm) else self._term(operand)

    def _term(self, term: Term) -> BoundTerm | Unknown:
        return self._expression(term) if term.is_expression else self._column(term)

    def _column(self, term: Term) -> BoundTerm | Unknown:
        parts = _parts_of(term.text)
        found = self._readings(parts)
        if len(found) > 1:
            return Unknown(term.text, "a field of a column, or a column of a table with that name", ())
        if found:
            return BoundTerm(Term(found[0].path), found[0].type)
        if len(parts) == 1:
            called = self.schema.names.get(parts[0].lower())
            if called is not None and called in self.schema.expressions:
                return BoundTerm(Term(called, is_expression=True), self.schema.expressions[called])
            if parts[0].lower() in _FUNCTIONS:
                return Unknown(term.text, "its value is not known before the query runs", ())
        raise UnknownColumnError(column=term.text, known=self.schema.paths())

    def _readings(self, parts: tuple[str, ...]) -> list[Column]:
        """The columns that a name may mean, one unless it is ambiguous."""
        direct = self.schema.look_up(parts)
        if direct or self.is_lambda:
            return [direct] if direct else []
        # Catalog, database and table at most.
        rests = (self.schema.look_up(parts[drop:]) for drop in range(1, min(4, len(parts))))
        found = [column for column in rests if column]
        return list({column.parts: column for column in found}.values())

    def _expression(self, term: Term) -> BoundTerm | Unknown:
        try:
            text = with_columns(term.text, self._resolve)
        except _UnresolvedError as error:
            return Unknown(term.text, f"{error} in it is no column")
        except (DdlSyntaxError, RecursionError):
            return Unknown(term.text, "it can't be read again")
        if text in self.schema.expressions:
            return BoundTerm(Term(text, is_expression=True), self.schema.expressions[text])
        found = self.called(text)
        if found is None:
            return Unknown(term.text, "no index is over this expression")
        return replace(found, text=term.text) if found.calls else found

    def _resolve(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        found = self._readings(parts)
        if len(found) != 1:
            raise _UnresolvedError(".".join(parts))
        return found[0].parts

    def called(self, text: str) -> BoundTerm | None:
        """A column, or an expression with an index, inside of calls with constants."""
        inner, calls = text, []
        while (step := outer_call(inner)) is not None:
            inner, call = step
            calls.append(call)
            if inner in self.schema.expressions:
                return bind_calls(Term(inner, is_expression=True), self.schema.expressions[inner], calls)
        column = self.schema.look_up(_parts_of(inner)) if calls and _parts_of(inner) else None
        return bind_calls(Term(column.path), column.type, calls) if column else None


def bind_calls(term: Term, sql_type: SqlType, calls: list[Call], text: str = "") -> BoundTerm:
    """The term inside of calls, outermost first; casts around all others are known by their types."""
    casts: list[SqlType] = []
    for call in calls:
        if call.cast_to is None or not call.cast_to.is_ordered:
            break
        casts.append(call.cast_to)
    return BoundTerm(term, sql_type, tuple(reversed(casts)), tuple(reversed(calls[len(casts) :])), text)


@lru_cache(maxsize=4096)
def _parts_of(text: str) -> tuple[str, ...]:
    return column_parts(tokens_of(text), text)
