"""Catalyst's trees to bound expressions. No text is read on this way.

The trees are those that `CatalystTree.java` describes: classes, every parameter, values by their type. A
class that is not known here, a parameter that gives a function another meaning, a column that the table has
under another type: Unknown, which refutes nothing. An index over an expression is recognized by the whole
tree of its expression.
"""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

from hudi_index.predicate.binding import bound_calls
from hudi_index.predicate.catalyst.calls import CALLS, inner_call
from hudi_index.predicate.catalyst.meaning import key_of
from hudi_index.predicate.expression import (
    NULL,
    And,
    BooleanTerm,
    BoundTerm,
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
    Or,
    RLike,
    StartsWith,
    Unknown,
)
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal
from hudi_index.predicate.values.condition import Term, TextPattern
from hudi_index.predicate.values.numbers import decimal_of
from hudi_index.predicate.values.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hudi_index.predicate.catalyst.meaning import Node
    from hudi_index.predicate.expression import Call
    from hudi_index.predicate.session import Session
    from hudi_index.predicate.values.types import Schema, SqlType

__all__ = ["CatalystReader", "Filters", "text_of"]

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
_SHOWN = 200


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
        if found := self._indexed(node):
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
        kind = parse_type(child["type"])
        return Compare(Operator.SAME, term, Literal(float("nan"), kind))

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

    def operand(self, node: Node) -> _Operand:
        """A constant, or a column or indexed expression inside of calls with constants."""
        calls: list[Call] = []
        inner = node
        while True:
            if found := self._indexed(inner):
                return bound_calls(found.term, found.type, calls, _text_if(node, calls))
            if "literal" in inner and not calls:
                return _literal(inner)
            if "column" in inner:
                column = self._column(inner)
                if isinstance(column, Unknown):
                    return column
                return bound_calls(column.term, column.type, calls, _text_if(node, calls))
            step = self._call(inner)
            if isinstance(step, Unknown):
                return step
            inner, call = step
            calls += [call] if call else []

    def _call(self, node: Node) -> tuple[Node, Call | None] | Unknown:
        found = inner_call(node, self.session.time_zone, _constant)
        if isinstance(found, str):
            return _unknown(node, found)
        if CALLS.get(node.get("class", "")) and self._reason_against_functions:
            return _unknown(node, self._reason_against_functions)
        return found

    def _indexed(self, node: Node) -> BoundTerm | None:
        if node.get("class") not in self._classes:
            return None
        return self.expressions.get(key_of(node))

    def _column(self, node: Node) -> BoundTerm | Unknown:
        parts, kind = tuple(node["column"]), parse_type(node["type"])
        own = self.schema.exact(parts)
        if own is None or any("." in part for part in parts):
            return _unknown(node, "the table has no such column")
        if own != kind and (own.is_ordered or kind.is_ordered):
            return _unknown(node, f"the query sees type {kind} in it, the table has {own}")
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
}


def _text_if(node: Node, calls: list[Call]) -> str:
    return text_of(node) if calls else ""


def _is_text(operand: _Operand) -> TypeGuard[Literal]:
    return isinstance(operand, Literal) and operand.type == types.STRING and operand.value is not None


def _unknown(node: Node, reason: str) -> Unknown:
    return Unknown(text_of(node), reason)


def _constant(node: Any) -> Literal | None:
    """The constant that a parameter is, None if it is none."""
    if not isinstance(node, dict) or "literal" not in node:
        return None
    found = _literal(node)
    return found if isinstance(found, Literal) and found.value is not None else None


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def _literal(node: Node) -> Literal | Unknown:
    kind, value = parse_type(node["type"]), node["literal"]
    if value is None:
        return Literal(None, kind)
    try:
        return Literal(_value(value, kind), kind)
    except (OverflowError, ValueError):
        return Unknown(f"{value} of type {kind}", "such a value is not known here")


def _value(value: Any, kind: SqlType) -> Any:
    if kind.is_integral or kind in (types.BOOLEAN, types.STRING):
        return value
    if kind.is_decimal:
        return decimal_of(int(value), kind.scale)
    if kind == types.FLOAT:
        return struct.unpack(">f", struct.pack(">i", value))[0]
    if kind == types.DOUBLE:
        return struct.unpack(">d", struct.pack(">q", value))[0]
    if kind == types.BINARY:
        return base64.b64decode(value)
    if kind == types.DATE:
        return _EPOCH.date() + timedelta(days=value)
    if kind in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
        found = _EPOCH + timedelta(microseconds=value)
        return found if kind == types.TIMESTAMP else found.replace(tzinfo=None)
    raise ValueError(f"values of type {kind} have no order here")


def text_of(node: Any) -> str:
    """A tree for people to read, cut where it is long."""
    text = _text(node, 8)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _text(node: Any, depth: int) -> str:
    if isinstance(node, list):
        return f"[{', '.join(_text(each, depth - 1) for each in node[:10])}{', …' if len(node) > 10 else ''}]"
    if not isinstance(node, dict):
        return str(node)
    if "column" in node:
        return ".".join(node["column"])
    if "literal" in node:
        found = _literal(node)
        value = found.value if isinstance(found, Literal) else node["literal"]
        return str(value) if isinstance(value, (date, datetime)) else repr(value)
    if "class" not in node:
        return str(next(iter(node.values()), ""))
    if not depth:
        return "…"
    return f"{node['class']}({', '.join(_text(each, depth - 1) for each in node['args'][:10])})"
