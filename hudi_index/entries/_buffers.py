"""Arrow arrays as NumPy sees their bytes, and back. Offsets are 64 bit numbers that begin at 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import types

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["bytes_of", "fixed", "from_buffers"]


def fixed(values: pa.Array[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The values of an array of fixed width; anything may stand at a null's place."""
    return _window(values.buffers()[1], dtype, values.offset, values.offset + len(values))


def bytes_of(values: pa.Array[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Offsets from 0 and bytes of a non-empty string or binary array, large or not."""
    _, offset_buffer, data_buffer = values.buffers()
    is_large = types.is_large_string(values.type) or types.is_large_binary(values.type)
    width = np.dtype(np.int64 if is_large else np.int32)
    end = values.offset + len(values) + 1
    offsets = _window(offset_buffer, width, values.offset, end).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    return offsets - first, _window(data_buffer, np.dtype(np.uint8), first, last)


def from_buffers(data_type: pa.DataType, length: int, *buffers: Any) -> pa.Array[Any]:
    """An array without nulls over these buffers."""
    return pa.Array.from_buffers(data_type, length, [None, *map(pa.py_buffer, buffers)])


def _window(buffer: Any, dtype: np.dtype[Any], start: int, stop: int) -> npt.NDArray[Any]:
    # Where nothing but empty values stand, Arrow may leave the buffer out.
    if start == stop:
        return np.empty(0, dtype=dtype)
    whole: npt.NDArray[Any] = np.frombuffer(buffer, dtype=dtype, count=stop)
    return whole[start:]
