"""Which rows have which token, gathered batch by batch.

Tokens get numbers in the order in which they come. What batches bring is held as pairs of number and position
until there are many. Then they become one chunk, sorted by token, with two bytes for a position where the
chunk's positions lie close together. At the end chunks become bitmaps, some tokens at a time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.encoding import NULL
from hudi_index.entries.schema import PAYLOADS
from hudi_index.entries.words import sort_order
from hudi_index.kind_parts.roaring import serialize_bitmaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Positions = npt.NDArray[np.uint32]

__all__ = ["Postings"]

_PAYLOAD = PAYLOADS["BitmapIndexMetadata"]
_HELD = 1_000_000
"""Tokens of rows that are sorted at a time: more would not fit a processor's cache."""
_NOTHING = (np.empty(0, np.uint32), np.empty(0, np.uint32))


class Postings:
    """The positions of the rows that have a token, by token."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: pa.Array[Any] = pa.array([], pa.string())
        self._new: list[tuple[pa.Array[Any], npt.NDArray[Any], Positions]] = []
        self._rows: list[tuple[npt.NDArray[np.uint32], Positions]] = []
        self._chunks: list[_Chunk] = []
        self._held = 0
        self.fit = True
        """Whether there are not too many tokens."""

    def add(self, parts: pa.Array[Any], indices: npt.NDArray[Any], positions: Positions) -> None:
        """Take rows in: key parts of tokens, and which of them stands at which position."""
        self._new.append((parts, indices, positions))
        self._held += len(indices)
        if len(self._parts) + sum(len(each) for each, _, _ in self._new) > self._most:
            self._number()
        if self.fit and self._held > _HELD:
            self._gather()

    def bitmaps(self) -> Iterator[tuple[pa.Array[Any], pa.Array[Any]]]:
        """Key parts of tokens in their order, and payloads with their bitmaps: some at a time."""
        self._number()
        order = sort_order(self._parts)
        parts = self._parts.take(order)
        for start, numbers, positions in self._pairs(order):
            # A token of a dictionary that no row points to has no bitmap.
            is_first = np.ones(len(numbers), np.bool_)
            is_first[1:] = numbers[1:] != numbers[:-1]
            firsts = np.flatnonzero(is_first)
            bitmaps = serialize_bitmaps(positions, np.append(firsts, len(numbers)))
            payloads = pa.StructArray.from_arrays([bitmaps], fields=list(_PAYLOAD))
            yield parts.take(numbers[firsts] + start), payloads

    def _pairs(self, order: Numbers) -> Iterator[tuple[int, npt.NDArray[np.uint32], Positions]]:
        """Sorted pairs of token and position: tokens are numbered in another order, from some number on."""
        if not self._chunks:
            ranks = np.empty(len(order), np.uint32)
            ranks[order] = np.arange(len(order), dtype=np.uint32)
            numbers, positions = _joined([*self._rows, _NOTHING])
            yield 0, *_sorted(ranks[numbers], positions)
            return
        self._gather()
        chunks = [chunk.reordered(order) for chunk in self._chunks]
        self._chunks.clear()
        ends: Numbers = np.sum([chunk.starts[1:] for chunk in chunks], axis=0)
        for start, stop in pairwise(_cuts(ends)):
            yield start, *_sorted(*_joined([chunk.part(start, stop) for chunk in chunks]))

    def _number(self) -> None:
        """Give new tokens their numbers. Known ones keep theirs: they come first."""
        joined: Any = pa.concat_arrays([self._parts, *(parts for parts, _, _ in self._new)])
        # Values that differ for Arrow may be equal here, such as NaNs of different bits.
        encoded = joined.dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.uint32)
        start = len(self._parts)
        self._parts = encoded.dictionary
        for parts, indices, positions in self._new:
            self._rows.append((numbers[start + indices], positions))
            start += len(parts)
        self._new.clear()
        if len(self._parts) > self._most:
            is_null = pc.index(self._parts, NULL).as_py() >= 0
            self.fit = len(self._parts) - is_null <= self._most
        if not self.fit:
            self._rows.clear()
            self._chunks.clear()

    def _gather(self) -> None:
        self._number()
        if self._held:
            self._chunks.append(_Chunk.of(*_sorted(*_joined(self._rows)), len(self._parts)))
        self._rows.clear()
        self._held = 0


class _Chunk(NamedTuple):
    """Positions by token."""

    positions: npt.NDArray[Any]
    least: np.uint32
    """What is to be added to all of them."""
    starts: Numbers
    """Where the positions of each token begin, and where the last ones end."""

    @classmethod
    def of(cls, numbers: npt.NDArray[np.uint32], positions: Positions, tokens: int) -> _Chunk:
        least = positions.min()
        starts = np.zeros(tokens + 1, np.int64)
        np.cumsum(np.bincount(numbers, minlength=tokens), out=starts[1:])
        return cls(_narrow(positions - least), least, starts)

    def reordered(self, order: Numbers) -> _Chunk:
        """The same with tokens in another order, among them those that came after it was made."""
        counts = np.zeros(len(order), np.int64)
        counts[: len(self.starts) - 1] = np.diff(self.starts)
        begins = np.full(len(order), len(self.positions), np.int64)
        begins[: len(self.starts) - 1] = self.starts[:-1]
        counts, begins = counts[order], begins[order]
        starts = np.zeros(len(order) + 1, np.int64)
        np.cumsum(counts, out=starts[1:])
        sources = np.repeat(begins - starts[:-1], counts) + np.arange(len(self.positions))
        return _Chunk(self.positions[sources], self.least, starts)

    def part(self, start: int, stop: int) -> tuple[npt.NDArray[np.uint32], Positions]:
        """Some tokens, counted from the first of them, and their positions."""
        numbers = np.repeat(np.arange(stop - start, dtype=np.uint32), np.diff(self.starts[start : stop + 1]))
        positions = self.positions[self.starts[start] : self.starts[stop]]
        return numbers, positions.astype(np.uint32) + self.least


def _cuts(ends: Numbers) -> list[int]:
    """Where to cut tokens, so that not too many rows are between two cuts if a token has not more itself."""
    cuts = [0]
    while cuts[-1] < len(ends):
        done = ends[cuts[-1] - 1] if cuts[-1] else 0
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, done + _HELD, side="right"))))
    return cuts


def _joined(
    pairs: Sequence[tuple[npt.NDArray[np.uint32], Positions]],
) -> tuple[npt.NDArray[np.uint32], Positions]:
    return np.concatenate([each for each, _ in pairs]), np.concatenate([each for _, each in pairs])


def _sorted(
    numbers: npt.NDArray[np.uint32], positions: Positions
) -> tuple[npt.NDArray[np.uint32], Positions]:
    """By token and position, each pair once."""
    order = _stable_order(numbers)
    numbers, positions = numbers[order], positions[order]
    is_same = numbers[1:] == numbers[:-1]
    if np.any(is_same & (positions[1:] < positions[:-1])):
        # Rows of a token come as they stand in the file, if nobody has changed their order.
        order = np.lexsort((positions, numbers))
        numbers, positions = numbers[order], positions[order]
    is_first = np.ones(len(numbers), np.bool_)
    is_first[1:] = ~is_same | (positions[1:] != positions[:-1])
    return numbers[is_first], positions[is_first]


def _stable_order(numbers: npt.NDArray[np.uint32]) -> Numbers:
    # Short numbers sort by radix, ten times as fast.
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    if len(numbers) and numbers.max() >> np.uint32(16):
        order = order[np.argsort((numbers >> np.uint32(16)).astype(np.uint16)[order], kind="stable")]
    return order


def _narrow(positions: Positions) -> npt.NDArray[Any]:
    return positions.astype(np.uint16) if positions.max() < 1 << 16 else positions
