"""One column value as one part of an entry key: text whose UTF-8 byte order is the value's order.

    null              !
    text              itself, every character up to 0x25 (controls, space, ! " # $ %) as %XX, uppercase hex
    integer           int64 + 2^63, 16 lowercase hex digits; uint64 as it is
    date              days since 1970 as an integer
    timestamp, time   microseconds as an integer
    float, double     the double's bits, below zero inverted, else sign bit set: 16 hex digits;
                      -0.0 is 0.0, every NaN is one NaN above infinity (Spark's order)
    boolean           false, true
    decimal           unscaled value at the column's scale + 2^127, 32 hex digits;
                      above 38 digits of precision + 2^255, 64 hex digits
    binary            lowercase hex

All widths of a family (but uint64) share one encoding, so a column that Hudi widens (int to bigint, float to
double, decimal at the same scale) keeps its keys.

Why order holds. Parts are joined by `$` (0x24). No part holds a byte below 0x25, except null, which is one
0x21. Compare two parts, each followed by its `$`. Parts of fixed width differ at a digit, and digits sort as
the numbers do. If one text is a proper prefix of the other, `$` meets a byte of 0x25 or more, and the shorter
sorts first, as it must. If two texts differ at a character, then both stand for themselves; or both are
escapes, whose digits sort as their code points do; or one is an escape, whose `%` is below every character
that stands for itself. Null's 0x21 is below the `$` that ends the empty text.

Bare parts, without the `$`, sort the same way but for null, which is then above the empty text.

UTF-8 byte order is code point order, which is how Spark compares strings. Equal values have equal parts and
different values different ones, within one column type.
"""

from __future__ import annotations

import binascii
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hudi_index.entries._buffers import bytes_of, fixed, from_buffers
from hudi_index.errors import UnencodableValueError, UnsupportedTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

__all__ = [
    "ESCAPES",
    "NULL",
    "SIGN",
    "encode_array",
    "encode_text",
    "encode_value",
    "encode_values",
    "key_type",
]

NULL = "!"
"""The part that stands for null. No other part begins with it."""

ESCAPES = {code: f"%{code:02X}" for code in range(0x26)}
"""Code points that do not stand for themselves in a text, and what stands for them."""

SIGN = np.uint64(1 << 63)
"""The sign bit of 64 bit integers and doubles."""

_NULL = pa.scalar(NULL)
_INFINITY = np.uint64(0x7FF0 << 48)
_NAN = np.uint64(0x7FF8 << 48)
_UPPER_DIGITS = np.frombuffer(b"0123456789ABCDEF", dtype=np.uint8)
_UNNAMED = "value"

_WIDEST: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType], ...] = (
    (types.is_null, pa.null()),
    (types.is_boolean, pa.bool_()),
    (types.is_uint64, pa.uint64()),
    (types.is_integer, pa.int64()),
    (types.is_floating, pa.float64()),
    (types.is_date, pa.date32()),
    (types.is_time, pa.time64("us")),
    (types.is_string, pa.string()),
    (types.is_large_string, pa.string()),
    (types.is_string_view, pa.string()),
    (types.is_binary, pa.binary()),
    (types.is_large_binary, pa.binary()),
    (types.is_binary_view, pa.binary()),
    (types.is_fixed_size_binary, pa.binary()),
)


def key_type(data_type: pa.DataType, column: str = _UNNAMED) -> pa.DataType:
    """The type whose values the keys of a column hold: the widest of the column type's family.

    Raises:
        UnsupportedTypeError: for a type whose values a key can't hold in order.
    """
    if types.is_dictionary(data_type):
        return key_type(data_type.value_type, column)
    if types.is_timestamp(data_type):
        return pa.timestamp("us", data_type.tz)
    # Before the table: pyarrow calls decimals fixed-size binaries.
    if types.is_decimal(data_type):
        small = data_type.precision <= 38
        return pa.decimal128(38, data_type.scale) if small else pa.decimal256(76, data_type.scale)
    for belongs, widest in _WIDEST:
        if belongs(data_type):
            return widest
    raise UnsupportedTypeError(
        column=column, type_name=str(data_type), reason="entry keys hold plain ordered values only"
    )


def encode_array(values: pa.Array[Any] | pa.ChunkedArray[Any], column: str = _UNNAMED) -> pa.Array[Any]:
    """The key part of every value, as a string array without nulls.

    Args:
        values: Values of a type that `key_type` accepts.
        column: What to call them in an error.

    Raises:
        UnsupportedTypeError: for a type whose values a key can't hold in order.
        UnencodableValueError: for nanoseconds, text that is not UTF-8, instants beyond 64 bits of
            microseconds, or more than 2 GiB of keys at once.
    """
    widest = key_type(values.type, column)
    try:
        if isinstance(values, pa.ChunkedArray):
            parts = [_encode(chunk, widest) for chunk in values.chunks]
            return pa.concat_arrays(parts) if parts else pa.array([], pa.string())
        return _encode(values, widest)
    except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:
        raise UnencodableValueError(column=column, type_name=str(values.type), reason=str(error)) from error


def encode_values(values: Sequence[object], data_type: pa.DataType, column: str = _UNNAMED) -> list[str]:
    """The key parts of Python literals that are compared with a column of `data_type`.

    Literals are encoded at the family's widest type, unrounded: one that the column itself can't hold (1e10
    beside an int column, the double 0.1 beside a float column) still gets its place in the order. A date may
    be given as its days since 1970, a timestamp or time as its microseconds, for those that Python lacks.

    Raises:
        UnsupportedTypeError: for a type whose values a key can't hold in order.
        UnencodableValueError: for a literal of another Python type than the column's, or one that would
            have to be rounded.
    """
    widest = key_type(data_type, column)
    try:
        _check_literals(values, widest)
        parts: list[Any] = encode_array(pa.array(values, widest), column).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, UnicodeEncodeError) as error:
        raise UnencodableValueError(column=column, type_name=str(data_type), reason=str(error)) from error
    return parts


