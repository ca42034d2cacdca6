"""Single precision from exact numbers, the order of floating-point values, preimages of casts."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.predicate.expression import Operator
from hudi_index.predicate.semantics.comparison import domain_of_comparison, rising_cast
from hudi_index.predicate.values import types as t
from hudi_index.predicate.values.numbers import decimal_of, float_at, float_range, single_of
from hudi_index.predicate.values.times import SessionZone
from tests.engine.predicate.evaluation import compared

UTC = SessionZone("UTC")


def neighbours(single: float) -> list[float]:
    bits = struct.unpack("<i", struct.pack("<f", single))[0]
    return [struct.unpack("<f", struct.pack("<i", bits + step))[0] for step in (-1, 1) if bits + step >= 0]


@given(st.fractions(0, 10**12) | st.integers(0, 2**64).map(Fraction) | st.fractions(0, Fraction(1, 10**30)))
def test_single_of_an_exact_number_is_the_nearest(number: Fraction) -> None:
    found = single_of(number)
    assert all(abs(number - Fraction(found)) <= abs(number - Fraction(other)) for other in neighbours(found))
    assert single_of(-number) == -found


def test_single_is_rounded_once() -> None:
    # By way of double precision this would be 1.0: halfway there, to even from there on.
    number = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)
    assert struct.unpack("<f", struct.pack("<f", float(number)))[0] == 1.0
    assert single_of(number) == 1.0 + 2**-23


@pytest.mark.parametrize("name", ["float", "double"])
def test_places_of_floats_are_in_order(name: str) -> None:
    low, high = float_range(name)
    assert (float_at(name, low), float_at(name, high - 1)) == (-math.inf, math.inf)
    assert math.isnan(float_at(name, high))
    assert [math.copysign(1, float_at(name, place)) for place in (-1, 0)] == [-1, 1]
    values = [float_at(name, place) for place in (low, low + 1, -3, -2, -1, 0, 1, 2, high - 2, high - 1)]
    assert all(one <= other for one, other in pairwise(values))


def test_decimal_keeps_all_its_digits() -> None:
    digits = 12345678901234567890123456789012345678
    assert str(decimal_of(-digits, 10)) == "-1234567890123456789012345678.9012345678"


def bits(size: int) -> st.SearchStrategy[int]:
    near = st.sampled_from([0, 2**24, 2**24 + 1, 2**53, 2**53 + 1, 2**31 - 1, 2**63 - 1, 1])
    limit = 1 << (size - 1)
    return (near | near.map(lambda number: -number) | st.integers(-limit, limit - 1)).filter(
        lambda number: -limit <= number < limit
    )


singles = st.floats(width=32)
doubles = st.floats() | singles | st.sampled_from([0.1, 2.0**24, 2.0**53, 2.0**63])
decimals = st.decimals(-(10**7), 10**7, places=2)
CASES: list[tuple[t.SqlType, t.SqlType, st.SearchStrategy[Any], st.SearchStrategy[Any]]] = [
    (t.BYTE, t.LONG, bits(8), bits(64)),
    (t.INT, t.LONG, bits(32), bits(64)),
    (t.INT, t.FLOAT, bits(32), singles | bits(32).map(lambda number: single_of(Fraction(number)))),
    (t.LONG, t.FLOAT, bits(64), singles | bits(64).map(lambda number: single_of(Fraction(number)))),
    (t.LONG, t.DOUBLE, bits(64), doubles | bits(64).map(float)),
    (t.FLOAT, t.DOUBLE, singles, doubles),
    (t.decimal(10, 2), t.DOUBLE, decimals, doubles | decimals.map(float)),
    (t.INT, t.decimal(12, 2), st.integers(-100, 100), st.decimals(-100, 100, places=2)),
    (t.decimal(10, 2), t.decimal(12, 4), decimals, st.decimals(-10, 10, places=4)),
    (t.BOOLEAN, t.INT, st.booleans(), bits(32)),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]} as {case[1]}" for case in CASES])
@given(data=st.data())
def test_domain_of_a_cast_column_is_the_preimage(case: Any, data: st.DataObject) -> None:
    source, target, values, wanted = case
    value, literal = data.draw(values), data.draw(wanted)
    operator = data.draw(st.sampled_from(list(Operator)[:6]))
    domain, cast = (
        domain_of_comparison(source, [target], operator, literal, UTC),
        rising_cast(source, [target], UTC),
    )
    assert domain is not None
    assert cast is not None
    assert domain.contains(value) == compared(cast(value), operator.value, literal)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (t.DOUBLE, t.INT),
        (t.LONG, t.INT),
        (t.STRING, t.INT),
        (t.DOUBLE, t.FLOAT),
        (t.LONG, t.decimal(10, 0)),
        (t.decimal(10, 2), t.decimal(10, 1)),
        (t.BOOLEAN, t.decimal(1, 1)),
        (t.decimal(10, 2), t.FLOAT),
    ],
)
def test_cast_that_loses_values_has_no_preimage(source: t.SqlType, target: t.SqlType) -> None:
    assert domain_of_comparison(source, [target], Operator.EQUAL, Decimal(1), UTC) is None
