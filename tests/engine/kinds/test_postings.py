"""Bitmaps laid out by arithmetic are those of pyroaring, however rows came."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from hudi_index.kind_parts.postings import Postings
from hudi_index.kind_parts.roaring import serialize_bitmaps

LAST = 2**32 - 1
STRETCHES = st.builds(
    lambda first, count, step: range(first, min(LAST + 1, first + count * step), step),
    st.sampled_from([0, 1, 65_530, 65_536, 131_071, 200_000, LAST - 70_000, LAST]) | st.integers(0, 2**20),
    # What an array still holds, what needs bits, and a whole container.
    st.integers(1, 9) | st.sampled_from([4095, 4096, 4097, 65_536, 140_000]),
    st.integers(1, 3),
)
BITMAPS = st.lists(STRETCHES, min_size=1, max_size=5).map(
    lambda stretches: sorted({number for each in stretches for number in each})
)


def serialized(rows: BitMap) -> bytes:
    rows.run_optimize()
    return bytes(rows.serialize())


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bitmaps are laid out like many."""
    monkeypatch.setattr("hudi_index.kind_parts.roaring._FEW", 1)


@pytest.mark.usefixtures("_few")
def test_bytes_are_those_of_pyroaring() -> None:
    @settings(max_examples=60)
    @given(st.lists(BITMAPS, max_size=6))
    def check(bitmaps: list[list[int]]) -> None:
        values = np.array([number for each in bitmaps for number in each], np.uint32)
        starts = np.cumsum([0, *map(len, bitmaps)])
        found = serialize_bitmaps(values, starts)
        assert found.to_pylist() == [serialized(BitMap(each)) for each in bitmaps]

    check()


@pytest.mark.usefixtures("_few")
def test_as_many_containers_as_there_can_be() -> None:
    values = np.arange(0, 2**32, 2**16, dtype=np.uint32)
    starts = np.array([0, len(values)])

    assert serialize_bitmaps(values, starts).to_pylist() == [serialized(BitMap(values))]


def bitmaps_of(postings: Any) -> dict[str, bytes]:
    found: list[tuple[Any, Any]] = [
        (part, bitmap)
        for parts, payloads in postings.bitmaps()
        for part, bitmap in zip(parts.to_pylist(), payloads.field("bitmap").to_pylist(), strict=True)
    ]
    # As bytes, since that is how keys sort.
    assert [part for part, _ in found] == sorted({part for part, _ in found}, key=str.encode)
    return dict(found)


# Tokens of a batch, and of each row which of them it has; some stand twice or in no row.
TOKENS = st.sampled_from(["a", "b", "b%20", "ключ", "!", "ab", "z"])
BATCHES = st.lists(
    st.tuples(
        st.lists(TOKENS, min_size=1, max_size=4),
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40) | st.integers(0, 200_000)), max_size=12),
    ),
    max_size=6,
)


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("held", [1, 7, 1_000])
def test_positions_come_in_any_order_and_number(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_index.kind_parts.postings._HELD", held)

    @given(BATCHES, st.booleans())
    def check(batches: list[tuple[list[str], list[tuple[int, int]]]], is_ordered: bool) -> None:
        postings, expected = Postings(100), dict[str, BitMap]()
        for tokens, given_rows in batches:
            rows = sorted(given_rows, key=lambda row: row[1]) if is_ordered else given_rows
            indices = np.array([index % len(tokens) for index, _ in rows], np.int64)
            positions = np.array([position for _, position in rows], np.uint32)
            postings.add(pa.array(tokens), indices, positions)
            for index, position in zip(indices.tolist(), positions.tolist(), strict=True):
                expected.setdefault(tokens[index], BitMap()).add(position)
        assert bitmaps_of(postings) == {token: serialized(rows) for token, rows in expected.items()}

    check()


def test_more_tokens_than_two_bytes_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_index.kind_parts.postings._HELD", 100_000)
    names = [f"{number:05d}" for number in range(70_000)]
    postings = Postings(70_000)
    for place in range(3):
        postings.add(pa.array(names), np.arange(70_000)[::-1], np.full(70_000, place * 70_000, np.uint32))

    assert bitmaps_of(postings) == dict.fromkeys(names, serialized(BitMap([0, 70_000, 140_000])))


@pytest.mark.parametrize("held", [1, 1_000])
def test_null_is_not_among_too_many(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_index.kind_parts.postings._HELD", held)
    postings = Postings(2)
    for tokens, fit in ((["a", "!"], True), (["!", "b", "a"], True), (["b"], True), (["c"], False)):
        postings.add(pa.array(tokens), np.arange(len(tokens)), np.arange(len(tokens), dtype=np.uint32))
        assert postings.fit == fit
