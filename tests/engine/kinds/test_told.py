"""What bitmaps say of many file groups is what they say of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from hudi_index.kind_parts.ranges import PartDomain, part_domain, points_of
from hudi_index.kind_parts.told import ToldBitmaps
from hudi_index.predicate.values.domain import Domain, Range

UNREADABLE = b"odd" * 100
WORDS = ("a", "b", "ab", "c%")
Held = dict[tuple[str, int], BitMap | None]
"""Rows by token and file group; None for a bitmap that nobody can read."""


def told_of(held: Held) -> ToldBitmaps:
    tokens, groups = [token for token, _ in held], [group for _, group in held]
    data = [UNREADABLE if rows is None else bytes(rows.serialize()) for rows in held.values()]
    # In other places than their entries, one more beside them.
    bitmaps = pa.array([None, *reversed(data)], pa.binary())
    places = np.arange(len(data), 0, -1)
    return ToldBitmaps.of(pa.array(tokens, pa.string()), np.array(groups, np.int64), places, bitmaps)


def domain_of(domain: Domain) -> PartDomain:
    found = part_domain(domain, pa.string())
    assert found is not None
    return found


def rows_of_one(domains: Sequence[PartDomain], tokens: Mapping[str, BitMap | None]) -> BitMap | None:
    """One file group, one domain after the other."""
    common, is_known = BitMap(range(7)), True
    for domain in domains:
        chosen = [rows for token, rows in tokens.items() if domain.is_widened or domain.holds(token)]
        if not chosen:
            return BitMap()
        is_known = is_known and not domain.is_widened and None not in chosen
        common &= reduce(lambda one, other: one | (other or BitMap()), chosen, BitMap())
    return common if is_known else None


HELD = st.dictionaries(
    st.tuples(st.sampled_from([*WORDS, "%~"]), st.integers(0, 5)),
    st.sets(st.integers(0, 6), min_size=1).map(BitMap) | st.none(),
)
DOMAINS = st.lists(
    st.sampled_from(WORDS).map(lambda word: points_of([word])[0])
    | st.lists(st.sampled_from(WORDS), max_size=3).map(lambda words: domain_of(Domain.points(words)))
    | st.sampled_from([Range.above("a"), Range.at_most("b"), Range.above("x" * 2_000)]).map(
        lambda each: domain_of(Domain.of([each]))
    ),
    min_size=1,
    max_size=4,
)


@given(HELD, DOMAINS)
def test_rows_of_many_are_those_of_each(held: Held, domains: list[PartDomain]) -> None:
    told = told_of(held)
    found = dict(told.rows_with(domains))

    assert sorted(told.file_groups_with("%~")) == sorted(group for token, group in held if token == "%~")
    for group in range(6):
        tokens = {token: rows for (token, each), rows in held.items() if each == group}
        if "%~" in tokens:
            # It is unknown, whatever stands here.
            continue
        expected = rows_of_one(domains, tokens)
        rows = found.get(group, BitMap())
        if expected is None:
            # What can be read may be enough to tell that there is no row.
            readable = {token: BitMap(range(7)) if rows is None else rows for token, rows in tokens.items()}
            assert rows is None or (not rows and not rows_of_one(domains, readable))
        else:
            assert rows == expected


def test_bitmaps_are_read_where_all_tokens_are_there() -> None:
    held: Held = {("a", 0): None, ("a", 1): BitMap([1]), ("b", 1): BitMap([1, 2]), ("b", 2): None}

    assert list(told_of(held).rows_with(points_of(["a", "b"]))) == [(1, BitMap([1]))]


def test_no_bitmap_is_read_when_no_row_is_left() -> None:
    held: Held = {("a", 0): BitMap([1]), ("b", 0): BitMap([2, 3]), ("c", 0): None}

    # The longest, which nobody can read.
    assert list(told_of(held).rows_with(points_of(["c", "b", "a"]))) == [(0, BitMap())]
    assert list(told_of(held).rows_with(points_of(["c", "a"]))) == [(0, None)]
