"""Numbers as Spark and Java hold them: single precision, decimal digits, the order of floating-point values.

Python has only double precision. Rounding to it first and to single precision then can give another value
than rounding once, so single precision is always reached from the exact number.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from hudi_index.predicate.values import types

if TYPE_CHECKING:
    from hudi_index.predicate.values.types import SqlType

__all__ = [
    "decimal_of",
    "decimal_type_of",
    "float_at",
    "float_range",
    "number_literal",
    "parse_fractional",
    "single_of",
]


def single_of(number: float | Fraction | Decimal) -> float:
    """The single-precision value nearest to the number, ties to even, as Java rounds."""
    if isinstance(number, float):
        if not math.isfinite(number):
            return number
        try:
            return _as_single(number)
        except OverflowError:
            return math.copysign(math.inf, number)
    exact = Fraction(number)
    try:
        guess = _as_single(float(exact))
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if Fraction(guess) == exact:
        return guess
    # The guess went through double precision and may be one step off.
    near = [_single_at(_bits_of(guess) + step) for step in (-1, 0, 1)]
    finite = [each for each in near if math.isfinite(each)]
    return min(finite, key=lambda each: (abs(Fraction(each) - exact), _bits_of(each) & 1))


def _single_at(bits: int) -> float:
    found: float = struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]
    return found


def _as_single(number: float) -> float:
    found: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return found


def _bits_of(single: float) -> int:
    found: int = struct.unpack("<I", struct.pack("<f", single))[0]
    return found


_WIDTHS = {"float": ("<I", "<f", 32, 23), "double": ("<Q", "<d", 64, 52)}


def float_range(name: str) -> tuple[int, int]:
    """The places of the lowest and the highest value of `float` or `double`, the highest being NaN."""
    _, _, bits, mantissa = _WIDTHS[name]
    infinity = ((1 << (bits - 1 - mantissa)) - 1) << mantissa
    return -infinity - 1, infinity + 1


def float_at(name: str, rank: int) -> float:
    """The value at a place: all values in order are at successive places, -0.0 at -1 and 0.0 at 0."""
    whole, real, bits, _ = _WIDTHS[name]
    if rank == float_range(name)[1]:
        return math.nan
    raw = rank if rank >= 0 else (1 << (bits - 1)) | (-rank - 1)
    found: float = struct.unpack(real, struct.pack(whole, raw))[0]
    return found


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """The decimal number with these digits. Exact, where Decimal's own arithmetic rounds to 28 digits."""
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return Decimal((int(unscaled < 0), digits, -scale))


def decimal_type_of(number: Decimal) -> SqlType | None:
    """The type Spark gives to a decimal literal; None if it has none."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or exponent > 0:
        return None
    precision = max(len(digits), -exponent)
    return types.decimal(precision, -exponent) if precision <= 38 else None


_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)(E[+-]?\d+)?(BD|[LSYDF])?", re.IGNORECASE | re.ASCII)
_INTEGRAL_SUFFIXES = {"Y": types.BYTE, "S": types.SHORT, "L": types.LONG}


def number_literal(text: str, *, is_negative: bool) -> tuple[int | float | Decimal, SqlType] | None:
    """The value and type of a number as Spark's parser reads it, a minus sign in front included."""
    found = _NUMBER.fullmatch(text)
    if not found or len(text) > 400:
        return None
    digits, exponent, suffix = found[1], found[2], (found[3] or "").upper()
    signed = ("-" if is_negative else "") + digits + (exponent or "")
    if suffix == "F":
        return single_of(Fraction(signed)) if Fraction(signed) else float(signed), types.FLOAT
    if suffix == "D" or (exponent and not suffix):
        return float(signed), types.DOUBLE
    if suffix in _INTEGRAL_SUFFIXES or (not suffix and digits.isdigit()):
        return None if exponent or not digits.isdigit() else _whole(int(signed), suffix)
    number = Decimal(signed)
    sql_type = decimal_type_of(number)
    return (number, sql_type) if sql_type else None


def _whole(number: int, suffix: str) -> tuple[int | Decimal, SqlType] | None:
    for sql_type in [_INTEGRAL_SUFFIXES[suffix]] if suffix else [types.INT, types.LONG]:
        if -(1 << (sql_type.bits - 1)) <= number < 1 << (sql_type.bits - 1):
            return number, sql_type
    kind_of_digits = None if suffix else decimal_type_of(Decimal(number))
    return (Decimal(number), kind_of_digits) if kind_of_digits else None


_FRACTIONAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d{1,4})?", re.IGNORECASE | re.ASCII)
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}


def parse_fractional(text: str, *, is_single: bool) -> float | None:
    """The number that Spark's cast makes of a text; None where it can't be told."""
    text = text.strip(" ")
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if not _FRACTIONAL.fullmatch(text) or len(text) > 400:
        return None
    if not is_single:
        return float(text)
    exact = Fraction(text)
    # A fraction has no negative zero.
    return single_of(exact) if exact else float(text)
