"""The SQL that speaks about indexes: parses, does not execute.

    CREATE [FUNCTION] INDEX [IF NOT EXISTS] name ON [TABLE] table [USING kind] ( source ) [OPTIONS ( … )]
    DROP INDEX [IF EXISTS] name [ON [TABLE] table]
    SHOW INDEXES {FROM | IN | ON} [TABLE] table
    REFRESH INDEX name ON [TABLE] table
    REBUILD INDEX name ON [TABLE] table

    source    column [, column …]  |  expression          a column may be nested: a.b
    table     name [. name …]                              hudi.`/path/of/table` and `s3://…` name a place
    option    name = value                                 'text', number, TRUE or FALSE
    kind      a name or an alias of `kind_specs`

Words are case-insensitive and none is reserved. Names may stand in back-quotes. Comments may stand between
any two tokens, semicolons at the end. Without USING, columns get a secondary_index (RFC-77) and an
expression column_stats (RFC-63); the name `record_index` over columns means that kind, as in Hudi's SQL.
FUNCTION is for expressions only, which need it not. Hudi's own form of an expression, `OPTIONS (expr = …)`,
is taken as well, see `hudi_options.py`.

Invariant: every text gives a statement or a UserError. A statement names only indexes that could exist
(names are checked), kinds that do, and expressions that an index may be over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from hudi_index import kind_specs
from hudi_index.catalog.definition import IndexDefinition, check_name
from hudi_index.catalog.expression import (
    IndexExpression,
    column_path,
    parse_expression,
    parse_expression_tokens,
)
from hudi_index.catalog.hudi_options import expression_text
from hudi_index.errors import DdlSyntaxError, InvalidOptionError
from hudi_index.predicate.sql.tokens import Cursor, is_name, raw_of, tokens_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CreateIndex",
    "DropIndex",
    "RebuildIndex",
    "RefreshIndex",
    "ShowIndexes",
    "Statement",
    "TableName",
    "definition_of",
    "parse_statement",
]


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as a statement names it."""

    parts: tuple[str, ...]

    @property
    def path(self) -> str | None:
        """The place it names, None for a name of a catalog's."""
        return self.parts[-1] if "/" in self.parts[-1] else None

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE INDEX, defaults filled in."""

    name: str
    table: TableName
    kind: str
    columns: tuple[str, ...]
    """The columns indexed, or those that the expression reads."""
    expression: str | None = None
    """Canonical Spark SQL."""
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    """As written, names in lower case."""
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropIndex:
    """DROP INDEX; the table may be given by the context."""

    name: str
    table: TableName | None = None
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ShowIndexes:
    """SHOW INDEXES."""

    table: TableName


@dataclass(frozen=True, slots=True)
class RefreshIndex:
    """REFRESH INDEX: bring it up to the table's newest commit."""

    name: str
    table: TableName


@dataclass(frozen=True, slots=True)
class RebuildIndex:
    """REBUILD INDEX: make it anew, whatever its state."""

    name: str
    table: TableName


Statement = CreateIndex | DropIndex | ShowIndexes | RefreshIndex | RebuildIndex


def parse_statement(text: str) -> Statement:
    """The statement that a text is.

    Raises:
        UserError: a subclass that says what is wrong; DdlSyntaxError also says where.
    """
    cursor = Cursor(text, tokens_of(text))
    statement = _statement(cursor)
    while cursor.accept(";"):
        pass
    if cursor.token is not None:
        raise cursor.error("the end of the statement")
    return statement


def definition_of(statement: CreateIndex) -> IndexDefinition:
    """The index that a statement describes, not built yet.

    Raises:
        InvalidOptionError: if its kind has no such option or value.
        InvalidDefinitionError: if its kind can't be over such columns.
    """
    return IndexDefinition(
        name=statement.name,
        kind=statement.kind,
        source_fields=statement.columns,
        expression=statement.expression,
        options=statement.options,
    )


def _statement(cursor: Cursor) -> Statement:
    if cursor.accept("CREATE"):
        return _create(cursor)
    if cursor.accept("DROP"):
        cursor.expect("INDEX")
        if_exists = cursor.accept("IF", "EXISTS")
        name = _index_name(cursor)
        return DropIndex(name, _table(cursor) if cursor.accept("ON") else None, if_exists=if_exists)
    if cursor.accept("SHOW"):
        cursor.expect("INDEXES")
        if not (cursor.accept("FROM") or cursor.accept("IN") or cursor.accept("ON")):
            raise cursor.error("FROM and a table")
        return ShowIndexes(_table(cursor))
    if cursor.accept("REFRESH"):
        return RefreshIndex(*_index_of_table(cursor))
    if cursor.accept("REBUILD"):
        return RebuildIndex(*_index_of_table(cursor))
    raise cursor.error("CREATE, DROP, SHOW, REFRESH or REBUILD")


