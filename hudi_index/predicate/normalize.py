"""Expressions without NOT: negation pushed to the leaves by operator, under SQL's three values.

What comes out is true for the same rows as what went in. It may be false where that was null: at the top, and
under AND and OR alone, a row is only ever asked whether the predicate is true.
"""

from __future__ import annotations

from dataclasses import replace

from hudi_index.predicate.expression import (
    FALSE,
    TRUE,
    And,
    BooleanTerm,
    Compare,
    CompareTerms,
    Constant,
    Exists,
    Expression,
    HasAny,
    In,
    IsNull,
    IsTrue,
    Like,
    Matches,
    Not,
    Or,
    RLike,
    StartsWith,
    Unknown,
)

__all__ = ["without_negations"]


def without_negations(expression: Expression) -> Expression:
    """The expression with negation in the leaves only, true for the same rows."""
    return _push(expression, is_negated=False)


def _push(expression: Expression, *, is_negated: bool) -> Expression:
    if isinstance(expression, Not):
        return _push(expression.child, is_negated=not is_negated)
    if isinstance(expression, (And, Or)):
        connective = Or if isinstance(expression, And) == is_negated else And
        return connective.of(_push(child, is_negated=is_negated) for child in expression.children)
    if isinstance(expression, IsTrue):
        child = _push(expression.child, is_negated=False)
        return _not_true(child) if expression.is_negated != is_negated else child
    return _negate_leaf(expression) if is_negated else expression


def _negate_leaf(
    leaf: Compare
    | CompareTerms
    | In
    | IsNull
    | StartsWith
    | Like
    | Matches
    | RLike
    | HasAny
    | Exists
    | BooleanTerm
    | Constant
    | Unknown,
) -> Expression:
    if isinstance(leaf, (Constant, Unknown)):
        return Not.of(leaf)
    if isinstance(leaf, (Compare, CompareTerms)):
        return replace(leaf, operator=leaf.operator.negated)
    return replace(leaf, is_negated=not leaf.is_negated)


def _not_true(expression: Expression) -> Expression:
    """True where the expression, which has no NOT any more, is false or null.

    True or not is two-valued, so De Morgan holds: AND becomes OR and OR becomes AND.
    """
    if isinstance(expression, (And, Or)):
        connective = Or if isinstance(expression, And) else And
        return connective.of(_not_true(child) for child in expression.children)
    if isinstance(expression, Constant):
        return FALSE if expression == TRUE else TRUE
    if isinstance(expression, Unknown):
        return expression
    if isinstance(expression, IsTrue) and expression.is_negated:
        return expression.child
    return IsTrue(expression, is_negated=True)
