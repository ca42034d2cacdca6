"""Literals, and Spark's casts of them (ANSI mode off).

Invariant: a cast gives the value Spark gives (null where Spark gives null), or None where that isn't certain.
It never guesses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hudi_index.predicate.values import types
from hudi_index.predicate.values.numbers import decimal_of, parse_fractional, single_of
from hudi_index.predicate.values.times import (
    INVALID,
    SessionZone,
    parse_date,
    parse_timestamp,
    timestamp_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index.predicate.values.types import SqlType

__all__ = ["Literal", "cast_literal"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of one type; its value None is SQL's null."""

    value: Any
    type: SqlType


def cast_literal(literal: Literal, target: SqlType, zone: SessionZone) -> Literal | None:
    """The literal as a value of another type; None where it isn't certain what Spark makes of it."""
    source = literal.type
    if source == target:
        return literal
    if literal.value is None:
        return Literal(None, target)
    if source == types.BOOLEAN and target.is_numeric:
        return cast_literal(Literal(int(literal.value), types.INT), target, zone)
    caster = _CASTERS.get((_family(source), _family(target)))
    return caster(literal.value, target, zone) if caster else None


def _family(sql_type: SqlType) -> str:
    if sql_type.is_integral:
        return "integral"
    return "fractional" if sql_type.is_fractional else sql_type.name


def _to_integral(number: int | Decimal, target: SqlType, _: SessionZone) -> Literal | None:
    whole = int(number)
    # A cast that cuts digits off, or wraps around, is nobody's intention.
    is_exact = whole == number and -(1 << (target.bits - 1)) <= whole < 1 << (target.bits - 1)
    return Literal(whole, target) if is_exact else None


def _to_fractional(number: int | Decimal, target: SqlType, _: SessionZone) -> Literal:
    if target == types.FLOAT:
        return Literal(single_of(Fraction(number)), target)
    return Literal(float(number), target)


def _between_fractional(number: float, target: SqlType, _: SessionZone) -> Literal:
    return Literal(single_of(number) if target == types.FLOAT else number, target)


def _to_decimal(number: int | Decimal, target: SqlType, _: SessionZone) -> Literal | None:
    scaled = Fraction(number) * 10**target.scale
    if scaled.denominator != 1:
        return None
    fits = abs(scaled.numerator) < 10**target.precision
    return Literal(decimal_of(scaled.numerator, target.scale) if fits else None, target)


def _number_to_string(number: int | Decimal, target: SqlType, _: SessionZone) -> Literal | None:
    # Java writes decimals with more digits behind the point in scientific notation, at times.
    if isinstance(number, Decimal) and not -6 <= int(number.as_tuple().exponent) <= 0:
        return None
    return Literal(format(number, "f") if isinstance(number, Decimal) else str(number), target)


def _boolean_to_string(value: bool, target: SqlType, _: SessionZone) -> Literal:  # noqa: FBT001 - a value
    return Literal("true" if value else "false", target)


def _date_to_string(value: date, target: SqlType, _: SessionZone) -> Literal:
    return Literal(value.isoformat(), target)


def _timestamp_to_string(value: datetime, target: SqlType, zone: SessionZone) -> Literal | None:
    local = zone.local_of(value)
    return Literal(timestamp_text(local), target) if local else None


def _ntz_to_string(value: datetime, target: SqlType, _: SessionZone) -> Literal:
    return Literal(timestamp_text(value), target)


_WHOLE = re.compile(r"([+-]?\d+)(?:\.\d*)?", re.ASCII)
_TRUE_WORDS = ("t", "true", "y", "yes", "1")
_FALSE_WORDS = ("f", "false", "n", "no", "0")


def _string_to_integral(text: str, target: SqlType, _: SessionZone) -> Literal | None:
    # Spark cuts off what stands behind the point; what is out of range becomes null.
    text = text.strip(" ")
    if re.search(r"[!-*,/:-~]", text) or not text:
        return Literal(None, target)
    found = _WHOLE.fullmatch(text)
    if not found or len(text) > 400:
        return None
    whole = int(found[1])
    fits = -(1 << (target.bits - 1)) <= whole < 1 << (target.bits - 1)
    return Literal(whole if fits else None, target)


