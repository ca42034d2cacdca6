"""Texts to expressions: operators, literals, Catalyst's spelling, depth, errors."""

from __future__ import annotations

import math
import time
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.errors import PredicateSyntaxError, UserError
from hudi_index.predicate import Schema, Term, constraints_of, parse_predicate
from hudi_index.predicate.expression import (
    FALSE,
    NULL,
    TRUE,
    And,
    BooleanTerm,
    Compare,
    CompareTerms,
    Expression,
    In,
    IsNull,
    IsTrue,
    Like,
    Not,
    Operator,
    Or,
    StartsWith,
    Unknown,
)
from hudi_index.predicate.values import types as t
from hudi_index.predicate.values.casts import Literal

A, B = Term("a"), Term("b")


def one(value: int) -> Literal:
    return Literal(value, t.INT)


def text(value: str) -> Literal:
    return Literal(value, t.STRING)


A_IS_1 = Compare(Operator.EQUAL, A, one(1))
B_IS_2 = Compare(Operator.EQUAL, B, one(2))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = 1", A_IS_1),
        ("1 == a", A_IS_1),
        ("a <=> 1", Compare(Operator.SAME, A, one(1))),
        ("a <> 1", Compare(Operator.NOT_EQUAL, A, one(1))),
        ("1 < a", Compare(Operator.GREATER, A, one(1))),
        ("1 >= a", Compare(Operator.AT_MOST, A, one(1))),
        ("a < b", CompareTerms(Operator.LESS, A, Term("b"))),
        ("not a <=> b", Not(CompareTerms(Operator.SAME, A, Term("b")))),
        ("a = null", NULL),
        ("a <=> null", IsNull(A)),
        ("a between 1 and 2 and b = 2", None),
        ("a not between 1 and 2", None),
        ("a in (1, 2, 1)", In(A, (one(1), one(2)))),
        ("a not in (1)", Not(In(A, (one(1),)))),
        ("a is null", IsNull(A)),
        ("a is not null", Not(IsNull(A))),
        ("a is true", Compare(Operator.SAME, A, Literal(True, t.BOOLEAN))),
        ("(a = 1) is not false", Not(IsTrue(Not(A_IS_1)))),
        ("(a = 1) = false", Not(A_IS_1)),
        ("a is distinct from 1", Not(Compare(Operator.SAME, A, one(1)))),
        ("a like 'p%'", Like(A, "p%")),
        (r"a like 'x\\%' ", Like(A, r"x\%")),
        (r"a like 'x\%' ", Like(A, r"x\%")),
        ("a not like '/%' escape '/'", Not(Like(A, "/%", "/"))),
        ("startswith(a, 'p')", StartsWith(A, "p")),
        ("isnotnull(a)", IsNull(A, is_negated=True)),
        ("a = 1 or b = 2 and a", Or((A_IS_1, And((B_IS_2, BooleanTerm(A)))))),
        ("not a = 1 and b = 2", And((Not(A_IS_1), B_IS_2))),
        ("not not a = 1", A_IS_1),
        ("!a", Not(BooleanTerm(A))),
        ("((a = 1) and ((b = 2)))", And((A_IS_1, B_IS_2))),
        ("a = 1 and true", A_IS_1),
        ("a = 1 and false", FALSE),
        ("a = 1 or 1 = 1", TRUE),
        ("a = 1 and null", And((A_IS_1, NULL))),
        ("a.b.c = 1", Compare(Operator.EQUAL, Term("a.b.c"), one(1))),
        ("`a`.`b c` = 1", Compare(Operator.EQUAL, Term("a.`b c`"), one(1))),
        ("upper( x ) = 'X'", Compare(Operator.EQUAL, Term("UPPER(x)", is_expression=True), text("X"))),
        ("date_sub(d,1) = 1", Compare(Operator.EQUAL, Term("DATE_SUB(d, 1)", is_expression=True), one(1))),
        ("(a + 1) * 2 = 1", Compare(Operator.EQUAL, Term("(a + 1) * 2", is_expression=True), one(1))),
        ("(a) = (1)", A_IS_1),
        ("a = 1 -- comment", A_IS_1),
        ("end = 1", Compare(Operator.EQUAL, Term("end"), one(1))),
        ("date = 1", Compare(Operator.EQUAL, Term("date"), one(1))),
    ],
)
def test_operator_is_read_as_spark_does(source: str, expected: Expression | None) -> None:
    parsed = parse_predicate(source)
    assert expected is None or parsed == expected
    assert not isinstance(parsed, Unknown)


