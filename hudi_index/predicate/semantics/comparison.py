"""Which values of a column meet a comparison that Spark makes in another type.

`int_column = 1.5D` compares doubles. The column's values are what an index knows, so the comparison is turned
into a domain of those. The cast of the column is monotonic: seen in the column's order, the values whose cast
is below, at and above the literal follow each other. Two binary searches over all values of the column's type
find where they meet, whatever the cast rounds away.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hudi_index.predicate.expression import Operator
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal, cast_literal
from hudi_index.predicate.values.domain import Domain, Range, order_of
from hudi_index.predicate.values.numbers import decimal_of, float_at, float_range, single_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hudi_index.predicate.values.times import SessionZone
    from hudi_index.predicate.values.types import SqlType

__all__ = ["Line", "domain_of_comparison", "first_position", "line_of", "rising_cast"]


@dataclass(frozen=True, slots=True)
class Line:
    """All values of a type in their order, by place."""

    lowest: int
    highest: int
    value_at: Callable[[int], Any]
    is_whole: bool = True
    """Whether Spark has no values beyond the ends; it has dates that Python has not."""


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a local time, without zone by its type
_MICRO = timedelta(microseconds=1)
# Years 2 to 9998: no zone's offset leads beyond what a datetime can hold.
_FIRST, _LAST = ((datetime(year, 1, 1) - _EPOCH) // _MICRO for year in (2, 9999))  # noqa: DTZ001 - as above


def line_of(sql_type: SqlType) -> Line | None:
    """All values of a type that Python has too; None for a type whose values have no places."""
    if sql_type.is_integral:
        return Line(-(1 << (sql_type.bits - 1)), (1 << (sql_type.bits - 1)) - 1, lambda position: position)
    if sql_type.is_decimal:
        largest = 10**sql_type.precision - 1
        return Line(-largest, largest, lambda position: decimal_of(position, sql_type.scale))
    if sql_type.is_fractional:
        return Line(*float_range(sql_type.name), lambda position: float_at(sql_type.name, position))
    if sql_type == types.BOOLEAN:
        return Line(0, 1, bool)
    if sql_type == types.DATE:
        return Line(date.min.toordinal(), date.max.toordinal(), date.fromordinal, is_whole=False)
    if sql_type in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
        zone = timezone.utc if sql_type == types.TIMESTAMP else None
        return Line(
            _FIRST, _LAST, lambda position: (_EPOCH + position * _MICRO).replace(tzinfo=zone), is_whole=False
        )
    return None


def _steps(source: SqlType, casts: Sequence[SqlType]) -> list[tuple[SqlType, SqlType]]:
    return [(one, other) for one, other in pairwise((source, *casts)) if one != other]


def rising_cast(source: SqlType, casts: Sequence[SqlType], zone: SessionZone) -> Callable[[Any], Any] | None:
    """Spark's casts of a column, one after the other, if they are never null and never fall as it rises.

    The function gives None for a value of which that isn't certain.
    """
    found = [_rising_step(one, other, zone) for one, other in _steps(source, casts)]
    steps = [step for step in found if step is not None]
    if len(steps) < len(found):
        return None

    def cast(value: Any) -> Any:
        for step in steps:
            value = None if value is None else step(value)
        return value

    return cast


def _rising_step(source: SqlType, target: SqlType, zone: SessionZone) -> Callable[[Any], Any] | None:
    if source.is_numeric or source == types.BOOLEAN:
        return _rising_number(source, target)
    if source == types.DATE and target == types.TIMESTAMP_NTZ:
        return lambda value: datetime.combine(value, time())
    if source == types.DATE and target == types.TIMESTAMP:
        return lambda value: zone.instant_of(datetime.combine(value, time()))
    if not zone.is_fixed:
        # Clocks that are put forward or back make later instants show earlier times, and the other way round.
        return None
    if source == types.TIMESTAMP and target in (types.DATE, types.TIMESTAMP_NTZ):
        return lambda value: _value(cast_literal(Literal(value, source), target, zone))
    if source == types.TIMESTAMP_NTZ and target in (types.DATE, types.TIMESTAMP):
        return lambda value: _value(cast_literal(Literal(value, source), target, zone))
    return None


def _value(literal: Literal | None) -> Any:
    return literal.value if literal else None


def _rising_number(source: SqlType, target: SqlType) -> Callable[[Any], Any] | None:
    if not _holds(source, target):
        return None
    if target == types.DOUBLE:
        return float
    if target == types.FLOAT:
        return lambda value: single_of(Fraction(value)) if value else 0.0
    return lambda value: value


_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def _holds(source: SqlType, target: SqlType) -> bool:
    """Whether the target has a value, perhaps a rounded one, for each value of the source."""
    if target.is_fractional:
        return target == types.DOUBLE or source.is_integral or source == types.BOOLEAN
    if source == types.BOOLEAN:
        return target.is_integral or (target.is_decimal and target.precision > target.scale)
    if source.is_integral and target.is_integral:
        return source.bits <= target.bits
    if target.is_decimal and (source.is_integral or source.is_decimal):
        digits = _DIGITS[source.bits] if source.is_integral else source.precision - source.scale
        return digits <= target.precision - target.scale and source.scale <= target.scale
    return False


def domain_of_comparison(
    source: SqlType, casts: Sequence[SqlType], operator: Operator, value: Any, zone: SessionZone
) -> Domain | None:
    """The values of a type that compare with another value after some casts; None if that is not known.

    The value is of the last cast's type. The operator is none of those that speak of null.
    """
    steps = _steps(source, casts)
    if not steps:
        return _domain(operator, value, value)
    line, cast = line_of(source), rising_cast(source, casts, zone)
    if line is None or cast is None:
        return None
    wanted = order_of(value)
    first_at = _first(line, cast, lambda order: order >= wanted)
    first_above = _first(line, cast, lambda order: order > wanted)
    if first_at is None or first_above is None:
        return None
    if not line.is_whole and not line.lowest < first_at <= first_above <= line.highest:
        return None
    return _between(line, operator, first_at, first_above)


def first_position(low: int, end: int, is_reached: Callable[[int], bool]) -> int:
    """The lowest place from `low` on that is reached, `end` if none is. What is reached stays so."""
    while low < end:
        middle = (low + end) // 2
        if is_reached(middle):
            end = middle
        else:
            low = middle + 1
    return low


class _UncertainError(Exception):
    """A value of which it isn't certain what it is cast to."""


