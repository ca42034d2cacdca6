"""Texts eight bytes at a time: sorting them, telling them apart and hashing them at NumPy's speed.

Eight bytes of a text make one number whose order is the order of the bytes; past the end of a text stand
zeros. Key parts hold no zero byte, so a shorter text is below every longer one that begins with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries._buffers import bytes_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Words = npt.NDArray[np.uint64]

__all__ = ["are_surely_distinct", "crc32_of", "sort_order"]

_WORD = 8
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

# What rows of equal rank are sorted by: their rank, and below it the next five bytes.
_NEXT = 5
_NEXT_BITS = np.uint64(8 * _NEXT)
_REST_BITS = np.uint64(64) - _NEXT_BITS
_MOST_RANKS = 1 << int(_REST_BITS)

_FEW = 256
"""Up to so many, Arrow is done before NumPy has begun."""

# Odd numbers without a pattern: they spread what differs over all bits.
_MIXERS = (
    np.uint64(0x9E37_79B9_7F4A_7C15),
    np.uint64(0xC2B2_AE3D_27D4_EB4F),
    np.uint64(0x1656_67B1_9E37_79F9),
    np.uint64(0x27D4_EB2F_1656_67C5),
)


class _Texts:
    """Texts without nulls, at least one."""

    def __init__(self, texts: pa.Array[Any]) -> None:
        offsets, self.data = bytes_of(texts)
        self.starts, self.ends = offsets[:-1], offsets[1:]
        padded = np.empty(self.data.size + _WORD, dtype=np.uint8)
        padded[: self.data.size] = self.data
        padded[self.data.size :] = 0
        # At every byte the number that begins there: a view, nothing is copied.
        self._words: Words = np.ndarray((self.data.size + 1,), dtype=">u8", buffer=padded.data, strides=(1,))

    def words(self, begins: Numbers, ends: Numbers) -> Words:
        """The numbers that begin at some bytes, with zeros from `ends` on."""
        left = ends - begins
        found = self._words[np.minimum(begins, self.data.size)].astype(np.uint64)
        is_short = left < _WORD
        if is_short.any():
            missing = np.minimum(_WORD - left[is_short], _WORD)
            found[is_short] &= np.where(missing < _WORD, _ALL << (missing * 8).astype(np.uint64), 0)
        return found

    def common_prefix(self) -> int:
        """How many bytes all texts begin with alike."""
        shortest, position = int((self.ends - self.starts).min()), 0
        while position < shortest and np.all(self.data[self.starts + position] == self.data[position]):
            position += 1
        return position


def sort_order(texts: pa.Array[Any]) -> Numbers:
    """The rows in the order of their texts, which hold no zero byte and no null. Not stable.

    Rows are sorted by the first eight bytes that are not common to all. Those that are equal so far are
    sorted by what comes next, until none are or their texts end: numbers sort much faster than texts.
    """
    if not _FEW < len(texts) < _MOST_RANKS:
        found: Numbers = pc.sort_indices(texts).to_numpy().astype(np.int64)
        return found
    values = _Texts(texts)
    position = values.common_prefix()
    words = values.words(values.starts + position, values.ends)
    order: Numbers = np.argsort(words)
    ranks = _ranks(words[order])
    tied = np.flatnonzero(_is_tied(ranks))
    position += _WORD
    while tied.size:
        rows = order[tied]
        begins, ends = values.starts[rows] + position, values.ends[rows]
        if not np.any(begins < ends):
            break
        words = (ranks[tied].astype(np.uint64) << _NEXT_BITS) | (values.words(begins, ends) >> _REST_BITS)
        again = np.argsort(words)
        order[tied] = rows[again]
        ranks[tied] = tied[_ranks(words[again])]
        tied = tied[_is_tied(ranks[tied])]
        position += _NEXT
    return order


def _ranks(ordered: Words) -> Numbers:
    """For each of some ordered numbers the place of the first that equals it."""
    positions = np.arange(len(ordered))
    positions[1:][ordered[1:] == ordered[:-1]] = 0
    found: Numbers = np.maximum.accumulate(positions)
    return found


def _is_tied(ranks: Numbers) -> npt.NDArray[np.bool_]:
    """By place whether its rank stands more than once."""
    is_again = ranks[1:] == ranks[:-1]
    found = np.zeros(len(ranks), dtype=np.bool_)
    found[1:] |= is_again
    found[:-1] |= is_again
    return found


def are_surely_distinct(texts: pa.ChunkedArray[Any]) -> bool:
    """Whether no text stands twice. Where long texts begin and end alike, False is said of distinct ones."""
    chunks = [_fingerprints(chunk) for chunk in texts.chunks if len(chunk)]
    if not chunks:
        return True
    found = np.sort(np.concatenate(chunks))
    return not np.any(found[1:] == found[:-1])


def _fingerprints(texts: pa.Array[Any]) -> Words:
    """Numbers that are equal for equal texts, made of their lengths, first and last 16 bytes."""
    values = _Texts(texts)
    starts, ends = values.starts, values.ends
    found = (ends - starts).astype(np.uint64)
    positions = (
        starts,
        np.minimum(starts + _WORD, ends),
        np.maximum(starts, ends - 2 * _WORD),
        np.maximum(starts, ends - _WORD),
    )
    for begins, mixer in zip(positions, _MIXERS, strict=True):
        words = values.words(begins, ends)
        found += (words ^ (words >> np.uint64(29))) * mixer
    return found


def _crc_table() -> npt.NDArray[np.uint32]:
    """What two bytes do to a CRC-32."""
    table = np.arange(1 << 16, dtype=np.uint32)
    for _ in range(16):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0xEDB8_8320), table >> 1)
    return table


_CRC = _crc_table()
_BYTE = 8
_PAIR = 2


def crc32_of(data: npt.NDArray[np.uint8], starts: Numbers, ends: Numbers) -> npt.NDArray[np.uint32]:
    """The CRC-32 of each stretch of some bytes, as zlib computes it."""
    lengths = ends - starts
    # By length, so that those that go on are a slice.
    order = np.argsort(lengths.astype(np.uint16) if lengths.max() < 1 << 16 else lengths, kind="stable")
    lengths, begins = lengths[order], starts[order]
    found = np.full(len(order), 0xFFFF_FFFF, dtype=np.uint32)
    for position in range(0, int(lengths[-1]), _PAIR):
        first = int(np.searchsorted(lengths, position + _PAIR))
        at = begins[first:] + position
        low = data[at].astype(np.uint32) | (data[at + 1].astype(np.uint32) << np.uint32(_BYTE))
        found[first:] = _CRC[(found[first:] ^ low) & np.uint32(0xFFFF)] ^ (found[first:] >> np.uint32(16))
        # Those with one byte left.
        last = slice(int(np.searchsorted(lengths, position + 1)), first)
        if last.start < last.stop:
            index = (found[last] ^ data[begins[last] + position]) & np.uint32(0xFF)
            # One byte alone is a pair whose other byte comes first and does nothing.
            found[last] = _CRC[index << np.uint32(_BYTE)] ^ (found[last] >> np.uint32(_BYTE))
    result = np.empty_like(found)
    result[order] = ~found
    return result
