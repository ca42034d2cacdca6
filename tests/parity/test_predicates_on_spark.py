"""What a constraint tree admits must be what Spark finds true, row by row.

Hostile rows of every type, predicates of every operator with literals of every type, evaluated by Spark as
columns (no filter, so nothing is pushed down or pruned) and by our tree.
"""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.predicate import Filters, Schema, Term, Tree, admits, constraints_of, is_exact, tree_of
from hudi_index.spark.catalyst.trees import Trees

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Table = tuple[DataFrame, list[dict[str, Any]]]

pytestmark = pytest.mark.spark

COLUMNS = {
    "b": "boolean",
    "i1": "tinyint",
    "i2": "smallint",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "dec": "decimal(10,2)",
    "wide": "decimal(38,10)",
    "s": "string",
    "bin": "binary",
    "dt": "date",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "st": "struct<a:int,B:string>",
}
SCHEMA = Schema.parse(COLUMNS)
UNWRAP_CAST = "org.apache.spark.sql.catalyst.optimizer.UnwrapCastInBinaryComparison"


def single(number: float) -> float:
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc,arg-type]


VALUES: dict[str, list[Any]] = {
    "b": [True, False],
    "i1": [0, 1, -1, 2, 127, -128],
    "i2": [0, 1, -1, 2, 127, 128, 32767, -32768],
    "i": [0, 1, -1, 2, 3, 127, 128, 16777216, 16777217, 2147483647, -2147483648],
    "l": [0, 1, -1, 2, 16777217, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)],
    "f": [0.0, -0.0, 1.0, 1.5, single(0.1), 16777216.0, math.nan, math.inf, -math.inf, -2.5, single(1e-40)],
    "d": [0.0, -0.0, 1.0, 1.5, 0.1, single(0.1), 2.0**53, math.nan, math.inf, -math.inf, -2.5, 5e-324],
    "dec": [Decimal(text) for text in ("0.00", "1.00", "1.50", "-1.50", "0.10", "99999999.99", "-2.50")],
    "wide": [
        Decimal(text) for text in ("0", "1", "1.5", "0.1", "-1.5", "9999999999999999999999999999", "1E-10")
    ],
    "s": [
        "",
        "a",
        "A",
        "ab",
        "a%b",
        "a_b",
        "a$b",
        "O'Brien",
        "é",
        "z",
        "zz",
        "日本",
        "𝄞",
        "1",
        "01",
        " 1",
        "1.5",
        "x\ny",
        *("true", "NaN", "2020-01-01", "2020-01-01 00:00:00", "\\", "a\\b", "\U0010ffff", "\ue000"),
    ],
    "bin": [b"", b"a", b"1", b"\x00", b"\xff", b"a\x00"],
    "dt": [
        date(1969, 12, 31),
        date(1970, 1, 1),
        date(2020, 1, 1),
        date(2020, 3, 29),
        date(1900, 2, 28),
        date(9999, 12, 30),
    ],
    "ts": [
        at(1969, 12, 31, 23, 59, 59, 999999),
        at(1970, 1, 1),
        at(2020, 1, 1),
        at(2019, 12, 31, 23),
        at(2020, 1, 1, 10, 30, 0, 123456),
        at(2020, 10, 25, 1, 30),
        at(2020, 3, 29, 1, 30),
        at(1900, 1, 1),
    ],
}
VALUES["ntz"] = [value.replace(tzinfo=None) for value in VALUES["ts"]]

