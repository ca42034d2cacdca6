"""A pushed filter as a predicate: what Arrow's expression may be true for, in Spark's words.

Arrow filters the rows itself, so here a superset is enough, and nothing may be missing from it. NOT has no
meaning for a superset. So of each part three conditions are kept, each admitting at least the rows for which
the part is true, is false, is null:

    NOT a           a's true and false change places
    a AND b         true: both true         false: either false
    if_else(c,a,b)  true: c true and a true, or c false and b true
    a = 1           true: a = 1     false: a != 1     null: a IS NULL

Arrow's meaning differs from Spark's for NaN (no order, equal to nothing), for zero in `is_in` (-0.0 is
another value) and for nulls in lists. Conditions are such that hold by both. What is not known is Unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.dataset.expressions import ArrowCall, ArrowField, ArrowLiteral, read_expression
from hudi_index.dataset.literals import keeps_values, literal_of, value_type_of
from hudi_index.predicate import BoundTerm, Session, Term, TextPattern, Unknown
from hudi_index.predicate.expression import (
    FALSE,
    TRUE,
    And,
    BooleanTerm,
    Compare,
    Expression,
    In,
    IsNull,
    Like,
    Matches,
    Operator,
    Or,
    StartsWith,
)
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow.compute as pc

    from hudi_index.dataset.expressions import ArrowNode
    from hudi_index.predicate import Schema, SqlType

__all__ = ["ArrowFilter"]

_MOST_VALUES = 10_000
"""Of a list; of a longer one its lowest and highest count."""
_COMPARISONS = {
    "equal": Operator.EQUAL,
    "not_equal": Operator.NOT_EQUAL,
    "less": Operator.LESS,
    "less_equal": Operator.AT_MOST,
    "greater": Operator.GREATER,
    "greater_equal": Operator.AT_LEAST,
}
_EQUALITIES = (Operator.EQUAL, Operator.NOT_EQUAL)


@dataclass(frozen=True)
class Outcomes:
    """The rows for which a part may be true, false, null."""

    true: Expression
    false: Expression
    null: Expression


@dataclass(frozen=True)
class ArrowFilter:
    """The filter of a scan, for the planner."""

    expression: pc.Expression
    schema: pa.Schema
    """The table's, of which timestamps know their unit."""
    is_negated: bool = False
    """Whether it is the rows for which the expression is false or null."""

    @property
    def text(self) -> str:
        """For people."""
        text = " ".join(str(self.expression).split())
        return text if len(text) <= 1_000 else f"{text[:1_000]}…"

    @property
    def session(self) -> Session:
        """An expression brings all of its meaning along."""
        return Session.of_text("UTC")

    def bound(self, schema: Schema, _: Mapping[str, BoundTerm]) -> Expression:
        """What the rows that it means have in common.

        Of indexes over expressions nothing is asked by name: those are Spark's, not Arrow's.
        """
        node = read_expression(self.expression)
        if node is None:
            return Unknown(self.text, "it is an expression that can't be taken apart")
        try:
            found = _Reader(schema, self.schema).outcomes(node)
            return Or.of([found.false, found.null]) if self.is_negated else found.true
        except RecursionError:
            return Unknown(self.text, "it is too deep")


