"""Statements: the grammar, its defaults, what it refuses and where it points."""

from __future__ import annotations

import re

import pytest

from hudi_index.catalog import (
    CreateIndex,
    DropIndex,
    RebuildIndex,
    RefreshIndex,
    ShowIndexes,
    TableName,
    definition_of,
    parse_statement,
)
from hudi_index.errors import (
    DdlSyntaxError,
    InvalidDefinitionError,
    InvalidNameError,
    InvalidOptionError,
    UnknownIndexKindError,
    UnsupportedExpressionError,
)

T = TableName(("t",))

# The statements of RFC-77 (SQL) and RFC-63 (SQL, Query Planning & Execution), as printed there.
RFC_77 = """
-- Examples --
CREATE INDEX idx_city on hudi_table USING bloom_filters(city)
-- Default is to create a hash based record level index mapping secondary column to RLI entries.
CREATE INDEX idx_last_name on hudi_table (last_name)

-- NO CHANGE IN DROP INDEX --
DROP INDEX idx_city;
"""
RFC_63 = """
-- Examples --
CREATE FUNCTION INDEX last_name_idx ON employees (UPPER(last_name)); -- functional index using column stats for UPPER(last_name)
CREATE FUNCTION INDEX datestr ON hudi_table (DATE_FORMAT(ts, '%Y-%m-%d')); -- functional index using column stats for DATE_FORMAT(ts, '%Y-%m-%d')
CREATE INDEX city_id_idx ON hudi_table (city_id); -- usual column stats within MT column_stats partition
CREATE FUNCTION INDEX hour_of_day ON hudi_table USING BITMAP (DATE_FORMAT(ts, '%H')); -- functional index using bitmap for DATE_FORMAT(ts, '%H')
CREATE FUNCTION INDEX income_idx ON employees (salary + (salary*commission_pct)); --  functional index using column stats for given expression
-- NO CHANGE IN DROP INDEX --
DROP INDEX last_name_idx;
CREATE INDEX datestr ON hudi_table USING col_stats (DATE_FORMAT(ts, '%Y-%m-%d'));
"""  # noqa: E501 - quoted
RFC_STATEMENTS = [line for line in (RFC_77 + RFC_63).splitlines() if re.match("CREATE|DROP", line)]


def create(text: str) -> CreateIndex:
    statement = parse_statement(text)
    assert isinstance(statement, CreateIndex)
    return statement


def test_rfc_statements_all_found_in_the_quotes() -> None:
    assert len(RFC_STATEMENTS) == 10


@pytest.mark.parametrize("text", RFC_STATEMENTS)
def test_rfc_statement_parses_and_defines(text: str) -> None:
    statement = parse_statement(text)
    if text.startswith("DROP"):
        assert isinstance(statement, DropIndex)
    else:
        assert isinstance(statement, CreateIndex)
        assert definition_of(statement).is_functional == ("(" in text.split(" -- ")[0].split("(", 1)[1])


@pytest.mark.parametrize(
    ("text", "partition", "fields"),
    [
        (RFC_STATEMENTS[0], "bloom_filters", ("city",)),
        (RFC_STATEMENTS[1], "secondary_index_idx_last_name", ("last_name",)),
        (RFC_STATEMENTS[3], "func_index_last_name_idx", ("last_name",)),
        (RFC_STATEMENTS[7], "func_index_income_idx", ("salary", "commission_pct")),
    ],
)
def test_rfc_statement_lands_in_the_rfcs_partition(
    text: str, partition: str, fields: tuple[str, ...]
) -> None:
    definition = definition_of(create(text))
    assert (definition.partition, definition.source_fields) == (partition, fields)


