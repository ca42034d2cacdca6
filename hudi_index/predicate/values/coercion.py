"""In which type Spark compares a column with literals (Spark 3.5, ANSI mode off).

Spark has two rule books. `=`, `<` and their like take a text apart to meet the other side's type; IN turns
everything into text as soon as one text is in it. Both were read off Spark's analyzer for every pair of
types, and tests/parity compares their results with Spark's.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from hudi_index.predicate.values import types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.predicate.values.casts import Literal
    from hudi_index.predicate.values.types import SqlType

__all__ = ["common_type", "comparison_type", "list_type"]

_NUMERIC_ORDER = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TIMES = ("date", "timestamp_ntz", "timestamp")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}


def comparison_type(column: SqlType, literal: Literal, *, is_equality: bool) -> SqlType | None:
    """The type in which `column operator literal` compares; None if Spark refuses or that isn't certain."""
    other = literal.type
    if column == other or other == types.NULL:
        return column
    pair = {column.name, other.name}
    if "string" in pair:
        named = other if column.name == "string" else column
        # There is no decimal type for every text.
        return types.DOUBLE if named.is_decimal else named if named.is_ordered else None
    if "boolean" in pair:
        number = other if column.name == "boolean" else column
        return number if is_equality and number.is_numeric else None
    if column.is_decimal and other.is_integral and literal.value is not None:
        return _wider_decimal(column, types.decimal(max(1, len(str(abs(literal.value)))), 0))
    return common_type(column, other)


def list_type(column: SqlType, literals: Iterable[Literal]) -> SqlType | None:
    """The type in which `column IN (literals)` compares; None if Spark refuses or that isn't certain."""
    sql_types = [column, *(literal.type for literal in literals if literal.type != types.NULL)]
    if types.STRING in sql_types:
        promotable = all(
            sql_type.is_ordered and sql_type.name not in ("binary", "boolean") for sql_type in sql_types
        )
        return types.STRING if promotable else None
    return reduce(lambda one, other: common_type(one, other) if one else None, _distinct(sql_types))


def _distinct(sql_types: list[SqlType]) -> list[SqlType | None]:
    return list(dict.fromkeys(sql_types))


def common_type(one: SqlType, other: SqlType | None) -> SqlType | None:
    """The type that both become where they meet, for numbers and for times; None if there is none."""
    if other is None or one == other:
        return one
    if one.is_numeric and other.is_numeric:
        if one.is_decimal or other.is_decimal:
            return _decimal_and(one, other)
        return max(one, other, key=lambda sql_type: _NUMERIC_ORDER.index(sql_type.name))
    if one.name in _TIMES and other.name in _TIMES:
        return max(one, other, key=lambda sql_type: _TIMES.index(sql_type.name))
    return None


def _decimal_and(one: SqlType, other: SqlType) -> SqlType | None:
    if one.is_fractional or other.is_fractional:
        return types.DOUBLE
    return _wider_decimal(_as_decimal(one), _as_decimal(other))


def _as_decimal(sql_type: SqlType) -> SqlType:
    return sql_type if sql_type.is_decimal else types.decimal(_DIGITS[sql_type.name], 0)


def _wider_decimal(one: SqlType, other: SqlType) -> SqlType | None:
    scale = max(one.scale, other.scale)
    precision = max(one.precision - one.scale, other.precision - other.scale) + scale
    # Above 38 digits Spark cuts whole digits off, and large values become null.
    return types.decimal(precision, scale) if precision <= 38 else None
