"""Values as literals of Spark SQL, and hostile values of each type.

Texts are written so that Spark and this package's parser read the same value back: strings with backslash
escapes (Spark joins adjacent strings, so a doubled quote is no escape), numbers with their type's suffix.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from pyarrow import types

from hudi_index.predicate.sql.tokens import quote_name
from hudi_index.predicate.values.numbers import decimal_of

__all__ = ["column_text", "hostile_values", "literal_of", "neighbours_of"]

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_TEXTS = (
    "",
    " ",
    "$",
    "a$b",
    "%",
    "_",
    "'",
    '"',
    "\\",
    "--",
    "x" * 2000,
    "zürich",
    "日本語",
    "\U0001f600",
    "NaN",
)
_MOMENTS = ("1969-12-31T23:59:59.999999", "1900-01-01T00:00:00", "2262-04-12T00:00:00")


def column_text(path: str) -> str:
    """A column's name, or that of a field inside (`a.b`), for a query: always quoted where it has to be."""
    return ".".join(quote_name(part) for part in path.split("."))


def literal_of(value: Any, data_type: Any) -> str | None:
    """The literal of a value of an Arrow type; None if there is none that Spark reads as the same value."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return _float_literal(value, data_type)
    if isinstance(value, Decimal):
        return f"CAST('{value:f}' AS DECIMAL({data_type.precision},{data_type.scale}))"
    if isinstance(value, int):
        return _int_literal(value)
    if isinstance(value, str):
        return _text_literal(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return _time_literal(value)


def _float_literal(value: float, data_type: Any) -> str:
    word = "FLOAT" if types.is_float32(data_type) else "DOUBLE"
    if math.isnan(value) or math.isinf(value):
        text = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"CAST('{text}' AS {word})"
    return f"CAST('{value!r}' AS {word})"


def _int_literal(value: int) -> str | None:
    # The least bigint has no literal: its sign is an operator.
    if not -(2**63) < value < 2**63:
        return None
    return str(value) if -(2**31) < value < 2**31 else f"{value}L"


def _text_literal(value: str) -> str | None:
    # Spark puts variables in also inside of strings.
    if "${" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
        return None
    return "'" + "".join(_ESCAPES.get(sign, sign) for sign in value) + "'"


def _time_literal(value: Any) -> str | None:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return f"TIMESTAMP_NTZ'{value:%Y-%m-%d %H:%M:%S.%f}'" if value.year >= 1000 else None
        # With its zone, so that the session's does not matter.
        moment = value.astimezone(timezone.utc)
        return f"TIMESTAMP'{moment:%Y-%m-%d %H:%M:%S.%f}Z'" if moment.year >= 1000 else None
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'" if value.year >= 1000 else None
    return None


def hostile_values(data_type: Any) -> list[Any]:
    """Values of an Arrow type that indexes have been seen to get wrong."""
    if types.is_floating(data_type):
        return [math.nan, -0.0, 0.0, math.inf, -math.inf, 1e38, -1e38, 1.5]
    if types.is_integer(data_type):
        top = 2 ** (data_type.bit_width - 1) - 1
        return [0, -1, 1, top, -top]
    if types.is_decimal(data_type):
        # Not by arithmetic, which rounds to 28 digits.
        numbers = (0, 1, 10**data_type.precision - 1, 1 - 10**data_type.precision)
        return [decimal_of(number, data_type.scale) for number in numbers]
    if types.is_string(data_type):
        return list(_TEXTS)
    if types.is_binary(data_type):
        return [b"", b"\0", b"\xff" * 300]
    if types.is_boolean(data_type):
        return [True, False]
    if types.is_timestamp(data_type):
        zone = timezone.utc if data_type.tz else None
        return [datetime.fromisoformat(text).replace(tzinfo=zone) for text in _MOMENTS]
    if types.is_date(data_type):
        return [date(1969, 12, 31), date(1970, 1, 1), date(1600, 1, 1), date(9999, 12, 31)]
    return []


def neighbours_of(value: Any) -> list[Any]:
    """Values close to one: the next below and above, or what a text becomes by one more or less sign."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int):
        return [value - 1, value + 1]
    if isinstance(value, float):
        return (
            [] if math.isnan(value) else [math.nextafter(value, -math.inf), math.nextafter(value, math.inf)]
        )
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        return [decimal_of(unscaled + step, -int(exponent)) for step in (-1, 1)]
    if isinstance(value, str):
        return [value + "a", value[:-1], value + "\0", value.upper()]
    if isinstance(value, bytes):
        return [value + b"\0", value[:-1]]
    return _next_moments(value)


def _next_moments(value: Any) -> list[Any]:
    step = timedelta(microseconds=1) if isinstance(value, datetime) else timedelta(days=1)
    try:
        return [value - step, value + step]
    except OverflowError:
        return []
