"""Which brackets of a text belong together, and which of them may hold a condition.

`CASE … END` counts as a pair of brackets too. A group is a pair of round brackets that holds one value or
condition: no call's, no list's, no query's, and nothing inside of those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from hudi_index.errors import DdlSyntaxError
from hudi_index.predicate.sql.canonical import OPERATOR_WORDS
from hudi_index.predicate.sql.operands import QUERIES
from hudi_index.predicate.sql.tokens import BRACKETS, is_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Brackets"]

_OPENING = {**BRACKETS, TokenType.CASE: TokenType.END}
_CLOSING = {closing: opening for opening, closing in _OPENING.items()}
_LISTS = (TokenType.IN, TokenType.ANY, TokenType.ALL, TokenType.SOME)


@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet."""

    index: int
    is_group: bool
    may_hold_groups: bool
    height: int = 1


class Brackets:
    """The brackets of a text, matched.

    Raises:
        DdlSyntaxError: for one that is not closed, or not opened.
    """

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text, self._tokens = text, tokens
        self.closing: dict[int, int] = {}
        """Where each opened bracket is closed, by token."""
        self.heights: dict[int, int] = {}
        """How many brackets are inside of each other there, itself included."""
        self.groups: list[int] = []
        """Where groups are opened, each after those inside of it."""
        self._match()

    def _match(self) -> None:
        open_ones: list[_Open] = []
        for index, token in enumerate(self._tokens):
            token_type = token.token_type
            if self.is_field(index):
                continue
            if token_type in _OPENING:
                is_group = (not open_ones or open_ones[-1].may_hold_groups) and self._is_group(index)
                open_ones.append(_Open(index, is_group, is_group))
            elif token_type == TokenType.COMMA and open_ones:
                # A list, of which no single condition can be made.
                open_ones[-1].is_group = False
            elif token_type in _CLOSING and self._is_open(open_ones, token_type):
                self._close(open_ones, index)
            elif token_type in _CLOSING and token_type != TokenType.END:
                raise self._error(index, "no closing bracket without its opening one")
        if open_ones:
            raise self._error(open_ones[-1].index, "an end to what is opened here")

    def _close(self, open_ones: list[_Open], index: int) -> None:
        closed = open_ones.pop()
        self.closing[closed.index] = index
        self.heights[closed.index] = closed.height
        if open_ones:
            open_ones[-1].height = max(open_ones[-1].height, closed.height + 1)
        if closed.is_group:
            self.groups.append(closed.index)

    def _is_open(self, open_ones: list[_Open], closing: TokenType) -> bool:
        return bool(open_ones) and self._tokens[open_ones[-1].index].token_type == _CLOSING[closing]

    def is_field(self, index: int) -> bool:
        """Whether a token is the name of a field, behind a dot, whatever word it is."""
        return index > 0 and self._tokens[index - 1].token_type == TokenType.DOT

    def _is_group(self, index: int) -> bool:
        token = self._tokens[index]
        if token.token_type != TokenType.L_PAREN:
            return False
        following = self._tokens[index + 1] if index + 1 < len(self._tokens) else token
        if following.token_type in QUERIES:
            return False
        before = self._tokens[index - 1] if index else None
        if before is None or before.token_type in _LISTS:
            return before is None
        return before.token_type in OPERATOR_WORDS or not is_name(before, self._text)

    def _error(self, index: int, expected: str) -> DdlSyntaxError:
        return DdlSyntaxError(text=self._text, position=self._tokens[index].start, expected=expected)
