"""Grams of texts: stretches of a number of characters, with a mark before the first and after the last.

The marks make beginnings and ends findable. A text that holds a mark itself gives grams that mean more than
one thing, which makes a look-up find more, never less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.kind_parts.bitmaps import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

__all__ = ["END", "START", "grams_of"]

START, END = "\x02", "\x03"
_CHARACTERS = 2_000_000
"""That are looked at at a time."""


def grams_of(texts: Any, size: int) -> Iterator[Tokens]:
    """The grams of texts, each once for its row."""
    lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    first = 0
    while first < len(texts):
        # As many rows as have so many characters, at least one.
        within = np.searchsorted(np.cumsum(lengths[first:]), _CHARACTERS, side="right")
        last = first + max(1, int(within))
        found = _grams_of_few(texts.slice(first, last - first), size)
        yield found._replace(rows=found.rows + first)
        first = last


def _grams_of_few(texts: Any, size: int) -> Tokens:
    encoded = texts.dictionary_encode()
    distinct: list[Any] = encoded.dictionary.to_pylist()
    marked = "".join(f"{START}{text}{END}" for text in distinct)
    owners = np.repeat(np.arange(len(distinct)), [len(text) + 2 for text in distinct])
    count = max(0, len(owners) - size + 1)
    inside = np.flatnonzero(owners[:count] == owners[len(owners) - count :])
    _, examples, grams = np.unique(_codes_of(marked, size)[inside], return_index=True, return_inverse=True)
    words = [marked[start : start + size] for start in inside[examples].tolist()]
    # A gram that stands several times in a text counts once.
    pairs = np.unique(owners[inside] * max(1, len(words)) + grams)
    text_of, gram_of = np.divmod(pairs, max(1, len(words)))
    starts = np.searchsorted(text_of, np.arange(len(distinct) + 1))
    rows = np.flatnonzero(encoded.indices.is_valid().to_numpy(zero_copy_only=False))
    of_rows = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
    counts = np.diff(starts)[of_rows]
    places = np.repeat(starts[of_rows] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return Tokens(pa.array(words, pa.string()), gram_of[places], np.repeat(rows, counts))


def _codes_of(text: str, size: int) -> npt.NDArray[np.uint64]:
    """A number for the gram at each place, the same for the same gram."""
    characters = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
    count = max(0, len(characters) - size + 1)
    codes = characters[:count]
    for offset in range(1, size):
        if offset > 2:
            # Three code points of 21 bits fill a word: a rank leaves room for one more.
            codes = np.unique(codes, return_inverse=True)[1].astype(np.uint64)
        codes = (codes << np.uint64(21)) | characters[offset : offset + count]
    return codes