def _index_of_table(cursor: Cursor) -> tuple[str, TableName]:
    cursor.expect("INDEX")
    name = _index_name(cursor)
    cursor.expect("ON")
    return name, _table(cursor)


def _index_name(cursor: Cursor) -> str:
    name = cursor.name("an index name")
    if cursor.token and cursor.token.token_type in (TokenType.DASH, TokenType.DOT):
        raise cursor.error("a plain index name; one with '-' needs back-quotes")
    check_name(name)
    return name


def _table(cursor: Cursor) -> TableName:
    # A table may be called `table`: the word is one if no name follows it.
    following = cursor.tokens[cursor.index + 1 : cursor.index + 2]
    if following and is_name(following[0], cursor.text) and not _is_using(following[0], cursor):
        cursor.accept("TABLE")
    return TableName(cursor.take_dotted_name("a table name"))


def _is_using(token: Token, cursor: Cursor) -> bool:
    return raw_of(token, cursor.text).upper() == "USING"


def _create(cursor: Cursor) -> CreateIndex:
    is_function = cursor.accept("FUNCTION")
    cursor.expect("INDEX")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = _index_name(cursor)
    cursor.expect("ON")
    table = _table(cursor)
    kind = kind_specs.parse_kind(cursor.name("an index kind")) if cursor.accept("USING") else None
    cursor.expect("(", hint=" with columns or an expression")
    start = cursor.position
    if cursor.token is None:
        raise cursor.error("a column or an expression")
    columns, expression = _source(cursor)
    options = _options(cursor) if cursor.accept("OPTIONS") else {}
    if expression is None and (text := expression_text(columns, options)) is not None:
        expression = parse_expression(text)
        columns = expression.columns
        # identity is no function, but Hudi's users may well say FUNCTION with it.
        expression, is_function = (None, False) if expression.is_column else (expression, is_function)
    if is_function and expression is None:
        raise cursor.error(
            "an expression such as upper(city); for a column leave FUNCTION out", position=start
        )
    return CreateIndex(
        name=name,
        table=table,
        kind=kind or _default_kind(name, expression),
        columns=columns,
        expression=expression.text if expression else None,
        options=options,
        if_not_exists=if_not_exists,
    )


def _default_kind(name: str, expression: IndexExpression | None) -> str:
    if expression is not None:
        return kind_specs.DEFAULT_OF_EXPRESSION
    return name.lower() if name.lower() in kind_specs.DEFAULT_BY_NAME else kind_specs.DEFAULT


def _source(cursor: Cursor) -> tuple[tuple[str, ...], IndexExpression | None]:
    """The columns, and the expression if they are not indexed themselves."""
    items = cursor.until_closed()
    parsed = [_item(item, end, cursor.text) for item, end in items]
    if all(each.is_column for each in parsed):
        return tuple(each.columns[0] for each in parsed), None
    if len(parsed) > 1:
        raise cursor.error("columns only, or one expression alone", position=items[1][0][0].start)
    return parsed[0].columns, parsed[0]


def _item(tokens: Sequence[Token], end: int, text: str) -> IndexExpression:
    if not tokens:
        raise DdlSyntaxError(text=text, position=end, expected="a column or an expression")
    # A lone name is a column, even where an expression would take it for a function: current_date.
    if is_name(tokens[0], text):
        cursor = Cursor(text, tokens)
        if all(token.token_type == TokenType.DOT for token in tokens[1::2]):
            path = column_path(
                cursor.take_dotted_name("a column"), text[tokens[0].start : tokens[-1].end + 1]
            )
            if cursor.token is None:
                return IndexExpression(path, (path,), is_column=True)
    return parse_expression_tokens(text, tokens, end=end)


def _options(cursor: Cursor) -> dict[str, str]:
    cursor.expect("(", hint=" with options")
    options: dict[str, str] = {}
    if cursor.accept(")"):
        return options
    while True:
        name = _option_name(cursor).lower()
        cursor.expect("=")
        value = _option_value(cursor)
        if name in options:
            raise InvalidOptionError(option=name, value=value, reason="it is given twice")
        options[name] = value
        if cursor.accept(")"):
            return options
        if not cursor.accept(","):
            raise cursor.error("',' or ')'")


def _option_name(cursor: Cursor) -> str:
    token = cursor.token
    if token and token.token_type == TokenType.STRING:
        cursor.index += 1
        return token.text
    return ".".join(cursor.take_dotted_name("an option name"))


def _option_value(cursor: Cursor) -> str:
    sign = "-" if cursor.accept("-") else ""
    token = cursor.token
    if token and not sign and token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
        cursor.index += 1
        return token.text
    if token and token.token_type == TokenType.NUMBER:
        cursor.index += 1
        return sign + token.text
    if not sign and cursor.accept("TRUE"):
        return "true"
    if not sign and cursor.accept("FALSE"):
        return "false"
    raise cursor.error("a value: 'text', a number, TRUE or FALSE")
