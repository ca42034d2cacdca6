"""The canonical text of an expression, and the columns it reads.

sqlglot (Spark dialect) judges the syntax and finds the columns. The canonical text is made from the tokens,
not from sqlglot's tree: the tree rewrites (`date_sub(d, 1)` comes back as `DATE_ADD(d, 1 * -1)`, a date
format goes through another notation and may come back as a different one), and an index must be built by
the expression that was asked for. Canonical means:

    one space between tokens, none inside brackets, around dots or before a call's bracket
    function names and keywords in upper case; names of columns and everything in quotes as written
    back-quotes only where needed; no comments; no brackets around the whole

So texts that differ only in layout have the same canonical text, which has the same tokens as each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError

from hudi_index.errors import DdlSyntaxError
from hudi_index.predicate.sql.tokens import is_name, is_word, quote_name, raw_of, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "OPERATOR_WORDS",
    "canonical_text",
    "columns_of",
    "parsed_expression",
    "with_columns",
    "without_outer_brackets",
]


def without_outer_brackets(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens, without round brackets that hold all of them."""
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


def parsed_expression(text: str, tokens: Sequence[Token], *, end: int) -> exp.Expr:
    """Sqlglot's tree of some tokens of `text`, the text going on at `end`.

    Raises:
        DdlSyntaxError: if they are no expression.
        RecursionError: if they are nested too deeply for sqlglot.
    """
    parser = Spark().parser(error_level=ErrorLevel.IMMEDIATE)
    try:
        trees = parser.parse_into(exp.Condition, list(tokens), text)
    except ParseError as error:
        raise _syntax_error(text, tokens, end, error) from None
    if len(trees) != 1 or trees[0] is None:
        raise DdlSyntaxError(text=text, position=tokens[0].start if tokens else end, expected="an expression")
    return trees[0]


def _syntax_error(text: str, tokens: Sequence[Token], end: int, error: ParseError) -> DdlSyntaxError:
    first = error.errors[0] if error.errors else {}
    line_and_column = (first.get("line"), first.get("col"))
    found = next((token for token in tokens if (token.line, token.col) == line_and_column), tokens[0])
    description = str(first.get("description", ""))
    # At the end of the tokens sqlglot names the last one, meaning that something is missing behind it.
    is_open = found is tokens[-1] and found.token_type != TokenType.R_PAREN
    if is_open and "Unexpected token" not in description:
        return DdlSyntaxError(text=text, position=end, expected="the rest of the expression")
    detail = f" ({description[0].lower()}{description[1:]})" if description.startswith("The number") else ""
    return DdlSyntaxError(text=text, position=found.start, expected=f"a valid Spark SQL expression{detail}")


def columns_of(tree: exp.Expr) -> list[tuple[str, ...]]:
    """The columns a tree reads as the parts of their names, in order of appearance."""
    return [path for _, _, path in _column_positions(tree)]


def _column_positions(tree: exp.Expr) -> list[tuple[int, int, tuple[str, ...]]]:
    """Where each column begins and ends in the text, and the parts of its name."""
    found = []
    for column in tree.find_all(exp.Column):
        parts = list(column.parts)
        node: exp.Expr = column
        # sqlglot keeps up to four parts in the column and nests the rest.
        while isinstance(node.parent, exp.Dot) and isinstance(node.parent.expression, exp.Identifier):
            node = node.parent
            parts.append(node.expression)
        start, end = parts[0].meta.get("start", 0), parts[-1].meta.get("end", 0)
        found.append((start, end, tuple(part.name for part in parts)))
    return sorted(found)


def with_columns(text: str, resolve: Callable[[tuple[str, ...]], tuple[str, ...]]) -> str:
    """The canonical text of an expression after each column's name has become another.

    Raises:
        DdlSyntaxError: if the text is no expression.
    """
    tokens = tokens_of(text)
    tree = parsed_expression(text, tokens, end=len(text))
    pieces, done = [], 0
    for start, end, path in _column_positions(tree):
        pieces += [text[done:start], ".".join(quote_name(part) for part in resolve(path))]
        done = end + 1
    renamed = "".join([*pieces, text[done:]])
    inner = without_outer_brackets(tokens_of(renamed))
    return canonical_text(renamed, inner, parsed_expression(renamed, inner, end=len(renamed)))


def canonical_text(text: str, tokens: Sequence[Token], tree: exp.Expr) -> str:
    """The one spelling of the expression that some tokens of `text` are, and `tree` is of them."""
    names = {node.meta["start"] for node in tree.find_all(exp.Identifier) if "start" in node.meta}
    spelled = [_spell(text, tokens, index, names) for index in range(len(tokens))]
    pieces = [spelled[0]]
    for index in range(1, len(tokens)):
        pieces.append("" if _is_joined(text, tokens, index) else " ")
        pieces.append(spelled[index])
    return "".join(pieces)


def _spell(text: str, tokens: Sequence[Token], index: int, names: set[int]) -> str:
    token, raw = tokens[index], raw_of(tokens[index], text)
    is_call = index + 1 < len(tokens) and tokens[index + 1].token_type == TokenType.L_PAREN
    if raw.startswith("`"):
        if not _is_plain(token.text):
            return quote_name(token.text)
        return token.text.upper() if is_call else token.text
    if (is_call and is_word(token, text)) or token.token_type == TokenType.NUMBER:
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
    is_call = before.token_type not in OPERATOR_WORDS and is_name(before, text)
    return token.token_type == TokenType.L_PAREN and is_call


OPERATOR_WORDS = (
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
"""Words after which a bracket opens no call."""
