"""Functions of one argument that rise or fall with it, and what they make of domains.

Index and query may speak of different things, a column and a function of it. Where the function is monotonic
one domain follows from the other (RFC-63: the source column's range):

    preimage    the arguments for which the function's value is in a domain
    image       the values that the function takes on a domain

A function need not be monotonic everywhere. Integers wrap around, years beyond 9999 print with a sign, local
time goes back when clocks do, and Python knows fewer dates than Spark. So a step has a stretch on which it is
certain, and says what may come out beyond it: by default anything, null too.

Invariant: neither image nor preimage ever lacks a value. A preimage that may hold more than it should is
marked as not exact; an image may always hold more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Protocol

from hudi_index.predicate.semantics.comparison import first_position
from hudi_index.predicate.semantics.leaf_domains import prefix_range
from hudi_index.predicate.values.domain import Bound, Domain, Marker, Range, order_of
from hudi_index.predicate.values.types import STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from hudi_index.predicate.semantics.comparison import Line
    from hudi_index.predicate.values.types import SqlType

__all__ = ["Monotone", "NoStep", "Prefix", "Shifted", "Step", "image_of", "preimage_of"]


class Step(Protocol):
    """One function."""

    @property
    def target(self) -> SqlType:
        """The type of its values."""
        ...

    def preimage(self, domain: Domain) -> tuple[Domain, bool]:
        """The arguments whose value may be in a domain, and whether it certainly is."""
        ...

    def image(self, domain: Domain) -> Domain:
        """The values of the arguments in a domain, perhaps others."""
        ...


@dataclass(frozen=True, slots=True)
class NoStep:
    """A function of which nothing is known that could be of use."""

    reason: str


def preimage_of(steps: Sequence[Step], domain: Domain) -> tuple[Domain, bool]:
    """The arguments of the first step for which the last one's value may be in a domain; whether it is."""
    is_exact = True
    for step in reversed(steps):
        domain, is_certain = step.preimage(domain)
        is_exact = is_exact and is_certain
    return domain, is_exact


def image_of(steps: Sequence[Step], domain: Domain) -> Domain:
    """The values of the last step for arguments of the first that are in a domain, perhaps others."""
    return reduce(lambda found, step: step.image(found), steps, domain)


@dataclass(frozen=True)
class Monotone:
    """A function that never falls, or never rises, between two places of its argument's line."""

    target: SqlType
    line: Line
    apply: Callable[[Any], Any]
    """The value Spark gives for an argument between `low` and `high`, never null."""
    low: int
    high: int
    """Places on the line."""
    is_falling: bool = False
    below: Domain = field(default_factory=Domain.all)
    """What arguments before `low` may give; nothing is asked of it where the line begins there."""
    above: Domain = field(default_factory=Domain.all)

    @cached_property
    def _has_below(self) -> bool:
        return not self.line.is_whole or self.low > self.line.lowest

    @cached_property
    def _has_above(self) -> bool:
        return not self.line.is_whole or self.high < self.line.highest

    def preimage(self, domain: Domain) -> tuple[Domain, bool]:
        """Two binary searches for each range; what lies beyond, where it may give such values."""
        found = [self._arguments_of(each) for each in domain.ranges]
        ranges, is_exact = [each for each in found if each is not None], True
        for has_any, values, beyond in (
            (self._has_below, self.below, Range.below(self.line.value_at(self.low))),
            (self._has_above, self.above, Range.above(self.line.value_at(self.high))),
        ):
            common = values.intersection(domain)
            if has_any and not common.is_empty:
                ranges.append(beyond)
                is_exact = is_exact and common == values
        return Domain.of(ranges, has_null=domain.has_null), is_exact

    def image(self, domain: Domain) -> Domain:
        """The function's values at the ends of each range, and between."""
        found = Domain(has_null=domain.has_null)
        for each in domain.ranges:
            found = found.union(self._values_of(each))
        return found

    def _arguments_of(self, wanted: Range) -> Range | None:
        low, high = wanted.low, wanted.high
        if self.is_falling:
            first = self._first(lambda position: high.value is None or _is_in_high(position, high))
            after = self._first(lambda position: low.value is not None and not _is_in_low(position, low))
        else:
            first = self._first(lambda position: low.value is None or _is_in_low(position, low))
            after = self._first(lambda position: high.value is not None and not _is_in_high(position, high))
        if first >= after:
            return None
        is_open_low = first == self.low and not self._has_below
        is_open_high = after > self.high and not self._has_above
        value_at = self.line.value_at
        return Range(
            Marker.lowest() if is_open_low else Marker(value_at(first), Bound.EXACTLY),
            Marker.highest() if is_open_high else Marker(value_at(after - 1), Bound.EXACTLY),
        )

    def _first(self, is_reached: Callable[[Any], bool]) -> int:
        """The lowest place whose value is reached, one above the highest if none is."""
        return first_position(
            self.low, self.high + 1, lambda position: is_reached(self.apply(self.line.value_at(position)))
        )

    def _values_of(self, given: Range) -> Domain:
        first, last = self.line.value_at(self.low), self.line.value_at(self.high)
        reaches_below = given.low < Marker(first, Bound.EXACTLY)
        reaches_above = Marker(last, Bound.EXACTLY) < given.high
        found = Domain.none()
        if reaches_below and self._has_below:
            found = found.union(self.below)
        if reaches_above and self._has_above:
            found = found.union(self.above)
        inside = given.intersection(Range(Marker(first, Bound.EXACTLY), Marker(last, Bound.EXACTLY)))
        if inside.is_empty:
            return found
        ends = [self.apply(inside.low.value), self.apply(inside.high.value)]
        if self.is_falling:
            ends.reverse()
        return found.union(Domain.of([Range.at_least(ends[0]).intersection(Range.at_most(ends[1]))]))


