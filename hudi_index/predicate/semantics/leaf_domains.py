"""Bound leaves to domains: the values of a term for which a leaf is true.

Invariant: a domain holds exactly those values. Where that can't be had, there is none, and a reason instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hudi_index.predicate.expression import (
    BooleanTerm,
    BoundTerm,
    Compare,
    Exists,
    HasAny,
    In,
    IsNull,
    Like,
    Operand,
    Operator,
)
from hudi_index.predicate.semantics.comparison import domain_of_comparison, rising_cast
from hudi_index.predicate.semantics.text_patterns import TextLeaf, like_signs, text_pattern_of
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal, cast_literal
from hudi_index.predicate.values.coercion import comparison_type, list_type
from hudi_index.predicate.values.condition import Term
from hudi_index.predicate.values.domain import Bound, Domain, Marker, Range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.predicate.values.times import SessionZone
    from hudi_index.predicate.values.types import SqlType

__all__ = ["ArrayLeaf", "Leaf", "all_but", "as_bound_term", "domain_of", "element_of", "prefix_range"]

ArrayLeaf: TypeAlias = HasAny | Exists
Leaf: TypeAlias = Compare | In | IsNull | BooleanTerm | TextLeaf | ArrayLeaf

_EQUALITIES = (Operator.EQUAL, Operator.NOT_EQUAL, Operator.SAME, Operator.DISTINCT)
_TIMES = (types.DATE, types.TIMESTAMP, types.TIMESTAMP_NTZ)
_NULL_SAFE = {Operator.SAME: Operator.EQUAL, Operator.DISTINCT: Operator.NOT_EQUAL}


def domain_of(leaf: Leaf, zone: SessionZone) -> Domain | None:
    """The values for which a bound leaf is true; None if they can't be told exactly."""
    term = as_bound_term(leaf.term)
    if isinstance(leaf, IsNull):
        return _nulls(term.type, term.casts, zone, is_negated=leaf.is_negated)
    if not _type_of(term).is_ordered:
        return None
    if isinstance(leaf, Compare):
        return _compare(term, leaf.operator, leaf.literal, zone)
    if isinstance(leaf, In):
        return _in_list(term, leaf, zone)
    if isinstance(leaf, BooleanTerm):
        is_boolean = term.type == types.BOOLEAN and not term.casts
        return Domain.points([not leaf.is_negated]) if is_boolean else None
    if term.type != types.STRING or term.casts or isinstance(leaf, (HasAny, Exists)):
        return None
    return _texts(leaf)


def as_bound_term(operand: Operand) -> BoundTerm:
    """The operand of a bound leaf."""
    if not isinstance(operand, BoundTerm):
        raise TypeError(f"{operand.text} is not bound yet")
    return operand


_ELEMENT = Term("element", is_expression=True)


def element_of(array: BoundTerm) -> BoundTerm | None:
    """An element of an array, cast as the array is; None if it is no array, or inside of other calls."""
    sql_types = [call.cast_to.element if call.cast_to else None for call in array.calls]
    casts = tuple(sql_type for sql_type in sql_types if sql_type is not None)
    if array.type.element is None or array.casts or len(casts) < len(sql_types):
        return None
    return BoundTerm(_ELEMENT, array.type.element, casts)


def _type_of(term: BoundTerm) -> SqlType:
    """The type in which the query sees the term."""
    return term.casts[-1] if term.casts else term.type


def _nulls(
    source: SqlType, casts: Sequence[SqlType], zone: SessionZone, *, is_negated: bool
) -> Domain | None:
    # A cast that can fail makes null of values.
    if rising_cast(source, casts, zone) is None:
        return None
    if any(sql_type != source and sql_type in _TIMES for sql_type in casts):
        return None
    return Domain.not_null() if is_negated else Domain.null()


def _compare(term: BoundTerm, operator: Operator, literal: Literal, zone: SessionZone) -> Domain | None:
    target = comparison_type(_type_of(term), literal, is_equality=operator in _EQUALITIES)
    value = cast_literal(literal, target, zone) if target else None
    if target is None or value is None:
        return None
    if value.value is None:
        if operator not in _NULL_SAFE:
            return Domain.none()
        casts = (*term.casts, target)
        return _nulls(term.type, casts, zone, is_negated=operator is Operator.DISTINCT)
    if _is_decided(_type_of(term), operator, literal):
        return Domain.all() if _is_below(operator) == (literal.value > 0) else Domain.none()
    plain = _NULL_SAFE.get(operator, operator)
    domain = domain_of_comparison(term.type, (*term.casts, target), plain, value.value, zone)
    if domain is None or operator is not Operator.DISTINCT:
        return domain
    return domain.union(Domain.null())