@pytest.mark.parametrize(
    ("source", "value", "kind"),
    [
        ("1", 1, t.INT),
        ("-2147483648", -(2**31), t.INT),
        ("2147483648", 2**31, t.LONG),
        ("9223372036854775808", Decimal(2**63), t.decimal(19, 0)),
        ("- -1", 1, t.INT),
        ("(-(1))", -1, t.INT),
        ("1Y", 1, t.BYTE),
        ("1S", 1, t.SHORT),
        ("-1L", -1, t.LONG),
        ("1.5", Decimal("1.5"), t.decimal(2, 1)),
        ("0.10", Decimal("0.10"), t.decimal(2, 2)),
        (".5", Decimal("0.5"), t.decimal(1, 1)),
        ("1.5BD", Decimal("1.5"), t.decimal(2, 1)),
        ("5BD", Decimal(5), t.decimal(1, 0)),
        ("1e3", 1000.0, t.DOUBLE),
        ("1.5D", 1.5, t.DOUBLE),
        ("1.5F", 1.5, t.FLOAT),
        ("0.1F", 0.10000000149011612, t.FLOAT),
        ("CAST(1.0 AS FLOAT)", 1.0, t.FLOAT),
        ("CAST('Infinity' AS DOUBLE)", math.inf, t.DOUBLE),
        ("double('-inf')", -math.inf, t.DOUBLE),
        ("'5'::int", 5, t.INT),
        ("CAST(CAST('7' AS INT) AS BIGINT)", 7, t.LONG),
        ("1 + 2", 3, t.INT),
        ("true", True, t.BOOLEAN),
        ("'x'", "x", t.STRING),
        ('"x"', "x", t.STRING),
        (r"'a\'b\n\\\u00e9\101'", "a'b\n\\éA", t.STRING),
        (r"r'a\b'", r"a\b", t.STRING),
        ("X'1F'", b"\x1f", t.BINARY),
        ("DATE'2020-1-2'", date(2020, 1, 2), t.DATE),
        ("CAST('2020-01-02' AS DATE)", date(2020, 1, 2), t.DATE),
        (
            "TIMESTAMP '2020-01-01 01:00:00.5'",
            datetime(2020, 1, 1, 0, 0, 0, 500000, timezone.utc),
            t.TIMESTAMP,
        ),
        ("TIMESTAMP'2020-07-01T01:00:00'", datetime(2020, 6, 30, 23, tzinfo=timezone.utc), t.TIMESTAMP),
        ("TIMESTAMP'2020-07-01 01:00:00Z'", datetime(2020, 7, 1, 1, tzinfo=timezone.utc), t.TIMESTAMP),
        ("TIMESTAMP_NTZ'2020-07-01'", datetime(2020, 7, 1), t.TIMESTAMP_NTZ),  # noqa: DTZ001
    ],
)
def test_literal_has_sparks_value_and_type(source: str, value: Any, kind: t.SqlType) -> None:
    parsed = parse_predicate(f"a > {source}", time_zone="Europe/Berlin")
    assert isinstance(parsed, Compare)
    assert (parsed.literal.value, parsed.literal.type) == (value, kind)
    assert type(parsed.literal.value) is type(value)
    assert parse_predicate(f"a IN ({source})", time_zone="Europe/Berlin") == In(A, (parsed.literal,))


@pytest.mark.parametrize(
    "source",
    [
        "a = upper(b)",
        "a = 'O''Brien'",  # two literals to Spark 3.5, one to Spark 4
        "a = 2147483647 + 1",
        "a = DATE'today'",
        "a = TIMESTAMP'2020-02-30'",
        "a = X'1'",
        "a = current_date()",
        "a in (select b from c)",
        "exists (select 1)",
        "a > (select 1)",
        "a like b",
        "a not like any ('x', 'y')",
        "a rlike b",
        "a ilike 'x'",
        "(a, b) in ((1, 2))",
        "a = interval 1 day",
        "(a > 1) < true",
        "a in (1, b)",
        "1",
        "'x'",
    ],
)
def test_what_is_not_understood_is_unknown(source: str) -> None:
    parsed = parse_predicate(source)
    assert isinstance(parsed, Unknown)
    assert parsed.text
    assert parsed.reason
    assert isinstance(parse_predicate(f"NOT ({source})"), Unknown)
    assert isinstance(parse_predicate(f"z = 1 AND {source}"), And)