def test_date_format_of_the_rfc_kept_letter_by_letter() -> None:
    assert create(RFC_STATEMENTS[4]).expression == "DATE_FORMAT(ts, '%Y-%m-%d')"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP INDEX i", DropIndex("i")),
        (
            "drop index if exists `i-1` on table db.t ;;",
            DropIndex("i-1", TableName(("db", "t")), if_exists=True),
        ),
        ("SHOW INDEXES FROM t", ShowIndexes(T)),
        ("show Indexes in c.d.t;", ShowIndexes(TableName(("c", "d", "t")))),
        ("SHOW INDEXES ON TABLE t", ShowIndexes(T)),
        ("SHOW INDEXES FROM table", ShowIndexes(TableName(("table",)))),
        ("REFRESH INDEX i ON t", RefreshIndex("i", T)),
        ("/* a /* nested */ */ REBUILD -- b\n INDEX i ON TABLE t -- c", RebuildIndex("i", T)),
        ("DROP INDEX if ON if", DropIndex("if", TableName(("if",)))),
        ("CREATE INDEX i ON t (a)", CreateIndex("i", T, "secondary_index", ("a",))),
        ("CREATE INDEX i ON t (a, b.c)", CreateIndex("i", T, "secondary_index", ("a", "b.c"))),
        ("CREATE INDEX i ON t (((a.b)))", CreateIndex("i", T, "secondary_index", ("a.b",))),
        (
            "CREATE INDEX i ON table (a)",
            CreateIndex("i", TableName(("table",)), "secondary_index", ("a",)),
        ),
        (
            "CREATE INDEX IF NOT EXISTS i ON TABLE t USING Column_Stats (`a b`, index, c.`d``e`)",
            CreateIndex("i", T, "column_stats", ("a b", "index", "c.d`e"), if_not_exists=True),
        ),
        (
            "create index i on t using bloom(a) options (FPP=0.1, 'shards' = '2', hoodie.x = true, y = -1)",
            CreateIndex(
                "i",
                T,
                "bloom_filters",
                ("a",),
                options={"fpp": "0.1", "shards": "2", "hoodie.x": "true", "y": "-1"},
            ),
        ),
        ("CREATE INDEX i ON t (a) OPTIONS ()", CreateIndex("i", T, "secondary_index", ("a",))),
        ("CREATE INDEX i ON t (lower(a))", CreateIndex("i", T, "column_stats", ("a",), "LOWER(a)")),
        (
            "CREATE INDEX i ON t USING secondary_index (lower(a))",
            CreateIndex("i", T, "secondary_index", ("a",), "LOWER(a)"),
        ),
        (
            "CREATE INDEX Record_Index ON t (k1, k2)",
            CreateIndex("Record_Index", T, "record_index", ("k1", "k2")),
        ),
        ("CREATE INDEX i ON t (current_date)", CreateIndex("i", T, "secondary_index", ("current_date",))),
    ],
)
def test_statement_in_all_its_forms_parses(text: str, expected: object) -> None:
    assert parse_statement(text) == expected


@pytest.mark.parametrize(
    ("name", "parts", "path"),
    [
        ("t", ("t",), None),
        ("c.db.t", ("c", "db", "t"), None),
        ("hudi.`/path/to/t`", ("hudi", "/path/to/t"), "/path/to/t"),
        ("`s3://bucket/a b/t`", ("s3://bucket/a b/t",), "s3://bucket/a b/t"),
    ],
)
def test_table_name_or_place_told_apart(name: str, parts: tuple[str, ...], path: str | None) -> None:
    table = create(f"CREATE INDEX i ON {name} (a)").table
    assert (table.parts, table.path) == (parts, path)