def _is_decided(sql_type: SqlType, operator: Operator, literal: Literal) -> bool:
    """Whether Spark makes TRUE or FALSE of a comparison, for null too.

    It does so for whole numbers against a decimal literal that no bigint reaches.
    """
    is_beyond = sql_type.is_integral and literal.type.is_decimal and not -(1 << 63) <= literal.value < 1 << 63
    return is_beyond and operator not in _EQUALITIES


def _is_below(operator: Operator) -> bool:
    return operator in (Operator.LESS, Operator.AT_MOST)


def _in_list(term: BoundTerm, leaf: In, zone: SessionZone) -> Domain | None:
    target = list_type(_type_of(term), leaf.literals)
    if target is None:
        return None
    cast = [cast_literal(literal, target, zone) for literal in leaf.literals]
    values = [each for each in cast if each is not None]
    if len(values) < len(cast):
        return None
    has_null = any(each.value is None for each in values)
    if has_null and leaf.is_negated:
        # NOT IN with a null is false or null for every row.
        return Domain.none()
    domain = _any_of(term, target, [each for each in values if each.value is not None], zone)
    if domain is None or not leaf.is_negated:
        return domain
    return all_but(domain.union(Domain.null()))


def _any_of(term: BoundTerm, target: SqlType, values: list[Literal], zone: SessionZone) -> Domain | None:
    if target == types.STRING and term.type != types.STRING:
        return _texts_of(term, values, zone)
    casts = (*term.casts, target)
    parts = [domain_of_comparison(term.type, casts, Operator.EQUAL, each.value, zone) for each in values]
    ranges = [one for part in parts if part is not None for one in part.ranges]
    return Domain.of(ranges) if all(part is not None for part in parts) else None


def _texts_of(term: BoundTerm, texts: list[Literal], zone: SessionZone) -> Domain | None:
    """The values that print as one of the texts: IN compares texts as soon as one is in its list."""
    sql_type = term.type
    is_zoned = sql_type == types.TIMESTAMP and not zone.is_fixed
    prints_plainly = sql_type.is_integral or (sql_type.is_decimal and sql_type.scale <= 6)
    prints_time = sql_type in _TIMES and not is_zoned
    if term.casts or not (prints_plainly or prints_time):
        return None
    points = []
    for text in texts:
        # Years beyond 9999 print with a sign.
        if prints_time and text.value[:1] in ("+", "-"):
            return None
        # What does not read back as the same text is not what any value prints as.
        value = cast_literal(text, sql_type, zone)
        if value and value.value is not None and cast_literal(value, types.STRING, zone) == text:
            points.append(value.value)
    return Domain.points(points)


def _texts(leaf: TextLeaf) -> Domain | None:
    """The texts that are one text, or that begin with one; of other patterns there is no domain."""
    if isinstance(leaf, Like):
        signs = like_signs(leaf.pattern, leaf.escape)
        if signs is not None and not any(is_wildcard for _, is_wildcard in signs):
            return _in_range(Range.equal("".join(sign for sign, _ in signs)), is_negated=leaf.is_negated)
    found = text_pattern_of(leaf)
    if found is None:
        return None
    pattern, is_exact = found
    if not is_exact or any(pattern.pieces) or pattern.end:
        return None
    return _in_range(prefix_range(pattern.start), is_negated=leaf.is_negated)


def prefix_range(prefix: str) -> Range:
    """All texts that begin with the prefix."""
    low = Marker(prefix, Bound.EXACTLY) if prefix else Marker.lowest()
    last = prefix.rstrip("\U0010ffff")
    if not last:
        return Range(low, Marker.highest())
    code = ord(last[-1]) + 1
    # There are no characters between 0xD800 and 0xDFFF.
    following = chr(0xE000 if 0xD800 <= code <= 0xDFFF else code)
    return Range(low, Marker(last[:-1] + following, Bound.BELOW))


def _in_range(wanted: Range, *, is_negated: bool) -> Domain:
    domain = Domain.of([wanted])
    return all_but(domain.union(Domain.null())) if is_negated else domain


def all_but(domain: Domain) -> Domain:
    """All that is not in a domain, null too if it is not. Only for conditions that are never null."""
    ranges: list[Range] = []
    low = Marker.lowest()
    for one in domain.ranges:
        if one.low.value is not None:
            is_open = one.low.bound is Bound.ABOVE
            ranges.append(Range(low, Marker(one.low.value, Bound.EXACTLY if is_open else Bound.BELOW)))
        if one.high.value is None:
            return Domain.of(ranges, has_null=not domain.has_null)
        is_open = one.high.bound is Bound.BELOW
        low = Marker(one.high.value, Bound.EXACTLY if is_open else Bound.ABOVE)
    return Domain.of([*ranges, Range(low, Marker.highest())], has_null=not domain.has_null)