@pytest.mark.parametrize(
    ("source", "position"),
    [
        ("", 0),
        ("a =", 3),
        ("= 1", 0),
        ("a = 1 AND", 9),
        ("(a = 1", 0),
        ("a = 1)", 5),
        ("a = 'x", 4),
        ("a in ()", 5),
        ("a in (1,)", 8),
        ("a between 1", 11),
        ("a is 5", 5),
        ("a = 1 b = 2", 6),
        ("a = 1; b", 5),
        ("()", 1),
        ("a = 1 OR\n  b ** 2", None),
    ],
)
def test_text_that_is_no_sql_is_refused_where_it_breaks(source: str, position: int | None) -> None:
    with pytest.raises(PredicateSyntaxError) as caught:
        parse_predicate(source)
    assert position is None or caught.value.position == position
    assert isinstance(caught.value, UserError)


MANY = range(10_000)
SCHEMA = Schema.parse({"a": "int", "b": "int", "s": "string"})
LONG_TEXTS = {
    "flat OR": " OR ".join(f"a = {n}" for n in MANY),
    "IN": f"a IN ({', '.join(map(str, MANY))})",
    "IN of texts": f"s IN ({', '.join(repr(str(n)) for n in MANY)})",
    "OR nested to the left": "(" * 9_999 + "a = 0" + "".join(f") OR (a = {n})" for n in MANY[1:]),
    "OR nested to the right": "".join(f"(a = {n} OR " for n in MANY) + "a = 1" + ")" * 10_000,
    "AND and OR in turn": "".join("(a = 1 OR (b = 1 AND " for _ in range(3_000)) + "a = 2" + ")" * 6_000,
    "NOT in brackets": "NOT (" * 5_000 + "a = 1" + ")" * 5_000,
    "brackets around a literal": "a = " + "(" * 10_000 + "1" + ")" * 10_000,
    "arithmetic in brackets": "(" * 3_000 + "a" + " + 1)" * 3_000 + " > 1",
    "calls in calls": "f(" * 3_000 + "a" + ")" * 3_000 + " > 1",
    "CASE in CASE": "CASE WHEN a THEN " * 1_000 + "b" + " END" * 1_000,
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_long_text_neither_recurses_to_death_nor_takes_long(name: str) -> None:
    started = time.process_time()
    constraints_of(LONG_TEXTS[name], SCHEMA, time_zone="UTC")
    # A bound for a busy machine; a few tenths of a second when it is not.
    assert time.process_time() - started < 5


def test_list_of_ten_thousand_parses_within_a_second() -> None:
    started = time.process_time()
    parsed = parse_predicate(LONG_TEXTS["IN"])
    assert time.process_time() - started < 1
    assert isinstance(parsed, In)
    assert len(parsed.literals) == len(MANY)


def test_nested_chain_is_one_disjunction_in_order() -> None:
    parsed = parse_predicate("((a = 0 OR a = 1) OR (a = 2 OR (a = 3 OR a = 4)))")
    assert isinstance(parsed, Or)
    assert [child.literal.value for child in parsed.children if isinstance(child, Compare)] == [0, 1, 2, 3, 4]


WORDS = """
a b s . ( ) [ ] , = <=> < >= != ! NOT AND OR IN IS NULL TRUE LIKE ESCAPE BETWEEN CASE WHEN THEN END CAST AS
INT :: - + * / % 1 1.5 1L 0x 'x' 'p%' "q" X'1F' DATE'2020-01-01' TIMESTAMP upper( isnull( startswith( `a` `
SELECT FROM EXISTS DISTINCT ANY interval day -> ; -- /* */ @ ? : { } \\ ' é
"""
words = st.sampled_from([*WORDS.split(), "\x00", "\n"])


@settings(max_examples=400)
@given(st.lists(words, max_size=12).map(" ".join) | st.text(max_size=30))
def test_garbage_raises_nothing_but_user_errors(garbage: str) -> None:
    try:
        constraints_of(garbage, SCHEMA, time_zone="Europe/Berlin")
    except UserError as error:
        assert str(error)  # noqa: PT017 - most garbage raises, some of it is a predicate
