"""Random statements: what is rendered parses back, and no text raises anything but a UserError."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_index.catalog import (
    CreateIndex,
    DropIndex,
    RebuildIndex,
    RefreshIndex,
    ShowIndexes,
    Statement,
    TableName,
    definition_of,
    parse_expression,
    parse_statement,
)
from hudi_index.errors import DdlSyntaxError, UserError
from hudi_index.kind_specs import specs
from hudi_index.predicate.sql.tokens import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,12}", fullmatch=True)
COLUMN_PARTS = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters=".") | st.sampled_from(" `'\"-/*;(),"),
    min_size=1,
    max_size=6,
).filter(str.strip)
COLUMNS = st.lists(COLUMN_PARTS, min_size=1, max_size=3).map(".".join)
TABLES = st.lists(
    st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable()), min_size=1, max_size=3
)
FUNCTIONS = st.sampled_from(["CONCAT", "COALESCE", "IFNULL"])
LITERALS = st.sampled_from(["1", "2.5", "'x'", "'a''b'", "'--(;'", r"'\''", '"d"', "NULL", "TRUE"])
OPTIONS = st.dictionaries(
    st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True).filter(lambda name: name not in ("expr", "func")),
    st.text(string.printable.replace("\\", "") + "ü💥", max_size=6),
    max_size=3,
)


def spelled(name: str) -> str:
    return name if name.isascii() and name.isidentifier() and name.lower() != "table" else quote_name(name)


KINDS = [spec.name for spec in specs().values() if spec.is_created]


@st.composite
def expressions(draw: Callable[..., Any]) -> tuple[str, list[str]]:
    """Tokens of an expression in canonical spelling, with the columns they read in order."""
    columns: list[str] = []

    def term(depth: int) -> str:
        shape = draw(st.integers(0, 4 if depth else 1))
        if shape <= 1:
            column = str(draw(st.sampled_from(["a", "b", "c.d", "Ee"])))
            columns.append(column)
            return column.replace(".", " . ")
        if shape == 2:
            return f"{draw(FUNCTIONS)} ( {term(depth - 1)} , {draw(LITERALS)} )"
        if shape == 3:
            operator = draw(st.sampled_from(["+", "*", "||", "=", "<=", "AND"]))
            return f"{term(depth - 1)} {operator} {term(depth - 1)}"
        when, then, other = (term(depth - 1) for _ in range(3))
        return f"CASE WHEN ( {when} ) IN ( 1 , 2 ) THEN {then} ELSE - {other} END"

    text = f"{draw(FUNCTIONS)} ( {term(3)} )"
    return text, list(dict.fromkeys(columns))


@st.composite
def statements(draw: Callable[..., Any]) -> tuple[Statement, list[str]]:
    """A statement and the tokens that say it; words that may be in any case begin with a mark."""
    name, parts = str(draw(NAMES)), tuple(draw(TABLES))
    table = TableName(parts)
    on_table = [
        "~ON",
        *draw(st.sampled_from([[], ["~TABLE"]])),
        *".".join(map(quote_name, parts)).split("\0"),
    ]
    named = quote_name(name) if "-" in name or draw(st.booleans()) else name
    match draw(st.sampled_from(["create", "drop", "show", "refresh", "rebuild"])):
        case "drop":
            has_table, if_exists = draw(st.booleans()), bool(draw(st.booleans()))
            tokens = [
                "~DROP",
                "~INDEX",
                *(["~IF", "~EXISTS"] * if_exists),
                named,
                *(on_table if has_table else []),
            ]
            return DropIndex(name, table if has_table else None, if_exists=if_exists), tokens
        case "show":
            return ShowIndexes(table), [
                "~SHOW",
                "~INDEXES",
                draw(st.sampled_from(["~FROM", "~IN"])),
                *on_table[1:],
            ]
        case "refresh":
            return RefreshIndex(name, table), ["~REFRESH", "~INDEX", named, *on_table]
        case "rebuild":
            return RebuildIndex(name, table), ["~REBUILD", "~INDEX", named, *on_table]
    kind, if_not_exists = draw(st.sampled_from(KINDS)), bool(draw(st.booleans()))
    options = dict(draw(OPTIONS))
    tokens = [
        "~INDEX",
        *(["~IF", "~NOT", "~EXISTS"] * if_not_exists),
        named,
        *on_table,
        "~USING",
        f"~{kind}",
        "(",
    ]
    if draw(st.booleans()):
        text, columns = draw(expressions())
        expression = parse_expression(text).text
        tokens = ["~CREATE", *draw(st.sampled_from([[], ["~FUNCTION"]])), *tokens, *text.split(" ")]
    else:
        columns, expression = draw(st.lists(COLUMNS, min_size=1, max_size=3)), None
        tokens = ["~CREATE", *tokens]
        for column in columns:
            tokens += [*" . ".join(spelled(part) for part in column.split(".")).split("\0"), ","]
        tokens.pop()
    tokens.append(")")
    if options:
        tokens += ["~OPTIONS", "("]
        for key, value in options.items():
            tokens += [f"~{key}", "=", "'" + value.replace("'", "\\'") + "'", ","]
        tokens[-1] = ")"
    create = CreateIndex(name, table, kind, tuple(columns), expression, options, if_not_exists=if_not_exists)
    return create, tokens


GAPS = st.sampled_from([" ", "\n", "\t \r\n", " /* it's */ ", " -- `gap\n", " /* /* ; */ ) */\n"])


@st.composite
def rendered(draw: Callable[..., Any]) -> tuple[Statement, str]:
    statement, tokens = draw(statements())
    file_slices = []
    for token in tokens:
        if token.startswith("~"):
            token = draw(st.sampled_from([token[1:], token[1:].lower(), token[1:].title()]))
        file_slices += [token, draw(GAPS)]
    return statement, "".join(file_slices) + str(draw(st.sampled_from(["", ";", " ; -- end"])))


@given(rendered())
def test_statement_rendered_in_any_layout_parses_back(case: tuple[Statement, str]) -> None:
    statement, text = case
    assert parse_statement(text) == statement


@given(rendered(), st.data())
def test_statement_cut_or_damaged_anywhere_raises_user_errors_only(
    case: tuple[Statement, str], data: st.DataObject
) -> None:
    text = case[1]
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    check_parses_or_refuses(text[:stop])
    check_parses_or_refuses(text[:start] + text[stop:])
    check_parses_or_refuses(text[:start] + data.draw(st.text(max_size=3)) + text[start:])


WORDS = r"""
    CREATE FUNCTION INDEX IF NOT EXISTS i ON TABLE t USING bitmap ( ) ( ) , . ; OPTIONS = 'v' 1
    -1 `q` ' " ` -- /* */ DROP SHOW INDEXES FROM IN REFRESH REBUILD upper( a.b + * case when
    then end cast as int [ ] { } :: -> select sum( over partition by interval day null true
    x'0g' x'ab' r'a 0x1 1e5 1.5.2 @ : ? $ # {{ }} {% %} {# \\ é 💥 within group filter where
    lateral view struct< array< > map< lambda => := ! ~ ^ & | div between and like escape is
    distinct from extract( trim( both position( substring( for at time zone
"""
PIECES = st.sampled_from([*WORDS.split(), "\x00", "\ud800", "\n"])
GARBAGE = st.lists(PIECES, max_size=25).map(" ".join) | st.text(max_size=40)


@given(GARBAGE)
@example("")
@example("CREATE INDEX i ON t (" + "(" * 5000)
def test_garbage_raises_user_errors_only(text: str) -> None:
    check_parses_or_refuses(text)


@given(GARBAGE)
def test_garbage_as_an_expression_raises_user_errors_only(text: str) -> None:
    check_parses_or_refuses(f"CREATE INDEX i ON t ({text})")
    check_parses_or_refuses(f"CREATE INDEX i ON t (upper(a, {text}))")


def check_parses_or_refuses(text: str) -> None:
    refusal = refusal_of(text)
    if isinstance(refusal, DdlSyntaxError) and refusal.text == text:
        assert 0 <= refusal.position <= len(text)
        assert "^" in str(refusal)


def refusal_of(text: str) -> UserError | None:
    try:
        statement = parse_statement(text)
        if isinstance(statement, CreateIndex):
            definition_of(statement)
    except UserError as error:
        return error
    if isinstance(statement, CreateIndex) and statement.expression:
        again = parse_expression(statement.expression)
        assert (again.text, again.columns) == (statement.expression, statement.columns)
    return None


@pytest.mark.slow
@given(GARBAGE, GARBAGE)
def test_garbage_between_good_parts_raises_user_errors_only(first: str, second: str) -> None:
    check_parses_or_refuses(f"CREATE INDEX i ON t USING bitmap ({first}) OPTIONS ({second})")
