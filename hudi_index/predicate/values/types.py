"""Spark SQL's types, as far as predicates tell them apart, and the columns of a table by type.

A type is a frozen value with the text Spark gives it (`decimal(10,2)`, `struct<a:int,b:string>`). What has no
order that a domain could use (maps, intervals, variants) is `other`, with its text kept; arrays have none
either, but elements.
Invariant: `parse_type(str(type)) == type`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BINARY",
    "BOOLEAN",
    "BYTE",
    "DATE",
    "DOUBLE",
    "FLOAT",
    "INT",
    "LONG",
    "NULL",
    "SHORT",
    "STRING",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "Column",
    "Schema",
    "SqlType",
    "array",
    "decimal",
    "parse_type",
    "struct",
]


@dataclass(frozen=True, slots=True)
class SqlType:
    """One Spark SQL type."""

    name: str
    """Spark's own word: `bigint`, `string`, `decimal`, `struct`, `array`, or `other`."""
    precision: int = 0
    scale: int = 0
    fields: tuple[tuple[str, SqlType], ...] = ()
    """Of a struct."""
    text: str = ""
    """Of an `other`."""
    element: SqlType | None = None
    """Of an array."""

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name == "struct":
            inner = ",".join(f"{_field_name(name)}:{sql_type}" for name, sql_type in self.fields)
            return f"struct<{inner}>"
        if self.element is not None:
            return f"array<{self.element}>"
        return self.text or self.name

    @property
    def is_integral(self) -> bool:
        """Whether its values are whole numbers of a fixed number of bits."""
        return self.name in _INTEGRAL_BITS

    @property
    def is_fractional(self) -> bool:
        """Whether its values are binary floating-point numbers."""
        return self.name in ("float", "double")

    @property
    def is_decimal(self) -> bool:
        """Whether its values are decimal numbers."""
        return self.name == "decimal"

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.is_integral or self.is_fractional or self.is_decimal

    @property
    def is_ordered(self) -> bool:
        """Whether its values have one order that a domain can use."""
        return self.name not in ("array", "struct", "other", "void")

    def holds(self, value: object) -> bool:
        """Whether a Python value can be one of this type."""
        if isinstance(value, datetime):
            return self.name == ("timestamp_ntz" if value.tzinfo is None else "timestamp")
        sql_types = _PYTHON.get(self.name, ())
        return isinstance(value, sql_types) and (self.name == "boolean") == isinstance(value, bool)

    @property
    def bits(self) -> int:
        """How many bits a value of an integral type has."""
        return _INTEGRAL_BITS[self.name]


_PYTHON: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), (int,)),
    **dict.fromkeys(("float", "double"), (float,)),
    "decimal": (Decimal,),
    "string": (str,),
    "binary": (bytes,),
    "boolean": (bool,),
    "date": (date,),
}
_INTEGRAL_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}

NULL = SqlType("void")
BOOLEAN = SqlType("boolean")
BYTE = SqlType("tinyint")
SHORT = SqlType("smallint")
INT = SqlType("int")
LONG = SqlType("bigint")
FLOAT = SqlType("float")
DOUBLE = SqlType("double")
STRING = SqlType("string")
BINARY = SqlType("binary")
DATE = SqlType("date")
TIMESTAMP = SqlType("timestamp")
TIMESTAMP_NTZ = SqlType("timestamp_ntz")


def decimal(precision: int, scale: int) -> SqlType:
    """The type of decimal numbers with so many digits, so many of them behind the point."""
    return SqlType("decimal", precision, scale)


def array(element: SqlType) -> SqlType:
    """The type of arrays of such elements."""
    return SqlType("array", element=element)


def struct(fields: Mapping[str, SqlType]) -> SqlType:
    """The type of rows with these fields."""
    return SqlType("struct", fields=tuple(fields.items()))


_PLAIN = {
    "void": NULL,
    "boolean": BOOLEAN,
    "byte": BYTE,
    "tinyint": BYTE,
    "short": SHORT,
    "smallint": SHORT,
    "int": INT,
    "integer": INT,
    "long": LONG,
    "bigint": LONG,
    "float": FLOAT,
    "real": FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?", re.IGNORECASE)
_ARRAY = re.compile(r"array\s*<\s*(\S|\S.*\S)\s*>", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^:\s]+))\s*:\s*(.*?)(?:\s+not\s+null)?\s*", re.I | re.S)
_MAX_DEPTH = 50


