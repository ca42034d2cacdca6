"""Functions that rise or fall: what image and preimage say must hold for what Spark makes of hostile values.

For every function, source column and time zone: the value Spark gives for each argument is in the image of
that argument, and every argument whose value is in a domain is in the domain's preimage; no other is, where
the preimage says that it is exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.predicate import Domain, Range, Schema, parse_predicate
from hudi_index.predicate.binding import bind
from hudi_index.predicate.catalyst.reader import CatalystReader
from hudi_index.predicate.expression import BoundTerm, Call, IsNull
from hudi_index.predicate.semantics.functions import FUNCTIONS, steps_of
from hudi_index.predicate.semantics.monotonic import NoStep, image_of, preimage_of
from hudi_index.predicate.values.times import SessionZone
from hudi_index.spark.catalyst.trees import Trees

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = {
    "i1": "tinyint",
    "i": "int",
    "l": "bigint",
    "f": "float",
    "d": "double",
    "dec": "decimal(10,2)",
    "s": "string",
    "dt": "date",
    "ts": "timestamp",
}
LONGS = [0, 1, -1, 5, 1700000000, -62135596800, 253402300800, 2**31, 10**13, -(10**13), 2**63 - 1, -(2**63)]
VALUES: dict[str, list[str]] = {
    "i1": [f"{n}Y" for n in (0, 1, -1, 127, -128)],
    "i": [*(str(n) for n in (0, 1, -1, 3, 2147483646, 2147483647, -2147483647)), "int(-2147483648)"],
    "l": [f"bigint('{n}')" for n in LONGS],
    "f": [f"float('{n}')" for n in ("0", "-0.0", "1.5", "-1.5", "16777216", "1e38", "inf", "-inf", "NaN")],
    "d": [f"double('{n}')" for n in ("0", "-0.0", "0.1", "-2.5", "1e308", "1e19", "5e-324", "inf", "-inf")]
    + ["double('NaN')"],
    "dec": [f"decimal('{n}')" for n in ("0", "1.5", "-1.5", "99999999.99", "-99999999.99", "0.01")],
    "s": [
        repr(t) for t in ("", "a", "ab", "abc", "abd", "b", "é", "日本語", "𝄞x", "\U0010ffff\U0010ffff", "aé")
    ],
    "dt": [f"date'{n}'" for n in ("0001-01-01", "1582-10-10", "1969-12-31", "2024-02-29", "9999-12-31")]
    + ["date_add(date'9999-12-31', 40)", "date_add(date'0001-01-01', -400)", "date'2011-12-30'"],
    # Clocks of Berlin go back in October, those of São Paulo at midnight; Apia had no 30th of December 2011.
    "ts": [f"timestamp'{n}Z'" for n in ("0001-01-01 00:00:00", "1500-06-01 00:00:00", "1893-03-31 23:06:32")]
    + [f"timestamp'{n}Z'" for n in ("1969-12-31 23:59:59.999999", "2024-10-27 00:30:00.5")]
    + [f"timestamp'2024-10-27 {n}Z'" for n in ("00:59:59", "01:00:00", "01:30:00", "22:59:59", "23:00:00")]
    + [f"timestamp'{n}Z'" for n in ("2018-02-18 01:30:00", "2018-02-18 02:30:00", "2024-12-31 23:30:00")]
    + [
        f"timestamp'{n}Z'"
        for n in ("2024-03-31 00:59:59", "2024-03-31 01:00:00", "9999-12-31 23:59:59.999999")
    ]
    + [
        f"timestamp_micros({n}L)" for n in (253402300800 * 10**6, 10**18, -(10**17), -62135596800 * 10**6 - 1)
    ],
}
EXPRESSIONS = [
    *("date_format(ts, 'yyyy-MM-dd')", "date_format(ts, 'yyyyMMddHH')", "date_format(ts, 'yyyy')"),
    *("date_format(ts, \"yyyy-MM-dd'T'HH:mm:ss.SSS\")", "date_format(dt, 'yyyy/MM')", "to_date(ts)"),
    *("CAST(ts AS DATE)", "date(ts)", "year(ts)", "year(dt)", "year(CAST(ts AS DATE))"),
    *(f"date_trunc('{unit}', ts)" for unit in ("YEAR", "quarter", "MONTH", "WEEK", "day", "HOUR", "MINUTE")),
    *("date_trunc('SECOND', ts)", "date_trunc('MILLISECOND', ts)", "trunc(dt, 'MM')", "trunc(dt, 'WEEK')"),
    *("trunc(dt, 'YEAR')", "trunc(dt, 'QUARTER')", "date_add(dt, 30)", "date_sub(dt, 30)"),
    *("from_unixtime(l)", "from_unixtime(i, 'yyyy-MM-dd')", "from_unixtime(l, 'yyyyMM')"),
    *(
        "unix_timestamp(ts)",
        "unix_seconds(ts)",
        "unix_millis(ts)",
        "to_unix_timestamp(ts)",
        "unix_micros(ts)",
    ),
    *("timestamp_seconds(i)", "timestamp_millis(i)", "timestamp_micros(l)", "CAST(l AS TIMESTAMP)"),
    *("CAST(ts AS BIGINT)", "CAST(dt AS STRING)", "substring(s, 1, 2)", "substr(s, 0, 1)", "left(s, 3)"),
    *("floor(d)", "ceil(d)", "floor(f)", "ceiling(dec)", "floor(dec)", "floor(i)", "ceil(l)"),
    *("i + 1", "1 + i", "i - 1", "5 - i", "i * 3", "i * -3", "-i", "i1 + 1Y", "i1 * 2", "l + 1L", "i + 1L"),
    *("l * 1000", "- l", "d + 0.5D", "d * -2D", "d / 3", "2 - d", "f + 1", "f * 2.5D", "f / 2", "i / 4"),
    *(
        "i + 0.5D",
        "-d",
        "-dec",
        "-f",
        "floor(i / 10)",
        "year(ts) + 1",
        "(i + 1) * 2",
        "d * 2 + 1",
        "f * -0.1F",
    ),
]


@pytest.mark.parametrize(
    "zone",
    [
        # Days without a midnight, a day that never was, and no rules at all: the others have less.
        "America/Sao_Paulo",
        "Pacific/Apia",
        "+05:30",
        pytest.param("UTC", marks=pytest.mark.slow),
        pytest.param("Europe/Berlin", marks=pytest.mark.slow),
    ],
)
def test_image_and_preimage_hold_for_what_spark_computes(zone: str, spark: SparkSession) -> None:
    schema = Schema.parse(COLUMNS)
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = computed(spark, EXPRESSIONS)
        by_tree = terms_by_tree(spark, EXPRESSIONS)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    decided = 0
    given = [(text, term_of(text, schema), *found[text]) for text in found]
    given += [(f"tree of {text}", by_tree[text], *found[text]) for text in found]
    for text, term, kind, rows in given:
        calls = [*term.calls, *(Call.cast(each) for each in term.casts)]
        steps = steps_of(term.type, calls, SessionZone(zone))
        if isinstance(steps, NoStep):
            continue
        decided += 1
        assert str(steps[-1].target) == kind, text
        known = [(argument, value) for argument, value in rows if value is not BEYOND]
        for argument, value in known:
            if argument is not BEYOND:
                point = Domain.null() if argument is None else Domain.points([argument])
                image = image_of(steps, point)
                assert image.contains(value), f"{text} of {argument!r} is {value!r}, not in {image}"
        values = [value for _, value in known if value is not None]
        domains = [Domain.points([value]) for value in values]
        domains += [Domain.of([make(value)]) for value in values for make in (Range.above, Range.at_most)]
        domains += [Domain.null(), Domain.not_null()]
        for domain in domains:
            arguments, is_exact = preimage_of(steps, domain)
            for argument, value in known:
                if argument is BEYOND:
                    continue
                is_wanted, is_in = domain.contains(value), arguments.contains(argument)
                told = f"{text} of {argument!r} is {value!r}; {domain} came from {arguments}"
                assert is_in or not is_wanted, told
                assert is_wanted or not is_in or not is_exact, told
    # Local dates of a named zone are all that is left out.
    assert decided >= len(given) - 4


def term_of(text: str, schema: Schema) -> BoundTerm:
    """The calls that an expression is, by its text."""
    leaf = bind(parse_predicate(f"({text}) IS NULL"), schema)
    assert isinstance(leaf, IsNull), leaf
    assert isinstance(leaf.term, BoundTerm)
    return leaf.term


def terms_by_tree(spark: SparkSession, texts: Iterable[str]) -> dict[str, BoundTerm]:
    """The same by the trees that Spark makes of them."""
    trees, schema = Trees(spark), Schema.parse(COLUMNS)
    session, _ = trees.session(spark)
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    frame = spark.createDataFrame(spark.sparkContext.emptyRDD(), columns)
    found = {}
    for text in texts:
        plan = frame.selectExpr(text)._jdf.queryExecution().analyzed()
        tree = json.loads(trees.of(plan.projectList().head().child(), plan.child().output()))
        term = CatalystReader(schema, session).operand(tree)
        assert isinstance(term, BoundTerm), (text, term)
        found[text] = term
    return found


BEYOND = object()
"""A date or time that Python has not."""


def computed(spark: SparkSession, texts: list[str]) -> dict[str, tuple[str, list[tuple[Any, Any]]]]:
    """By expression its type and pairs of argument and value, as Spark computes them without constants."""
    found: dict[str, tuple[str, list[tuple[Any, Any]]]] = {}
    for column, literals in VALUES.items():
        mine = [text for text in texts if column_of(text) == column]
        rows = " UNION ALL ".join(
            f"SELECT CAST({each} AS {COLUMNS[column]}) AS {column}" for each in literals
        )
        frame = spark.sql(f"{rows} UNION ALL SELECT CAST(NULL AS {COLUMNS[column]})").localCheckpoint()
        for start in range(0, len(mine), 40):
            chunk = mine[start : start + 40]
            chosen = [readable(column, COLUMNS[column])]
            kinds = dict(frame.selectExpr(*(f"{text} AS x{n}" for n, text in enumerate(chunk))).dtypes)
            chosen += [readable(text, kinds[f"x{n}"]) for n, text in enumerate(chunk)]
            table = frame.selectExpr(*(f"{text} AS x{n}" for n, text in enumerate(chosen))).collect()
            for place, text in enumerate(chunk):
                kind = kinds[f"x{place}"]
                pairs = [(parsed(row[0], COLUMNS[column]), parsed(row[place + 1], kind)) for row in table]
                found[text] = (kind, pairs)
    return found


def column_of(text: str) -> str:
    return term_of(text, Schema.parse(COLUMNS)).term.text


def readable(text: str, kind: str) -> str:
    """Times as numbers: Python has not all of them."""
    if kind == "timestamp":
        return f"unix_micros({text})"
    return f"unix_date({text})" if kind == "date" else f"({text})"


def parsed(value: Any, kind: str) -> Any:
    if value is None or kind not in ("date", "timestamp"):
        return value
    try:
        if kind == "date":
            return date.fromordinal(date(1970, 1, 1).toordinal() + value)
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=value)
    except (ValueError, OverflowError):
        return BEYOND


def test_every_registered_function_is_compared_with_spark() -> None:
    schema = Schema.parse(COLUMNS)
    called = set()
    for text in EXPRESSIONS:
        term = term_of(text, schema)
        called |= {call.name for call in term.calls} | ({"CAST"} if term.casts else set())
    assert called == set(FUNCTIONS)


def test_function_that_does_not_sort_is_left_alone_with_a_reason() -> None:
    utc = SessionZone("UTC")
    schema = Schema.parse(COLUMNS)
    for text, reason in [
        ("date_format(ts, 'HH:mm')", "do not sort"),
        ("date_format(ts, 'dd-MM-yyyy')", "do not sort"),
        ("upper(s)", "not known to rise"),
        ("substring(s, 2, 3)", "first character"),
        ("i * 0", "does not rise"),
        ("1 / d", "divisor"),
        ("dec + 1", "rounded"),
    ]:
        term = term_of(text, schema)
        found = steps_of(term.type, term.calls, utc)
        assert isinstance(found, NoStep), text
        assert reason in found.reason, text