def _first(line: Line, cast: Callable[[Any], Any], is_reached: Callable[[Any], bool]) -> int | None:
    """The lowest place whose cast is reached, one above the highest if there is none; None if not known."""

    def is_position_reached(position: int) -> bool:
        found = cast(line.value_at(position))
        if found is None:
            raise _UncertainError
        return is_reached(order_of(found))

    try:
        return first_position(line.lowest, line.highest + 1, is_position_reached)
    except _UncertainError:
        return None


def _between(line: Line, operator: Operator, first_at: int, first_above: int) -> Domain:
    """The domain, given the places from which on the cast is at least, and more than, the literal."""
    is_at = first_at < first_above
    lowest_at = line.value_at(first_at) if first_at <= line.highest else None
    highest_at = line.value_at(first_above - 1) if first_above > line.lowest else None
    if operator is Operator.EQUAL:
        return _domain(operator, lowest_at, highest_at) if is_at else Domain.none()
    if operator is Operator.NOT_EQUAL and not is_at:
        return Domain.not_null()
    parts = []
    if operator in (Operator.LESS, Operator.NOT_EQUAL):
        parts.append(Range.all() if lowest_at is None else Range.below(lowest_at))
    if operator is Operator.AT_MOST and highest_at is not None:
        parts.append(Range.all() if first_above > line.highest else Range.at_most(highest_at))
    if operator in (Operator.GREATER, Operator.NOT_EQUAL):
        parts.append(Range.all() if highest_at is None else Range.above(highest_at))
    if operator is Operator.AT_LEAST and lowest_at is not None:
        parts.append(Range.all() if first_at == line.lowest else Range.at_least(lowest_at))
    # Beyond the ends of the line there is nothing: `< lowest` and `> highest` would only look like something.
    is_nothing = {
        Operator.LESS: first_at == line.lowest,
        Operator.GREATER: first_above > line.highest,
    }.get(operator, False)
    return Domain.none() if is_nothing else Domain.of(parts)


def _domain(operator: Operator, low: Any, high: Any) -> Domain:
    """The domain of a comparison with the values from low to high, which all compare as equal."""
    if operator is Operator.EQUAL:
        return Domain.of([Range.at_least(low).intersection(Range.at_most(high))])
    if operator is Operator.NOT_EQUAL:
        return Domain.of([Range.below(low), Range.above(high)])
    return Domain.of([_RANGES[operator](low)])


_RANGES: dict[Operator, Callable[[Any], Range]] = {
    Operator.LESS: Range.below,
    Operator.AT_MOST: Range.at_most,
    Operator.GREATER: Range.above,
    Operator.AT_LEAST: Range.at_least,
}
