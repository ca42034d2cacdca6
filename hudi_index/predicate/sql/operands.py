"""What stands on either side of an operator: literals, columns, expressions over columns.

Literals are read as Spark's parser reads them, from the text of their tokens: sqlglot's own reading of
escapes and suffixes is not Spark's. An operand that is none of the three is Unknown.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from sqlglot import Token, TokenType, exp

from hudi_index.errors import DdlSyntaxError, PredicateSyntaxError
from hudi_index.predicate.expression import (
    NULL,
    Compare,
    Exists,
    Expression,
    HasAny,
    IsNull,
    Like,
    Matches,
    Operator,
    RLike,
    StartsWith,
    Unknown,
)
from hudi_index.predicate.sql.canonical import (
    canonical_text,
    columns_of,
    parsed_expression,
    without_outer_brackets,
)
from hudi_index.predicate.sql.strings import string_value
from hudi_index.predicate.sql.tokens import depth_of, is_name, quote_name, raw_of, tokens_of
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal, cast_literal
from hudi_index.predicate.values.condition import Term, TextPattern
from hudi_index.predicate.values.numbers import number_literal
from hudi_index.predicate.values.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hudi_index.predicate.values.times import SessionZone

__all__ = [
    "CASTING_FUNCTIONS",
    "MAX_NESTING",
    "QUERIES",
    "Operands",
    "Value",
    "column_parts",
    "split_arguments",
]

Value: TypeAlias = Literal | Term | Expression

MAX_NESTING = 20
"""Brackets in brackets that sqlglot is asked about; it recurses many calls for each."""
_SHOWN = 200

_TYPED = {
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_LTZ": types.TIMESTAMP,
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
}
CASTING_FUNCTIONS = {
    **{
        name: parse_type(name)
        for name in ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double")
    },
    **{name: parse_type(name) for name in ("string", "binary", "date", "timestamp")},
}
"""Spark's functions that are casts to the type of their name."""
_WORDS = {"TRUE": (True, types.BOOLEAN), "FALSE": (False, types.BOOLEAN), "NULL": (None, types.NULL)}


