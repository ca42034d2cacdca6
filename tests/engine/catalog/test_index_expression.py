"""Index expressions: canonical text, columns, refusals."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from hudi_index.catalog import parse_expression
from hudi_index.errors import DdlSyntaxError, UnsupportedExpressionError

CANONICAL = [
    ("upper( last_name )", "UPPER(last_name)", ("last_name",)),
    ("((upper(a)))", "UPPER(a)", ("a",)),
    ("(a)+(b)", "(a) + (b)", ("a", "b")),
    ("salary+(salary*commission_pct)", "salary + (salary * commission_pct)", ("salary", "commission_pct")),
    ("date_sub(d,1)", "DATE_SUB(d, 1)", ("d",)),
    ("nvl(A, b)", "NVL(A, b)", ("A", "b")),
    ("a + A", "a + A", ("a",)),
    ("Date_Format(ts, \"yyyy-MM-dd'T'HH\")", "DATE_FORMAT(ts, \"yyyy-MM-dd'T'HH\")", ("ts",)),
    (r"regexp_extract(a,'x(\\d+)', 1)", r"REGEXP_EXTRACT(a, 'x(\\d+)', 1)", ("a",)),
    ("`upper`(`a`)", "UPPER(a)", ("a",)),
    ("upper(`order`) || `a b`.`c``d`", "UPPER(`order`) || `a b`.`c``d`", ("order", "a b.c`d")),
    ("upper(Date)", "UPPER(Date)", ("Date",)),
    ("user||''", "user || ''", ("user",)),
    ("year (ts)", "YEAR(ts)", ("ts",)),
    ("a . b . c . d . e . f + 1", "a.b.c.d.e.f + 1", ("a.b.c.d.e.f",)),
    ("m [ 'k' ] . x", "m['k'].x", ("m",)),
    ("struct(a).b", "STRUCT(a).b", ("a",)),
    ("cast(a as decimal(10,2))", "CAST(a AS DECIMAL(10, 2))", ("a",)),
    ("a :: date", "a::DATE", ("a",)),
    (
        "case when a in(1,2) and not(b) then c else-d end",
        "CASE WHEN a IN (1, 2) AND NOT (b) THEN c ELSE - d END",
        None,
    ),
    ("a - -1", "a - - 1", ("a",)),
    ("a*1L + 2.5bd", "a * 1L + 2.5BD", ("a",)),
    ("a -- comment\n + /* b */ c", "a + c", ("a", "c")),
    ("transform(arr, x->x+y)", "TRANSFORM(arr, x -> x + y)", ("arr", "y")),
    ("a like  any('x','y')", "a LIKE ANY ('x', 'y')", ("a",)),
    ("extract(year from ts)", "EXTRACT(year FROM ts)", ("ts",)),
    ("ts + interval 1 day", "ts + INTERVAL 1 day", ("ts",)),
    ("exists(arr, x -> x > 1)", "EXISTS(arr, x -> x > 1)", ("arr",)),
    ("`current_date` + 1", "`current_date` + 1", ("current_date",)),
    ("unix_timestamp(ts)", "UNIX_TIMESTAMP(ts)", ("ts",)),
]


@pytest.mark.parametrize(("text", "canonical", "columns"), CANONICAL)
def test_expression_in_any_layout_has_one_text(
    text: str, canonical: str, columns: tuple[str, ...] | None
) -> None:
    expression = parse_expression(text)
    assert expression.text == canonical
    assert columns is None or expression.columns == columns
    assert parse_expression(expression.text) == expression


@pytest.mark.parametrize("text", [text for text, _, _ in CANONICAL])
def test_expression_after_canonicalisation_means_the_same(text: str) -> None:
    before = parse_one(text, read="spark", into=exp.Condition).unnest()
    after = parse_one(parse_expression(text).text, read="spark", into=exp.Condition)
    assert before.sql("spark", comments=False, identify=True) == after.sql("spark", identify=True)


@pytest.mark.parametrize(
    ("text", "is_column"),
    [
        *(("a.b", True), ("(`a b`)", True), ("upper(a)", False), ("-a", False)),
        *((text, False) for text in ("not b", "not a.b", "d is null", "b and c", "a div b", "x.a div y.b")),
        *((text, False) for text in ("a like b", "a between b and c", "case a when b then c end")),
    ],
)
def test_expression_that_is_a_mere_column_says_so(text: str, is_column: bool) -> None:
    assert parse_expression(text).is_column is is_column


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a > (select 1)", "subquery"),
        ("a in (select b from c)", "subquery"),
        ("exists(select 1 from c where d)", "subquery"),
        ("upper((values (1)))", "VALUES"),
        ("sum(a)", "aggregate"),
        ("a + COUNT(*)", "aggregate"),
        ("`max`(a)", "aggregate"),
        ("any(a)", "aggregate"),
        ("every(a)", "aggregate"),
        ("try_sum(a)", "aggregate"),
        ("group_concat(a)", "aggregate"),
        ("row_number() over (order by a)", "window"),
        ("upper(a) over (order by b)", "window"),
        ("lag(a)", "window"),
        ("explode(a)", "several rows"),
        ("rand() + a", "rand does not always"),
        ("a + uuid()", "uuid does not always"),
        ("now() > a", "now does not always"),
        ("a > current_timestamp", "back-quotes"),
        ("a > current_timestamp()", "current_timestamp does not always"),
        ("a > current_date", "back-quotes"),
        ("datediff(Current_Date(), a)", "Current_Date does not always"),
        ("unix_timestamp() - a", "does not always"),
        ("concat(a, input_file_name())", "input_file_name does not always"),
        ("a + monotonically_increasing_id()", "does not always"),
        ("reflect('java.util.UUID', 'randomUUID') || a", "does not always"),
        ("1 + 2", "no column"),
        ("()", "no column"),
        ("'a'", "no column"),
        ("hash(*)", "star"),
        ("a.*", "star"),
        ("a + ?", "parameter"),
        ("a + :p", "parameter"),
        ("upper(`a.b`)", "dot in its name"),
    ],
)
def test_expression_that_is_no_value_of_a_row_refused(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedExpressionError, match=f"(?i){reason}") as raised:
        parse_expression(text)
    assert raised.value.expression == text


@pytest.mark.parametrize(
    "text", ["", " ", "a b", "a,b", "select a", "drop table x", "a as b", "f(", ")", "a;b"]
)
def test_text_that_is_no_expression_refused(text: str) -> None:
    with pytest.raises(DdlSyntaxError):
        parse_expression(text)


@pytest.mark.parametrize("text", ["f(" * 2000 + "a" + ")" * 2000, "- " * 5000 + "a", "not " * 5000 + "a"])
def test_expression_nested_without_end_refused(text: str) -> None:
    with pytest.raises(DdlSyntaxError, match="nested less deeply"):
        parse_expression(text)


def test_expression_with_many_terms_accepted() -> None:
    assert parse_expression("+".join(["a"] * 3000)).columns == ("a",)
