"""An index expression: its canonical text, the columns it reads, and what can't be one.

sqlglot (Spark dialect) judges the syntax and finds the columns. The canonical text is made from the tokens,
not from sqlglot's tree: the tree rewrites (`date_sub(d, 1)` comes back as `DATE_ADD(d, 1 * -1)`, a date
format goes through another notation and may come back as a different one), and an index must be built by
the expression that was asked for. Canonical means:

    one space between tokens, none inside brackets, around dots or before a call's bracket
    function names and keywords in upper case; names of columns and everything in quotes as written
    back-quotes only where needed; no comments; no brackets around the whole

So texts that differ only in layout have the same canonical text, which has the same tokens as each.

What is no expression of one row is refused, see `refusal.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError

from hudi_index.catalog.refusal import refuse_functions, refuse_nodes
from hudi_index.catalog.tokens import is_name, is_word, quoted_name, raw_of, tokens_of
from hudi_index.errors import DdlSyntaxError, UnsupportedExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["IndexExpression", "column_path", "parse_expression", "parse_expression_tokens"]


@dataclass(frozen=True, slots=True)
class IndexExpression:
    """An expression that an index may be over."""

    text: str
    """Canonical Spark SQL."""
    columns: tuple[str, ...]
    """The columns it reads, in order of appearance; `a.b` is field b of struct a."""
    is_column: bool
    """Whether it is nothing but a column."""


def parse_expression(text: str) -> IndexExpression:
    """The index expression that a text is.

    Raises:
        DdlSyntaxError: if it does not parse.
        UnsupportedExpressionError: if it parses, but an index can't be over it.
    """
    return parse_expression_tokens(text, tokens_of(text), end=len(text))


def parse_expression_tokens(text: str, tokens: Sequence[Token], *, end: int) -> IndexExpression:
    """The index expression that some tokens of `text` are, the text going on at `end`."""
    tokens = _without_outer_brackets(tokens)
    tree = _parsed(text, tokens, end)
    source = text[tokens[0].start : tokens[-1].end + 1]
    refuse_functions(text, tokens, source)
    refuse_nodes(tree, source)
    names = {node.meta["start"] for node in tree.find_all(exp.Identifier) if "start" in node.meta}
    columns = _columns_of(tree, source)
    if not columns:
        raise UnsupportedExpressionError(expression=source, reason="it reads no column")
    is_column = all(is_name(token, text) or token.token_type == TokenType.DOT for token in tokens)
    return IndexExpression(_canonical(text, tokens, names), columns, is_column)


def _without_outer_brackets(tokens: Sequence[Token]) -> Sequence[Token]:
    while len(tokens) > 2 and _closing(tokens) == len(tokens) - 1:
        tokens = tokens[1:-1]
    return tokens


def _closing(tokens: Sequence[Token]) -> int:
    """Where the round bracket that opens the tokens is closed; 0 if none opens them."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            return index
    return -1


def _parsed(text: str, tokens: Sequence[Token], end: int) -> exp.Expr:
    parser = Spark().parser(error_level=ErrorLevel.IMMEDIATE)
    try:
        trees = parser.parse_into(exp.Condition, list(tokens), text)
    except ParseError as error:
        raise _syntax_error(text, tokens, end, error) from None
    except RecursionError:
        raise DdlSyntaxError(
            text=text, position=tokens[0].start, expected="an expression that is nested less deeply"
        ) from None
    if len(trees) != 1 or trees[0] is None:
        raise DdlSyntaxError(text=text, position=tokens[0].start if tokens else end, expected="an expression")
    return trees[0]


def _syntax_error(text: str, tokens: Sequence[Token], end: int, error: ParseError) -> DdlSyntaxError:
    first = error.errors[0] if error.errors else {}
    place = (first.get("line"), first.get("col"))
    found = next((token for token in tokens if (token.line, token.col) == place), tokens[0])
    description = str(first.get("description", ""))
    # At the end of the tokens sqlglot names the last one, meaning that something is missing behind it.
    is_open = found is tokens[-1] and found.token_type != TokenType.R_PAREN
    if is_open and "Unexpected token" not in description:
        return DdlSyntaxError(text=text, position=end, expected="the rest of the expression")
    detail = f" ({description[0].lower()}{description[1:]})" if description.startswith("The number") else ""
    return DdlSyntaxError(text=text, position=found.start, expected=f"a valid Spark SQL expression{detail}")


