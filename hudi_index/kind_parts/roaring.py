"""Many small RoaringBitmaps at once, in their portable form: what pyroaring writes after `run_optimize`.

A bitmap object per token costs more than the few rows that most tokens have. So the bytes of all are laid out
here by arithmetic on whole arrays (https://github.com/RoaringBitmap/RoaringFormatSpec):

    cookie          without runs 12346 and the number of containers, 4 bytes each;
                    with runs 12347 and the number less one, 2 bytes each; a bit per container that has runs
    descriptions    per container the high 16 bits of its numbers, and how many they are, less one
    offsets         per container where it begins, 4 bytes; left out with runs in fewer than four containers
    containers      the low 16 bits: as runs (how many; first and length less one of each) where that is the
                    shortest, else as an array of up to 4,096, else as 65,536 bits
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from hudi_index.entries._buffers import from_buffers

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

__all__ = ["serialize_bitmaps"]

_COOKIE, _COOKIE_OF_RUNS = 12346, 12347
_MOST_IN_ARRAY = 4096
_BYTES_OF_BITS = 8192
_FEWEST_WITH_OFFSETS = 4
_LOW = 0xFFFF
_FEW = 64
"""Up to so many, pyroaring is done before NumPy has begun."""


def serialize_bitmaps(values: npt.NDArray[np.uint32], starts: Numbers) -> pa.Array[Any]:
    """The bitmap of each stretch of some numbers, as a binary array.

    Args:
        values: Numbers that rise within each stretch.
        starts: Where each stretch begins, and where the last one ends; none is empty.
    """
    if len(starts) <= _FEW:
        return pa.array(
            [_serialize(values[low:high]) for low, high in pairwise(starts.tolist())], pa.binary()
        )
    containers = _Containers.of(values, starts)
    return _Layout.of(containers).array()


def _serialize(values: npt.NDArray[np.uint32]) -> bytes:
    # From an array, which pyroaring takes as a whole.
    rows = BitMap(array("I", values.tobytes()))
    rows.run_optimize()
    return bytes(rows.serialize())


@dataclass(frozen=True)
class _Containers:
    """The stretches, cut where the high 16 bits change."""

    values: npt.NDArray[np.uint32]
    firsts: Numbers
    """Of each container the place of its first value."""
    sizes: Numbers
    """How many values it has."""
    run_firsts: Numbers
    """Of each run the place of its first value."""
    run_counts: Numbers
    """How many runs each container has."""
    bitmap_firsts: Numbers
    """Of each bitmap its first container."""

    @classmethod
    def of(cls, values: npt.NDArray[np.uint32], starts: Numbers) -> _Containers:
        begins = np.zeros(len(values), np.bool_)
        begins[starts[:-1]] = True
        is_run_start = begins.copy()
        is_run_start[1:] |= values[1:] != values[:-1] + np.uint32(1)
        if values.max() > _LOW:
            high = values >> np.uint32(16)
            begins[1:] |= high[1:] != high[:-1]
            is_run_start |= begins
        firsts, run_firsts = np.flatnonzero(begins), np.flatnonzero(is_run_start)
        run_counts = _lengths(np.searchsorted(run_firsts, firsts), len(run_firsts))
        bitmap_firsts = np.searchsorted(firsts, starts[:-1])
        return cls(values, firsts, _lengths(firsts, len(values)), run_firsts, run_counts, bitmap_firsts)

    @cached_property
    def is_of_bits(self) -> Flags:
        """Whether it is written as bits."""
        return (self.sizes > _MOST_IN_ARRAY) & ~self.is_of_runs

    @cached_property
    def is_of_runs(self) -> Flags:
        """Whether it is written as runs."""
        return 2 + 4 * self.run_counts < np.minimum(2 * self.sizes, _BYTES_OF_BITS)

    @property
    def bytes(self) -> Numbers:
        """How long it is."""
        plain = np.minimum(2 * self.sizes, _BYTES_OF_BITS)
        return np.where(self.is_of_runs, 2 + 4 * self.run_counts, plain)


@dataclass(frozen=True)
class _Layout:
    """Where everything stands."""

    containers: _Containers
    counts: Numbers
    """Of each bitmap, how many containers it has."""
    has_runs: Flags
    """Whether one of them is of runs."""
    begins: Numbers
    """Where each bitmap begins, and where the last ends."""
    bodies: Numbers
    """Where each container begins."""

    @classmethod
    def of(cls, containers: _Containers) -> _Layout:
        firsts, sizes = containers.bitmap_firsts, containers.bytes
        counts = _lengths(firsts, len(sizes))
        has_runs = np.logical_or.reduceat(containers.is_of_runs, firsts)
        flagged = 4 + (counts + 7) // 8 + np.where(counts < _FEWEST_WITH_OFFSETS, 4, 8) * counts
        headers = np.where(has_runs, flagged, 8 + 8 * counts)
        begins = _from_zero(headers + np.add.reduceat(sizes, firsts))
        # All before it, and the headers of its own bitmap and those before.
        bodies = _from_zero(sizes)[:-1] + np.repeat(np.cumsum(headers), counts)
        return cls(containers, counts, has_runs, begins, bodies)

    def array(self) -> pa.Array[Any]:
        """All bitmaps."""
        data = np.zeros(int(self.begins[-1]), np.uint8)
        # At every byte the two that begin there: a view, nothing is copied.
        pairs = np.ndarray((len(data) - 1,), dtype="<u2", buffer=data.data, strides=(1,))
        self._write_headers(data, pairs)
        self._write_arrays(pairs)
        self._write_runs(pairs)
        self._write_bits(data)
        return from_buffers(pa.large_binary(), len(self.counts), self.begins, data).cast(pa.binary())

    def _write_headers(self, data: npt.NDArray[np.uint8], pairs: npt.NDArray[np.uint16]) -> None:
        begins, counts, has_runs = self.begins[:-1], self.counts, self.has_runs
        pairs[begins] = np.where(has_runs, _COOKIE_OF_RUNS, _COOKIE)
        pairs[begins[has_runs] + 2] = counts[has_runs] - 1
        _write_long(pairs, begins[~has_runs] + 4, counts[~has_runs])
        # From here on by container.
        containers, of_runs = self.containers, self.containers.is_of_runs
        positions = np.arange(len(of_runs)) - np.repeat(containers.bitmap_firsts, counts)
        begins, flagged = np.repeat(begins, counts), begins + 4
        np.bitwise_or.at(
            data,
            np.repeat(flagged, counts)[of_runs] + positions[of_runs] // 8,
            (1 << positions[of_runs] % 8).astype(np.uint8),
        )
        at = begins + np.repeat(np.where(has_runs, 4 + (counts + 7) // 8, 8), counts) + 4 * positions
        pairs[at] = containers.values[containers.firsts] >> np.uint32(16)
        pairs[at + 2] = containers.sizes - 1
        has_offset = np.repeat(~has_runs | (counts >= _FEWEST_WITH_OFFSETS), counts)
        at += 4 * np.repeat(counts, counts)
        _write_long(pairs, at[has_offset], (self.bodies - begins)[has_offset])

    def _write_arrays(self, pairs: npt.NDArray[np.uint16]) -> None:
        containers = self.containers
        is_array = ~(containers.is_of_runs | containers.is_of_bits)
        at = np.repeat(self.bodies - 2 * containers.firsts, containers.sizes)
        at += np.arange(0, 2 * len(at), 2)
        if is_array.all():
            pairs[at] = containers.values.astype(np.uint16)
        else:
            mine = np.repeat(is_array, containers.sizes)
            pairs[at[mine]] = containers.values[mine].astype(np.uint16)

    def _write_runs(self, pairs: npt.NDArray[np.uint16]) -> None:
        containers, of_runs = self.containers, self.containers.is_of_runs
        if not of_runs.any():
            return
        pairs[self.bodies[of_runs]] = containers.run_counts[of_runs]
        mine = np.repeat(of_runs, containers.run_counts)
        run_positions = _from_zero(containers.run_counts)[:-1]
        at = np.repeat(self.bodies + 2 - 4 * run_positions, containers.run_counts)
        at = (at + 4 * np.arange(len(at)))[mine]
        pairs[at] = containers.values[containers.run_firsts[mine]].astype(np.uint16)
        pairs[at + 2] = _lengths(containers.run_firsts, len(containers.values))[mine] - 1

    def _write_bits(self, data: npt.NDArray[np.uint8]) -> None:
        containers = self.containers
        # One by one: each has thousands of values.
        for position in np.flatnonzero(containers.is_of_bits).tolist():
            first, body = containers.firsts[position], self.bodies[position]
            bits = np.zeros(8 * _BYTES_OF_BITS, np.bool_)
            bits[containers.values[first : first + containers.sizes[position]] & np.uint32(_LOW)] = True
            data[body : body + _BYTES_OF_BITS] = np.packbits(bits, bitorder="little")


def _write_long(pairs: npt.NDArray[np.uint16], at: Numbers, numbers: Numbers) -> None:
    pairs[at] = numbers & _LOW
    pairs[at + 2] = numbers >> 16


def _lengths(firsts: Numbers, end: int) -> Numbers:
    return np.diff(firsts, append=end)


def _from_zero(lengths: Numbers) -> Numbers:
    found = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=found[1:])
    return found
