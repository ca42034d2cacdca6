"""Random predicates over columns of every type that Hudi takes, with nulls and hostile values."""

from __future__ import annotations

import math
import random
import struct
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from typing import Any

LONG = "x" * 5000


def single(number: float) -> float:
    """The nearest number of 32 bits."""
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


def _wide(text: str) -> Decimal:
    return Context(prec=38).quantize(Decimal(text), Decimal("1e-18"))


def _at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc,arg-type]


def _wall(*parts: int) -> datetime:
    return _at(*parts).replace(tzinfo=None)


VALUES: dict[str, tuple[str, list[Any]]] = {
    "wide": (
        "decimal(38,18)",
        [
            *map(
                _wide,
                ("0", "1", "-1", "0.1", "0.000000000000000001", "0.333333333333333333", "1e19", "-1e19"),
            ),
            _wide("99999999999999999999.999999999999999999"),
        ],
    ),
    "small": ("decimal(5,2)", [Decimal(text) for text in ("0.00", "1.00", "-1.50", "999.99", "0.10")]),
    "raw": ("binary", [b"", b"\x00", b"\x00\xff", b"\xff", b"a", b"ab", b"\x80" * 80]),
    "wall": (
        "timestamp_ntz",
        [_wall(1969, 12, 31, 23, 59, 59), _wall(2024, 3, 10, 2, 30), _wall(1600, 1, 1)],
    ),
    "at": (
        "timestamp",
        [
            _at(1969, 12, 31, 23, 59, 59, 999999),
            _at(2024, 11, 3, 6, 30),
            _at(2024, 11, 3, 5, 30),
            _at(1901, 1, 1),
        ],
    ),
    "d": ("date", [date(1969, 12, 31), date(2024, 2, 29), date(1600, 1, 1), date(9999, 12, 31)]),
    "f": ("float", [0.0, -0.0, 1.5, single(0.1), 16777216.0, math.nan, math.inf, -math.inf, single(1e-40)]),
    "r": ("double", [0.0, -0.0, 1.5, 0.1, 2.0**53, math.nan, math.inf, -math.inf, 5e-324, -2.5]),
    "i": ("int", [0, 1, -1, 7, 127, 128, 2147483647, -2147483648]),
    "l": ("bigint", [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "b": ("boolean", [True, False]),
    "s": (
        "string",
        [
            "",
            " ",
            "a",
            "a ",
            "a  ",
            "A",
            "ab",
            "é",
            "e\u0301",
            "z",
            "\U0001f600",
            "\uffff",
            "a\u0000",
            "a\u0000b",
            LONG,
            LONG + "y",
            "null",
            "1",
            "NaN",
            "\n",
            "a$b",
        ],
    ),
    "st.a.b": ("int", [0, 1, 5, -5]),
    "st.a.c": ("string", ["", "x", "y", "x$y"]),
    "st.n": ("int", [1, 2, 3]),
}
"""Column (or field of the struct `st`): its type and the values that rows hold."""

SCHEMA = (
    ", ".join(f"{name} {kind}" for name, (kind, _) in VALUES.items() if "." not in name)
    + ", st struct<a:struct<b:int,c:string>,n:int>, arr array<int>, words array<string>, m map<string,int>"
)
COMPARED = ("=", "=", "=", "<", "<=", ">", ">=", "<=>", "!=")
EXPRESSIONS = (
    *(
        "size(arr)",
        "arr[0]",
        "element_at(m, 'a')",
        "m['b']",
        "length(s)",
        "upper(s)",
        "trim(s)",
        "abs(i)",
        "-i",
    ),
    *(
        "i + l",
        "i * 2",
        "CAST(i AS STRING)",
        "CAST(r AS DECIMAL(10,2))",
        "CAST(wide AS DOUBLE)",
        "CAST(s AS DOUBLE)",
    ),
    *(
        "CAST(f AS DOUBLE)",
        "wide + small",
        "wide * 2",
        "CAST(at AS DATE)",
        "year(d)",
        "date_add(d, 1)",
        "hex(raw)",
    ),
    *(
        "length(raw)",
        "CAST(wall AS DATE)",
        "coalesce(i, l)",
        "nvl(s, st.a.c)",
        "if(b, i, l)",
        "concat(s, st.a.c)",
    ),
    *(
        "CASE WHEN i > 0 THEN 'p' WHEN i < 0 THEN 'n' END",
        "array_contains(arr, 2)",
        "st.a",
        "hour(at)",
        "isnan(r)",
    ),
)


@dataclass
class Predicates:
    """A seeded source of them."""

    chance: random.Random

    def row(self) -> dict[str, Any]:
        """A row in which anything may be null."""
        pick = self.chance.choice
        value = {name: self._or_null(pick(values)) for name, (_, values) in VALUES.items()}
        inner = self._or_null({"b": value.pop("st.a.b"), "c": value.pop("st.a.c")})
        return {
            **value,
            "st": self._or_null({"a": inner, "n": value.pop("st.n")}),
            "arr": pick((None, [], [1], [2, 3], [7, 8, 9])),
            "words": pick((None, [], ["a"], ["", "b"])),
            "m": pick((None, {}, {"a": 1}, {"a": 2, "b": 3})),
        }

    def _or_null(self, value: Any) -> Any:
        return None if self.chance.random() < 0.15 else value

    def literal(self, name: str) -> str:
        """Mostly a value of the column, sometimes one near it, of another type, or null."""
        kind, values = VALUES[name]
        luck, value = self.chance.random(), self.chance.choice(values)
        if luck < 0.05:
            return "NULL"
        if luck < 0.12:
            other = self.chance.choice(list(VALUES))
            return typed(self.chance.choice(VALUES[other][1]), VALUES[other][0])
        if luck < 0.2 and isinstance(value, int | Decimal) and not isinstance(value, bool):
            return str(value + 1)
        if luck < 0.25 and isinstance(value, datetime | date) and 1 < value.year < 9999:
            return typed(value + timedelta(days=1), kind)
        return typed(value, kind)

    def leaf(self) -> str:
        """One comparison."""
        name, luck = self.chance.choice(list(VALUES)), self.chance.random()
        if luck < 0.45:
            return f"{name} {self.chance.choice(COMPARED)} {self.literal(name)}"
        if luck < 0.57:
            items = ", ".join(self.literal(name) for _ in range(self.chance.randint(1, 5)))
            return f"{name} {self.chance.choice(('IN', 'IN', 'NOT IN'))} ({items})"
        if luck < 0.65:
            return f"{name} BETWEEN {self.literal(name)} AND {self.literal(name)}"
        if luck < 0.75:
            term = self.chance.choice((name, *EXPRESSIONS[:6], "st", "st.a", "arr", "m"))
            return f"{term} IS {self.chance.choice(('NULL', 'NOT NULL'))}"
        if luck < 0.8:
            return f"{name} {self.chance.choice(COMPARED)} {self.chance.choice(list(VALUES))}"
        if luck < 0.84:
            return self.chance.choice(
                ("b", "NOT b", "b <=> NULL", "isnull(i)", "isnotnull(s)", "isnan(r)", "g = 'g3'")
            )
        return f"{self.chance.choice(EXPRESSIONS)} {self.chance.choice(COMPARED)} {self.literal(name)}"

    def tree(self, depth: int = 3) -> str:
        """Leaves joined by AND, OR and NOT."""
        if depth == 0 or self.chance.random() < 0.4:
            return self.leaf()
        if self.chance.random() < 0.2:
            return f"NOT ({self.tree(depth - 1)})"
        joined = self.chance.choice(("AND", "AND", "OR"))
        return f"({self.tree(depth - 1)}) {joined} ({self.tree(depth - 1)})"


def typed(value: Any, kind: str) -> str:
    """A value as Spark SQL writes a literal of that very type."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        text = value.isoformat(sep=" ", timespec="microseconds").replace("+00:00", "")
        return f"timestamp_ntz'{text}'" if value.tzinfo is None else f"timestamp'{text}Z'"
    if isinstance(value, date):
        return f"date'{value.isoformat()}'"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS {kind})"
    if isinstance(value, Decimal):
        return f"CAST('{value}' AS {kind})"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\u0000", "\\0") + "'"
    return str(value)
