"""Whether values meet a condition, column by column: the order and equality of `predicate.domain` over Arrow.

Numbers, dates and times are compared as the integers they are stored as, so that years which Python has no
date for compare as well; text and binary by bytes; NaN is above everything and equals itself.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.predicate import Bound, Domain, HasElement, Marker, Range
from hudi_index.scan.texts import matches_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.predicate import Constraint

__all__ = ["holds", "meets"]

_TRUE, _FALSE = pa.scalar(value=True), pa.scalar(value=False)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICRO = timedelta(microseconds=1)


def meets(constraint: Constraint, array: Any) -> Any:
    """Which values meet a constraint: one boolean each, never null.

    Raises:
        UnsupportedPredicateError: a value is no valid text, and a pattern is asked.
    """
    condition = constraint.condition
    if isinstance(condition, Domain):
        return holds(condition, array)
    if isinstance(condition, HasElement):
        return _has_element(condition.domain, array)
    return pc.fill_null(matches_pattern(constraint.term.text, array, condition), _FALSE)


def _has_element(domain: Domain, lists: Any) -> Any:
    """Which lists have an element in the domain; a null list has none."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(lists)), lengths)
    # Without what lies under a null list.
    is_in = holds(domain, pc.list_flatten(lists)).to_numpy(zero_copy_only=False)
    found = np.zeros(len(lists), dtype=bool)
    found[rows[is_in]] = True
    return pa.array(found)


def holds(domain: Domain, array: Any) -> Any:
    """Which values are in the domain: one boolean each, never null."""
    if domain.ranges in ((), (Range.all(),)):
        # Null or not is all that is asked, of values that may have no order.
        of_values = pa.repeat(pa.scalar(bool(domain.ranges)), len(array))
    else:
        of_values = _in_ranges(domain.ranges, _comparable(array))
    return pc.if_else(pc.is_null(array), pa.scalar(domain.has_null), of_values)


def _comparable(array: Any) -> Any:
    """The values in a type of the same order that Arrow compares as Spark does."""
    data_type = array.type
    if pa.types.is_integer(data_type):
        return array.cast(pa.int64())
    if pa.types.is_floating(data_type):
        # -0.0 becomes 0.0, which a set of values would tell apart.
        return pc.add(array.cast(pa.float64()), pa.scalar(0.0))
    if pa.types.is_date32(data_type):
        return array.cast(pa.int32()).cast(pa.int64())
    if pa.types.is_timestamp(data_type):
        return array.cast(pa.timestamp("us", tz=data_type.tz)).cast(pa.int64())
    return array


def _as_stored(value: Any) -> Any:
    """A value of a domain as `_comparable` holds it."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return (aware - _EPOCH) // _MICRO
    if isinstance(value, date):
        return value.toordinal() - _EPOCH.toordinal()
    return value


def _in_ranges(ranges: Iterable[Range], array: Any) -> Any:
    points: list[Any] = []
    holes: list[Any] = []
    stretches: list[Range] = []
    for one in ranges:
        if one.is_point:
            points.append(one.low.value)
        elif stretches and _is_hole(stretches[-1].high, one.low):
            # All but some values, such as NOT IN: one look-up for all of them.
            holes.append(one.low.value)
            stretches[-1] = Range(stretches[-1].low, one.high)
        else:
            stretches.append(one)
    parts = [_in_range(one, array) for one in stretches]
    if points:
        parts.append(_among(points, array))
    found = reduce(pc.or_, parts)
    return pc.and_(found, pc.invert(_among(holes, array))) if holes else found


def _is_hole(high: Marker, low: Marker) -> bool:
    is_same = high.value is not None and high.sort_key[:2] == low.sort_key[:2]
    return is_same and high.bound is Bound.BELOW and low.bound is Bound.ABOVE


def _in_range(one: Range, array: Any) -> Any:
    ends = []
    if one.low.value is not None:
        ends.append(_from(one.low, array))
    if one.high.value is not None:
        ends.append(_up_to(one.high, array))
    return reduce(pc.and_, ends) if ends else pa.repeat(_TRUE, len(array))


def _from(low: Marker, array: Any) -> Any:
    is_open = low.bound is Bound.ABOVE
    if _is_nan(low.value):
        return pa.repeat(_FALSE, len(array)) if is_open else pc.is_nan(array)
    found = (pc.greater if is_open else pc.greater_equal)(array, _scalar(low.value, array))
    return pc.or_(found, pc.is_nan(array)) if pa.types.is_floating(array.type) else found


def _up_to(high: Marker, array: Any) -> Any:
    is_open = high.bound is Bound.BELOW
    if _is_nan(high.value):
        return pc.invert(pc.is_nan(array)) if is_open else pa.repeat(_TRUE, len(array))
    return (pc.less if is_open else pc.less_equal)(array, _scalar(high.value, array))


def _among(points: list[Any], array: Any) -> Any:
    plain = [_as_stored(point) for point in points if not _is_nan(point)]
    found = pc.is_in(array, value_set=pa.array(plain, array.type))
    return pc.or_(found, pc.is_nan(array)) if len(plain) < len(points) else found


def _scalar(value: Any, array: Any) -> Any:
    return pa.scalar(_as_stored(value), array.type)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