LITERALS = [
    *("NULL", "true", "false", "0", "1", "-1", "2", "3", "127", "128", "-129", "40000", "16777217"),
    *("2147483648", "-2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809"),
    *("1Y", "2S", "16777217L", "1L", "1 + 1", "3 - 2", "- -1", "CAST('1' AS INT)", "CAST(NULL AS INT)"),
    *("CAST(NULL AS STRING)", "CAST(NULL AS TIMESTAMP)", "CAST(NULL AS DOUBLE)", "CAST(NULL AS BOOLEAN)"),
    *("1.5", "-1.5", "0.1", "1.0", "1.50", "1.005", ".5", "99999999.99", "100000000.00", "1e3"),
    *("1.5D", "0.1D", "-0.0D", "9007199254740993D", "9007199254740992D", "1e-40D", "CAST(1 AS DOUBLE)"),
    *("1.5F", "16777216F", "0.1F", "1.5BD", "5BD", "0.10BD", "CAST(0.1 AS FLOAT)", "CAST(1.5 AS FLOAT)"),
    *("'NaN'", "double('NaN')", "float('NaN')", "'inf'", "double('-Infinity')", "'0.1'", "'1.5'", "'1.50'"),
    *("'1'", "'01'", "'+1'", "' 1 '", "'-1.5'", "'1e0'", "'2147483648'", "'16777217'", "'1d'", "'.'", "'1.'"),
    *("''", "'a'", "'A'", "'ab'", "'a%b'", "'é'", "'z'", "'日本'", "'𝄞'", "'O\\'Brien'", "'a$b'"),
    *("'x\\ny'", "'true'", "'yes'", "'F'", "'abc'", "X''", "X'61'", "X'31'", "X'FF'"),
    *("DATE'2020-01-01'", "DATE'1969-12-31'", "DATE'1900-02-28'", "CAST('2020-01-01' AS DATE)"),
    *(
        "'2020-01-01'",
        "'2020-1-1'",
        "'2020-02-30'",
        "'2020'",
        "'2020-03'",
        "'1969-12-31'",
        "'today'",
        "'10:30'",
    ),
    *("TIMESTAMP'2020-01-01 00:00:00'", "TIMESTAMP'1969-12-31 23:59:59.999999'", "TIMESTAMP'2020-03-29'"),
    *("TIMESTAMP'2020-01-01 10:30:00.123456'", "TIMESTAMP'2020-10-25 01:30:00'", "TIMESTAMP'1900-01-01'"),
    *("TIMESTAMP'2020-03-29 02:30:00'", "TIMESTAMP'2020-01-01T00:00:00Z'", "'2020-01-01 00:00:00+01:00'"),
    *("TIMESTAMP_NTZ'2020-01-01 00:00:00'", "TIMESTAMP_NTZ'2019-12-31 23:00:00'", "'2020-01-01 00:00:00'"),
    *("'2020-01-01 10:30:00.123456'", "'2020-01-01 10:30:00.1234567'", "'2020-1-1T0:0:0'"),
]
PATTERNS = [
    "'a%'",
    "'a'",
    "'%'",
    "''",
    "'a\\\\%b'",
    "'a\\\\_b%'",
    "'é%'",
    "'a_b'",
    "'%b'",
    "'a%b'",
    "'𝄞%'",
    "'a/%b' ESCAPE '/'",
]
OPERATORS = ["=", "==", "<=>", "!=", "<>", "<", "<=", ">", ">="]


OWN_LITERALS = {
    "b": ["false", "true"],
    "i1": ["-1Y", "1Y", "127Y"],
    "i2": ["-1S", "1S", "32767S"],
    "i": ["-2147483648", "-1", "1", "2147483647"],
    "l": ["-9223372036854775808L", "1L", "9007199254740993L"],
    "f": ["float('-inf')", "-0.0F", "0.1F", "float('NaN')"],
    "d": ["double('-Infinity')", "-0.0D", "0.1D", "5e-324D", "double('NaN')"],
    "dec": ["-1.50", "0.10BD", "99999999.99"],
    "wide": ["-1.5", "0.0000000001", "1.0000000000"],
    "s": ["''", "'a'", "'O\\'Brien'", "'x\\ny'", "'é'", "'\\ue000'", "'𝄞'"],
    "bin": ["X''", "X'00'", "X'61'", "X'FF'"],
    "dt": ["DATE'1900-02-28'", "DATE '1969-12-31'", "DATE'2020-01-01'"],
    "ts": [
        "TIMESTAMP'1969-12-31 23:59:59.999999'",
        "TIMESTAMP '2020-01-01 10:30:00.123456'",
        "TIMESTAMP'2020-03-29 02:30:00'",
    ],
    "ntz": ["TIMESTAMP_NTZ'1900-01-01 00:00:00'", "TIMESTAMP_NTZ '2020-01-01 10:30:00.123456'"],
    "st.a": ["0", "1"],
    "ST.b": ["'a'", "'日本'"],
}

TERMS = [*(name for name in COLUMNS if name != "st"), "st.a", "ST.b", "`I`"]
CASTS = [
    *("CAST(i AS DOUBLE)", "CAST(l AS DOUBLE)", "CAST(l AS FLOAT)", "CAST(i AS BIGINT)", "CAST(f AS DOUBLE)"),
    *(
        "CAST(dec AS DOUBLE)",
        "CAST(dt AS TIMESTAMP)",
        "CAST(ts AS DATE)",
        "to_date(ts)",
        "CAST(i AS DECIMAL(12,2))",
    ),
    *(
        "CAST(CAST(i1 AS INT) AS DOUBLE)",
        "CAST(dec AS DECIMAL(20,4))",
        "bigint(i)",
        "CAST(l AS INT)",
        "CAST(d AS INT)",
    ),
    *("CAST(s AS INT)", "CAST(ntz AS TIMESTAMP)", "CAST(i AS STRING)", "CAST(b AS INT)"),
]