class Operands:
    """Reads operands out of one text."""

    def __init__(
        self, text: str, zone: SessionZone, read_condition: Callable[[str], Expression] | None = None
    ) -> None:
        """What stands in a text.

        Args:
            text: The whole of it.
            zone: The session's time zone.
            read_condition: Reads what stands behind the arrow of a lambda; without it none is read.
        """
        self._text, self._zone, self._read_condition = text, zone, read_condition
        self._seen: dict[str, Value] = {}

    def value(self, tokens: Sequence[Token]) -> Value:
        """What the tokens mean, one after the other in the text."""
        source = self.source(tokens)
        if source not in self._seen:
            self._seen[source] = self._read(tokens, source)
        return self._seen[source]

    def literal(self, tokens: Sequence[Token]) -> Literal | None:
        """The constant that the tokens are; None if they are none."""
        return self._literal(tokens, MAX_NESTING)

    def source(self, tokens: Sequence[Token]) -> str:
        """The tokens as they stand in the text."""
        return self._text[tokens[0].start : tokens[-1].end + 1]

    def unknown(self, tokens: Sequence[Token], reason: str, *values: Value) -> Unknown:
        """The tokens as something that proves nothing; the values in it may still name columns."""
        terms: list[Term] = []
        for value in values:
            terms += [value] if isinstance(value, Term) else value.terms if isinstance(value, Unknown) else []
        source = self.source(tokens)
        shown = source if len(source) <= _SHOWN else source[: _SHOWN - 1] + "…"
        return Unknown(shown, reason, tuple(term for term in terms if not term.is_expression))

    def _read(self, tokens: Sequence[Token], source: str) -> Value:
        literal = self._literal(tokens, MAX_NESTING)
        if literal:
            return literal
        if parts := column_parts(tokens, self._text):
            # Such that binding can take it apart again.
            return Term(".".join(part if _PLAIN.fullmatch(part) else quote_name(part) for part in parts))
        return self._condition(tokens) or self._expression(tokens, source)

    def _literal(self, tokens: Sequence[Token], depth: int) -> Literal | None:
        if not depth or not tokens:
            return None
        first = raw_of(tokens[0], self._text).upper()
        if first in ("-", "+") and len(tokens) > 1:
            return self._parse_signed(tokens, depth)
        if first == "(" and raw_of(tokens[-1], self._text) == ")":
            inner = without_outer_brackets(tokens)
            return self._literal(inner, depth - 1) if len(inner) < len(tokens) else None
        if len(tokens) == 1:
            return self._single(tokens[0], first)
        if len(tokens) == 2:
            return self._pair(tokens, first)
        if len(tokens) == 3 and tokens[1].token_type in _ARITHMETIC:
            return self._compute(tokens, depth)
        return self._cast(tokens, first, depth)

    def _single(self, token: Token, raw: str) -> Literal | None:
        if raw in _WORDS:
            return Literal(*_WORDS[raw])
        if token.token_type == TokenType.NUMBER:
            found = number_literal(raw, is_negative=False)
            return Literal(*found) if found else None
        if token.token_type == TokenType.HEX_STRING:
            digits = token.text
            is_hex = re.fullmatch("(?:[0-9A-Fa-f]{2})*", digits)
            return Literal(bytes.fromhex(digits), types.BINARY) if is_hex else None
        if token.token_type in (TokenType.STRING, TokenType.RAW_STRING):
            value = string_value(raw_of(token, self._text))
            return None if value is None else Literal(value, types.STRING)
        return None

    def _pair(self, tokens: Sequence[Token], first: str) -> Literal | None:
        one, other = tokens
        if first in _TYPED and other.token_type == TokenType.STRING:
            text = self._single(other, raw_of(other, self._text))
            literal = cast_literal(text, _TYPED[first], self._zone) if text else None
            # A typed literal that is no date is an error to Spark, not null.
            return literal if literal and literal.value is not None else None
        if first == "." and other.token_type == TokenType.NUMBER and one.end + 1 == other.start:
            found = number_literal("." + raw_of(other, self._text), is_negative=False)
            return Literal(*found) if found else None
        return None

    def _parse_signed(self, tokens: Sequence[Token], depth: int) -> Literal | None:
        is_minus = raw_of(tokens[0], self._text) == "-"
        if is_minus and len(tokens) == 2 and tokens[1].token_type == TokenType.NUMBER:
            # The sign belongs to the number: -2147483648 is an int.
            found = number_literal(raw_of(tokens[1], self._text), is_negative=True)
            return Literal(*found) if found else None
        inner = self._literal(tokens[1:], depth - 1)
        if inner is None or inner.value is None or not inner.type.is_numeric:
            return None
        if not is_minus:
            return inner
        if inner.type.is_integral:
            return _whole(-inner.value, inner)
        # Decimal's own minus rounds to 28 digits.
        is_decimal = isinstance(inner.value, Decimal)
        return Literal(inner.value.copy_negate() if is_decimal else -inner.value, inner.type)

    def _compute(self, tokens: Sequence[Token], depth: int) -> Literal | None:
        left, right = self._literal(tokens[:1], depth), self._literal(tokens[2:], depth)
        if not left or not right or left.type != right.type or not left.type.is_integral:
            return None
        operation = tokens[1].token_type
        if operation == TokenType.PLUS:
            return _whole(left.value + right.value, left)
        if operation == TokenType.DASH:
            return _whole(left.value - right.value, left)
        return _whole(left.value * right.value, left)

    def _cast(self, tokens: Sequence[Token], first: str, depth: int) -> Literal | None:
        """`CAST(x AS type)`, `type(x)`, `x::type`."""
        double_colon = [index for index, token in enumerate(tokens) if token.token_type == TokenType.DCOLON]
        if double_colon and first not in ("CAST", "("):
            inner, sql_type = tokens[: double_colon[-1]], tokens[double_colon[-1] + 1 :]
        elif not _is_call(tokens, self._text):
            return None
        elif first == "CAST":
            inner, sql_type = _around(tokens[2:-1], TokenType.ALIAS)
        else:
            inner, sql_type = tokens[2:-1], tokens[:1]
            if first.lower() not in CASTING_FUNCTIONS or len(split_arguments(inner)) != 1:
                return None
        literal = self._literal(inner, depth - 1)
        if literal is None or not sql_type:
            return None
        target = parse_type("".join(raw_of(token, self._text) for token in sql_type))
        return cast_literal(literal, target, self._zone) if target.is_ordered else None

    def _condition(self, tokens: Sequence[Token]) -> Expression | None:
        """The functions that are conditions on a term."""
        if not _is_call(tokens, self._text):
            return None
        name, arguments = tokens[0].text.lower(), split_arguments(tokens[2:-1])
        if not all(arguments):
            return None
        if name in _CONDITIONS_OF_ARRAYS and len(arguments) == 2:
            return self._array_condition(name, arguments)
        if name not in _CONDITIONS:
            return None
        values = [self.value(argument) for argument in arguments]
        term = values[0]
        if not isinstance(term, Term):
            return None
        if len(values) == 1:
            return _CONDITIONS_OF_ONE[name](term) if name in _CONDITIONS_OF_ONE else None
        if len(values) > 2 or name not in _CONDITIONS_OF_TEXT or not isinstance(values[1], Literal):
            return None
        text = values[1]
        if text.value is None:
            return NULL
        return _CONDITIONS_OF_TEXT[name](term, text.value) if text.type == types.STRING else None

    def _array_condition(self, name: str, arguments: list[Sequence[Token]]) -> Expression | None:
        one, other = arguments
        if name == "exists":
            return self._exists(one, other)
        if name == "arrays_overlap" and self._array_literal(other) is None:
            one, other = other, one
        term = self.value(one)
        if not isinstance(term, Term):
            return None
        if name == "arrays_overlap":
            literals = self._array_literal(other)
            return None if literals is None else HasAny(term, literals, is_overlap=True)
        literal = self.literal(other)
        if literal is None:
            return None
        return NULL if literal.value is None else HasAny(term, (literal,))

    def _array_literal(self, tokens: Sequence[Token]) -> tuple[Literal, ...] | None:
        """What is not null in `array(literals)`, all of one type; None if the tokens are no such array."""
        if not _is_call(tokens, self._text) or tokens[0].text.lower() != "array":
            return None
        parts = split_arguments(tokens[2:-1]) if len(tokens) > 3 else []
        found = [self.literal(part) for part in parts]
        literals = [each for each in found if each is not None]
        sql_types = {each.type for each in literals if each.type != types.NULL}
        if len(literals) < len(found) or len(sql_types) > 1:
            return None
        return tuple(dict.fromkeys(each for each in literals if each.value is not None))

    def _exists(self, array: Sequence[Token], function: Sequence[Token]) -> Expression | None:
        """`exists(array, x -> condition)`."""
        arrows = [index for index, token in enumerate(function) if token.token_type == TokenType.ARROW]
        names = without_outer_brackets(function[: arrows[0]]) if arrows else ()
        body = function[arrows[0] + 1 :] if arrows else ()
        if self._read_condition is None or len(names) != 1 or not body:
            return None
        term, name = self.value(array), names[0].text
        if not isinstance(term, Term) or not is_name(names[0], self._text) or not _PLAIN.fullmatch(name):
            return None
        try:
            condition = self._read_condition(self.source(body))
        except (DdlSyntaxError, PredicateSyntaxError):
            # Left to those who read the whole: the place would be one of the body's.
            return None
        return Exists(term, Term(name), condition)

    def _expression(self, tokens: Sequence[Token], source: str) -> Value:
        own: Sequence[Token] = tokens_of(source)
        inner = without_outer_brackets(own)
        is_value = len(split_arguments(inner)) == 1 and inner[0].token_type not in QUERIES
        own = inner if is_value else own
        try:
            tree = parsed_expression(source, own, end=len(source))
        except RecursionError:
            return self.unknown(tokens, "it is nested too deeply")
        except DdlSyntaxError as error:
            raise DdlSyntaxError(
                text=self._text, position=tokens[0].start + error.position, expected=error.expected
            ) from None
        if tree.find(exp.Query, exp.Values, exp.Window, exp.Star, exp.Placeholder, exp.Parameter):
            return self.unknown(tokens, "it is no value of one row")
        if not columns_of(tree):
            return self.unknown(tokens, "its value is not known before the query runs")
        return Term(canonical_text(source, own, tree), is_expression=True)