def _columns_of(tree: exp.Expr, source: str) -> tuple[str, ...]:
    found: list[tuple[int, tuple[str, ...]]] = []
    for column in tree.find_all(exp.Column):
        parts = [part.name for part in column.parts]
        node: exp.Expr = column
        # sqlglot keeps up to four parts in the column and nests the rest.
        while isinstance(node.parent, exp.Dot) and isinstance(node.parent.expression, exp.Identifier):
            node = node.parent
            parts.append(node.expression.name)
        found.append((column.parts[0].meta.get("start", 0), tuple(parts)))
    columns: dict[str, str] = {}
    for _, path in sorted(found):
        name = column_path(path, source)
        columns.setdefault(name.lower(), name)
    return tuple(columns.values())


def column_path(parts: tuple[str, ...], source: str) -> str:
    """The parts of a column's name as one text.

    Raises:
        UnsupportedExpressionError: for a part with a dot, which could not be told from a nested field.
    """
    if any("." in part for part in parts):
        raise UnsupportedExpressionError(
            expression=source, reason="it reads a column with a dot in its name, which no Hudi schema has"
        )
    return ".".join(parts)


def _canonical(text: str, tokens: Sequence[Token], names: set[int]) -> str:
    spelled = [_spelled(text, tokens, index, names) for index in range(len(tokens))]
    pieces = [spelled[0]]
    for index in range(1, len(tokens)):
        pieces.append("" if _is_joined(text, tokens, index) else " ")
        pieces.append(spelled[index])
    return "".join(pieces)


def _spelled(text: str, tokens: Sequence[Token], index: int, names: set[int]) -> str:
    token, raw = tokens[index], raw_of(tokens[index], text)
    is_call = index + 1 < len(tokens) and tokens[index + 1].token_type == TokenType.L_PAREN
    if raw.startswith("`"):
        if not _is_plain(token.text):
            return quoted_name(token.text)
        return token.text.upper() if is_call else token.text
    if is_call and is_word(token, text):
        return raw.upper()
    if token.token_type == TokenType.VAR or token.start in names or not re.fullmatch(r"[\w\s]+", raw):
        return raw
    return " ".join(raw.upper().split())


# Words that sqlglot takes for names, but Spark reserves when spark.sql.ansi.enforceReservedKeywords is on.
_RESERVED = (
    *("authorization", "both", "cast", "check", "foreign", "group", "leading", "only", "order"),
    *("percentile_cont", "percentile_disc", "primary", "to", "trailing", "user", "within"),
)


def _is_plain(name: str) -> bool:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name.lower() in _RESERVED:
        return False
    tokens = tokens_of(name)
    return len(tokens) == 1 and tokens[0].token_type == TokenType.VAR


_NO_SPACE_AFTER = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.DOT, TokenType.DCOLON)
_NO_SPACE_BEFORE = (
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
    TokenType.L_BRACKET,
    TokenType.COMMA,
    TokenType.DOT,
    TokenType.DCOLON,
)


def _is_joined(text: str, tokens: Sequence[Token], index: int) -> bool:
    before, token = tokens[index - 1], tokens[index]
    if before.token_type == TokenType.NUMBER and token.token_type == TokenType.DOT:
        return False
    if before.token_type in _NO_SPACE_AFTER or token.token_type in _NO_SPACE_BEFORE:
        return True
    # A call's bracket; not that of `a AND (b)`, `IN (…)`.
    is_call = before.token_type not in _OPERATOR_WORDS and is_name(before, text)
    return token.token_type == TokenType.L_PAREN and is_call


_OPERATOR_WORDS = (
    TokenType.AND,
    TokenType.OR,
    TokenType.NOT,
    TokenType.IN,
    TokenType.LIKE,
    TokenType.ILIKE,
    TokenType.RLIKE,
    TokenType.BETWEEN,
    TokenType.WHEN,
    TokenType.THEN,
    TokenType.ELSE,
    TokenType.CASE,
    TokenType.DIV,
    TokenType.MOD,
    TokenType.ANY,
    TokenType.SOME,
    TokenType.ALL,
    TokenType.IS,
    TokenType.DISTINCT,
    TokenType.FROM,
    TokenType.ALIAS,
)
