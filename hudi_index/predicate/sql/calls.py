"""Canonical text of an expression, taken apart call by call: what is called, with which constants, on what.

    YEAR(CAST(a AS DATE)) + 1    →    a, [CAST … AS DATE, YEAR, + 1]

Only calls whose arguments are all constants but one are taken apart; anything else ends it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from hudi_index.predicate.expression import CAST, Call
from hudi_index.predicate.sql.canonical import without_outer_brackets
from hudi_index.predicate.sql.operands import CASTING_FUNCTIONS, Operands, split_arguments
from hudi_index.predicate.sql.tokens import BRACKETS, depth_of, is_name, raw_of, tokens_of
from hudi_index.predicate.values.times import SessionZone
from hudi_index.predicate.values.types import DATE, parse_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.predicate.values.casts import Literal

__all__ = ["outer_call"]

_CASTING = {**{name.upper(): sql_type for name, sql_type in CASTING_FUNCTIONS.items()}, "TO_DATE": DATE}
_SUMS = {TokenType.PLUS: "+", TokenType.DASH: "-"}
_PRODUCTS = {TokenType.STAR: "*", TokenType.SLASH: "/"}
# Literals of times don't occur among the arguments that anybody knows what to make of.
_NO_ZONE = SessionZone("UTC")


@lru_cache(maxsize=4096)
def outer_call(text: str) -> tuple[str, Call] | None:
    """What a canonical text calls last, and the argument's text; None if it is no such call."""
    tokens = without_outer_brackets(tokens_of(text))
    if len(tokens) < 2:
        return None
    if _is_call(tokens, text):
        return _function(tokens, text)
    return _operation(tokens, text)


def _is_call(tokens: Sequence[Token], text: str) -> bool:
    is_opened = is_name(tokens[0], text) and tokens[1].token_type == TokenType.L_PAREN
    return is_opened and len(without_outer_brackets(tokens[1:])) < len(tokens) - 1


def _source(tokens: Sequence[Token], text: str) -> str:
    return text[tokens[0].start : tokens[-1].end + 1]


def _literal(tokens: Sequence[Token], text: str) -> Literal | None:
    value = Operands(text, _NO_ZONE).literal(tokens)
    return value if value is not None and value.value is not None else None


def _function(tokens: Sequence[Token], text: str) -> tuple[str, Call] | None:
    name, inside = raw_of(tokens[0], text).strip("`").upper(), tokens[2:-1]
    if not inside:
        return None
    if name == CAST:
        marks = [index for index, token in enumerate(inside) if token.token_type == TokenType.ALIAS]
        if not marks or marks[-1] in (0, len(inside) - 1):
            return None
        sql_type = parse_type(_source(inside[marks[-1] + 1 :], text))
        return _source(inside[: marks[-1]], text), Call.cast(sql_type)
    arguments = split_arguments(inside)
    if not all(arguments):
        return None
    if name in _CASTING and len(arguments) == 1:
        return _source(inside, text), Call.cast(_CASTING[name])
    return _with_constants(name, arguments, text)


def _with_constants(name: str, arguments: Sequence[Sequence[Token]], text: str) -> tuple[str, Call] | None:
    literals = [_literal(argument, text) for argument in arguments]
    positions = [position for position, literal in enumerate(literals) if literal is None]
    if len(positions) != 1:
        return None
    before = tuple(literal for literal in literals[: positions[0]] if literal)
    after = tuple(literal for literal in literals[positions[0] + 1 :] if literal)
    return _source(arguments[positions[0]], text), Call(name, before, after)


def _operation(tokens: Sequence[Token], text: str) -> tuple[str, Call] | None:
    """The operator that is applied last: the rightmost of those that bind least."""
    depth = 0
    sums, products = [], []
    for index, token in enumerate(tokens):
        token_type = token.token_type
        depth += depth_of(token)
        if depth or not index:
            continue
        if token_type in _SUMS and tokens[index - 1].token_type not in _OPERATORS:
            sums.append(index)
        elif token_type in _PRODUCTS:
            products.append(index)
        elif token_type not in _OPERATORS and not _is_operand(token, text):
            return None
    if not sums and not products:
        is_minus = tokens[0].token_type == TokenType.DASH
        return (_source(tokens[1:], text), Call("NEGATIVE")) if is_minus else None
    last = (sums or products)[-1]
    sign = {**_SUMS, **_PRODUCTS}[tokens[last].token_type]
    sides = [tokens[:last], tokens[last + 1 :]]
    return _with_constants(sign, sides, text) if all(sides) else None


def _is_operand(token: Token, text: str) -> bool:
    """Whether a token between operators belongs to a name, a call or a constant."""
    token_types = (TokenType.DOT, TokenType.NUMBER, TokenType.STRING, *BRACKETS, *BRACKETS.values())
    return token.token_type in token_types or (is_name(token, text) and token.token_type not in _WORDS)


_OPERATORS = (*_SUMS, *_PRODUCTS)
_WORDS = (
    *(TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.LIKE, TokenType.ILIKE),
    *(TokenType.RLIKE, TokenType.BETWEEN, TokenType.IS, TokenType.DIV, TokenType.MOD, TokenType.CASE),
    *(TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.INTERVAL),
    *(TokenType.DISTINCT, TokenType.FROM, TokenType.ESCAPE, TokenType.ALIAS, TokenType.COLLATE),
)