@pytest.mark.parametrize(
    ("source", "expression"),
    [
        (
            "column_stats(ts) OPTIONS(expr='from_unixtime', format='yyyy-MM-dd')",
            "FROM_UNIXTIME(ts, 'yyyy-MM-dd')",
        ),
        ("column_stats(ts) OPTIONS(func='from_unixtime')", "FROM_UNIXTIME(ts)"),
        ("bloom_filters(a.b) OPTIONS(EXPR='Lower')", "LOWER(a.b)"),
        ("bloom_filters(a) OPTIONS(expr='substring', pos='1', len=3)", "SUBSTRING(a, 1, 3)"),
        (
            r"bitmap(a) OPTIONS(expr='regexp_extract', pattern='(\\d\'x)', idx=1)",
            r"REGEXP_EXTRACT(a, '(\\d\'x)', 1)",
        ),
        ("bitmap(d) OPTIONS(expr='date_sub', days='-7')", "DATE_SUB(d, - 7)"),
        ("bitmap(a) OPTIONS(expr='ltrim', trimString='0')", "TRIM(LEADING '0' FROM a)"),
        ("bitmap(`order`) OPTIONS(expr='upper')", "UPPER(`order`)"),
        ("bitmap(a) OPTIONS(expr='identity')", None),
    ],
)
def test_expression_in_hudis_options_becomes_an_expression(source: str, expression: str | None) -> None:
    statement = create(f"CREATE INDEX i ON t USING {source}")
    assert statement.expression == expression
    assert definition_of(statement).options == {}


def test_expression_in_hudis_options_leaves_the_other_options() -> None:
    statement = create("CREATE FUNCTION INDEX i ON t USING bloom_filters(a) OPTIONS(expr='lower', fpp=0.01)")
    assert definition_of(statement).options == {"false_positive_rate": "0.01"}


@pytest.mark.parametrize(
    "source",
    [
        "(a) OPTIONS(expr='levenshtein')",
        "(a) OPTIONS(expr='substring', pos=1)",
        "(a) OPTIONS(expr='substring', pos=1, len='x')",
        "(a, b) OPTIONS(expr='lower')",
        "(a) OPTIONS(expr='lower', format='x')",
        "(upper(a)) OPTIONS(expr='lower')",
    ],
)
def test_expression_in_hudis_options_that_does_not_fit_refused(source: str) -> None:
    with pytest.raises(InvalidOptionError):
        definition_of(create(f"CREATE INDEX i ON t USING column_stats {source}"))


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("^", "CREATE, DROP"),
        ("-- only a comment^", "CREATE, DROP"),
        ("^SELECT 1", "CREATE, DROP"),
        ("CREATE^", "INDEX"),
        ("CREATE ^TABLE t", "INDEX"),
        ("CREATE FUNCTION ^i", "INDEX"),
        ("CREATE INDEX^", "an index name"),
        ("CREATE INDEX ^'i' ON t (a)", "an index name"),
        ("CREATE INDEX my^-idx ON t (a)", "back-quotes"),
        ("CREATE INDEX db^.i ON t (a)", "a plain index name"),
        ("CREATE INDEX ^`` ON t (a)", "not an empty one"),
        ("CREATE INDEX i ^t (a)", "ON"),
        ("CREATE INDEX i ON ^;", "a table name"),
        ("CREATE INDEX i ON ^(a)", "a table name"),
        ("CREATE INDEX i ON db.^(a)", "a table name after the '.'"),
        ("CREATE INDEX i ON t^", "'\\(' with columns"),
        ("CREATE INDEX i ON t USING ^(a)", "an index kind"),
        ("CREATE INDEX i ON t (^", "a column or an expression"),
        ("CREATE INDEX i ON t (a^", "'\\)'"),
        ("CREATE INDEX i ON t (a^;", "'\\)'"),
        ("CREATE INDEX i ON t (^)", "a column or an expression"),
        ("CREATE INDEX i ON t (a, ^)", "a column or an expression"),
        ("CREATE INDEX i ON t (a /* , */ ^b)", "expression"),
        ("CREATE INDEX i ON t (a.^, b)", "a column after the '.'"),
        ("CREATE INDEX i ON t (a ^DESC)", "expression"),
        ("CREATE INDEX i ON t (upper(a), ^b)", "one expression alone"),
        ("CREATE INDEX i ON t (a, ^upper(b))", "one expression alone"),
        ("CREATE INDEX i ON t (upper(a), lower(^) )", "expression"),
        ("CREATE INDEX i ON t\n(\n  a + ^)", "the rest of the expression"),
        ("CREATE INDEX i ON t (upper(a) ^b)", "a valid Spark SQL expression"),
        ("CREATE INDEX i ON t (^select a)", "a valid Spark SQL expression"),
        ("CREATE FUNCTION INDEX i ON t (^a)", "leave FUNCTION out"),
        ("CREATE INDEX i ON t (a) ^USING bitmap", "the end of the statement"),
        ("CREATE INDEX i ON t (a) OPTIONS^", "'\\(' with options"),
        ("CREATE INDEX i ON t (a) OPTIONS (^= 1)", "an option name"),
        ("CREATE INDEX i ON t (a) OPTIONS (k ^'v')", "'='"),
        ("CREATE INDEX i ON t (a) OPTIONS (k = ^v)", "a value"),
        ("CREATE INDEX i ON t (a) OPTIONS (k = -^'1')", "a value"),
        ("CREATE INDEX i ON t (a) OPTIONS (k = 1 ^j = 2)", "',' or '\\)'"),
        ("CREATE INDEX i ON t (a) OPTIONS (k = 1^", "',' or '\\)'"),
        ("DROP INDEX i; ^DROP INDEX j", "the end of the statement"),
        ("DROP INDEX i ^FROM t", "the end of the statement"),
        ("SHOW ^INDEX FROM t", "INDEXES"),
        ("SHOW INDEXES ^t", "FROM"),
        ("REFRESH INDEX i^", "ON"),
        ("REBUILD INDEX i ^FROM t", "ON"),
        ("DROP INDEX ^`i", "an end to what is opened here"),
        ("DROP INDEX i ON 'a' ^'b", "an end to what is opened here"),
        ("DROP INDEX i ^/* 'a' \"b\" `c` /* */", "an end to what is opened here"),
        ('DROP INDEX -- it\'s\n i /* "b */ ^"c', "an end to what is opened here"),
        ("^'", "an end to what is opened here"),
        ("CREATE INDEX i ON t (f(^x'abc))", "an end to what is opened here"),
        ("DROP INDEX i ON ^\ud800", "a character"),
    ],
)
def test_syntax_error_points_at_its_place(marked: str, expected: str) -> None:
    position, text = marked.index("^"), marked.replace("^", "", 1)
    with pytest.raises(DdlSyntaxError, match=expected) as raised:
        parse_statement(text)
    assert (raised.value.position, raised.value.text) == (position, text)