def _is_in_low(value: Any, low: Marker) -> bool:
    """Whether a value is not below the beginning of a range."""
    order, wanted = order_of(value), order_of(low.value)
    return order > wanted or (order == wanted and low.bound is not Bound.ABOVE)


def _is_in_high(value: Any, high: Marker) -> bool:
    order, wanted = order_of(value), order_of(high.value)
    return order < wanted or (order == wanted and high.bound is not Bound.BELOW)


@dataclass(frozen=True)
class Prefix:
    """The first characters of a text. Order by characters is order by prefixes, where those differ."""

    length: int
    target: SqlType = STRING

    def preimage(self, domain: Domain) -> tuple[Domain, bool]:
        """Exact: a text with a given prefix is anything that begins with it, a shorter one is itself."""
        ranges = [Range(self._low(each.low), self._high(each.high)) for each in domain.ranges]
        return Domain.of(ranges, has_null=domain.has_null), True

    def image(self, domain: Domain) -> Domain:
        """The prefixes of the ends, and between."""
        ranges = [Range(self._cut(each.low), self._cut(each.high)) for each in domain.ranges]
        return Domain.of(ranges, has_null=domain.has_null)

    def _cut(self, marker: Marker) -> Marker:
        if marker.value is None:
            return marker
        return Marker(marker.value[: self.length], Bound.EXACTLY)

    def _low(self, marker: Marker) -> Marker:
        text = marker.value
        if text is None or len(text) < self.length:
            return marker
        if len(text) > self.length or marker.bound is Bound.ABOVE:
            # No prefix is longer: the next one is that of the texts after all which begin like this one.
            return _above_all(text[: self.length])
        return marker

    def _high(self, marker: Marker) -> Marker:
        text = marker.value
        if text is None or len(text) < self.length:
            return marker
        if len(text) > self.length or marker.bound is Bound.EXACTLY:
            return prefix_range(text[: self.length]).high
        return marker


def _above_all(prefix: str) -> Marker:
    """The beginning of the texts above all that begin with a prefix."""
    high = prefix_range(prefix).high
    if high.value is None:
        return Marker.highest()
    return Marker(high.value, Bound.EXACTLY)


@dataclass(frozen=True)
class Shifted:
    """A step whose argument is only known up to a distance: the local time of a zone that puts clocks back.

    No zone is ever more than 18 hours from UTC (java.time.ZoneOffset), so the step in UTC, taken of
    everything that near, leaves nothing out.
    """

    step: Step
    distance: timedelta | int
    """Of arguments."""
    value_distance: timedelta | None = None
    """Of values, where they are instants again."""

    @property
    def target(self) -> SqlType:
        """The type of its values."""
        return self.step.target

    def preimage(self, domain: Domain) -> tuple[Domain, bool]:
        """Wider than it is in UTC."""
        if self.value_distance is not None:
            domain = _widen(domain, self.value_distance)
        found, _ = self.step.preimage(domain)
        return _widen(found, self.distance), False

    def image(self, domain: Domain) -> Domain:
        """Wider than it is in UTC."""
        found = self.step.image(_widen(domain, self.distance))
        return found if self.value_distance is None else _widen(found, self.value_distance)


def _widen(domain: Domain, distance: timedelta | int) -> Domain:
    ranges = [
        Range(_move(each.low, -distance, Marker.lowest()), _move(each.high, distance, Marker.highest()))
        for each in domain.ranges
    ]
    return Domain.of(ranges, has_null=domain.has_null)


def _move(marker: Marker, distance: timedelta | int, end: Marker) -> Marker:
    """The marker moved, or the end of the line where that leads beyond it."""
    if marker.value is None:
        return marker
    try:
        moved = marker.value + distance
    except OverflowError:
        return end
    # More than any bigint is no value of a column.
    is_beyond = isinstance(moved, int) and not -(1 << 63) <= moved < 1 << 63
    return end if is_beyond else Marker(moved, marker.bound)
