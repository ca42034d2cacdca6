"""Expression and schema to bound expression: every term as the table spells it, with its type.

A column that the table does not have is an error here, never silence further up. Names are compared without
regard to case. Catalyst puts the table's name or alias in front (`t.a`, `spark_catalog.default.t.a`), which
is dropped; where that leaves two readings, a nested field and a qualified column, the term is Unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from hudi_index.errors import DdlSyntaxError, UnknownColumnError
from hudi_index.predicate.canonical import with_columns
from hudi_index.predicate.domain import Term
from hudi_index.predicate.expression import (
    And,
    BoundTerm,
    Constant,
    Expression,
    IsTrue,
    Not,
    Or,
    Unknown,
)
from hudi_index.predicate.operands import CASTING_FUNCTIONS, column_parts
from hudi_index.predicate.tokens import raw_of, tokens_of
from hudi_index.predicate.types import DATE, Column, Schema, SqlType, parse_type

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bind", "bound_expression", "with_expressions"]

_FUNCTIONS = (
    *("current_catalog", "current_database", "current_date", "current_schema", "current_timestamp"),
    *("current_timezone", "current_user", "localtimestamp", "session_user", "user"),
)
"""Functions that Spark calls by their bare name if no column has it."""


def bind(expression: Expression, schema: Schema, *, is_qualified: bool = False) -> Expression:
    """The expression over the table's own terms.

    Args:
        expression: What a text was parsed to.
        schema: The table's columns, and the expressions that indexes are over.
        is_qualified: Whether names may begin with a table's name or alias, as Catalyst prints them.

    Raises:
        UnknownColumnError: for a column that the table does not have.
    """
    return _Binder(schema, is_qualified).bound(expression)


def bound_expression(text: str, schema: Schema) -> Term:
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
    bound = {bound_expression(text, schema).text: kind for text, kind in types.items()}
    called = {name.lower(): bound_expression(text, schema).text for name, text in (names or {}).items()}
    return replace(schema, expressions={**schema.expressions, **bound}, names={**schema.names, **called})


class _UnresolvedError(Exception):
    """A name inside of an expression that is no column."""


@dataclass(frozen=True)
class _Binder:
    schema: Schema
    is_qualified: bool

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
        if isinstance(expression.term, BoundTerm):
            return expression
        bound = self._term(expression.term)
        return bound if isinstance(bound, Unknown) else replace(expression, term=bound)

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
        if direct and not (self.is_qualified and len(parts) > 1):
            return [direct]
        # Catalog, database and table at most.
        rests = (self.schema.look_up(parts[drop:]) for drop in range(1, min(4, len(parts))))
        found = [column for column in (direct, *rests) if column]
        return list({column.parts: column for column in found}.values())

    def _expression(self, term: Term) -> BoundTerm | Unknown:
        try:
            text = with_columns(term.text, self._resolved)
        except _UnresolvedError as error:
            return Unknown(term.text, f"{error} in it is no column")
        except (DdlSyntaxError, RecursionError):
            return Unknown(term.text, "it can't be read again")
        if text in self.schema.expressions:
            return BoundTerm(Term(text, is_expression=True), self.schema.expressions[text])
        return self._cast(text) or Unknown(term.text, "no index is over this expression")

    def _resolved(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        found = self._readings(parts)
        if len(found) != 1:
            raise _UnresolvedError(".".join(parts))
        return found[0].parts

    def _cast(self, text: str) -> BoundTerm | None:
        """A column, or an expression with an index, inside of casts."""
        inner, casts = text, []
        while (step := _outer_cast(inner)) is not None:
            inner, kind = step
            casts.append(kind)
            if inner in self.schema.expressions:
                term = Term(inner, is_expression=True)
                return BoundTerm(term, self.schema.expressions[inner], tuple(reversed(casts)))
        column = self.schema.look_up(_parts_of(inner)) if casts and _parts_of(inner) else None
        if column is None or not all(kind.is_ordered for kind in casts):
            return None
        return BoundTerm(Term(column.path), column.type, tuple(reversed(casts)))


@lru_cache(maxsize=4096)
def _parts_of(text: str) -> tuple[str, ...]:
    return column_parts(tokens_of(text), text)


_CASTING = {
    **{name.upper(): kind for name, kind in CASTING_FUNCTIONS.items()},
    "TO_DATE": DATE,
}


@lru_cache(maxsize=4096)
def _outer_cast(text: str) -> tuple[str, SqlType] | None:
    """What a canonical text casts, and to which type; None if it is no cast."""
    tokens = tokens_of(text)
    if len(tokens) < 4 or tokens[1].token_type != TokenType.L_PAREN or not _is_whole(tokens):
        return None
    name = raw_of(tokens[0], text)
    inside = tokens[2:-1]
    if name in _CASTING:
        is_one = all(token.token_type != TokenType.COMMA for token in inside)
        return (text[inside[0].start : inside[-1].end + 1], _CASTING[name]) if is_one else None
    marks = [index for index, token in enumerate(inside) if token.token_type == TokenType.ALIAS]
    if name != "CAST" or not marks or marks[-1] == len(inside) - 1 or marks[-1] == 0:
        return None
    kind = text[inside[marks[-1] + 1].start : inside[-1].end + 1]
    return text[inside[0].start : inside[marks[-1] - 1].end + 1], parse_type(kind)


def _is_whole(tokens: list[Token]) -> bool:
    """Whether the bracket after the first token is closed by the last."""
    depth = 0
    for index, token in enumerate(tokens[1:], start=1):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            return index == len(tokens) - 1
    return False
