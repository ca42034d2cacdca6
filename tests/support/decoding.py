"""Key parts back to values: what shows that no part stands for two values, and that none is lost."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hudi_index.entries._buffers import bytes_of, from_buffers
from hudi_index.entries.decoding import TEXT
from hudi_index.entries.encoding import ESCAPES, NULL, SIGN, key_type
from hudi_index.errors import KeyCorruptError

if TYPE_CHECKING:
    import numpy.typing as npt


def decode_array(parts: pa.Array[Any] | pa.ChunkedArray[Any], data_type: pa.DataType) -> pa.Array[Any]:
    """The values that key parts stand for, as an array of `data_type` (a dictionary's value type).

    Raises:
        KeyCorruptError: for a part that no value of the type encodes to.
    """
    if isinstance(parts, pa.ChunkedArray):
        parts = parts.combine_chunks()
    widest = key_type(data_type)
    plain = data_type.value_type if types.is_dictionary(data_type) else data_type
    is_null = pc.equal(parts, pa.scalar(NULL))
    present = parts.filter(pc.invert(is_null))
    _check_parts(present, widest)
    try:
        return _decode(present, widest).take(_places(is_null)).cast(plain)
    except pa.ArrowInvalid as error:
        if len(parts) > 1:
            # Taken one by one, the wrong one names itself.
            return pa.concat_arrays(
                [decode_array(parts.slice(row, 1), data_type) for row in range(len(parts))]
            )
        raise KeyCorruptError(key=str(parts[0]), reason=f"no {data_type}: {error}") from error


def decode_value(part: str, data_type: pa.DataType) -> Any:
    """The Python value that a key part stands for; `encode_value` takes it back to the same part.

    A date or timestamp that Python lacks comes as its days or microseconds since 1970.
    """
    value = decode_array(pa.array([part]), key_type(data_type))[0]
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.value


def _check_parts(parts: pa.Array[Any], widest: pa.DataType) -> None:
    matches = pc.match_substring_regex(parts, rf"\A(?:{_pattern(widest)})\z")
    if len(parts) and not pc.all(matches).as_py():
        wrong = parts.filter(pc.invert(matches))[0].as_py()
        raise KeyCorruptError(key=wrong, reason=f"{widest} values are not encoded so")


def _pattern(widest: pa.DataType) -> str:
    if types.is_null(widest):
        return NULL
    if types.is_string(widest):
        return TEXT
    if types.is_binary(widest):
        return "(?:[0-9a-f]{2})*"
    if types.is_boolean(widest):
        return "false|true"
    return f"[0-9a-f]{{{2 * widest.byte_width if types.is_decimal(widest) else 16}}}"


def _decode(parts: pa.Array[Any], widest: pa.DataType) -> pa.Array[Any]:
    if not len(parts):
        return pa.array([], widest)
    if types.is_string(widest):
        return _unescape(parts)
    if types.is_boolean(widest):
        return pc.equal(parts, pa.scalar("true"))
    offsets, digits = bytes_of(parts)
    data = binascii.unhexlify(digits.tobytes())
    if types.is_binary(widest):
        return from_buffers(pa.large_binary(), len(parts), offsets // 2, data).cast(widest)
    if types.is_date32(widest):
        days = from_buffers(pa.int64(), len(parts), _native(data, pa.int64()))
        return days.cast(pa.int32()).cast(widest)
    return from_buffers(widest, len(parts), _native(data, widest))


def _places(is_null: pa.BooleanArray) -> pa.Array[Any]:
    """For each row its place among the rows that are not null, or null."""
    mask = is_null.to_numpy(zero_copy_only=False)
    return pa.array(np.cumsum(~mask) - 1, pa.int64(), mask=mask)


def _native(data: bytes, widest: pa.DataType) -> npt.NDArray[Any]:
    """Decoded digits as Arrow lays out the type's values."""
    if isinstance(widest, (pa.Decimal128Type, pa.Decimal256Type)):
        digits = np.frombuffer(data, dtype=np.uint8).reshape(-1, widest.byte_width)
        limbs: npt.NDArray[np.uint8] = digits[:, ::-1].copy()
        limbs[:, -1] ^= 0x80
        return limbs
    words: npt.NDArray[np.uint64] = np.frombuffer(data, dtype=">u8").astype(np.uint64)
    if types.is_float64(widest):
        words = np.where(words >= SIGN, words ^ SIGN, ~words)
    elif not types.is_uint64(widest):
        words = words ^ SIGN
    return words


def _unescape(parts: pa.Array[Any]) -> pa.Array[Any]:
    if not pc.any(pc.match_substring(parts, "%")).as_py():
        return parts
    # `%` itself last: every other `%` of the parts begins an escape, so no replacement can make a new one.
    for code, escape in ESCAPES.items():
        parts = pc.replace_substring(parts, escape, chr(code))
    return parts
