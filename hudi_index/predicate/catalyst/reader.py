"""Catalyst's trees to bound expressions. No text is read on this way.

The trees are those that `CatalystTree.java` describes: classes, every parameter, values by their type. A
class that is not known here, a parameter that gives a function another meaning, a column that the table has
under another type: Unknown, which refutes nothing. An index over an expression is recognized by the whole
tree of its expression.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from hudi_index.predicate.binding import bind_calls
from hudi_index.predicate.catalyst.calls import CALLS, inner_call
from hudi_index.predicate.catalyst.literals import constant_of, literal_of, text_of
from hudi_index.predicate.catalyst.meaning import key_of
from hudi_index.predicate.expression import (
    NULL,
    And,
    BooleanTerm,
    BoundTerm,
    Call,
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
    Operator,
    Or,
    RLike,
    StartsWith,
    Unknown,
)
from hudi_index.predicate.semantics.leaf_domains import element_of
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal
from hudi_index.predicate.values.condition import Term, TextPattern
from hudi_index.predicate.values.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hudi_index.predicate.catalyst.meaning import Node
    from hudi_index.predicate.session import Session
    from hudi_index.predicate.values.types import Schema, SqlType

__all__ = ["CatalystReader", "Filters"]

_Operand: TypeAlias = Literal | BoundTerm | Unknown

_COMPARISONS = {
    "EqualTo": Operator.EQUAL,
    "EqualNullSafe": Operator.SAME,
    "LessThan": Operator.LESS,
    "LessThanOrEqual": Operator.AT_MOST,
    "GreaterThan": Operator.GREATER,
    "GreaterThanOrEqual": Operator.AT_LEAST,
}
_IN_TREES = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.legacy.sizeOfNull",
    "spark.sql.timestampType",
)
"""Settings whose whole effect on the functions that are known here is in their parameters and types."""


@dataclass(frozen=True)
class Filters:
    """The conditions of one scan, all of which a row must meet, as Spark hands them to a file index."""

    trees: Sequence[Node]
    texts: Sequence[str]
    """For people."""
    session: Session

    @property
    def text(self) -> str:
        """All of them, for people."""
        return " AND ".join(f"({text})" for text in self.texts)

    def bound(self, schema: Schema, expressions: Mapping[str, BoundTerm]) -> Expression:
        """What they ask of a table's rows.

        Args:
            schema: The table's columns.
            expressions: What indexes are over, by the key of its tree.
        """
        reader = CatalystReader(schema, self.session, expressions)
        return And.of(reader.condition(tree) for tree in self.trees)


@dataclass(frozen=True)
class CatalystReader:
    """Reads the trees of one session over one table."""

    schema: Schema
    session: Session
    expressions: Mapping[str, BoundTerm] = field(default_factory=dict)
    variables: Mapping[int, BoundTerm] = field(default_factory=dict)
    """Elements of arrays, by the number of the lambda variable that stands for them."""

    @cached_property
    def _classes(self) -> frozenset[str]:
        """The classes that the indexed expressions begin with: most trees need no key."""
        return frozenset(json.loads(key)["class"] for key in self.expressions)

    @cached_property
    def _reason_against_functions(self) -> str | None:
        odd = [name for name, _ in self.session.settings if name not in _IN_TREES]
        return f"{odd[0]} is not at its default, which may change what functions mean" if odd else None

    def condition(self, node: Node) -> Expression:
        """A tree of type boolean."""
        if found := self._find_indexed(node):
            return BooleanTerm(found) if found.type == types.BOOLEAN else _unknown(node, "it is no condition")
        name, arguments = node.get("class"), node.get("args", ())
        if name in ("And", "Or"):
            return (And if name == "And" else Or).of(self.condition(child) for child in arguments)
        if name == "Not":
            return Not.of(self.condition(arguments[0]))
        if name in _COMPARISONS:
            return self._comparison(node, _COMPARISONS[name], *arguments)
        if name in ("IsNull", "IsNotNull"):
            return self._is_null(node, arguments[0], is_negated=name == "IsNotNull")
        if name in _LEAVES:
            leaf: Expression = _LEAVES[name](self, node, *arguments)
            return leaf
        operand = self.operand(node)
        if isinstance(operand, Literal) and operand.type in (types.BOOLEAN, types.NULL):
            return Constant(operand.value)
        if isinstance(operand, BoundTerm):
            return BooleanTerm(operand)
        return operand if isinstance(operand, Unknown) else _unknown(node, "it is no condition")

    def _comparison(self, node: Node, operator: Operator, one: Node, other: Node) -> Expression:
        if "literal" in one and "literal" not in other:
            one, other, operator = other, one, operator.mirrored
        left, right = self.operand(one), self.operand(other)
        if operator is Operator.SAME and isinstance(right, Literal) and isinstance(right.value, bool):
            condition = self.condition(one)
            return IsTrue(condition if right.value else Not.of(condition))
        if isinstance(left, BoundTerm) and isinstance(right, BoundTerm):
            return CompareTerms(operator, left, right)
        if isinstance(left, BoundTerm) and isinstance(right, Literal):
            return Compare(operator, left, right)
        reasons = [each.reason for each in (left, right) if isinstance(each, Unknown)]
        return _unknown(node, reasons[0] if reasons else "it compares constants")

    def _is_null(self, node: Node, child: Node, *, is_negated: bool) -> Expression:
        operand = self.operand(child)
        if isinstance(operand, BoundTerm):
            return IsNull(operand, is_negated)
        if isinstance(operand, Literal):
            return Constant((operand.value is None) != is_negated)
        return _unknown(node, operand.reason)

    def _in(self, node: Node, value: Node, items: Sequence[Node]) -> Expression:
        term, literals = self.operand(value), [self.operand(item) for item in items]
        if not isinstance(term, BoundTerm):
            return _unknown(node, term.reason if isinstance(term, Unknown) else "it compares constants")
        if not literals or not all(isinstance(each, Literal) for each in literals):
            # What an empty list means for null is a setting.
            return _unknown(node, "not all of its list are constants")
        return In(term, tuple(dict.fromkeys(each for each in literals if isinstance(each, Literal))))

    def _not_a_number(self, node: Node, child: Node) -> Expression:
        term = self.operand(child)
        if not isinstance(term, BoundTerm):
            return _unknown(node, term.reason if isinstance(term, Unknown) else "it asks about a constant")
        sql_type = parse_type(child["type"])
        return Compare(Operator.SAME, term, Literal(float("nan"), sql_type))

    def _starts_with(self, node: Node, value: Node, prefix: Node) -> Expression:
        return self._text(node, value, prefix, StartsWith)

    def _like(self, node: Node, value: Node, pattern: Node, escape: str) -> Expression:
        return self._text(node, value, pattern, lambda term, text: Like(term, text, escape))

    def _ends_with(self, node: Node, value: Node, end: Node) -> Expression:
        return self._text(node, value, end, lambda term, text: Matches(term, TextPattern(end=text)))

    def _contains(self, node: Node, value: Node, piece: Node) -> Expression:
        return self._text(
            node, value, piece, lambda term, text: Matches(term, TextPattern(pieces=(text,) if text else ()))
        )

    def _rlike(self, node: Node, value: Node, regex: Node) -> Expression:
        return self._text(node, value, regex, RLike)

    def _like_any(self, node: Node, value: Node, patterns: Sequence[str | None]) -> Expression:
        term = self.operand(value)
        if not isinstance(term, BoundTerm):
            return _unknown(node, term.reason if isinstance(term, Unknown) else "it compares constants")
        connective = And if node["class"] == "LikeAll" else Or
        return connective.of(NULL if text is None else Like(term, text) for text in patterns)

    def _text(
        self, node: Node, value: Node, constant: Node, leaf: Callable[[BoundTerm, str], Expression]
    ) -> Expression:
        """A leaf of a term and a constant text."""
        term, text = self.operand(value), self.operand(constant)
        if isinstance(text, Literal) and text.value is None:
            return NULL
        if not isinstance(term, BoundTerm) or not _is_text(text):
            return _unknown(
                node, term.reason if isinstance(term, Unknown) else "it is no column and a constant text"
            )
        return leaf(term, text.value)

    def _array_contains(self, node: Node, array: Node, value: Node) -> Expression:
        term, literal = self.operand(array), self.operand(value)
        if isinstance(literal, Literal) and literal.value is None:
            return NULL
        if not isinstance(term, BoundTerm) or not isinstance(literal, Literal):
            return _unknown(node, _reason(term, literal) or "it is no array of the row and a constant")
        return HasAny(term, (literal,))

    def _arrays_overlap(self, node: Node, one: Node, other: Node) -> Expression:
        term, array = self.operand(one), self.operand(other)
        if isinstance(term, Literal):
            term, array = array, term
        if isinstance(array, Literal) and array.value is None:
            return NULL
        sql_type = array.type.element if isinstance(array, Literal) else None
        if not isinstance(term, BoundTerm) or not isinstance(array, Literal) or sql_type is None:
            return _unknown(node, _reason(term, array) or "it is no array of the row and a constant")
        literals = dict.fromkeys(Literal(value, sql_type) for value in array.value if value is not None)
        return HasAny(term, tuple(literals), is_overlap=True)

    def _exists(self, node: Node, array: Node, function: Node, _: bool) -> Expression:  # noqa: FBT001 - a parameter of the class
        # What it gives for null elements is a setting, but it is true by either for the same arrays.
        term = self.operand(array)
        element = element_of(term) if isinstance(term, BoundTerm) else None
        if not isinstance(term, BoundTerm) or element is None or function.get("class") != "LambdaFunction":
            return _unknown(node, _reason(term) or "it is no array of which the elements are known")
        body, (variable, *_), *_ = function["args"]
        number = variable["variable"]
        own = replace(element, term=Term(f"element {number}", is_expression=True))
        reader = replace(self, variables={**self.variables, number: own})
        return Exists(term, own.term, reader.condition(body))

    def operand(self, node: Node) -> _Operand:
        """A constant, or a column or indexed expression inside of calls with constants."""
        calls: list[Call] = []
        inner = node
        while True:
            if found := self._find_indexed(inner):
                return bind_calls(found.term, found.type, calls, _text_if(node, calls))
            if "literal" in inner and not calls:
                return literal_of(inner)
            if "column" in inner:
                column = self._column(inner)
                if isinstance(column, Unknown):
                    return column
                return bind_calls(column.term, column.type, calls, _text_if(node, calls))
            if inner.get("variable") in self.variables:
                own = self.variables[inner["variable"]]
                calls += [Call.cast(sql_type) for sql_type in reversed(own.casts)]
                return bind_calls(own.term, own.type, calls, _text_if(node, calls))
            step = self._call(inner)
            if isinstance(step, Unknown):
                return step
            inner, call = step
            calls += [call] if call else []

    def _call(self, node: Node) -> tuple[Node, Call | None] | Unknown:
        found = inner_call(node, self.session.time_zone, constant_of)
        if isinstance(found, str):
            return _unknown(node, found)
        if CALLS.get(node.get("class", "")) and self._reason_against_functions:
            return _unknown(node, self._reason_against_functions)
        return found

    def _find_indexed(self, node: Node) -> BoundTerm | None:
        if node.get("class") not in self._classes:
            return None
        return self.expressions.get(key_of(node))

    def _column(self, node: Node) -> BoundTerm | Unknown:
        parts, sql_type = tuple(node["column"]), parse_type(node["type"])
        own = self.schema.exact(parts)
        if own is None or any("." in part for part in parts):
            return _unknown(node, "the table has no such column")
        if own != sql_type and (_has_values(own) or _has_values(sql_type)):
            return _unknown(node, f"the query sees type {sql_type} in it, the table has {own}")
        return BoundTerm(Term(".".join(parts)), own)


_LEAVES: dict[str, Any] = {
    "In": CatalystReader._in,
    "InSet": CatalystReader._in,
    "IsNaN": CatalystReader._not_a_number,
    "StartsWith": CatalystReader._starts_with,
    "EndsWith": CatalystReader._ends_with,
    "Contains": CatalystReader._contains,
    "Like": CatalystReader._like,
    "LikeAll": CatalystReader._like_any,
    "LikeAny": CatalystReader._like_any,
    "RLike": CatalystReader._rlike,
    "ArrayContains": CatalystReader._array_contains,
    "ArraysOverlap": CatalystReader._arrays_overlap,
    "ArrayExists": CatalystReader._exists,
}


def _reason(*operands: _Operand) -> str | None:
    return next((each.reason for each in operands if isinstance(each, Unknown)), None)


def _text_if(node: Node, calls: list[Call]) -> str:
    return text_of(node) if calls else ""


def _has_values(sql_type: SqlType) -> bool:
    """Whether its values, or those in its arrays, are looked at here."""
    return sql_type.is_ordered or (sql_type.element is not None and _has_values(sql_type.element))


def _is_text(operand: _Operand) -> TypeGuard[Literal]:
    return isinstance(operand, Literal) and operand.type == types.STRING and operand.value is not None


def _unknown(node: Node, reason: str) -> Unknown:
    return Unknown(text_of(node), reason)
