"""What words say of a text: which are called, which stand for the clock, and where it can be cut."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from hudi_index.errors import RefusedTextError
from hudi_index.gate.functions import reason_against
from hudi_index.gate.lexing import is_quoted_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ONE_SELECT",
    "ONE_VALUE",
    "ONLY_THESE",
    "UNFIT",
    "check_words",
    "list_once",
    "shallow",
    "unstable",
    "without_end",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ONE_SELECT = "ask by one SELECT over the table and common table expressions of it"
ONE_VALUE = "give one condition on the columns of one row"
ONLY_THESE = "allowed are the built-in functions of Spark that are listed in hudi_index.gate.functions"
UNFIT = {
    "Limit": ("LIMIT, which takes whichever rows come first", "leave it out: all rows are compared"),
    "Fetch": ("FETCH, which takes whichever rows come first", "leave it out: all rows are compared"),
    "Offset": ("OFFSET, which leaves out whichever rows come first", "leave it out: all rows are compared"),
    "TableSample": ("TABLESAMPLE, which takes rows by chance", "say which rows are meant by WHERE"),
    "QueryTransform": ("TRANSFORM, which runs a script", "use functions of Spark SQL"),
    "Values": ("VALUES, rows that are not the table's", "ask the rows of the table"),
    "Hint": ("a hint", "leave it out"),
    "Pivot": ("PIVOT", "use count(*) FILTER (WHERE …) and its like"),
    "Command": ("a command", "only a query is carried out"),
}
_UNFIT_WORDS = {"values": "Values", "pivot": "Pivot", "tablesample": "TableSample"}
"""What is refused by name, and the way out; the names are those of sqlglot's nodes."""
# Words that a bracket may follow without being called.
_NO_CALLS = _words(
    """
    all and as between by case cube distinct div else escape except filter for from group having ilike in
    intersect join lateral like minus not on or over regexp rlike rollup select sets then union using when
    where
    """
)
_QUOTES = "'\"`"
# What Spark calls without brackets where there is no such column; `user` is more often a column.
_CLOCK_WORDS = _words(
    """
    current_catalog current_database current_date current_schema current_time current_timestamp current_user
    localtimestamp session_user
    """
)


def without_end(tokens: list[Token]) -> list[Token]:
    """The tokens without a `;` at their end."""
    return tokens[:-1] if tokens and tokens[-1].token_type == TokenType.SEMICOLON else tokens


_EMPTY_BRACKETS = [TokenType.L_PAREN, TokenType.R_PAREN]
_CONSTANTS = (TokenType.STRING, TokenType.NUMBER)


def list_once(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with one constant after IN in the place of several: many are made of no more than one is."""
    found: list[Token] = []
    position = 0
    while position < len(tokens):
        found.append(tokens[position])
        position += 1
        if [each.token_type for each in found[-3:-1]] == _IN_BRACKET and found[-1].token_type in _CONSTANTS:
            while _goes_on(tokens, position):
                position += 2
    return found


def _goes_on(tokens: Sequence[Token], position: int) -> bool:
    """Whether a comma and another constant come next, and then the next comma or the end of the list."""
    following = [each.token_type for each in tokens[position : position + 3]]
    return (
        len(following) == 3
        and following[0] == TokenType.COMMA
        and following[1] in _CONSTANTS
        and following[2] in _AFTER_CONSTANT
    )


_IN_BRACKET = [TokenType.IN, TokenType.L_PAREN]
_AFTER_CONSTANT = (TokenType.COMMA, TokenType.R_PAREN)
_DEEP = 6
_BEFORE_CONDITION = (TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.L_PAREN)


def shallow(tokens: Sequence[Token]) -> list[list[Token]]:
    """The tokens in parts that together hold them all, conditions in deep brackets being parts by themselves.

    What writes conditions writes a hundred ORs as a hundred brackets in one another, which no parser that
    calls itself gets through.
    """
    parts: list[list[Token]] = []
    opened: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.L_PAREN:
            opened.append([token])
            continue
        opened[-1].append(token)
        if token.token_type != TokenType.R_PAREN or len(opened) == 1:
            continue
        group, around = opened.pop(), opened[-1]
        is_condition = (around[-1].token_type if around else TokenType.AND) in _BEFORE_CONDITION
        if len(opened) > _DEEP and is_condition and len(group) > 2:
            parts.append(group[1:-1])
            around.append(Token(TokenType.NULL, "NULL", token.line, token.col, token.start, token.end))
        else:
            around += group
    return [*parts, [token for group in opened for token in group]]


def check_words(text: str, tokens: Sequence[Token], *, in_query: bool) -> None:
    """Refuse calls of what may not be called, and words that stand for the clock or the session.

    Raises:
        RefusedTextError: there is one.
    """
    for position, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            raise RefusedTextError(text=text, what="a ';' in it", way_out="give one statement at a time")
        # Without arguments it is the time.
        brackets = [each.token_type for each in tokens[position + 1 : position + 3]]
        if token.text.lower() == "unix_timestamp" and brackets == _EMPTY_BRACKETS:
            raise unstable(text, f"{token.text}()")
    before: Token | None = None
    for token, following in zip_longest(tokens, tokens[1:]):
        if following is not None and following.token_type == TokenType.L_PAREN:
            _check_call(text, before, token, in_query=in_query)
        elif token.text.lower() in _CLOCK_WORDS and not _is_part(before, token, following, text):
            raise unstable(text, token.text)
        before = token


def _is_part(before: Token | None, token: Token, following: Token | None, text: str) -> bool:
    """Whether a word is certainly a name: one in back-quotes, or of a path."""
    dots = [each for each in (before, following) if each is not None and each.token_type == TokenType.DOT]
    return bool(dots) or text[token.start] in _QUOTES


def unstable(text: str, name: str) -> RefusedTextError:
    """The refusal of a word that is a function where no column has its name."""
    return RefusedTextError(
        text=text,
        what=f"{name} does not always give the same value for the same row",
        way_out="if a column is meant, write its name in back-quotes",
    )


def _check_call(text: str, before: Token | None, token: Token, *, in_query: bool) -> None:
    raw = text[token.start : token.end + 1]
    word, is_quoted = token.text, is_quoted_name(token, text)
    if raw[-1] in "'\"":
        raise RefusedTextError(text=text, what=f"a call of {word!r}", way_out=ONLY_THESE)
    if not is_quoted:
        # The last word of GROUP BY and its like; what is glued to a number is called as well.
        word = raw.split()[-1]
        if not re.fullmatch(r"\w", word[-1]):
            return
    if before is not None and before.token_type == TokenType.DOT:
        raise RefusedTextError(text=text, what=f"a call of {word} in a database", way_out=ONLY_THESE)
    plain = word.lower()
    if not is_quoted:
        is_matched = before is not None and before.token_type in (TokenType.LIKE, TokenType.ILIKE)
        if plain in _NO_CALLS or (is_matched and plain in ("any", "some")):
            return
        if plain == "exists" and in_query:
            return
        if plain in _UNFIT_WORDS:
            what, way_out = UNFIT[_UNFIT_WORDS[plain]]
            raise RefusedTextError(text=text, what=what, way_out=way_out)
    reason = reason_against(word, in_query=in_query)
    if reason:
        raise RefusedTextError(text=text, what=reason, way_out=ONLY_THESE)
