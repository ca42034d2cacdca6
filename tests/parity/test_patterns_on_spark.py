"""Patterns of texts and elements of arrays, against Spark, row by row.

Hostile texts under random LIKE patterns and regular expressions, hostile arrays under random memberships:
what a tree admits, made of the text and of Catalyst's tree, and which rows the filter of a scan lets pass.
"""

from __future__ import annotations

import json
import math
import random
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from hudi_index.errors import UnsupportedPredicateError
from hudi_index.predicate import Filters, Schema, bind, constraints_of, is_exact, parse_predicate, tree_of
from hudi_index.scan.row_filter import row_filter_of
from hudi_index.spark.catalyst import gate
from hudi_index.spark.catalyst.trees import Trees
from tests.parity.corners.tables import made
from tests.parity.test_predicates_on_spark import assert_agreement, optimized_filter, truths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Table = tuple[DataFrame, list[dict[str, Any]]]

pytestmark = pytest.mark.spark

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


def _array(chance: random.Random, name: str) -> list[Any] | None:
    kind = chance.random()
    if kind < 0.15:
        return None
    return [
        None if chance.random() < 0.15 else chance.choice(ELEMENTS[name])
        for _ in range(chance.choice((0, 1, 2, 5)))
    ]


def _rows() -> list[dict[str, Any]]:
    chance = random.Random(3)
    return [
        {
            "s": text,
            "t": text and text[:12],
            **{name: _array(chance, name) for name in ELEMENTS},
            "st": chance.choice([None, {"xs": None}, {"xs": ["a", None]}, {"xs": []}]),
        }
        for text in TEXTS
    ]


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Table:
    rows = _rows()
    fields = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    tuples = [tuple((v["xs"],) if isinstance(v, dict) else v for v in row.values()) for row in rows]
    return spark.createDataFrame(tuples, fields).coalesce(1), rows


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


def _text_predicate(chance: random.Random) -> str:
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


def _array_predicate(chance: random.Random) -> str:
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


def _accepted(frame: DataFrame, texts: list[str]) -> list[str]:
    """Those that Spark can analyse; many at a time while all can."""
    from pyspark.errors import AnalysisException

    try:
        frame.selectExpr(*(f"({text}) AS x{place}" for place, text in enumerate(texts))).schema  # noqa: B018
    except AnalysisException:
        half = len(texts) // 2
        return _accepted(frame, texts[:half]) + _accepted(frame, texts[half:]) if half else []
    return texts


def _arrow_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    arrow: dict[str, pa.DataType] = {
        "strings": pa.string(),
        "ints": pa.int32(),
        "longs": pa.int64(),
        "floats": pa.float32(),
        "doubles": pa.float64(),
        "decimals": pa.decimal128(10, 2),
        "dates": pa.date32(),
        "times": pa.timestamp("us", tz="UTC"),
        "flags": pa.bool_(),
        "nested": pa.list_(pa.int32()),
    }
    arrays: dict[str, Any] = {name: pa.array([row[name] for row in rows], pa.string()) for name in ("s", "t")}
    arrays |= {name: pa.array([row[name] for row in rows], pa.list_(kind)) for name, kind in arrow.items()}
    arrays["st.xs"] = pa.array([row["st"] and row["st"]["xs"] for row in rows], pa.list_(pa.string()))
    return arrays


def _compare(spark: SparkSession, table: Table, texts: list[str], *, with_trees: int) -> dict[str, int]:
    """Assert agreement of both routes and of the filter; count what was compared."""
    frame, rows = table
    texts = _accepted(frame, list(dict.fromkeys(texts)))
    arrays, trees = _arrow_of(rows), Trees(spark)
    session, _ = trees.session(spark)
    counts = {"texts": 0, "exact": 0, "filtered": 0, "trees": 0}
    for place, (text, truth) in enumerate(zip(texts, truths(frame, texts, 60), strict=True)):
        tree = constraints_of(text, SCHEMA, time_zone="UTC")
        assert_agreement(text, tree, rows, truth)
        counts["texts"] += 1
        counts["exact"] += is_exact(tree)
        try:
            rows_filter = row_filter_of(bind(parse_predicate(text), SCHEMA), time_zone="UTC")
        except UnsupportedPredicateError:
            pass
        else:
            mask = rows_filter.mask(lambda path: arrays[path], len(rows)).to_pylist()
            assert mask == [each is True for each in truth], text
            counts["filtered"] += 1
        if place >= with_trees:
            continue
        execution = frame.where(text)._jdf.queryExecution()
        for plan in (execution.analyzed(), optimized_filter(execution)):
            if plan is not None:
                node = json.loads(trees.of(plan.condition(), plan.child().output()))
                found = tree_of(Filters([node], [text], session).bound(SCHEMA, {}), time_zone=session.zone)
                assert_agreement(text, found, rows, truth, f"{node}: ")
                counts["trees"] += 1
    return counts


@pytest.fixture(autouse=True)
def _in_utc(spark: SparkSession) -> Any:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def test_texts_meet_patterns_as_spark_says(spark: SparkSession, table: Table) -> None:
    chance = random.Random(1)
    found = _compare(spark, table, [_text_predicate(chance) for _ in range(220)], with_trees=60)
    assert found["texts"] > 170
    assert found["exact"] > 70
    assert found["filtered"] > 120
    assert found["trees"] > 60


def test_arrays_have_elements_as_spark_says(spark: SparkSession, table: Table) -> None:
    chance = random.Random(2)
    found = _compare(spark, table, [_array_predicate(chance) for _ in range(220)], with_trees=60)
    assert found["texts"] > 120
    assert found["exact"] > 90
    assert found["filtered"] > 90
    assert found["trees"] > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_many_patterns_and_elements_are_as_spark_says(spark: SparkSession, table: Table, seed: int) -> None:
    chance = random.Random(seed)
    _compare(spark, table, [_text_predicate(chance) for _ in range(1200)], with_trees=300)
    _compare(spark, table, [_array_predicate(chance) for _ in range(1200)], with_trees=300)