def _string_to_fractional(text: str, target: SqlType, _: SessionZone) -> Literal | None:
    number = parse_fractional(text, is_single=target == types.FLOAT)
    if number is not None:
        return Literal(number, target)
    # All that Java reads begins with a sign, a point or a digit, but for the names of infinity and NaN.
    text = text.strip(" ")
    is_none = not text or re.match(r"[^\W\dIiNn]", text, re.ASCII) or re.search(r"[!-*,/:-@]", text)
    return Literal(None, target) if is_none else None


def _string_to_decimal(text: str, target: SqlType, zone: SessionZone) -> Literal | None:
    if not re.fullmatch(r"-?\d{1,38}(\.\d{1,38})?", text, re.ASCII):
        return None
    return _to_decimal(Decimal(text), target, zone)


def _string_to_boolean(text: str, target: SqlType, _: SessionZone) -> Literal | None:
    word = text.strip(" ").lower()
    if word in _TRUE_WORDS or word in _FALSE_WORDS:
        return Literal(word in _TRUE_WORDS, target)
    return Literal(None, target) if word.isprintable() else None


_NO_TIME = re.compile(r"|[a-df-mo-su-xz][^:]*|\d{1,3}(?:[^\d:T][^:T]*)?", re.ASCII | re.IGNORECASE)
"""Neither a date nor a time: nothing, a word, or a year too short, without the signs of a time of day.

Words that may mean a moment (epoch, now, today, tomorrow, yesterday) are none of these.
"""


def _string_to_date(text: str, target: SqlType, _: SessionZone) -> Literal | None:
    is_none = _NO_TIME.fullmatch(text.strip(" "))
    return _check(INVALID if is_none else parse_date(text), target)


def _string_to_timestamp(text: str, target: SqlType, zone: SessionZone) -> Literal | None:
    is_none = _NO_TIME.fullmatch(text.strip(" "))
    zone_or_none = zone if target == types.TIMESTAMP else None
    return _check(INVALID if is_none else parse_timestamp(text, zone_or_none), target)


def _check(found: date | str | None, target: SqlType) -> Literal | None:
    return None if found is None else Literal(None if found == INVALID else found, target)


def _string_to_binary(text: str, target: SqlType, _: SessionZone) -> Literal:
    return Literal(text.encode(), target)


def _date_to_timestamp(value: date, target: SqlType, zone: SessionZone) -> Literal | None:
    return _local_to_timestamp(datetime.combine(value, time()), target, zone)


def _date_to_ntz(value: date, target: SqlType, _: SessionZone) -> Literal:
    return Literal(datetime.combine(value, time()), target)


def _local_to_timestamp(value: datetime, target: SqlType, zone: SessionZone) -> Literal | None:
    return _check(zone.instant_of(value), target)


def _timestamp_to_local(value: datetime, target: SqlType, zone: SessionZone) -> Literal | None:
    return _check(zone.local_of(value), target)


def _timestamp_to_date(value: datetime, target: SqlType, zone: SessionZone) -> Literal | None:
    local = zone.local_of(value)
    return Literal(local.date(), target) if local else None


def _ntz_to_date(value: datetime, target: SqlType, _: SessionZone) -> Literal:
    return Literal(value.date(), target)


_CASTERS: dict[tuple[str, str], Callable[[Any, SqlType, SessionZone], Literal | None]] = {
    **{
        (source, target): caster
        for source in ("integral", "decimal")
        for target, caster in {
            "integral": _to_integral,
            "fractional": _to_fractional,
            "decimal": _to_decimal,
            "string": _number_to_string,
        }.items()
    },
    ("fractional", "fractional"): _between_fractional,
    ("boolean", "string"): _boolean_to_string,
    ("date", "string"): _date_to_string,
    ("timestamp", "string"): _timestamp_to_string,
    ("timestamp_ntz", "string"): _ntz_to_string,
    ("string", "integral"): _string_to_integral,
    ("string", "fractional"): _string_to_fractional,
    ("string", "decimal"): _string_to_decimal,
    ("string", "boolean"): _string_to_boolean,
    ("string", "date"): _string_to_date,
    ("string", "timestamp"): _string_to_timestamp,
    ("string", "timestamp_ntz"): _string_to_timestamp,
    ("string", "binary"): _string_to_binary,
    ("date", "timestamp"): _date_to_timestamp,
    ("date", "timestamp_ntz"): _date_to_ntz,
    ("timestamp_ntz", "timestamp"): _local_to_timestamp,
    ("timestamp", "timestamp_ntz"): _timestamp_to_local,
    ("timestamp", "date"): _timestamp_to_date,
    ("timestamp_ntz", "date"): _ntz_to_date,
}
