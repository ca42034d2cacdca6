"""Hostile texts and arrays, and random conditions on them: LIKE, regular expressions, memberships."""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from hudi_index.predicate import Schema

COLUMNS = {
    "s": "string",
    "t": "string",
    "strings": "array<string>",
    "ints": "array<int>",
    "longs": "array<bigint>",
    "floats": "array<float>",
    "doubles": "array<double>",
    "decimals": "array<decimal(10,2)>",
    "dates": "array<date>",
    "times": "array<timestamp>",
    "flags": "array<boolean>",
    "nested": "array<array<int>>",
    "st": "struct<xs:array<string>>",
}
SCHEMA = Schema.parse(COLUMNS)

TEXTS: list[str | None] = [
    *(
        "",
        "a",
        "b",
        "ab",
        "abc",
        "abcabc",
        "xabcx",
        "A",
        "ABC",
        "a b",
        " a",
        "a.b",
        "a*b",
        "a+b",
        "(a)",
        "[a]",
    ),
    *(
        "%",
        "_",
        "a%b",
        "a_b",
        "100%",
        "\\",
        "a\\b",
        "a\\%b",
        "\\\\",
        "'",
        '"',
        "é",
        "e\u0301",
        "日本語",
        "𝄞",
        "a𝄞b",
    ),
    *(
        "👩‍👩‍👧",
        "x\ny",
        "x\r\ny",
        "abc\n",
        "abc\r",
        "\nabc",
        "a\u0085b",
        "a\u2028b",
        "a\tb",
        "a\x0bb",
        "a-b_c1",
        "0123",
    ),
    *(
        "1",
        "12",
        "İ",
        "ß",
        "\ufeff",
        "\U0010ffff",
        "a" * 5000,
        "ab" * 2500,
        f"{'x' * 2499}é{'y' * 2500}",
        None,
        None,
    ),
]
ELEMENTS: dict[str, list[Any]] = {
    "strings": ["", "a", "ab", "é", "日本", "a%", "\\", "a\nb"],
    "ints": [0, 1, -1, 2, 2147483647, -2147483648],
    "longs": [0, 1, 2**31, 2**53 + 1, -(2**63), 2**63 - 1],
    "floats": [0.0, -0.0, 1.5, 16777216.0, math.nan, math.inf, -math.inf],
    "doubles": [0.0, -0.0, 1.5, 0.1, 2.0**53, math.nan, math.inf],
    "decimals": [Decimal(text) for text in ("0.00", "1.00", "1.50", "-1.50", "99999999.99")],
    "dates": [date(1970, 1, 1), date(2020, 1, 1), date(1969, 12, 31)],
    "times": [
        datetime(2020, 1, 1, tzinfo=timezone.utc),
        datetime(1969, 12, 31, 23, 59, 59, 999999, timezone.utc),
    ],
    "flags": [True, False],
    "nested": [[], [1], [1, None]],
}
LITERALS = {
    "strings": ["''", "'a'", "'ab'", "'é'", "'a%'", "'\\\\'", "'a\\nb'", "CAST(NULL AS STRING)"],
    "ints": [
        "0",
        "1",
        "-1",
        "1L",
        "5000000000L",
        "1Y",
        "1.5",
        "1.0",
        "1D",
        "2147483647F",
        "CAST(NULL AS INT)",
    ],
    "longs": ["0", "1", "2147483648L", "9007199254740993L", "9007199254740992D", "1.0", "1S"],
    "floats": [
        "0.0F",
        "-0.0F",
        "1.5F",
        "1.5D",
        "0",
        "16777217",
        "float('NaN')",
        "double('NaN')",
        "float('inf')",
    ],
    "doubles": [
        "0.0D",
        "-0.0D",
        "1.5D",
        "1.5F",
        "0",
        "1.5",
        "9007199254740993L",
        "double('NaN')",
        "float('NaN')",
    ],
    "decimals": ["1.50", "1.5", "0.00", "1", "1L", "1.5D", "100000000.00", "1.005"],
    "dates": ["DATE'1970-01-01'", "DATE'2020-01-01'", "TIMESTAMP'2020-01-01 00:00:00'"],
    "times": ["TIMESTAMP'2020-01-01 00:00:00'", "DATE'2020-01-01'", "TIMESTAMP'1969-12-31 23:59:59.999999'"],
    "flags": ["true", "false", "CAST(NULL AS BOOLEAN)"],
}


def array_of(chance: random.Random, name: str) -> list[Any] | None:
    kind = chance.random()
    if kind < 0.15:
        return None
    return [
        None if chance.random() < 0.15 else chance.choice(ELEMENTS[name])
        for _ in range(chance.choice((0, 1, 2, 5)))
    ]


def hostile_rows() -> list[dict[str, Any]]:
    chance = random.Random(3)
    return [
        {
            "s": text,
            "t": text and text[:12],
            **{name: array_of(chance, name) for name in ELEMENTS},
            "st": chance.choice([None, {"xs": None}, {"xs": ["a", None]}, {"xs": []}]),
        }
        for text in TEXTS
    ]