def leaf(choose: random.Random) -> str:
    term = choose.choice(CASTS) if choose.random() < 0.15 else choose.choice(TERMS)
    kind = choose.random()
    if kind < 0.5:
        sides = [term, choose.choice(LITERALS)]
        if choose.random() < 0.2:
            sides.reverse()
        return f"{sides[0]} {choose.choice(OPERATORS)} {sides[1]}"
    if kind < 0.62:
        items = [choose.choice(LITERALS) for _ in range(choose.randint(1, 4))]
        return f"{term} {choose.choice(['IN', 'NOT IN'])} ({', '.join(items)})"
    if kind < 0.72:
        word = choose.choice(["BETWEEN", "NOT BETWEEN"])
        return f"{term} {word} {choose.choice(LITERALS)} AND {choose.choice(LITERALS)}"
    if kind < 0.8:
        return f"{term} IS {choose.choice(['NULL', 'NOT NULL'])}"
    if kind < 0.9:
        text = choose.choice(["s", "s", "st.b", term])
        return f"{text} {choose.choice(['LIKE', 'NOT LIKE'])} {choose.choice(PATTERNS)}"
    return choose.choice(
        [
            *(
                "b",
                "NOT b",
                "b IS TRUE",
                "b IS NOT TRUE",
                "b IS NOT FALSE",
                "b = true",
                "false <=> b",
                "b = 1",
                "b <=> 0",
            ),
            *(
                "isnan(d)",
                "isnan(f)",
                "isnull(s)",
                "isnotnull(l)",
                "startswith(s, 'a')",
                "NOT startswith(s, '')",
            ),
            *(
                "i IS DISTINCT FROM 1",
                "s IS NOT DISTINCT FROM NULL",
                "true",
                "CAST(NULL AS BOOLEAN)",
                "1 = 1",
                "i = l",
                "s <=> CAST(NULL AS INT)",
                "upper(s) = 'A'",
            ),
            *("(i > 1) IS NULL", "(i > 1) = false", "(s LIKE 'a%') <=> NULL", "!b", "startswith(st.b, 'é')"),
        ]
    )


def predicate(choose: random.Random, leaves: list[str], depth: int) -> str:
    kind = choose.random()
    if depth == 0 or kind < 0.25:
        return choose.choice(leaves)
    if kind < 0.4:
        return f"NOT ({predicate(choose, leaves, depth - 1)})"
    if kind < 0.5:
        word = choose.choice(["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"])
        return f"({predicate(choose, leaves, depth - 1)}) {word}"
    parts = [predicate(choose, leaves, depth - 1) for _ in range(choose.randint(2, 3))]
    return f" {choose.choice(['AND', 'OR'])} ".join(f"({part})" for part in parts)


def rows(choose: random.Random) -> list[dict[str, Any]]:
    """Each value of each column at least once, and nulls."""
    made = []
    for number in range(60):
        row: dict[str, Any] = {}
        for name, values in VALUES.items():
            row[name] = values[number] if number < len(values) else choose.choice([*values, None])
        row["st"] = (
            None
            if number % 7 == 0
            else {"a": choose.choice([None, 0, 1, 2]), "B": choose.choice([*VALUES["s"], None])}
        )
        made.append(row)
    return [*made, dict.fromkeys(COLUMNS), {**dict.fromkeys(COLUMNS), "st": {"a": None, "B": None}}]


def value_of(row: dict[str, Any], term: Term) -> Any:
    value: Any = row
    for part in term.text.split("."):
        value = None if value is None else value[part]
    return value


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Table:
    made = rows(random.Random(1))
    fields = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    tuples = [tuple((tuple(v.values()) if isinstance(v, dict) else v) for v in row.values()) for row in made]
    return spark.createDataFrame(tuples, fields).coalesce(1), made