@dataclass(frozen=True)
class _Reader:
    schema: Schema
    arrow: pa.Schema

    def outcomes(self, node: ArrowNode) -> Outcomes:
        """A condition."""
        if isinstance(node, ArrowLiteral):
            return _constant(node.scalar)
        if isinstance(node, ArrowField):
            term = self._term(node)
            if term is None or term.type != types.BOOLEAN:
                return _unknown(node, "it is no column of the table that is a condition")
            return Outcomes(BooleanTerm(term), BooleanTerm(term, is_negated=True), IsNull(term))
        if node.name in _CONNECTIVES:
            return _CONNECTIVES[node.name](list(map(self.outcomes, node.arguments)))
        name, arguments = node.name, node.arguments
        if name in ("is_null", "is_valid", "is_nan"):
            return self._is_null(node)
        if name in _COMPARISONS:
            return self._comparison(node, _COMPARISONS[name], *arguments)
        if name == "is_in":
            return self._is_in(node)
        if name in ("starts_with", "ends_with", "match_substring", "match_like"):
            return self._text(node)
        return _unknown(node, "no index knows this function")

    def _term(self, node: ArrowNode) -> BoundTerm | None:
        """A column of the table, also inside of casts that keep its values."""
        if isinstance(node, ArrowField):
            sql_type = self.schema.exact(node.parts)
            # A path with a point in a name could be another column's.
            if sql_type is None or any("." in part for part in node.parts) or self._is_finer(node):
                return None
            return BoundTerm(Term(".".join(node.parts)), sql_type)
        if isinstance(node, ArrowCall) and node.name == "cast" and node.options is not None:
            term = self._term(node.arguments[0])
            return term if term and keeps_values(term.type, node.options) else None
        return None

    def _is_finer(self, node: ArrowField) -> bool:
        """Whether a timestamp has digits that Spark's has not."""
        found = self._arrow_type(node)
        return isinstance(found, pa.TimestampType) and found.unit == "ns"

    def _arrow_type(self, node: ArrowNode) -> Any:
        """That of a column, or of a cast of one."""
        if isinstance(node, ArrowCall):
            return value_type_of(node.options.type.field("to_type").type)
        parts: Any = getattr(node, "parts", ())
        found: Any = self.arrow.field(parts[0]).type
        for part in parts[1:]:
            found = found.field(part).type
        return found

    def _is_null(self, node: ArrowCall) -> Outcomes:
        (child,) = node.arguments
        term, options = self._term(child), node.options
        if term is None:
            if not isinstance(child, ArrowCall) or node.name == "is_nan" or child.name == "cast":
                return _unknown(node, "it is no column of the table")
            of_child = self.outcomes(child)
            found = Outcomes(of_child.null, Or.of([of_child.true, of_child.false]), FALSE)
            return found if node.name == "is_null" else _not(found)
        is_null, is_valid = IsNull(term), IsNull(term, is_negated=True)
        if node.name == "is_nan":
            return Outcomes(_is_nan(term), is_valid, is_null)
        if node.name == "is_valid":
            return Outcomes(is_valid, is_null, FALSE)
        counts_nan = options is None or options["nan_is_null"].as_py()
        return Outcomes(Or.of([is_null, _is_nan(term)]) if counts_nan else is_null, is_valid, FALSE)

    def _comparison(self, node: ArrowCall, operator: Operator, one: ArrowNode, other: ArrowNode) -> Outcomes:
        if isinstance(one, ArrowLiteral):
            one, other, operator = other, one, operator.mirrored
        term = self._term(one)
        if not isinstance(other, ArrowLiteral) or term is None:
            return _unknown(node, "it is no column of the table and a constant")
        if not other.scalar.is_valid:
            return Outcomes(FALSE, FALSE, TRUE)
        literal = literal_of(other.scalar, term.type)
        if literal is None or (term.type == types.BOOLEAN and operator not in _EQUALITIES):
            return _of_values(
                node, term, f"{other.scalar.type} and {term.type} may compare otherwise in Spark"
            )
        true, false = (Compare(each, term, literal) for each in (operator, operator.negated))
        # NaN is neither below nor above anything, so all orders are false for it.
        unordered = FALSE if operator in _EQUALITIES else _is_nan(term)
        return Outcomes(true, Or.of([false, unordered]), IsNull(term))

    def _is_in(self, node: ArrowCall) -> Outcomes:
        term = self._term(node.arguments[0])
        if term is None or node.options is None:
            return _unknown(node, "it is no column of the table")
        given: Any = node.options["value_set"].values
        is_null = IsNull(term)
        has_null = not all(each.is_valid for each in given)
        literals = [literal_of(each, term.type) for each in given if each.is_valid]
        # Arrow brings the list to the column's type: 0.1 becomes the single that is nearest to it.
        literals += self._brought(given, self._arrow_type(node.arguments[0]), term.type)
        known = tuple(dict.fromkeys(each for each in literals if each is not None))
        listed: Expression = _one_of(term, known)
        if None in literals:
            # Of NaN there is no literal, and what may be rounded could be any value.
            listed = Unknown(str(node.name), "its list has values that Spark may compare otherwise")
        # By the default a null is not in a list without one: false, not null.
        others: Expression = TRUE
        if 0 < len(known) <= _MOST_VALUES and not isinstance(listed, Unknown) and not term.type.is_fractional:
            others = Or.of([In(term, known, is_negated=True), is_null])
        return Outcomes(Or.of([listed, is_null if has_null else FALSE]), others, is_null)

    def _brought(self, given: Any, data_type: Any, sql_type: SqlType) -> list[Literal | None]:
        """The values of a list in another type; what can't be told is None."""
        if given.type == data_type:
            return []
        try:
            values = (given.dictionary_decode() if isinstance(given, pa.DictionaryArray) else given).cast(
                data_type
            )
        except pa.ArrowException:
            return [None]
        return [literal_of(each, sql_type) for each in values if each.is_valid]

    def _text(self, node: ArrowCall) -> Outcomes:
        term, options = self._term(node.arguments[0]), node.options
        if term is None or term.type != types.STRING or options is None:
            return _unknown(node, "it is no text column of the table")
        pattern = options["pattern"].as_py()
        if options["ignore_case"].as_py() or (node.name == "match_like" and "\\" in pattern):
            return _of_values(node, term, "Spark may compare these texts otherwise")
        if node.name == "starts_with":
            true: Expression = StartsWith(term, pattern)
        elif node.name == "match_like":
            true = Like(term, pattern)
        elif node.name == "ends_with":
            true = Matches(term, TextPattern(end=pattern))
        else:
            true = Matches(term, TextPattern(pieces=(pattern,) if pattern else ()))
        return Outcomes(true, IsNull(term, is_negated=True), IsNull(term))


