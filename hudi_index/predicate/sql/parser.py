"""Text to expression: Spark SQL as people write it, and as Catalyst's `expr.sql()` prints it.

Tokens are sqlglot's, precedence is Spark's:

    OR  <  AND  <  NOT  <  [NOT] IN, LIKE, BETWEEN, IS …  <  comparisons  <  arithmetic, calls

Catalyst brackets everything, so a hundred ORs are a hundred brackets deep. Brackets are therefore read from
the innermost outwards, each with its contents already read: no call ever nests by the depth of the text.
What is valid SQL but not understood is Unknown; what is no SQL is a PredicateSyntaxError, and nothing else is
ever raised.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from hudi_index.errors import DdlSyntaxError, PredicateSyntaxError
from hudi_index.predicate.expression import And, Expression, Not, Operator, Or, Unknown
from hudi_index.predicate.sql.canonical import parsed_expression
from hudi_index.predicate.sql.conditions import Conditions
from hudi_index.predicate.sql.nesting import Brackets
from hudi_index.predicate.sql.operands import MAX_NESTING, QUERIES, Operands, Value
from hudi_index.predicate.sql.tokens import tokens_of
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal
from hudi_index.predicate.values.times import SessionZone

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["parse_predicate"]

_MAX_DEPTH = 60
"""Changes between AND, OR and NOT on the way down a tree; what lies deeper is Unknown."""


def parse_predicate(text: str, *, time_zone: str | SessionZone = "UTC") -> Expression:
    """The expression that a text means, its local times being in a time zone.

    Raises:
        PredicateSyntaxError: if it does not parse.
    """
    try:
        return _read(text, SessionZone.of(time_zone))
    except DdlSyntaxError as error:
        raise PredicateSyntaxError(
            text=error.text, position=error.position, expected=error.expected
        ) from None


def _read(text: str, zone: SessionZone) -> Expression:
    return _Reader(text, tokens_of(text), zone).read()


@dataclass(slots=True)
class _Junction:
    """An AND or OR that may still grow."""

    connective: type[And | Or]
    parts: deque[Expression]


@dataclass(slots=True)
class _Part:
    """What a stretch of tokens turned out to be."""

    value: Value | _Junction
    depth: int = 0


_COMPARISONS = {
    TokenType.EQ: Operator.EQUAL,
    TokenType.NEQ: Operator.NOT_EQUAL,
    TokenType.LT: Operator.LESS,
    TokenType.LTE: Operator.AT_MOST,
    TokenType.GT: Operator.GREATER,
    TokenType.GTE: Operator.AT_LEAST,
    TokenType.NULLSAFE_EQ: Operator.SAME,
}
_MATCHING = (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE)
_SEVERAL = (TokenType.ANY, TokenType.ALL, TokenType.SOME)
_SUFFIXES = (TokenType.IN, TokenType.BETWEEN, TokenType.IS, *_MATCHING)
_VALUE_ENDS = frozenset(
    (
        *_COMPARISONS,
        *_SUFFIXES,
        TokenType.AND,
        TokenType.OR,
        TokenType.NOT,
        TokenType.ESCAPE,
        TokenType.COMMA,
        TokenType.SEMICOLON,
    )
)


class _Reader:
    def __init__(self, text: str, tokens: list[Token], zone: SessionZone) -> None:
        self._text, self._tokens = text, tokens
        self._operands = Operands(text, zone, lambda body: _read(body, zone))
        self._conditions = Conditions(self._operands)
        self._brackets = Brackets(text, tokens)
        self._closing = self._brackets.closing
        self._groups: dict[int, _Part] = {}
        self._at = self._end = 0

    def read(self) -> Expression:
        if not self._tokens:
            raise DdlSyntaxError(text=self._text, position=len(self._text), expected="a predicate")
        for opened in self._brackets.groups:
            self._groups[opened] = self._stretch(opened + 1, self._closing[opened])
        return self._seal(self._stretch(0, len(self._tokens)), 0)

    def _error(self, position: int, expected: str) -> DdlSyntaxError:
        return DdlSyntaxError(text=self._text, position=position, expected=expected)

    def _refusal(self, position: int, expected: str) -> PredicateSyntaxError:
        """The error for what Spark refuses for sure, though sqlglot may not."""
        return PredicateSyntaxError(text=self._text, position=position, expected=expected)

    def _stretch(self, start: int, end: int) -> _Part:
        """Reads the tokens from start up to end, brackets inside being read already."""
        self._at, self._end = start, end
        try:
            part = self._disjunction()
            if self._at < self._end:
                raise self._error(self._tokens[self._at].start, "AND, OR or the end of the predicate")
        except DdlSyntaxError as error:
            return _Part(self._not_understood(start, end, error))
        return part

    def _not_understood(self, start: int, end: int, error: DdlSyntaxError) -> Unknown:
        """Unknown, if sqlglot finds sense in what this reader does not."""
        tokens = self._tokens[start:end]
        if not tokens:
            raise error
        source = self._operands.source(tokens)
        try:
            parsed_expression(source, tokens_of(source), end=len(source))
        except DdlSyntaxError:
            raise error from None
        except RecursionError:
            pass
        return self._operands.unknown(tokens, "it is not understood")

    def _kind(self, offset: int = 0) -> TokenType | None:
        index = self._at + offset
        return self._tokens[index].token_type if index < self._end else None

    def _accept(self, *token_types: TokenType) -> bool:
        if any(self._kind(offset) != token_type for offset, token_type in enumerate(token_types)):
            return False
        self._at += len(token_types)
        return True

    def _disjunction(self) -> _Part:
        parts = [self._conjunction()]
        while self._accept(TokenType.OR):
            parts.append(self._conjunction())
        return self._join(Or, parts)

    def _conjunction(self) -> _Part:
        parts = [self._negation()]
        while self._accept(TokenType.AND):
            parts.append(self._negation())
        return self._join(And, parts)

    def _join(self, connective: type[And | Or], parts: list[_Part]) -> _Part:
        if len(parts) == 1:
            return parts[0]
        # The longest of the same kind takes the others in: a long chain is not copied at every bracket.
        lengths = [_length_as(connective, part) for part in parts]
        longest = lengths.index(max(lengths))
        grown = parts[longest].value if lengths[longest] else None
        if not isinstance(grown, _Junction):
            grown = _Junction(connective, deque([self._condition(parts[longest])]))
        for part in reversed(parts[:longest]):
            grown.parts.extendleft(reversed(self._members(connective, part)))
        for part in parts[longest + 1 :]:
            grown.parts.extend(self._members(connective, part))
        # What was too deep has become Unknown, which is flat.
        depths = [
            0 if part.depth > _MAX_DEPTH else part.depth + (not length)
            for part, length in zip(parts, lengths, strict=True)
        ]
        return _Part(grown, max(depths))

    def _members(self, connective: type[And | Or], part: _Part) -> Sequence[Expression]:
        if isinstance(part.value, _Junction) and part.value.connective is connective:
            return list(part.value.parts)
        return [self._condition(part)]

    def _negation(self) -> _Part:
        start, is_negated = self._at, False
        while self._accept(TokenType.NOT):
            is_negated = not is_negated
        part = self._predicate()
        if self._at == start or self._tokens[start].token_type != TokenType.NOT:
            return part
        condition = self._condition(part, start)
        # A NOT above a NOT folds, so that they never pile up.
        return _Part(Not.of(condition) if is_negated else condition, part.depth)

    def _condition(self, part: _Part, start: int | None = None) -> Expression:
        return self._seal(part, self._at - 1 if start is None else start)

    def _seal(self, part: _Part, start: int) -> Expression:
        """The part as a condition."""
        value = part.value
        tokens = self._tokens[start : max(start + 1, self._at)]
        if part.depth > _MAX_DEPTH:
            return self._operands.unknown(tokens, "it is nested too deeply")
        if isinstance(value, _Junction):
            return value.connective.of(value.parts)
        return self._conditions.of(value, tokens)

    def _predicate(self) -> _Part:
        start = self._at
        left = self._value()
        while (operator := _COMPARISONS.get(self._kind() or TokenType.SPACE)) is not None:
            self._at += 1
            right = self._value()
            found = self._conditions.compared(
                self._plain(left), operator, self._plain(right), self._since(start)
            )
            left = _Part(found, max(left.depth, right.depth) + 1)
        is_negated = self._kind() == TokenType.NOT and self._kind(1) in (*_MATCHING, *_SUFFIXES)
        self._at += is_negated
        if self._kind() not in _SUFFIXES:
            return left
        suffix = self._kind()
        self._at += 1
        if suffix in _MATCHING and self._kind() in _SEVERAL:
            found = self._any_pattern(
                self._plain(left), start, is_plain=suffix == TokenType.LIKE and not is_negated
            )
            return _Part(found, left.depth + 2)
        found = self._parse_suffix(self._plain(left), suffix, start)
        return _Part(Not.of(found) if is_negated else found, left.depth + 2)

    def _plain(self, part: _Part) -> Value:
        return self._seal(part, self._at - 1) if isinstance(part.value, _Junction) else part.value

    def _since(self, start: int) -> list[Token]:
        return self._tokens[start : self._at]

    def _parse_suffix(self, left: Value, suffix: TokenType | None, start: int) -> Expression:
        if suffix == TokenType.IS:
            return self._is(left, start)
        if suffix == TokenType.IN:
            return self._in(left, start)
        if suffix == TokenType.BETWEEN:
            low = self._plain(self._value())
            if not self._accept(TokenType.AND):
                raise self._error(self._position(), "AND and the upper end of BETWEEN")
            high = self._plain(self._value())
            since = self._since(start)
            return And.of(
                [
                    self._conditions.compared(left, Operator.AT_LEAST, low, since),
                    self._conditions.compared(left, Operator.AT_MOST, high, since),
                ]
            )
        pattern = self._plain(self._value())
        escape: Value = Literal("\\", types.STRING)
        if self._accept(TokenType.ESCAPE):
            escape = self._plain(self._value())
        if suffix == TokenType.RLIKE:
            return self._conditions.rlike(left, pattern, self._since(start))
        if suffix == TokenType.ILIKE:
            return self._operands.unknown(self._since(start), "no index knows of upper and lower case", left)
        return self._conditions.like(left, pattern, escape, self._since(start))

    def _any_pattern(self, left: Value, start: int, *, is_plain: bool) -> Expression:
        """`LIKE ANY (…)`, `LIKE ALL (…)`; NOT LIKE ANY is no negation of LIKE ANY."""
        connective = And if self._kind() == TokenType.ALL else Or
        self._at += 1
        patterns, since = self._list(), self._since(start)
        if not is_plain:
            return self._operands.unknown(since, "it has several patterns", left)
        escape = Literal("\\", types.STRING)
        return connective.of(self._conditions.like(left, each, escape, since) for each in patterns)

    def _is(self, left: Value, start: int) -> Expression:
        is_negated = self._accept(TokenType.NOT)
        since = self._tokens[start : self._at + 1]
        if self._accept(TokenType.DISTINCT, TokenType.FROM):
            right = self._plain(self._value())
            found = self._conditions.compared(left, Operator.SAME, right, self._since(start))
            return found if is_negated else Not.of(found)
        if self._accept(TokenType.NULL) or self._accept(TokenType.UNKNOWN):
            found = self._conditions.is_null(left, since)
        elif self._kind() in (TokenType.TRUE, TokenType.FALSE):
            word = Literal(self._kind() == TokenType.TRUE, types.BOOLEAN)
            self._at += 1
            found = self._conditions.compared(left, Operator.SAME, word, since)
        else:
            raise self._refusal(self._position(), "NULL, TRUE, FALSE or DISTINCT FROM")
        return Not.of(found) if is_negated else found

    def _in(self, left: Value, start: int) -> Expression:
        opened = self._at
        if self._kind() == TokenType.L_PAREN and self._tokens[opened + 1].token_type in QUERIES:
            self._at = self._closing[opened] + 1
            return self._operands.unknown(self._since(start), "it holds a subquery", left)
        items = self._list()
        return self._conditions.in_list(left, items, self._since(start))

    def _list(self) -> list[Value]:
        """The values between the commas of the brackets here."""
        opened = self._at
        if self._kind() != TokenType.L_PAREN or self._closing[opened] == opened + 1:
            raise self._refusal(self._position(), "a list of values in brackets")
        self._at = self._closing[opened] + 1
        items: list[Value] = []
        first = index = opened + 1
        while index < self._at:
            if self._tokens[index].token_type == TokenType.COMMA or index == self._at - 1:
                items.append(self._item(first, index))
                first = index + 1
            index = self._closing.get(index, index) + 1
        return items

    def _item(self, start: int, end: int) -> Value:
        if start == end:
            raise self._refusal(self._tokens[end].start, "a value")
        return self._operands.value(self._tokens[start:end])

    def _position(self) -> int:
        if self._at < len(self._tokens):
            return self._tokens[self._at].start
        return len(self._text)

    def _value(self) -> _Part:
        """The operand here, up to the next operator that is no arithmetic."""
        start, height = self._at, 0
        while self._at < self._end:
            token_type = self._tokens[self._at].token_type
            is_function = self._at == start and token_type in _MATCHING and self._kind(1) == TokenType.L_PAREN
            if token_type in _VALUE_ENDS and not is_function and not self._brackets.is_field(self._at):
                break
            height = max(height, self._brackets.heights.get(self._at, 0))
            self._at = self._closing.get(self._at, self._at) + 1
        if self._at == start:
            raise self._error(self._position(), "a value")
        if start in self._groups and self._closing[start] == self._at - 1:
            return self._groups.pop(start)
        if height > MAX_NESTING:
            return _Part(self._operands.unknown(self._since(start), "it is nested too deeply"))
        return _Part(self._operands.value(self._since(start)))


def _length_as(connective: type[And | Or], part: _Part) -> int:
    if isinstance(part.value, _Junction) and part.value.connective is connective:
        return len(part.value.parts)
    return 0