@pytest.mark.parametrize(
    ("text", "is_exact_as_text", "is_exact_as_tree"),
    [
        ("s LIKE '%ab%'", True, True),
        ("contains(s, 'ab')", True, True),
        ("endswith(s, 'ab')", True, True),
        # Spark asks for the length, too.
        ("s LIKE 'a%b'", True, False),
        ("s LIKE 'a%b%c'", True, True),
        ("s LIKE ANY ('%a%', 'b%')", True, True),
        ("s LIKE ALL ('%a%', 'b%')", True, True),
        ("array_contains(ints, 1)", True, True),
        ("array_contains(longs, 1)", True, True),
        ("array_contains(ints, 1L)", True, True),
        ("arrays_overlap(strings, array('a', 'b', NULL))", True, True),
        ("arrays_overlap(array(1D, double('NaN')), doubles)", True, True),
        ("arrays_overlap(doubles, array(0D))", False, False),
        ("exists(ints, x -> x IN (1, 2) OR x > 5)", True, True),
        ("exists(strings, x -> x LIKE 'p%')", True, True),
        ("exists(dates, x -> x IS NULL)", True, True),
        ("exists(times, x -> x >= TIMESTAMP'2020-01-01 00:00:00')", True, True),
    ],
)
def test_both_routes_say_all_that_is_asked(
    spark: SparkSession, table: Table, text: str, *, is_exact_as_text: bool, is_exact_as_tree: bool
) -> None:
    assert is_exact(constraints_of(text, SCHEMA, time_zone="UTC")) == is_exact_as_text
    trees = Trees(spark)
    session, _ = trees.session(spark)
    plan = optimized_filter(table[0].where(text)._jdf.queryExecution())
    node = json.loads(trees.of(plan.condition(), plan.child().output()))
    found = tree_of(Filters([node], [text], session).bound(SCHEMA, {}), time_zone=session.zone)
    assert is_exact(found) == is_exact_as_tree, node


@pytest.mark.parametrize("followed", ["true", "false"])
def test_exists_is_true_for_the_same_arrays_by_either_setting(
    spark: SparkSession, table: Table, followed: str
) -> None:
    name = "spark.sql.legacy.followThreeValuedLogicInArrayExists"
    spark.conf.set(name, followed)
    try:
        texts = [
            "exists(ints, x -> x > 0)",
            "exists(ints, x -> x > 0) IS NOT TRUE",
            "NOT exists(ints, x -> x > 0)",
        ]
        _compare(spark, table, texts, with_trees=3)
    finally:
        spark.conf.unset(name)


@pytest.mark.parametrize(
    "text",
    [
        *("s LIKE '%x%'", "contains(s, 'x')", "endswith(s, 'x')", "startswith(s, 'x')", "s RLIKE 'a.*b'"),
        *("rlike(s, 'a')", "regexp(s, 'a')", "regexp_like(s, 'a')", "s LIKE ANY ('%a%', 'b%')"),
        *(
            "array_contains(ints, 1)",
            "arrays_overlap(ints, array(1, 2))",
            "exists(ints, x -> x > 1 OR x IS NULL)",
        ),
    ],
)
def test_gate_lets_patterns_pass(table: Table, text: str) -> None:
    frame = table[0]
    assert gate.filter_rows(frame, text).count() == frame.where(text).count()
    query = f"SELECT count(*) AS n FROM v WHERE {text}"
    assert gate.query(frame, query, view="v").collect()[0].n == frame.where(text).count()


SCANNED = {"s": "string", "t": "string", "n": "int", "tags": "array<string>", "xs": "array<double>"}


def test_scan_gives_the_rows_that_spark_finds(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chance = random.Random(8)
    rows = [
        {
            "s": text,
            "t": text and text[:12],
            "n": place,
            "tags": _array(chance, "strings"),
            "xs": _array(chance, "doubles"),
        }
        for place, text in enumerate(TEXTS)
    ]
    fields = ", ".join(f"{name} {kind}" for name, kind in SCANNED.items())
    statements = (
        "CREATE INDEX stats ON t USING column_stats (s, n)",
        "CREATE INDEX by_s ON t (s)",
        "CREATE INDEX grams ON t USING ngram (s, t) OPTIONS (size = 2)",
        "CREATE INDEX elements ON t USING array (tags, xs)",
    )
    hudi = made(spark, tmp_path_factory.mktemp("patterns") / "t", fields, rows, statements)
    frame = hudi.read().cache()
    table = IndexedTable.open(hudi.path)
    texts = [_text_predicate(chance) for _ in range(40)] + [_array_predicate(chance) for _ in range(80)]
    texts = [
        text.replace("strings", "tags").replace("doubles", "xs") for text in texts if "st.xs" not in text
    ]
    texts = [*_accepted(frame, texts), "tags IS NULL", "tags IS NOT NULL AND array_contains(tags, 'a')"]
    compared = 0
    numbers = [row.n for row in frame.select("n").collect()]
    for text, truth in zip(texts, truths(frame, texts, 60), strict=True):
        assert table.plan(text).explain()
        wanted = sorted(number for number, is_met in zip(numbers, truth, strict=True) if is_met)
        try:
            found = table.scan(text, ["n"])
        except UnsupportedPredicateError:
            continue
        numbers_found: list[Any] = found.read_all().column("n").to_pylist()
        assert sorted(numbers_found) == wanted, text
        compared += 1
    assert compared > 30