def _constant(scalar: Any) -> Outcomes:
    if not scalar.is_valid:
        return Outcomes(FALSE, FALSE, TRUE)
    if not pa.types.is_boolean(scalar.type):
        # Neither true nor false, and still a value: `coalesce(7, n)` is valid.
        unknown = Unknown(str(scalar.type), "it is a constant that is no condition")
        return Outcomes(unknown, unknown, FALSE)
    return Outcomes(TRUE, FALSE, FALSE) if scalar.as_py() else Outcomes(FALSE, TRUE, FALSE)


def _one_of(term: BoundTerm, literals: tuple[Literal, ...]) -> Expression:
    if len(literals) <= _MOST_VALUES:
        return In(term, literals) if literals else FALSE
    lowest, highest = (choose(literals, key=lambda each: each.value) for choose in (min, max))
    return And.of([Compare(Operator.AT_LEAST, term, lowest), Compare(Operator.AT_MOST, term, highest)])


def _is_nan(term: BoundTerm) -> Expression:
    if not term.type.is_fractional:
        return FALSE
    return Compare(Operator.SAME, term, Literal(float("nan"), term.type))


def _of_values(node: ArrowCall, term: BoundTerm, reason: str) -> Outcomes:
    """A part of which only this is known: it is null for null."""
    unknown = Unknown(node.name, reason)
    known = And.of([IsNull(term, is_negated=True), unknown])
    return Outcomes(known, known, IsNull(term))


def _unknown(node: ArrowNode, reason: str) -> Outcomes:
    text = node.name if isinstance(node, ArrowCall) else str(node)
    unknown = Unknown(text, reason)
    return Outcomes(unknown, unknown, unknown)


def _not(part: Outcomes) -> Outcomes:
    return Outcomes(part.false, part.true, part.null)


def _and(one: Outcomes, other: Outcomes) -> Outcomes:
    null = Or.of([one.null, other.null])
    return Outcomes(And.of([one.true, other.true]), Or.of([one.false, other.false]), null)


def _or(one: Outcomes, other: Outcomes) -> Outcomes:
    return _not(_and(_not(one), _not(other)))


def _if_else(condition: Outcomes, then: Outcomes, otherwise: Outcomes) -> Outcomes:
    def chosen(one: Expression, other: Expression) -> Expression:
        return Or.of([And.of([condition.true, one]), And.of([condition.false, other])])

    return Outcomes(
        chosen(then.true, otherwise.true),
        chosen(then.false, otherwise.false),
        Or.of([condition.null, chosen(then.null, otherwise.null)]),
    )


def _coalesce(one: Outcomes, other: Outcomes) -> Outcomes:
    def chosen(own: Expression, others: Expression) -> Expression:
        return Or.of([own, And.of([one.null, others])])

    return Outcomes(
        chosen(one.true, other.true), chosen(one.false, other.false), And.of([one.null, other.null])
    )


_CONNECTIVES: dict[str, Callable[[list[Outcomes]], Outcomes]] = {
    "and": lambda parts: reduce(_and, parts),
    "and_kleene": lambda parts: reduce(_and, parts),
    "or": lambda parts: reduce(_or, parts),
    "or_kleene": lambda parts: reduce(_or, parts),
    "invert": lambda parts: _not(*parts),
    "if_else": lambda parts: _if_else(*parts),
    "coalesce": lambda parts: reduce(_coalesce, parts),
}