# A zone with rules and one without; UTC is one without.
@pytest.fixture(params=["Europe/Berlin", "-03:30", pytest.param("UTC", marks=pytest.mark.slow)])
def time_zone(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", request.param)
    # It dies of a literal that overflows the column's decimal type.
    spark.conf.set("spark.sql.optimizer.excludedRules", UNWRAP_CAST)
    yield request.param
    spark.conf.unset("spark.sql.optimizer.excludedRules")
    spark.conf.set("spark.sql.session.timeZone", before)


def is_accepted(frame: DataFrame, text: str) -> bool:
    from pyspark.errors import AnalysisException

    try:
        frame.selectExpr(f"({text}) AS x").schema  # noqa: B018 - asks the analyzer
    except AnalysisException:
        return False
    return True


def truths(frame: DataFrame, texts: list[str], chunk: int = 150) -> list[list[bool | None]]:
    """What Spark makes of each predicate, by row."""
    found: list[list[bool | None]] = []
    for start in range(0, len(texts), chunk):
        part = texts[start : start + chunk]
        collected = frame.selectExpr(
            *(f"({text}) AS x{number}" for number, text in enumerate(part))
        ).collect()
        found += [[row[number] for row in collected] for number in range(len(part))]
    return found


def assert_agreement(
    text: str, tree: Tree, data: list[dict[str, Any]], expected: list[bool | None], told: str = ""
) -> None:
    for row, truth in zip(data, expected, strict=True):
        admitted = admits(tree, lambda term, row=row: value_of(row, term))  # type: ignore[misc]
        assert admitted or not truth, f"{told}{text}: lost {row}, {tree}"
        assert not admitted or truth or not is_exact(tree), f"{told}{text}: admits {row}, {tree}"


def accepted_leaves(frame: DataFrame, seed: int, count: int) -> list[str]:
    choose = random.Random(seed)
    leaves: dict[str, None] = {}
    tries = 0
    while len(leaves) < count:
        tries += 1
        assert tries < 10 * count
        text = leaf(choose)
        if text not in leaves and is_accepted(frame, text):
            leaves[text] = None
    return list(leaves)


def exact_share(table: Table, texts: list[str], expected: list[list[bool | None]], time_zone: str) -> float:
    """Asserts agreement on every predicate and row; how many predicates left nothing unknown."""
    exact = 0
    for text, truth in zip(texts, expected, strict=True):
        tree = constraints_of(text, SCHEMA, time_zone=time_zone)
        assert_agreement(text, tree, table[1], truth)
        exact += is_exact(tree)
    return exact / len(texts)


def test_tree_admits_exactly_the_rows_that_spark_finds_true(table: Table, time_zone: str) -> None:
    leaves = accepted_leaves(table[0], seed=len(time_zone), count=500)
    choose = random.Random(5)
    texts = [*leaves, *(predicate(choose, leaves, 4) for _ in range(150))]
    # What is left: text columns against numbers, casts that cut, texts of which nobody knows what they are.
    assert exact_share(table, texts, truths(table[0], texts), time_zone) > 0.65


def test_tree_of_literals_of_the_columns_own_type_is_always_exact(table: Table, time_zone: str) -> None:
    texts = [
        f"{column} {operator} {literal}"
        for column, own in OWN_LITERALS.items()
        for literal in own
        for operator in OPERATORS
    ]
    texts += [f"{column} NOT IN ({', '.join(own)})" for column, own in OWN_LITERALS.items()]
    texts += [f"{column} BETWEEN {own[0]} AND {own[-1]}" for column, own in OWN_LITERALS.items()]
    share = exact_share(table, texts, truths(table[0], texts), time_zone)
    # Local times before 1970 in a named zone are left alone.
    assert share == 1 or time_zone == "Europe/Berlin"
    assert share > 0.9


def test_tree_of_what_catalyst_hands_over_admits_the_same_rows(
    spark: SparkSession, table: Table, time_zone: str
) -> None:
    frame, trees = table[0], Trees(spark)
    session, _ = trees.session(spark)
    choose = random.Random(9)
    leaves = accepted_leaves(frame, seed=21, count=100)
    texts = [*leaves, *(predicate(choose, leaves, 3) for _ in range(60))]
    expected = truths(frame, texts)
    spark.conf.unset("spark.sql.optimizer.excludedRules")
    compared = exact = 0
    for text, truth in zip(texts, expected, strict=True):
        source = frame.alias("t") if time_zone != "UTC" else frame
        execution = source.where(text)._jdf.queryExecution()
        for plan in (execution.analyzed(), optimized_filter(execution)):
            if plan is None:
                continue
            node = json.loads(trees.of(plan.condition(), plan.child().output()))
            tree = tree_of(Filters([node], [text], session).bound(SCHEMA, {}), time_zone=session.zone)
            assert_agreement(text, tree, table[1], truth)
            compared, exact = compared + 1, exact + is_exact(tree)
    assert compared > 1.5 * len(texts)
    assert exact / compared > 0.5


def optimized_filter(execution: Any) -> Any:
    """The filter that is left after optimization; None if it was decided there, or Spark dies of it."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    try:
        plan = execution.optimizedPlan()
    except Py4JJavaError:
        return None
    # It has moved below the coalescing.
    while plan.nodeName() != "Filter":
        if plan.children().isEmpty():
            return None
        plan = plan.children().head()
    return plan
