"""An index expression: its canonical text, the columns it reads, and what can't be one.

The canonical text and the columns come from `predicate.sql.canonical`, so that an index and a query spell
the same expression the same way. An index keeps a value per row, so that value must come from the row
alone and be the same at each look: what else a text holds is refused by the gate, `hudi_index.gate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from hudi_index.errors import (
    DdlSyntaxError,
    PredicateSyntaxError,
    RefusedTextError,
    UnsupportedExpressionError,
)
from hudi_index.gate import check_condition
from hudi_index.predicate.sql.canonical import (
    canonical_text,
    columns_of,
    parsed_expression,
    without_outer_brackets,
)
from hudi_index.predicate.sql.tokens import is_name, tokens_of

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
    tokens = without_outer_brackets(tokens)
    try:
        tree = parsed_expression(text, tokens, end=end)
    except RecursionError:
        raise DdlSyntaxError(
            text=text, position=tokens[0].start, expected="an expression that is nested less deeply"
        ) from None
    source = text[tokens[0].start : tokens[-1].end + 1]
    canonical = canonical_text(text, tokens, tree)
    # The canonical text is what Spark gets to see.
    try:
        check_condition(canonical)
    except RefusedTextError as error:
        reason = f"{error.what}; {error.way_out}"
        raise UnsupportedExpressionError(expression=source, reason=reason) from error
    except PredicateSyntaxError as error:
        raise DdlSyntaxError(text=text, position=tokens[0].start, expected=error.expected) from error
    columns: dict[str, str] = {}
    for path in columns_of(tree):
        name = column_path(path, source)
        columns.setdefault(name.lower(), name)
    if not columns:
        raise UnsupportedExpressionError(expression=source, reason="it reads no column")
    # Names and dots by turns: `not b` and `d is null` are words alone as well.
    is_column = len(tokens) % 2 == 1 and all(
        token.token_type == TokenType.DOT if ordinal % 2 else is_name(token, text)
        for ordinal, token in enumerate(tokens)
    )
    return IndexExpression(canonical, tuple(columns.values()), is_column)


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
