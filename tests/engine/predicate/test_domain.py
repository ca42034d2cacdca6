"""Markers, ranges and domains: RFC-58's five ranges, Spark's order, set algebra."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.predicate import Bound, Domain, Marker, Range
from hudi_index.predicate.semantics.leaf_domains import all_but, prefix_range

HIGHEST, LOWEST = Marker(None, Bound.BELOW), Marker(None, Bound.ABOVE)


@pytest.mark.parametrize(
    ("made", "low", "high"),
    [
        (Range.above(34), Marker(34, Bound.ABOVE), HIGHEST),
        (Range.at_least(34), Marker(34, Bound.EXACTLY), HIGHEST),
        (Range.below(34), LOWEST, Marker(34, Bound.BELOW)),
        (Range.at_most(34), LOWEST, Marker(34, Bound.EXACTLY)),
        (Range.equal(34), Marker(34, Bound.EXACTLY), Marker(34, Bound.EXACTLY)),
    ],
)
def test_range_of_each_operator_is_the_rfcs(made: Range, low: Marker, high: Marker) -> None:
    assert made == Range(low, high)


@pytest.mark.parametrize(
    ("one", "other", "meets"),
    [
        (Range.above(3), Range.at_most(3), False),
        (Range.at_least(3), Range.at_most(3), True),
        (Range.above(3), Range.below(3), False),
        (Range.equal(3), Range.at_least(3), True),
        (Range.equal(3), Range.above(3), False),
        (Range.all(), Range.equal(3), True),
        (Range.below(1), Range.above(5), False),
    ],
)
def test_ranges_overlap_where_a_value_is_in_both(one: Range, other: Range, meets: bool) -> None:
    assert one.overlaps(other) is meets
    assert other.overlaps(one) is meets


def test_nan_is_above_infinity_and_equals_itself() -> None:
    nan = float("nan")
    assert Range.above(math.inf).contains(nan)
    assert Range.equal(nan).contains(float("nan"))
    assert Marker(nan, Bound.EXACTLY) == Marker(-float("nan"), Bound.EXACTLY)
    assert not Range.below(nan).contains(nan)
    assert Domain.points([nan, nan]).ranges == (Range.equal(nan),)


def test_negative_zero_is_zero() -> None:
    assert Range.equal(0.0).contains(-0.0)
    assert Domain.points([-0.0]) == Domain.points([0.0])
    assert not Range.below(0.0).contains(-0.0)
    assert str(Marker(-0.0, Bound.EXACTLY).value) == "0.0"


def test_text_is_ordered_by_its_bytes() -> None:
    # In UTF-16, which Java compares by, the first would be below the second.
    assert Range.above("\uffff").contains("\U0001d11e")


def test_neighbouring_ranges_become_one() -> None:
    assert Domain.of([Range.below(3), Range.equal(3), Range.above(3)]) == Domain.not_null()
    assert len(Domain.of([Range.below(3), Range.above(3)]).ranges) == 2


@pytest.mark.parametrize(
    ("prefix", "high"),
    [
        ("p", Marker("q", Bound.BELOW)),
        ("a\ud7ff", Marker("a\ue000", Bound.BELOW)),
        ("a\U0010ffff", Marker("b", Bound.BELOW)),
        ("\U0010ffff", HIGHEST),
    ],
)
def test_range_of_a_prefix_ends_before_the_next_one(prefix: str, high: Marker) -> None:
    assert prefix_range(prefix) == Range(Marker(prefix, Bound.EXACTLY), high)


def test_range_of_no_prefix_is_everything() -> None:
    assert prefix_range("") == Range.all()


@given(st.text(max_size=3), st.text(max_size=4))
def test_range_of_a_prefix_holds_exactly_what_begins_with_it(prefix: str, text: str) -> None:
    assert prefix_range(prefix).contains(text) == text.startswith(prefix)
    assert prefix_range(prefix).contains(prefix + text)


values = st.integers(-3, 3) | st.sampled_from([-0.0, 0.5, math.inf, math.nan, Decimal("1.5")])
ranges = st.builds(
    lambda make, value: make(value),
    st.sampled_from([Range.above, Range.at_least, Range.below, Range.at_most, Range.equal]),
    values,
) | st.builds(lambda low, high: Range.above(low).intersection(Range.at_most(high)), values, values)
domains = st.builds(
    lambda parts, has_null: Domain.of(parts, has_null=has_null), st.lists(ranges, max_size=4), st.booleans()
)


@given(domains, domains, values | st.none())
def test_domains_are_sets(one: Domain, other: Domain, value: object) -> None:
    here, there = one.contains(value), other.contains(value)
    assert one.union(other).contains(value) == (here or there)
    assert one.intersection(other).contains(value) == (here and there)
    assert all_but(one).contains(value) != here
    assert not (here and there) or one.overlaps(other)
    assert value is None or here == any(each.contains(value) for each in one.ranges)


@given(domains)
def test_domains_are_normal(domain: Domain) -> None:
    assert Domain.of(reversed(domain.ranges), has_null=domain.has_null) == domain
    assert all_but(all_but(domain)) == domain
    assert domain.intersection(Domain.all()) == domain
    assert domain.union(Domain.none()) == domain