def encode_value(value: object, data_type: pa.DataType, column: str = _UNNAMED) -> str:
    """The key part of one Python literal; see `encode_values`."""
    return encode_values([value], data_type, column)[0]


def encode_text(text: str) -> str:
    """The key part of one text: `encode_value` without the detour over Arrow, for names by the thousand."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnencodableValueError(column=_UNNAMED, type_name="string", reason=str(error)) from error
    return text.translate(ESCAPES)


def _encode(values: pa.Array[Any], widest: pa.DataType) -> pa.Array[Any]:
    if values.null_count == len(values):
        return pa.repeat(_NULL, len(values))
    if isinstance(values, pa.DictionaryArray):
        parts = _encode(values.dictionary, widest).take(values.indices)
    else:
        parts = _encode_present(values.cast(widest), widest)
    if values.null_count:
        parts = pc.if_else(values.is_valid(), parts, _NULL)
    return parts


def _encode_present(values: pa.Array[Any], widest: pa.DataType) -> pa.Array[Any]:
    """Parts of a non-empty array of a key type; what stands at a null's place is undefined."""
    if types.is_string(widest):
        return _escape(values)
    if types.is_binary(widest):
        offsets, data = bytes_of(values)
        return _strings(offsets * 2, binascii.hexlify(data.tobytes()))
    if types.is_boolean(widest):
        return values.cast(pa.string())
    if types.is_decimal(widest):
        limbs = fixed(values, np.dtype((np.uint8, widest.byte_width)))[:, ::-1].copy()
        limbs[:, 0] ^= 0x80
        return _hex(limbs)
    if types.is_float64(widest):
        return _hex(_order_bits(fixed(values, np.dtype(np.uint64))).astype(">u8"))
    if types.is_uint64(widest):
        return _hex(fixed(values, np.dtype(np.uint64)).astype(">u8"))
    numbers = fixed(values, np.dtype(np.int32 if types.is_date32(widest) else np.int64)).astype(np.int64)
    return _hex((numbers.view(np.uint64) ^ SIGN).astype(">u8"))


def _order_bits(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Bits of doubles, made to sort as Spark sorts doubles."""
    # Nothing is computed as a double here: at a null's place may stand a NaN that raises.
    bits = np.where(bits == SIGN, np.uint64(0), bits)
    bits = np.where(bits & ~SIGN > _INFINITY, _NAN, bits)
    return np.where(bits >= SIGN, ~bits, bits ^ SIGN)


def _escape(values: pa.Array[Any]) -> pa.Array[Any]:
    offsets, data = bytes_of(values)
    # Arrow hands over what a file claims is UTF-8. A key that is not would be unreadable for others.
    if data.size and data.max() >= 0x80:
        values.validate(full=True)
    is_escaped = data <= max(ESCAPES)
    escaped = np.flatnonzero(is_escaped)
    if not escaped.size:
        return values
    codes = data[escaped]
    start = escaped + 2 * np.arange(escaped.size)
    result = np.empty(data.size + 2 * escaped.size, dtype=np.uint8)
    stands_for_itself = np.ones(result.size, dtype=np.bool_)
    for position, characters in enumerate((ord("%"), _UPPER_DIGITS[codes >> 4], _UPPER_DIGITS[codes & 0xF])):
        result[start + position] = characters
        stands_for_itself[start + position] = False
    result[stands_for_itself] = data[~is_escaped]
    return _strings(offsets + 2 * np.searchsorted(escaped, offsets), result)


def _hex(rows: npt.NDArray[Any]) -> pa.Array[Any]:
    width = 2 * rows.nbytes // len(rows)
    return _strings(
        np.arange(0, (len(rows) + 1) * width, width, dtype=np.int64), binascii.hexlify(rows.tobytes())
    )


def _strings(offsets: npt.NDArray[np.int64], data: object) -> pa.Array[Any]:
    # By the cast Arrow itself refuses more than a string array's 32 bit offsets can address.
    return from_buffers(pa.large_string(), len(offsets) - 1, offsets, data).cast(pa.string())


def _check_literals(values: Sequence[object], widest: pa.DataType) -> None:
    """Refuse what pyarrow would convert with a change of meaning: a datetime to its date, bytes to text."""
    expected = _python_types(widest)
    for kind in {type(value) for value in values} - {type(None)}:
        if kind not in expected:
            names = " or ".join(sorted(each.__name__ for each in expected)) or "None"
            raise TypeError(f"a literal of this column is {names}, not {kind.__name__}")
    if types.is_timestamp(widest):
        for value in values:
            if isinstance(value, datetime) and (value.tzinfo is None) != (widest.tz is None):
                raise TypeError(f"{value!r} and the column must both have a time zone, or neither")


def _python_types(widest: pa.DataType) -> frozenset[type]:
    if types.is_decimal(widest):
        return frozenset({Decimal, int})
    if types.is_timestamp(widest):
        return frozenset({datetime, int})
    return _PYTHON_TYPES[widest]


_PYTHON_TYPES: dict[pa.DataType, frozenset[type]] = {
    pa.null(): frozenset(),
    pa.bool_(): frozenset({bool}),
    pa.uint64(): frozenset({int}),
    pa.int64(): frozenset({int}),
    pa.float64(): frozenset({float, int}),
    pa.date32(): frozenset({date, int}),
    pa.time64("us"): frozenset({time, int}),
    pa.string(): frozenset({str}),
    pa.binary(): frozenset({bytes}),
}
