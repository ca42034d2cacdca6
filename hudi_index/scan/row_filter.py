"""Which rows a predicate is true for, exactly as Spark would say, over Arrow columns.

    bound expression  --row_filter_of-->  RowFilter  --mask-->  one boolean per row, never null

The constraint tree is exact wherever no Unknown is in it: its domains hold just the values for which the
predicate is true, nulls and NaN included, and its patterns are met by just those texts and arrays. What the
tree can't say but a row can (NOT LIKE, `_` in a pattern, a regular expression that RE2 reads as Java does, a
comparison of two columns) is evaluated here. Everything else is refused with its text: a filter that is only
almost right would be a lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.errors import UnsupportedPredicateError
from hudi_index.predicate import Always, Constraint, Never, all_of, any_of, fold, leaves_of, tree_of
from hudi_index.predicate.expression import (
    And,
    BoundTerm,
    CompareTerms,
    Expression,
    IsTrue,
    Like,
    Matches,
    Operator,
    Or,
    RLike,
    Unknown,
)
from hudi_index.predicate.normalize import without_negations
from hudi_index.predicate.semantics.regex_literals import re2_of
from hudi_index.predicate.values.types import STRING
from hudi_index.scan.membership import meets
from hudi_index.scan.texts import is_valid_regex, matches_regex, regex_of_like, regex_of_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hudi_index.predicate import SqlType, Tree
    from hudi_index.predicate.tree import Leaf
    from hudi_index.predicate.values.times import SessionZone

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
        yield from (leaf.term.text for leaf in leaves_of(self.tree) if isinstance(leaf, Constraint))


@dataclass(frozen=True)
class _Matches:
    """`column [NOT] RLIKE regex`, in RE2's words."""

    column: str
    regex: str
    is_negated: bool

    def mask(self, values: Values, rows: int) -> Mask:  # noqa: ARG002 - as the others
        found = matches_regex(self.column, values(self.column), self.regex)
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


@dataclass(frozen=True)
class _Refused:
    """What can't be evaluated."""

    parts: tuple[Unknown, ...]


def row_filter_of(expression: Expression, *, time_zone: str | SessionZone) -> RowFilter:
    """The rows for which a bound expression is true.

    Raises:
        UnsupportedPredicateError: a part of it can't be evaluated exactly as Spark would.
    """
    found = _part_of(without_negations(expression), time_zone)
    if isinstance(found, _Refused):
        parts = dict.fromkeys((each.text, each.reason) for each in found.parts)
        raise UnsupportedPredicateError(parts=list(parts))
    return RowFilter(found)


def _part_of(expression: Expression, zone: str | SessionZone) -> _Part | _Refused:
    if isinstance(expression, (And, Or)):
        parts = [_part_of(child, zone) for child in expression.children]
        return _join(parts, is_all=isinstance(expression, And))
    tree = tree_of(expression, time_zone=zone)
    unknown = tuple(_unknown_of(tree))
    if not unknown:
        return _Domains(tree)
    if isinstance(expression, IsTrue):
        # Only its negation is left by now, above a leaf.
        child = _part_of(expression.child, zone)
        return child if isinstance(child, _Refused) else _NotTrue(child)
    return _evaluate(expression) or _Refused(unknown)


def _join(parts: list[_Part | _Refused], *, is_all: bool) -> _Part | _Refused:
    """All of the parts, or any: their trees as one, beside what is evaluated in other ways."""
    tree = (all_of if is_all else any_of)(part.tree for part in parts if isinstance(part, _Domains))
    if isinstance(tree, Never if is_all else Always):
        # Whatever the others come to.
        return _Domains(tree)
    if refused := [part for part in parts if isinstance(part, _Refused)]:
        return _Refused(tuple(each for part in refused for each in part.parts))
    kept: list[_Part] = [] if isinstance(tree, (Never, Always)) else [_Domains(tree)]
    kept += [part for part in parts if not isinstance(part, (_Domains, _Refused))]
    if not kept:
        return _Domains(tree)
    return kept[0] if len(kept) == 1 else _Junction(is_all, tuple(kept))


def _evaluate(leaf: Expression) -> _Part | None:
    """What a row can tell of a leaf that no domain says; None if that is not certain."""
    if isinstance(leaf, (Like, Matches, RLike)):
        term = _column_of(leaf.term)
        regex = _regex_of(leaf)
        if term is not None and term.type == STRING and regex is not None and is_valid_regex(regex):
            return _Matches(term.term.text, regex, leaf.is_negated)
    if isinstance(leaf, CompareTerms):
        one, other = _column_of(leaf.term), _column_of(leaf.other)
        if one is not None and other is not None and _is_one_order(one.type, other.type):
            return _Compares(leaf.operator, one.term.text, other.term.text)
    return None


def _regex_of(leaf: Like | Matches | RLike) -> str | None:
    if isinstance(leaf, Like):
        return regex_of_like(leaf.pattern, leaf.escape)
    return regex_of_pattern(leaf.pattern) if isinstance(leaf, Matches) else re2_of(leaf.regex)


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
    for leaf in leaves_of(tree):
        if isinstance(leaf, Unknown):
            yield leaf
        elif isinstance(leaf, Constraint) and leaf.term.is_expression:
            yield Unknown(leaf.term.text, "only Spark evaluates expressions")


def _tree_mask(tree: Tree, values: Values, rows: int) -> Mask:
    def mask_of(leaf: Leaf) -> Mask:
        if isinstance(leaf, Constraint):
            return meets(leaf, values(leaf.term.text))
        return pa.repeat(pa.scalar(isinstance(leaf, Always)), rows)

    return fold(
        tree, mask_of, lambda _, parts: reduce(pc.and_, parts), lambda _, parts: reduce(pc.or_, parts)
    )


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