def _sql(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _stretch(chance: random.Random) -> str:
    """A part of one of the texts, so that patterns find something."""
    text = chance.choice([text for text in TEXTS if text is not None])
    start = chance.randrange(len(text) + 1)
    return text[start : start + chance.choice((1, 1, 2, 3, 6, 4000))]


def _like(chance: random.Random, most: int) -> tuple[str, str]:
    escape = chance.choice(("\\", "\\", "\\", "!", "a"))
    signs = []
    for _ in range(chance.randint(0, most)):
        wild = chance.choice(("%", "%", "_", "", "%%"))
        literal = _stretch(chance)
        signs += [wild, "".join(escape + sign if sign in ("%", "_", escape) else sign for sign in literal)]
    return "".join([*signs, chance.choice(("%", "", "_"))]), escape


ATOMS = (
    *(
        "a",
        "b",
        "ab",
        "abc",
        "x",
        "é",
        "日本",
        "𝄞",
        "\\.",
        "\\\\",
        "\\%",
        "[ab]",
        "[^a]",
        "[.]",
        "[a-c1]",
        "[^\\n]",
        "\\d",
    ),
    *("\\w", "\\s", "\\D", "\\W", "\\S", ".", "^", "$", "\\b", "%", "_", "\\n", "\\t", "-", " ", "1"),
)
STRANGE = (
    *(
        "(?i)abc",
        "(?s)x.y",
        "a(?=b)",
        "a(?!b)",
        "(?<=a)b",
        "(ab)\\1",
        "\\Qa.b\\E",
        "\\p{L}+",
        "\\u00e9",
        "\\x61",
        "a\\z",
    ),
    *(
        "\\Aa",
        "(?<n>a)b",
        "a++b",
        "a*+",
        "(?>a)b",
        "[a-z&&[^b]]",
        "[[ab]c]",
        "\\R",
        "a{2}",
        "(?:ab){2,3}",
        "",
        "|a",
        "()",
    ),
)


def _regex(chance: random.Random, depth: int = 3) -> str:
    if depth == 0 or chance.random() < 0.3:
        return chance.choice(ATOMS)
    kind = chance.random()
    if kind < 0.55:
        return "".join(_regex(chance, depth - 1) for _ in range(chance.randint(1, 3)))
    if kind < 0.75:
        return f"({'|'.join(_regex(chance, depth - 1) for _ in range(2))})"
    sign = chance.choice(("*", "+", "?", "{2}", "{1,2}", "{2,}", "+?"))
    return f"(?:{_regex(chance, depth - 1)}){sign}"


def text_predicate(chance: random.Random) -> str:
    no = chance.choice(("", "", "", "NOT "))
    # Java's matcher takes time by the power of the wildcards, so long texts get few.
    column, most = chance.choice((("s", 1), ("t", 4)))
    pattern, escape = _like(chance, most)
    regex = chance.choice(STRANGE) if chance.random() < 0.2 else _regex(chance)
    flat = ".*".join(chance.choice(ATOMS) for _ in range(chance.randint(1, 2)))
    plain = _stretch(chance).replace("\\", "")
    forms = (
        f"{column} {no}LIKE {_sql(pattern)} ESCAPE {_sql(escape)}",
        f"{column} {no}LIKE {_sql(pattern)} ESCAPE {_sql(escape)}",
        f"{no}contains(s, {_sql(_stretch(chance))})",
        f"{no}startsWith(s, {_sql(_stretch(chance))})",
        f"{no}endswith(s, {_sql(_stretch(chance))})",
        f"t {no}RLIKE {_sql(regex)}",
        f"s {no}REGEXP {_sql(flat)}",
        f"{no}rlike(t, {_sql(regex)})",
        f"{no}regexp_like(t, {_sql(regex)})",
        f"s {no}LIKE ANY ({_sql(plain + '%')}, '%b%')",
        f"s {no}LIKE ALL ('%a%', {_sql('%' + plain)})",
        f"contains(s, {_sql(_stretch(chance))}) OR s {no}LIKE {_sql('%' + plain + '%')}",
        f"(t RLIKE {_sql(regex)}) IS {no}TRUE",
        f"contains(t, {_sql(_stretch(chance))}) AND t {no}LIKE '%a%b%'",
    )
    return chance.choice(forms)


def array_predicate(chance: random.Random) -> str:
    name = chance.choice(list(LITERALS))
    one, other = chance.choice(LITERALS[name]), chance.choice(LITERALS[name])
    no = chance.choice(("", "", "", "", "NOT "))
    operator = chance.choice(("=", "<", ">=", "!=", "<=>", ">"))
    forms = (
        f"{no}array_contains({name}, {one})",
        f"{no}array_contains({name}, {one})",
        f"{no}arrays_overlap({name}, array({one}))",
        f"{no}arrays_overlap(array({one}, {one}), {name})",
        f"{no}exists({name}, x -> x {operator} {one})",
        f"{no}exists({name}, x -> x {operator} {one} OR x IS NULL)",
        f"exists({name}, x -> NOT (x {operator} {one} AND x {operator} {other}))",
        f"{no}exists({name}, x -> x IN ({one}))",
        f"exists(strings, s -> s LIKE {_sql(chance.choice(('a%', '%b', 'a', '%', 'a_')))})",
        f"array_contains({name}, {one}) OR array_contains(st.xs, 'a')",
        f"(array_contains({name}, {one})) IS {no}TRUE",
        f"{name} IS {no}NULL",
        "exists(nested, x -> array_contains(x, 1))",
        f"array_contains({name}, {one}) AND size({name}) > 1",
    )
    return chance.choice(forms)