QUERIES = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM)
_PLAIN = re.compile(r"[^\W\d]\w*")
_CONDITIONS_OF_ONE: dict[str, Callable[[Term], Expression]] = {
    "isnull": IsNull,
    "isnotnull": lambda term: IsNull(term, is_negated=True),
    "isnan": lambda term: Compare(Operator.SAME, term, Literal(math.nan, types.DOUBLE)),
}
_CONDITIONS_OF_TEXT: dict[str, Callable[[Term, str], Expression]] = {
    "startswith": StartsWith,
    "endswith": lambda term, text: Matches(term, TextPattern(end=text)),
    "contains": lambda term, text: Matches(term, TextPattern(pieces=(text,) if text else ())),
    "like": Like,
    "rlike": RLike,
    "regexp": RLike,
    "regexp_like": RLike,
}
_CONDITIONS_OF_ARRAYS = ("array_contains", "arrays_overlap", "exists")
_CONDITIONS = (*_CONDITIONS_OF_ONE, *_CONDITIONS_OF_TEXT)
_ARITHMETIC = (TokenType.PLUS, TokenType.DASH, TokenType.STAR)


def _whole(number: int, like: Literal) -> Literal | None:
    """A whole number of a literal's type; None where Spark would wrap it around."""
    limit = 1 << (like.type.bits - 1)
    return Literal(number, like.type) if -limit <= number < limit else None


