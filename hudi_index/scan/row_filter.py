"""Which rows a predicate is true for, exactly as Spark would say, over Arrow columns.

    bound expression  --row_filter_of-->  RowFilter  --mask-->  one boolean per row, never null

The constraint tree is exact wherever no Unknown is in it: its domains hold just the values for which the
predicate is true, nulls and NaN included, so a row passes if its values are in them. What the tree can't say
but a row can (LIKE with any pattern, a comparison of two columns) is evaluated here. Everything else is
refused with its text: a filter that is only almost right would be a lie.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.errors import UnsupportedPredicateError
from hudi_index.predicate import AllOf, Always, AnyOf, Constraint, Never, Term, tree_of
from hudi_index.predicate.expression import (
    And,
    BoundTerm,
    CompareTerms,
    Expression,
    IsTrue,
    Like,
    Operator,
    Or,
    Unknown,
)
from hudi_index.predicate.normalize import without_negations
from hudi_index.predicate.values.types import STRING
from hudi_index.scan.membership import holds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hudi_index.predicate import SqlType, Tree

__all__ = ["RowFilter", "row_filter_of"]

_FALSE = pa.scalar(value=False)

Mask: TypeAlias = Any
"""A boolean array; the stubs lose its type at every step."""
Values: TypeAlias = "Callable[[str], Any]"
"""The values of a column or nested field, by its path."""


@dataclass(frozen=True)
class _Domains:
    """A part of the predicate that the constraint tree says exactly."""

    tree: Tree

    def mask(self, values: Values, rows: int) -> Mask:
        return _tree_mask(self.tree, values, rows)

    def columns(self) -> Iterator[str]:
        yield from (term.text for term in _terms_of(self.tree))


@dataclass(frozen=True)
class _Matches:
    """`column LIKE pattern`, as a regular expression."""

    column: str
    pattern: str
    is_negated: bool

    def mask(self, values: Values, rows: int) -> Mask:  # noqa: ARG002 - as the others
        texts = values(self.column)
        # The expression reads characters: what is no text has none that both sides agree on.
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid as error:
            told = (f"{self.column} LIKE …", f"a value of the column is no valid text: {error}")
            raise UnsupportedPredicateError(parts=[told]) from error
        found = pc.match_substring_regex(texts, self.pattern)
        return pc.fill_null(pc.invert(found) if self.is_negated else found, _FALSE)

    def columns(self) -> Iterator[str]:
        yield self.column


@dataclass(frozen=True)
class _Compares:
    """`column operator other column`, both of one order."""

    operator: Operator
    column: str
    other: str

    def mask(self, values: Values, rows: int) -> Mask:  # noqa: ARG002 - as the others
        one, other = values(self.column), values(self.other)
        if pa.types.is_floating(one.type) or pa.types.is_integer(one.type):
            wide = pa.float64() if pa.types.is_floating(one.type) else pa.int64()
            one, other = one.cast(wide), other.cast(wide)
        is_equal, is_less = _equal(one, other), _less(one, other)
        if self.operator in (Operator.SAME, Operator.DISTINCT):
            both_null = pc.and_(pc.is_null(one), pc.is_null(other))
            is_same = pc.or_(pc.fill_null(is_equal, _FALSE), both_null)
            return is_same if self.operator is Operator.SAME else pc.invert(is_same)
        is_at_most = pc.or_(is_less, is_equal)
        found = {
            Operator.EQUAL: is_equal,
            Operator.NOT_EQUAL: pc.invert(is_equal),
            Operator.LESS: is_less,
            Operator.AT_MOST: is_at_most,
            Operator.GREATER: pc.invert(is_at_most),
            Operator.AT_LEAST: pc.invert(is_less),
        }[self.operator]
        return pc.fill_null(found, _FALSE)

    def columns(self) -> Iterator[str]:
        yield from (self.column, self.other)


@dataclass(frozen=True)
class _Junction:
    """All of some parts, or any of them."""

    is_all: bool
    parts: tuple[_Part, ...]

    def mask(self, values: Values, rows: int) -> Mask:
        joined = pc.and_ if self.is_all else pc.or_
        return reduce(joined, (part.mask(values, rows) for part in self.parts))

    def columns(self) -> Iterator[str]:
        for part in self.parts:
            yield from part.columns()


@dataclass(frozen=True)
class _NotTrue:
    """The part is false or null."""

    part: _Part

    def mask(self, values: Values, rows: int) -> Mask:
        return pc.invert(self.part.mask(values, rows))

    def columns(self) -> Iterator[str]:
        return self.part.columns()


_Part: TypeAlias = "_Domains | _Matches | _Compares | _Junction | _NotTrue"


@dataclass(frozen=True)
class RowFilter:
    """The rows for which a predicate is true."""

    part: _Part

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns and nested fields that it reads, each once."""
        return tuple(dict.fromkeys(self.part.columns()))

    @property
    def is_everything(self) -> bool:
        """Whether every row passes."""
        return self.part == _Domains(Always())

    def mask(self, values: Values, rows: int) -> Mask:
        """Which rows pass: one boolean each, never null.

        Args:
            values: Gives the values of a column, one per row.
            rows: How many there are.
        """
        return self.part.mask(values, rows)