def test_syntax_error_message_shows_line_and_caret() -> None:
    with pytest.raises(DdlSyntaxError) as raised:
        parse_statement("CREATE INDEX i\n  ON t (upper(a)\n  lower(b))")
    assert str(raised.value).splitlines()[1:] == ["    lower(b))", "    ^"]
    assert "line 3, column 3" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("CREATE INDEX i ON t USING LUCENE (a)", UnknownIndexKindError),
        ("CREATE INDEX i ON t USING partition_stats (a)", UnknownIndexKindError),
        ("CREATE INDEX `../i` ON t (a)", InvalidNameError),
        ("DROP INDEX IF EXISTS `a/b` ON t", InvalidNameError),
        ("REFRESH INDEX 1i ON t", InvalidNameError),
        ("CREATE INDEX i ON t USING bitmap (a, A)", InvalidDefinitionError),
        ("CREATE INDEX i ON t USING record_index (upper(a))", InvalidDefinitionError),
        ("CREATE INDEX i ON t (a) OPTIONS (colour = 'red')", InvalidOptionError),
        ("CREATE INDEX i ON t (a) OPTIONS (shards = 1, SHARDS = 2)", InvalidOptionError),
        ("CREATE INDEX i ON t (a) OPTIONS (time_zone = 'UTC')", InvalidOptionError),
        ("CREATE INDEX i ON t (`a.b`)", UnsupportedExpressionError),
        ("CREATE INDEX i ON t (sum(a))", UnsupportedExpressionError),
    ],
)
def test_statement_that_asks_for_the_impossible_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        definition_of(create(text))


def test_statement_with_many_open_quotes_refused_in_time() -> None:
    with pytest.raises(DdlSyntaxError) as raised:
        parse_statement("DROP INDEX /* " + "' " * 50_000)
    assert raised.value.position == 11