def column_parts(tokens: Sequence[Token], text: str) -> tuple[str, ...]:
    """The parts of a column's name, if the tokens are one; else nothing."""
    if len(tokens) % 2 == 0 or any(token.token_type != TokenType.DOT for token in tokens[1::2]):
        return ()
    names = tokens[::2]
    if not all(is_name(token, text) and token.text for token in names):
        return ()
    return tuple(token.text for token in names)


def split_arguments(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """What stands between the commas outside of all brackets."""
    parts, depth, start = [], 0, 0
    for index, token in enumerate(tokens):
        depth += depth_of(token)
        if depth == 0 and token.token_type == TokenType.COMMA:
            parts.append(tokens[start:index])
            start = index + 1
    return [*parts, tokens[start:]]


def _is_call(tokens: Sequence[Token], text: str) -> bool:
    """Whether the tokens are one call of a function."""
    if len(tokens) < 3 or not is_name(tokens[0], text) or tokens[1].token_type != TokenType.L_PAREN:
        return False
    depth = 0
    for index, token in enumerate(tokens[1:], start=1):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            return index == len(tokens) - 1
    return False


def _around(tokens: Sequence[Token], token_type: TokenType) -> tuple[Sequence[Token], Sequence[Token]]:
    """What stands before and after the last token of a kind."""
    for index in range(len(tokens) - 1, -1, -1):
        if tokens[index].token_type == token_type:
            return tokens[:index], tokens[index + 1 :]
    return tokens, ()