def row_filter_of(expression: Expression, *, time_zone: str) -> RowFilter:
    """The rows for which a bound expression is true.

    Raises:
        UnsupportedPredicateError: a part of it can't be evaluated exactly as Spark would.
    """
    refused: list[Unknown] = []
    part = _part_of(without_negations(expression), time_zone, refused)
    if refused:
        raise UnsupportedPredicateError(parts=[(each.text, each.reason) for each in dict.fromkeys(refused)])
    return RowFilter(part)


def _part_of(expression: Expression, zone: str, refused: list[Unknown]) -> _Part:
    tree = tree_of(expression, time_zone=zone)
    unknown = list(_unknown_of(tree))
    if not unknown:
        return _Domains(tree)
    if isinstance(expression, (And, Or)):
        parts = tuple(_part_of(child, zone, refused) for child in expression.children)
        return _Junction(isinstance(expression, And), parts)
    if isinstance(expression, IsTrue):
        # Only its negation is left by now, above a leaf.
        return _NotTrue(_part_of(expression.child, zone, refused))
    found = _evaluated(expression)
    if found is None:
        refused += unknown
        return _Domains(Never())
    return found


def _evaluated(leaf: Expression) -> _Part | None:
    """What a row can tell of a leaf that no domain says; None if that is not certain."""
    if isinstance(leaf, Like):
        term = _column_of(leaf.term)
        pattern = _regex_of(leaf.pattern, leaf.escape)
        if term is not None and term.type == STRING and pattern is not None:
            return _Matches(term.term.text, pattern, leaf.is_negated)
    if isinstance(leaf, CompareTerms):
        one, other = _column_of(leaf.term), _column_of(leaf.other)
        if one is not None and other is not None and _is_one_order(one.type, other.type):
            return _Compares(leaf.operator, one.term.text, other.term.text)
    return None


def _column_of(operand: object) -> BoundTerm | None:
    if not isinstance(operand, BoundTerm):
        return None
    return None if operand.casts or operand.calls or operand.term.is_expression else operand


def _is_one_order(one: SqlType, other: SqlType) -> bool:
    """Whether Spark compares values of the types as they are, or after a cast that loses nothing."""
    if one == other:
        return one.is_ordered
    return (one.is_integral and other.is_integral) or (one.is_fractional and other.is_fractional)


def _unknown_of(tree: Tree) -> Iterator[Unknown]:
    """What a tree leaves open: its unknown parts, and constraints on values that no row holds."""
    if isinstance(tree, Unknown):
        yield tree
    elif isinstance(tree, (AllOf, AnyOf)):
        for child in tree.children:
            yield from _unknown_of(child)
    elif isinstance(tree, Constraint) and tree.term.is_expression:
        yield Unknown(tree.term.text, "only Spark evaluates expressions")


def _terms_of(tree: Tree) -> Iterator[Term]:
    if isinstance(tree, Constraint):
        yield tree.term
    elif isinstance(tree, (AllOf, AnyOf)):
        for child in tree.children:
            yield from _terms_of(child)


def _tree_mask(tree: Tree, values: Values, rows: int) -> Mask:
    if isinstance(tree, Constraint):
        if tree.domain is None:
            raise TypeError("patterns are leaves of their own")
        return holds(tree.domain, values(tree.term.text))
    if isinstance(tree, (AllOf, AnyOf)):
        joined = pc.and_ if isinstance(tree, AllOf) else pc.or_
        return reduce(joined, (_tree_mask(child, values, rows) for child in tree.children))
    return pa.repeat(pa.scalar(isinstance(tree, Always)), rows)


def _equal(one: Mask, other: Mask) -> Mask:
    found = pc.equal(one, other)
    # Spark's NaN equals itself.
    return pc.or_(found, pc.and_(pc.is_nan(one), pc.is_nan(other))) if _is_float(one) else found


def _less(one: Mask, other: Mask) -> Mask:
    found = pc.less(one, other)
    # Spark's NaN is above everything else.
    return pc.or_(found, pc.and_(pc.invert(pc.is_nan(one)), pc.is_nan(other))) if _is_float(one) else found


def _is_float(array: Mask) -> bool:
    return bool(pa.types.is_floating(array.type))


def _regex_of(pattern: str, escape: str) -> str | None:
    """A LIKE pattern as a regular expression for RE2; None for a pattern that Spark refuses."""
    made, signs = [], iter(pattern)
    for sign in signs:
        if sign == escape:
            following = next(signs, None)
            if following is None or following not in ("%", "_", escape):
                return None
            made.append(_literal(following))
        else:
            made.append({"%": ".*", "_": "."}.get(sign) or _literal(sign))
    return rf"(?s)\A{''.join(made)}\z"


def _literal(sign: str) -> str:
    return sign if re.fullmatch(r"\w", sign, re.ASCII) else rf"\x{{{ord(sign):x}}}"
