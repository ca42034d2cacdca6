"""A predicate's values as encoded parts: what bounds are compared with, and which keys to look up.

Ranges of keys may be wider than the ranges of values: a bound longer than a key part is cut to its
beginning, and everything that begins like it is taken.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from hudi_index.entries.encoding import NULL, encode_text, encode_values
from hudi_index.entries.keys import SEPARATOR, successor
from hudi_index.entries.ranges import KeyRange
from hudi_index.errors import UnencodableValueError, UnsupportedTypeError
from hudi_index.kind_parts.values import beginning_of, is_long, shorten
from hudi_index.predicate.values.domain import Bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from hudi_index.kind_parts.source import Source
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.predicate.values.domain import Domain

__all__ = ["PartDomain", "PartRange", "find_domain", "part_domain", "points_of", "source_of"]


@dataclass(frozen=True, slots=True)
class PartRange:
    """Encoded values from `low` to `high`; None for no end."""

    low: str | None
    high: str | None
    has_low: bool = True
    has_high: bool = True

    @property
    def is_point(self) -> bool:
        """Whether it is one value."""
        return self.low is not None and self.low == self.high and self.has_low and self.has_high

    @property
    def is_widened(self) -> bool:
        """Whether its range of keys may hold other values as well."""
        return not self.is_point and any(end is not None and is_long(end) for end in (self.low, self.high))

    def holds(self, part: str) -> bool:
        """Whether a value, as keys hold it, is inside. Not to be asked of a widened range."""
        if self.is_point:
            return part == shorten(self.low or "")
        is_above = self.low is None or self.low < part or (self.has_low and self.low == part)
        is_below = self.high is None or part < self.high or (self.has_high and self.high == part)
        return part != NULL and is_above and is_below

    def keys(self, prefix: str) -> KeyRange:
        """The keys that begin with `prefix` and then one of its values."""
        if self.is_point:
            return KeyRange.prefix(f"{prefix}{shorten(self.low or '')}{SEPARATOR}")
        return KeyRange(self._lowest_key(prefix), self._key_above(prefix))

    def _lowest_key(self, prefix: str) -> str:
        if self.low is None:
            # Null sorts below all values.
            return f"{prefix}{successor(NULL)}"
        if is_long(self.low):
            return prefix + beginning_of(self.low)
        below = f"{prefix}{self.low}{SEPARATOR}"
        return below if self.has_low else successor(below) or below

    def _key_above(self, prefix: str) -> str | None:
        if self.high is None:
            return successor(prefix)
        if is_long(self.high):
            return successor(prefix + beginning_of(self.high))
        below = f"{prefix}{self.high}{SEPARATOR}"
        return successor(below) if self.has_high else below


@dataclass(frozen=True)
class PartDomain:
    """A domain in encoded form: disjoint ranges in order, and perhaps null."""

    ranges: tuple[PartRange, ...]
    has_null: bool

    @property
    def has_only_points(self) -> bool:
        """Whether it is a list of values, null among them or not."""
        return all(each.is_point for each in self.ranges)

    @property
    def is_widened(self) -> bool:
        """Whether its ranges of keys may hold other values as well."""
        return any(each.is_widened for each in self.ranges)

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Its values as keys hold them, null among them; for a domain that has only points."""
        values = tuple(shorten(each.low or "") for each in self.ranges)
        return (*values, NULL) if self.has_null else values

    @cached_property
    def _points(self) -> frozenset[str]:
        return frozenset(shorten(each.low or "") for each in self.ranges if each.is_point)

    @cached_property
    def _stretches(self) -> tuple[PartRange, ...]:
        return tuple(each for each in self.ranges if not each.is_point)

    @cached_property
    def _highs(self) -> list[str]:
        return [each.high for each in self.ranges if each.high is not None]

    @property
    def left_out(self) -> PartDomain | None:
        """All that it does not hold, where that is a list of values and keys hold those whole; else None."""
        ends = [(each.low, each.has_low, each.high, each.has_high) for each in self.ranges]
        if not ends or ends[0][0] is not None or ends[-1][2] is not None:
            return None
        points = []
        for (_, _, high, has_high), (low, has_low, _, _) in itertools.pairwise(ends):
            # Of a long value keys hold what others may have as well.
            if high is None or high != low or has_high or has_low or is_long(high):
                return None
            points.append(PartRange(high, high))
        return PartDomain(tuple(points), has_null=not self.has_null)

    def holds(self, part: str) -> bool:
        """Whether a value, as keys hold it, is inside. Not to be asked of a widened domain."""
        if part == NULL:
            return self.has_null
        return part in self._points or any(each.holds(part) for each in self._stretches)

    def meets(self, low: str, high: str) -> bool:
        """Whether one of its values may be between two encoded ones, both included."""
        position = bisect_left(self._highs, low)
        if (
            position < len(self._highs)
            and self._highs[position] == low
            and not self.ranges[position].has_high
        ):
            position += 1
        if position == len(self.ranges):
            return False
        # Ranges are in order: if the first that does not end below starts above, so do all after it.
        found = self.ranges[position]
        return found.low is None or found.low < high or (found.has_low and found.low == high)

    def keys(self, prefix: str, *, names_shard: bool = True) -> list[tuple[str | None, KeyRange]]:
        """Key ranges that begin with `prefix`; a single value names its shard, if `prefix + value` does."""
        found: list[tuple[str | None, KeyRange]] = []
        if self.has_null:
            null = prefix + NULL
            found.append((null if names_shard else None, KeyRange.prefix(null + SEPARATOR)))
        for each in self.ranges:
            shard = prefix + shorten(each.low or "") if names_shard and each.is_point else None
            found.append((shard, each.keys(prefix)))
        return found


def source_of(sources: Sequence[Source], constraint: Constraint) -> Source | None:
    """The source that a constraint speaks of."""
    return next((source for source in sources if source.term == constraint.term), None)


def find_domain(sources: Sequence[Source], constraint: Constraint) -> tuple[Source, PartDomain] | None:
    """The source that a constraint speaks of and the values that meet it; None if keys can't tell them."""
    source, domain = source_of(sources, constraint), constraint.domain
    parts = None if source is None or domain is None else part_domain(domain, source.data_type)
    return None if source is None or parts is None else (source, parts)


def part_domain(domain: Domain, data_type: pa.DataType) -> PartDomain | None:
    """A domain of literals that are compared with a column; None if one of them has no place in its order."""
    ends = [marker.value for each in domain.ranges for marker in (each.low, each.high)]
    try:
        encoded = iter(encode_values([value for value in ends if value is not None], data_type))
    except (UnencodableValueError, UnsupportedTypeError):
        return None
    parts = [None if value is None else next(encoded) for value in ends]
    ranges = tuple(
        PartRange(low, high, each.low.bound is not Bound.ABOVE, each.high.bound is not Bound.BELOW)
        for each, low, high in zip(domain.ranges, parts[::2], parts[1::2], strict=True)
    )
    return PartDomain(ranges, domain.has_null)


def points_of(texts: Sequence[str]) -> list[PartDomain]:
    """Each text alone, as keys hold it."""
    parts = map(encode_text, texts)
    return [PartDomain((PartRange(part, part),), has_null=False) for part in parts]
