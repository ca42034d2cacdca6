"""Many keys among sorted ones, by what they begin with: no Python object per key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries._buffers import bytes_of
from hudi_index.entries.sorted import search_sorted

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

__all__ = ["as_parts", "ending", "numbers_behind", "search_between", "take"]

_MOST_DIGITS = 18


def as_parts(parts: Any) -> pa.Array[Any]:
    """Parts of keys as one array of texts. Raises ValueError."""
    if not (pa.types.is_string(parts.type) or pa.types.is_large_string(parts.type)) or parts.null_count:
        raise ValueError(
            f"parts of keys are texts without nulls, not {parts.type} with {parts.null_count} nulls"
        )
    texts: Any = parts.combine_chunks() if isinstance(parts, pa.ChunkedArray) else parts
    found: pa.Array[Any] = texts.cast(pa.string())
    if len(found) and not bytes_of(found)[1].all():
        raise ValueError("parts of keys are encoded: none holds a zero byte")
    return found


def ending(parts: pa.Array[Any], end: str) -> pa.Array[Any]:
    """Texts with another behind each."""
    # As Any: pyarrow's stubs don't know that arrays and scalars mix.
    mixed: list[Any] = [parts, pa.scalar(end), pa.scalar("")]
    found: pa.Array[Any] = pc.binary_join_element_wise(*mixed)
    return found


def _counted_on(first: Numbers, counts: Numbers) -> Numbers:
    """From each first number as many as counted: 3 and 5, two and one of them, are 3, 4, 5."""
    found: Numbers = np.arange(int(counts.sum())) + np.repeat(first - np.cumsum(counts) + counts, counts)
    return found


def take(values: Any, rows: Numbers) -> pa.Array[Any]:
    """Some rows."""
    # As Any: pyarrow's stubs take an array of numbers for one of flags.
    found: pa.Array[Any] = values.take(pa.array(rows, pa.int64()))
    return found


def search_between(
    keys: pa.Array[Any], lows: pa.Array[Any], highs: pa.Array[Any]
) -> tuple[Numbers, Numbers, pa.Array[Any]]:
    """Rows of sorted keys from a low to below a high, of which of them, and their keys."""
    first = search_sorted(keys, lows)
    nearest, is_hit = _compare(keys, first, highs)
    # As a rule there is one row or none: to compare the next ones as well is cheaper than to search again.
    several = np.flatnonzero(_compare(keys, first + 1, highs)[1])
    if not len(several):
        rows = np.flatnonzero(is_hit)
        return first[rows], rows, nearest if len(rows) == len(nearest) else take(nearest, rows)
    counts = is_hit.astype(np.int64)
    counts[several] = search_sorted(keys, take(highs, several)) - first[several]
    found = _counted_on(first, counts)
    return found, np.repeat(np.arange(len(counts)), counts), take(keys, found)


def _compare(keys: pa.Array[Any], rows: Numbers, highs: pa.Array[Any]) -> tuple[pa.Array[Any], Flags]:
    """The keys of rows, any key for a row that isn't there; and which are there and below their high."""
    is_there: Flags = rows < len(keys)
    if not is_there.any():
        return highs, is_there
    found = take(keys, np.minimum(rows, len(keys) - 1))
    # As Any: pyarrow's stubs don't know that texts compare.
    compared: Any = pc.less(found, highs)
    is_below: Flags = compared.to_numpy(zero_copy_only=False) & is_there
    return found, is_below


def _numbers_at(data: npt.NDArray[np.uint8], begins: Numbers, ends: Numbers) -> tuple[Numbers, Flags]:
    """The numbers that stand in stretches of some bytes, and where there is one, as Python spells it."""
    lengths = ends - begins
    is_number = (lengths > 0) & (lengths <= _MOST_DIGITS)
    numbers = np.zeros(len(begins), dtype=np.int64)
    last = len(data) - 1
    is_number &= (lengths == 1) | (data[np.minimum(begins, last)] != ord("0"))
    for place in range(min(int(lengths.max()), _MOST_DIGITS)):
        is_inside = lengths > place
        # Bytes below `0` become large ones.
        digits = data[np.minimum(begins + place, last)] - np.uint8(ord("0"))
        is_number &= ~is_inside | (digits <= np.uint8(9))
        numbers = np.where(is_inside, numbers * 10 + digits, numbers)
    return numbers, is_number


def numbers_behind(keys: pa.Array[Any], beginnings: pa.Array[Any], of: Numbers) -> tuple[Numbers, Flags]:
    """What stands in keys behind what they begin with, and where that is a number, as Python spells it.

    Args:
        keys: At least one.
        beginnings: Of keys.
        of: For each key the place of its own among them.
    """
    offsets, data = bytes_of(keys)
    lengths = np.diff(bytes_of(beginnings)[0])
    return _numbers_at(data, offsets[:-1] + lengths[of], offsets[1:])
