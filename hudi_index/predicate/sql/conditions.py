"""Operators over operands: which leaf of an expression each makes.

Conditions are values too: `(a > 1) IS TRUE`, `(a > 1) = false`, `(a > 1) <=> NULL` come from Spark's parser
and from Catalyst's printer. What compares anything else than a term with a literal is Unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from hudi_index.predicate.expression import (
    NULL,
    BooleanTerm,
    Compare,
    CompareTerms,
    Constant,
    Expression,
    In,
    IsNull,
    IsTrue,
    Like,
    Matches,
    Not,
    Operator,
    RLike,
    StartsWith,
    Unknown,
)
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal
from hudi_index.predicate.values.condition import Term
from hudi_index.predicate.values.domain import order_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import Token

    from hudi_index.predicate.sql.operands import Operands, Value

__all__ = ["Conditions"]


class Conditions:
    """Makes conditions out of operands."""

    def __init__(self, operands: Operands) -> None:
        self._operands = operands

    def of(self, value: Value, tokens: Sequence[Token]) -> Expression:
        """A value as a condition."""
        if isinstance(value, Term):
            return BooleanTerm(value)
        if not isinstance(value, Literal):
            return value
        if value.value is None or value.type == types.BOOLEAN:
            return Constant(value.value)
        return self._operands.unknown(tokens, "it is no condition")

    def compared(self, left: Value, operator: Operator, right: Value, tokens: Sequence[Token]) -> Expression:
        """`left operator right`."""
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, operator, right = right, operator.mirrored, left
        if not isinstance(right, Literal):
            if _is_column(left) and _is_column(right):
                return CompareTerms(operator, left, right)
            return self._operands.unknown(tokens, "it compares two values of the row", left, right)
        if right.value is None and operator is not Operator.SAME:
            return NULL
        # A null with a type may make Spark cast the term to it, and null of values that don't fit.
        if isinstance(left, Term):
            return IsNull(left) if right.type == types.NULL else Compare(operator, left, right)
        if right.value is None:
            return self.is_null(left, tokens)
        if isinstance(left, Literal):
            return self._constant(left, operator, right, tokens)
        if right.type == types.BOOLEAN and not isinstance(left, Unknown):
            return self._compare_truth(left, operator, right, tokens)
        return self._operands.unknown(tokens, "it compares a condition", left)

    def _constant(
        self, left: Literal, operator: Operator, right: Literal, tokens: Sequence[Token]
    ) -> Expression:
        if left.value is None:
            return Constant(value=False) if operator is Operator.SAME else NULL
        if left.type != right.type:
            return self._operands.unknown(tokens, "it compares constants of two types")
        return Constant(_HOLDS[operator](order_of(left.value), order_of(right.value)))

    def _compare_truth(
        self, left: Expression, operator: Operator, right: Literal, tokens: Sequence[Token]
    ) -> Expression:
        wanted = left if right.value else Not.of(left)
        if operator is Operator.EQUAL:
            return wanted
        if operator is Operator.NOT_EQUAL:
            return Not.of(wanted)
        if operator is Operator.SAME:
            return IsTrue(wanted)
        return self._operands.unknown(tokens, "it compares a condition", left)

    def is_null(self, value: Value, tokens: Sequence[Token]) -> Expression:
        """`value IS NULL`."""
        if isinstance(value, Term):
            return IsNull(value)
        if isinstance(value, (Literal, Constant)):
            return Constant(value.value is None)
        if isinstance(value, (IsNull, IsTrue)):
            return Constant(value=False)
        if isinstance(value, Not):
            return self.is_null(value.child, tokens)
        # Null exactly where their term is.
        if isinstance(value, (StartsWith, Matches, RLike, BooleanTerm)):
            return IsNull(value.term)
        return self._operands.unknown(tokens, "it asks whether a condition is null", value)

    def in_list(self, left: Value, items: Sequence[Value], tokens: Sequence[Token]) -> Expression:
        """`left IN (items)`."""
        literals = tuple(item for item in items if isinstance(item, Literal))
        if not isinstance(left, Term) or len(literals) < len(items):
            return self._operands.unknown(tokens, "it compares two values of the row", left, *items)
        return In(left, tuple(dict.fromkeys(literals)))

    def like(self, left: Value, pattern: Value, escape: Value, tokens: Sequence[Token]) -> Expression:
        """`left LIKE pattern ESCAPE escape`."""
        if not isinstance(left, Term) or not isinstance(pattern, Literal) or not isinstance(escape, Literal):
            return self._operands.unknown(tokens, "its pattern is no constant", left, pattern)
        if pattern.value is None:
            return NULL
        is_text = pattern.type == types.STRING and escape.type == types.STRING
        if not is_text or not escape.value or len(escape.value) != 1:
            return self._operands.unknown(tokens, "its pattern is no text", left)
        return Like(left, pattern.value, escape.value)

    def rlike(self, left: Value, regex: Value, tokens: Sequence[Token]) -> Expression:
        """`left RLIKE regex`."""
        if not isinstance(left, Term) or not isinstance(regex, Literal):
            return self._operands.unknown(tokens, "its pattern is no constant", left, regex)
        if regex.value is None:
            return NULL
        if regex.type != types.STRING:
            return self._operands.unknown(tokens, "its pattern is no text", left)
        return RLike(left, regex.value)


def _is_column(value: Value) -> TypeGuard[Term]:
    return isinstance(value, Term) and not value.is_expression


_HOLDS = {
    Operator.EQUAL: lambda one, other: one == other,
    Operator.SAME: lambda one, other: one == other,
    Operator.NOT_EQUAL: lambda one, other: one != other,
    Operator.LESS: lambda one, other: one < other,
    Operator.AT_MOST: lambda one, other: one <= other,
    Operator.GREATER: lambda one, other: one > other,
    Operator.AT_LEAST: lambda one, other: one >= other,
}
