"""Which values a predicate lets through: RFC-58's markers, ranges and domains.

A domain is a set of values of one column or expression: ranges that neither overlap nor touch, in order, and
whether null belongs to it. A predicate's domain holds exactly the values for which the predicate is true.
There is no complement of a domain: `NOT a = 1` and `NOT a IS NOT NULL` would need different ones, so NOT is
applied to operators first.

Order and equality are Spark's: text by code points (the same as by UTF-8 bytes), -0.0 equals 0.0, NaN equals
itself and is above infinity, false is below true. Values of one domain have one type.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Bound", "ColumnDomain", "Domain", "Marker", "Range", "common_prefix", "order_of"]

Value = Any
"""A Python value of a Spark type: int, float, str, bytes, bool, Decimal, date, datetime."""


class Bound(IntEnum):
    """Where a marker stands: just below its value, on it, or just above."""

    BELOW = -1
    EXACTLY = 0
    ABOVE = 1


@dataclass(frozen=True, slots=True)
class Marker:
    """A place on the line of values. Without a value: before all of them (ABOVE) or after all (BELOW)."""

    value: Value | None
    bound: Bound

    def __post_init__(self) -> None:
        # Values that Spark calls equal make equal markers; Python's NaN would equal nothing.
        if isinstance(self.value, float):
            object.__setattr__(self, "value", math.nan if math.isnan(self.value) else self.value + 0.0)

    @classmethod
    def lowest(cls) -> Marker:
        """Before every value."""
        return cls(None, Bound.ABOVE)

    @classmethod
    def highest(cls) -> Marker:
        """After every value."""
        return cls(None, Bound.BELOW)

    @property
    def sort_key(self) -> tuple[int, Any, int]:
        """Sorts markers along the line."""
        if self.value is None:
            return (-int(self.bound), 0, 0)
        return (0, order_of(self.value), int(self.bound))

    def __lt__(self, other: Marker) -> bool:
        return self.sort_key < other.sort_key

    def __le__(self, other: Marker) -> bool:
        return self.sort_key <= other.sort_key


def order_of(value: Value) -> tuple[int, Any]:
    """What values compare by. NaN has no order of its own in Python: it goes above everything."""
    if isinstance(value, float) and math.isnan(value):
        return (1, 0)
    return (0, value)


@dataclass(frozen=True, slots=True)
class Range:
    """The values from one marker to another."""

    low: Marker
    high: Marker

    @classmethod
    def all(cls) -> Range:
        """Every value."""
        return cls(Marker.lowest(), Marker.highest())

    @classmethod
    def equal(cls, value: Value) -> Range:
        """One value."""
        return cls(Marker(value, Bound.EXACTLY), Marker(value, Bound.EXACTLY))

    @classmethod
    def above(cls, value: Value) -> Range:
        """`> value`."""
        return cls(Marker(value, Bound.ABOVE), Marker.highest())

    @classmethod
    def at_least(cls, value: Value) -> Range:
        """`>= value`."""
        return cls(Marker(value, Bound.EXACTLY), Marker.highest())

    @classmethod
    def below(cls, value: Value) -> Range:
        """`< value`."""
        return cls(Marker.lowest(), Marker(value, Bound.BELOW))

    @classmethod
    def at_most(cls, value: Value) -> Range:
        """`<= value`."""
        return cls(Marker.lowest(), Marker(value, Bound.EXACTLY))

    @property
    def is_empty(self) -> bool:
        """Whether no value can be in it. A gap between neighbours (2 < x < 3 on integers) is not seen."""
        low, high = self.low, self.high
        return high < low or (low.sort_key == high.sort_key and low.bound is not Bound.EXACTLY)

    @property
    def is_point(self) -> bool:
        """Whether it holds exactly one value."""
        return self.low.sort_key == self.high.sort_key and self.low.bound is Bound.EXACTLY

    def overlaps(self, other: Range) -> bool:
        """Whether a value may be in both."""
        return not self.intersection(other).is_empty

    def intersection(self, other: Range) -> Range:
        """The values in both; may be empty."""
        low = self.low if other.low < self.low else other.low
        high = self.high if self.high < other.high else other.high
        return Range(low, high)

    def contains(self, value: Value) -> bool:
        """Whether the value is in it."""
        marker = Marker(value, Bound.EXACTLY)
        return self.low <= marker <= self.high


@dataclass(frozen=True, slots=True)
class Domain:
    """A set of values: disjoint ranges in order, and perhaps null."""

    ranges: tuple[Range, ...] = ()
    has_null: bool = False

    @classmethod
    def of(cls, ranges: Iterable[Range] = (), *, has_null: bool = False) -> Domain:
        """The domain of these ranges, which may overlap and come in any order."""
        merged: list[Range] = []
        for one in sorted((each for each in ranges if not each.is_empty), key=lambda each: each.low.sort_key):
            if merged and not _is_gap(merged[-1].high, one.low):
                high = max(merged[-1].high, one.high, key=lambda marker: marker.sort_key)
                merged[-1] = Range(merged[-1].low, high)
            else:
                merged.append(one)
        return cls(tuple(merged), has_null)

    @classmethod
    def all(cls) -> Domain:
        """Everything, null too."""
        return cls((Range.all(),), has_null=True)

    @classmethod
    def not_null(cls) -> Domain:
        """Everything but null."""
        return cls((Range.all(),))

    @classmethod
    def null(cls) -> Domain:
        """Null alone."""
        return cls((), has_null=True)

    @classmethod
    def none(cls) -> Domain:
        """Nothing: the predicate is never true."""
        return cls()

    @classmethod
    def points(cls, values: Iterable[Value]) -> Domain:
        """These values."""
        return cls.of(Range.equal(value) for value in values)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return not self.ranges and not self.has_null

    @property
    def is_all(self) -> bool:
        """Whether everything is in it, so that it says nothing."""
        return self.has_null and self.ranges == (Range.all(),)

    def contains(self, value: Value | None) -> bool:
        """Whether the value, or null, is in it."""
        if value is None:
            return self.has_null
        sort_key = Marker(value, Bound.EXACTLY).sort_key
        index = bisect_right(self.ranges, sort_key, key=lambda each: each.low.sort_key)
        return index > 0 and sort_key <= self.ranges[index - 1].high.sort_key

    def union(self, other: Domain) -> Domain:
        """What is in either."""
        return Domain.of((*self.ranges, *other.ranges), has_null=self.has_null or other.has_null)

    def intersection(self, other: Domain) -> Domain:
        """What is in both."""
        common: list[Range] = []
        mine, others = 0, 0
        # Both are in order, so the range that ends first meets nothing further on.
        while mine < len(self.ranges) and others < len(other.ranges):
            one, another = self.ranges[mine], other.ranges[others]
            common.append(one.intersection(another))
            if one.high < another.high:
                mine += 1
            else:
                others += 1
        return Domain.of(common, has_null=self.has_null and other.has_null)

    def overlaps(self, other: Domain) -> bool:
        """Whether something is in both."""
        return not self.intersection(other).is_empty


def _is_gap(high: Marker, low: Marker) -> bool:
    """Whether a value may lie between the end of one range and the start of the next."""
    if low <= high:
        return False
    is_same_value = high.sort_key[:2] == low.sort_key[:2]
    # `< 3` and `= 3` touch, as do `= 3` and `> 3`; between `< 3` and `> 3` lies 3.
    return not (is_same_value and low.bound - high.bound == 1)


def common_prefix(texts: Range) -> str:
    """What all texts of a range begin with."""
    low, high = texts.low.value, texts.high.value
    if not isinstance(low, str) or not isinstance(high, str):
        return ""
    pairs = enumerate(zip(low, high, strict=False))
    end = next((sort_key for sort_key, (one, other) in pairs if one != other), min(len(low), len(high)))
    if end < len(low) and len(high) == end + 1 and texts.high.bound is Bound.BELOW:
        # All from 'abc' up to but not 'abd' begin with 'abc'. There are no characters from 0xD800 to 0xDFFF.
        following = 0xE000 if low[end] == "\ud7ff" else ord(low[end]) + 1
        end += ord(high[end]) == following
    return low[:end]


@dataclass(frozen=True, slots=True)
class ColumnDomain:
    """Domains by column, all of which a row must meet (RFC-58).

    A column without a domain may have any value. `is_none` stands for the RFC's missing map of domains
    (`Option.empty`): no row can match.
    """

    domains: dict[str, Domain] = field(default_factory=dict)
    is_none: bool = False

    @classmethod
    def none(cls) -> ColumnDomain:
        """No row matches."""
        return cls(is_none=True)
