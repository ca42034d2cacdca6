"""Arrow's constants as literals of Spark's types, and the casts that change no value.

Arrow brings both sides of a comparison to one type before it compares. A literal is given only where that
comparison is of the values themselves, so that Spark's of the literal has the same outcome; None elsewhere.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal

if TYPE_CHECKING:
    from hudi_index.predicate import SqlType

__all__ = ["keeps_values", "literal_of", "value_type_of"]

_MOST_DIGITS = 38
_SINGLE_BITS, _DOUBLE_BITS = 24, 53
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def literal_of(scalar: Any, sql_type: SqlType) -> Literal | None:
    """A constant that is not null, as what values of a type may be compared with by Spark's rules.

    None where Arrow's comparison may round, and where there is none.
    """
    source: Any = scalar.type
    if isinstance(source, pa.DictionaryType):
        scalar = scalar.value
        source = scalar.type
        if not scalar.is_valid:
            return None
    if sql_type.is_numeric:
        return _number(scalar, source, sql_type)
    if sql_type == types.BOOLEAN and pa.types.is_boolean(source):
        return Literal(scalar.as_py(), sql_type)
    if sql_type == types.STRING and _is_text(source):
        return _text(scalar)
    if sql_type == types.BINARY and _is_binary(source):
        return Literal(scalar.as_py(), sql_type)
    if sql_type == types.DATE and pa.types.is_date32(source):
        return _date(scalar.value)
    if isinstance(source, pa.TimestampType):
        # Arrow compares instants with instants and local times with local times, nothing else.
        is_instant = source.tz is not None
        if sql_type == (types.TIMESTAMP if is_instant else types.TIMESTAMP_NTZ):
            return _timestamp(scalar.value, source.unit, sql_type)
    return None


def _text(scalar: Any) -> Literal | None:
    try:
        return Literal(scalar.as_py(), types.STRING)
    except UnicodeDecodeError:
        return None


def _number(scalar: Any, source: Any, sql_type: SqlType) -> Literal | None:
    value = scalar.as_py()
    if pa.types.is_integer(source):
        return _whole(value, sql_type)
    if pa.types.is_float32(source) or pa.types.is_float64(source):
        return _fraction(value, sql_type, is_single=pa.types.is_float32(source))
    if pa.types.is_decimal(source):
        return _decimal(value, source.precision, source.scale, sql_type)
    return None


def _whole(value: int, sql_type: SqlType) -> Literal | None:
    if not -(1 << 63) <= value < 1 << 63:
        return None
    if sql_type.is_fractional:
        bits = _SINGLE_BITS if sql_type == types.FLOAT else _DOUBLE_BITS
        return Literal(float(value), sql_type) if abs(value) <= 1 << bits else None
    if sql_type.is_decimal:
        return _decimal(Decimal(value), 19, 0, sql_type)
    return Literal(value, types.LONG)


def _fraction(value: float, sql_type: SqlType, *, is_single: bool) -> Literal | None:
    if sql_type.is_fractional and not math.isnan(value):
        return Literal(value, types.FLOAT if is_single and sql_type == types.FLOAT else types.DOUBLE)
    # Beside a single, Arrow makes singles of whole numbers.
    is_exact = sql_type.is_integral and sql_type.bits < _DOUBLE_BITS and not is_single
    return Literal(value, types.DOUBLE) if is_exact and math.isfinite(value) else None


def _decimal(value: Decimal, precision: int, scale: int, sql_type: SqlType) -> Literal | None:
    if sql_type.is_fractional or not 0 <= scale <= precision:
        return None
    own_scale, own_whole = (
        (sql_type.scale, sql_type.precision - sql_type.scale) if sql_type.is_decimal else (0, 19)
    )
    # Both must fit into one type, or one of the engines rounds.
    if max(scale, own_scale) + max(precision - scale, own_whole) > _MOST_DIGITS:
        return None
    return Literal(value, types.decimal(precision, scale))


def _date(days: int) -> Literal | None:
    try:
        return Literal(date(1970, 1, 1) + timedelta(days=days), types.DATE)
    except OverflowError:
        return None


def _timestamp(value: int, unit: str, sql_type: SqlType) -> Literal | None:
    micros, rest = divmod(value * 10**6, _PER_SECOND[unit])
    if rest:
        return None
    try:
        found = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
    return Literal(found if sql_type == types.TIMESTAMP else found.replace(tzinfo=None), sql_type)


def value_type_of(data_type: Any) -> Any:
    """A type, or that of a dictionary's values."""
    return data_type.value_type if isinstance(data_type, pa.DictionaryType) else data_type


def keeps_values(source: SqlType, cast: Any) -> bool:
    """Whether Arrow's cast with these options keeps every value of a type that it gives at all."""
    target = value_type_of(cast.type.field("to_type").type)
    if source.is_integral:
        return _keeps_whole(source.bits, target)
    if source.is_fractional:
        return pa.types.is_float64(target) or (source == types.FLOAT and pa.types.is_float32(target))
    if source.is_decimal:
        is_wider = pa.types.is_decimal(target) and target.scale >= source.scale
        return is_wider and target.precision - target.scale >= source.precision - source.scale
    if isinstance(target, pa.TimestampType):
        own = types.TIMESTAMP if target.tz is not None else types.TIMESTAMP_NTZ
        # Nanoseconds end in 2262; what is later is an error, or some other time if that is allowed.
        is_whole = target.unit == "us" or (target.unit == "ns" and not cast["allow_time_overflow"].as_py())
        return source == own and is_whole
    return (
        (source == types.STRING and _is_text(target))
        or (source == types.BINARY and _is_binary(target))
        or (source == types.DATE and pa.types.is_date32(target))
        or (source == types.BOOLEAN and pa.types.is_boolean(target))
    )


def _keeps_whole(bits: int, target: Any) -> bool:
    if pa.types.is_signed_integer(target):
        return bool(target.bit_width >= bits)
    if pa.types.is_decimal(target):
        return bool(target.precision - target.scale >= len(str(1 << bits)) and target.scale >= 0)
    return bits < _DOUBLE_BITS and pa.types.is_float64(target)


def _is_text(data_type: Any) -> bool:
    return (
        pa.types.is_string(data_type)
        or pa.types.is_large_string(data_type)
        or pa.types.is_string_view(data_type)
    )


def _is_binary(data_type: Any) -> bool:
    return (
        pa.types.is_binary(data_type)
        or pa.types.is_large_binary(data_type)
        or pa.types.is_binary_view(data_type)
    )