def parse_type(text: str) -> SqlType:
    """The type that Spark's text means; `other` for whatever is not understood."""
    return _parse(text.strip(), _MAX_DEPTH)


def _parse(text: str, depth: int) -> SqlType:
    plain = _PLAIN.get(text.lower())
    if plain is not None:
        return plain
    if found := _DECIMAL.fullmatch(text):
        precision, scale = int(found[1] or 10), int(found[2] or 0)
        if 1 <= precision <= 38 and scale <= precision:
            return decimal(precision, scale)
    if depth and (found := _ARRAY.fullmatch(text)):
        return array(_parse(found[1], depth - 1))
    if depth and text.lower().startswith("struct<") and text.endswith(">"):
        fields = [_FIELD.fullmatch(part) for part in _split(text[7:-1])]
        if all(fields):
            return struct(
                {
                    (found[1].replace("``", "`") if found[1] else found[2]): _parse(found[3], depth - 1)
                    for found in fields
                    if found
                }
            )
    return SqlType("other", text=text)


def _split(text: str) -> list[str]:
    """What stands between the commas outside of all brackets and back-quotes."""
    parts, depth, start, is_quoted = [], 0, 0, False
    for index, sign in enumerate(text):
        if sign == "`":
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += (sign in "<(") - (sign in ">)")
            if sign == "," and depth == 0:
                parts.append(text[start:index])
                start = index + 1
    return [*parts, text[start:]] if text.strip() else []


def _field_name(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Column:
    """A column or nested field as the table spells it."""

    parts: tuple[str, ...]
    type: SqlType

    @property
    def path(self) -> str:
        """`a.b` for field b of struct a."""
        return ".".join(self.parts)


@dataclass(frozen=True)
class Schema:
    """A table's columns by name, looked up without regard to case, as Spark does."""

    columns: Mapping[str, SqlType]
    expressions: Mapping[str, SqlType] = field(default_factory=dict)
    """Types of the expressions that indexes are over, by their bound text (`binding.with_expressions`)."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names under which a query may speak of such an expression: RFC-63 lets it use the index's."""

    @classmethod
    def parse(cls, columns: Mapping[str, str]) -> Schema:
        """The schema with types given as Spark's texts."""
        return cls({name: parse_type(text) for name, text in columns.items()})

    @cached_property
    def _by_folded_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.columns:
            found.setdefault(name.lower(), []).append(name)
        return found

    def look_up(self, parts: tuple[str, ...]) -> Column | None:
        """The column or nested field of this name; None if there is none, or more than one.

        What lies inside an array or a map is `other`: such a path has many values per row.
        """
        names = self._by_folded_name.get(parts[0].lower(), [])
        if len(names) != 1:
            return None
        spelled, sql_type = [names[0]], self.columns[names[0]]
        for part in parts[1:]:
            if sql_type.name in ("array", "other"):
                return Column((*spelled, part), SqlType("other", text=str(sql_type)))
            inner = [each for each in sql_type.fields if each[0].lower() == part.lower()]
            if len(inner) != 1:
                return None
            spelled.append(inner[0][0])
            sql_type = inner[0][1]
        return Column(tuple(spelled), sql_type)

    def exact(self, parts: tuple[str, ...]) -> SqlType | None:
        """The type of the column or nested field that is spelled so; None if there is none."""
        sql_type = self.columns.get(parts[0])
        for part in parts[1:]:
            found = [inner for name, inner in sql_type.fields if name == part] if sql_type else []
            sql_type = found[0] if len(found) == 1 else None
        return sql_type

    def paths(self) -> tuple[str, ...]:
        """Every column and nested field, for suggestions."""
        found: list[str] = []
        pending = list(self.columns.items())[::-1]
        while pending:
            path, sql_type = pending.pop()
            found.append(path)
            pending.extend((f"{path}.{name}", inner) for name, inner in reversed(sql_type.fields))
        return tuple(found)
