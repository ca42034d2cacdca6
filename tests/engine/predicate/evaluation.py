"""SQL's three values, evaluated row by row over a parsed expression: the oracle of the constraint trees.

Written apart from the package: no domain, no normal form, no order but Python's own with NaN put on top.
"""

from __future__ import annotations

import math
import re
from typing import Any, Literal

from hudi_index.predicate.expression import (
    And,
    BooleanTerm,
    Compare,
    Constant,
    Expression,
    In,
    IsNull,
    IsTrue,
    Like,
    Not,
    Or,
    StartsWith,
)

Truth = bool | None | Literal["unknown"]


def truth_of(expression: Expression, row: dict[str, Any]) -> Truth:  # noqa: C901 - one case per node
    """True, False, None for null, or "unknown" if an Unknown decides it."""
    match expression:
        case Constant(value):
            return value
        case Not(child):
            return negation(truth_of(child, row))
        case And(children):
            return conjunction([truth_of(child, row) for child in children])
        case Or(children):
            return negation(conjunction([negation(truth_of(child, row)) for child in children]))
        case IsTrue(child, is_negated):
            truth = truth_of(child, row)
            return truth if truth == "unknown" else (truth is True) != is_negated
        case IsNull(term, is_negated):
            return (value_of(term, row) is None) != is_negated
        case Compare(operator, term, literal):
            return compared(value_of(term, row), operator.value, literal.value)
        case In(term, literals, is_negated):
            parts: list[Truth] = [compared(value_of(term, row), "!=", each.value) for each in literals]
            found = conjunction(parts)
            return found if is_negated else negation(found)
        case BooleanTerm(term, is_negated):
            return negated_if(is_negated, value_of(term, row))
        case StartsWith(term, prefix, is_negated):
            value = value_of(term, row)
            return None if value is None else value.startswith(prefix) != is_negated
        case Like(term, pattern, escape, is_negated):
            value = value_of(term, row)
            return None if value is None else matches(value, pattern, escape) != is_negated
    return "unknown"


def negated_if(is_negated: bool, truth: Truth) -> Truth:
    return negation(truth) if is_negated else truth


def negation(truth: Truth) -> Truth:
    return truth if truth is None or truth == "unknown" else not truth


def conjunction(truths: list[Truth]) -> Truth:
    if False in truths:
        return False
    if "unknown" in truths:
        return "unknown"
    return None if None in truths else True


def value_of(term: Any, row: dict[str, Any]) -> Any:
    return row[term.text]


def compared(value: Any, operator: str, literal: Any) -> bool | None:
    if operator in ("<=>", "IS DISTINCT FROM"):
        are_same = (value is None and literal is None) or compared(value, "=", literal) is True
        return are_same == (operator == "<=>")
    if value is None or literal is None:
        return None
    one, other = on_top(value), on_top(literal)
    return {
        "=": one == other,
        "!=": one != other,
        "<": one < other,
        "<=": one <= other,
        ">": one > other,
        ">=": one >= other,
    }[operator]


def on_top(value: Any) -> tuple[bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return (is_nan, 0 if is_nan else value)


def matches(value: str, pattern: str, escape: str) -> bool:
    """LIKE by way of a regular expression."""
    made, index = "", 0
    while index < len(pattern):
        sign = pattern[index]
        if sign == escape:
            index += 1
            made += re.escape(pattern[index])
        else:
            made += {"%": ".*", "_": "."}.get(sign) or re.escape(sign)
        index += 1
    return re.fullmatch(made, value, re.DOTALL) is not None
