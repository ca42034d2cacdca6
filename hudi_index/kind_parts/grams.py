"""Grams of texts: stretches of a number of characters, with a mark before the first and after the last.

The marks make beginnings and ends findable. A text that holds a mark itself gives grams that mean more than
one thing, which makes a look-up find more, never less.

All texts are one row of characters here, and a gram is a number made of the ranks of its characters. Few
characters make small numbers, which a table of all that can be tells apart without sorting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries._buffers import bytes_of, from_buffers
from hudi_index.kind_parts.bitmaps import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Characters = npt.NDArray[np.uint8] | npt.NDArray[np.uint32]

__all__ = ["END", "START", "grams_of"]

START, END = "\x02", "\x03"
_CHARACTERS = 500_000
"""That are looked at at a time: more would not fit a processor's cache."""
_ASCII = 0x80
_PLACES = 16
"""How many times as long as what it tells apart a table may be before sorting is cheaper."""
_MOST = 1 << 63


def grams_of(texts: Any, size: int) -> Iterator[Tokens]:
    """The grams of texts, with the rows that they stand in, as often as they stand there."""
    lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths, dtype=np.int64)
    first, done = 0, 0
    while first < len(texts):
        # As many rows as have so many characters, at least one.
        last = max(first + 1, int(np.searchsorted(ends, done + _CHARACTERS, side="right")))
        found = _grams_of_few(texts.slice(first, last - first), size)
        yield found._replace(rows=found.rows + first)
        first, done = last, int(ends[last - 1])


def _grams_of_few(texts: Any, size: int) -> Tokens:
    rows = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False))
    present = texts.drop_null()
    encoded = present.dictionary_encode()
    if len(rows) < 2 * len(encoded.dictionary):
        words, grams, counts = _grams(present, size)
        return Tokens(words, grams, np.repeat(rows, counts))
    words, grams, counts = _grams(encoded.dictionary, size)
    starts = np.cumsum(counts) - counts
    text_of = encoded.indices.to_numpy()
    counts, starts = counts[text_of], starts[text_of]
    positions = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return Tokens(words, grams[positions], np.repeat(rows, counts))


def _grams(texts: Any, size: int) -> tuple[pa.Array[Any], Numbers, Numbers]:
    """The grams that there are, which of them follow each other in the texts, and how many each text has."""
    characters, starts = _marked(texts)
    counts = np.maximum(np.diff(starts) - size + 1, 0)
    positions = np.repeat(starts[:-1] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    codes, bound = _codes_of(characters, size)
    grams, distinct = _ranks(codes[positions], bound)
    examples = np.empty(distinct, np.int64)
    examples[grams] = positions
    return _texts_of(characters[examples[:, np.newaxis] + np.arange(size)]), grams, counts


def _marked(texts: Any) -> tuple[Characters, Numbers]:
    """All characters, each text between its marks, and where each text begins."""
    if not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    starts, data = bytes_of(texts)
    characters: Characters = data
    if data.size and data.max() >= _ASCII:
        # Arrow hands over what a file claims is UTF-8.
        texts.validate(full=True)
        characters = np.frombuffer(data.tobytes().decode().encode("utf-32-le"), np.uint32)
        # Of each byte that begins a character, how many have begun before it.
        begun = np.zeros(data.size + 1, np.int64)
        np.cumsum((data & 0xC0) != _ASCII, out=begun[1:])
        starts = begun[starts]
    starts = starts + 2 * np.arange(len(starts))
    marked = np.empty(starts[-1], characters.dtype)
    is_text = np.ones(len(marked), np.bool_)
    for at, mark in ((starts[:-1], START), (starts[1:] - 1, END)):
        marked[at], is_text[at] = ord(mark), False
    marked[is_text] = characters
    return marked, starts


def _codes_of(characters: Characters, size: int) -> tuple[Numbers, int]:
    """A number for the gram at each place, in the order of their characters, and what all are below."""
    letters, alphabet = _ranks(characters, _ASCII if characters.dtype == np.uint8 else 0x110000)
    count = max(0, len(letters) - size + 1)
    codes, bound = letters[:count], alphabet
    for offset in range(1, size):
        # As long as a table can tell them apart, or else as long as they are numbers.
        limit = _PLACES * count if bound <= _PLACES * count else _MOST
        if offset > 1 and bound * alphabet > limit:
            codes, bound = _ranks(codes, bound)
        codes, bound = codes * alphabet + letters[offset : offset + count], bound * alphabet
    return codes, bound


def _ranks(numbers: npt.NDArray[Any], bound: int) -> tuple[Numbers, int]:
    """The rank of each number among those that there are, and how many those are."""
    if bound > _PLACES * len(numbers):
        distinct, ranks = np.unique(numbers, return_inverse=True)
        return ranks, len(distinct)
    table = np.zeros(bound, np.bool_)
    table[numbers] = True
    found = np.flatnonzero(table)
    ranks = np.empty(bound, np.int64)
    ranks[found] = np.arange(len(found))
    return ranks[numbers], len(found)


def _texts_of(grams: npt.NDArray[Any]) -> pa.Array[Any]:
    """Grams as texts, of a matrix of their characters."""
    data = grams.tobytes()
    ends = np.cumsum(np.full(len(grams), grams.shape[1], np.int64))
    if grams.dtype != np.uint8:
        data = data.decode("utf-32-le").encode()
        lengths = 1 + (grams >= 0x80) + (grams >= 0x800) + (grams >= 0x10000)
        ends = np.cumsum(lengths.sum(axis=1))
    return from_buffers(pa.large_string(), len(grams), np.concatenate([[0], ends]), data).cast(pa.string())
