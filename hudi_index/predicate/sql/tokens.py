"""The tokens of a statement with their places, and a cursor that reads them in order.

Tokens come from sqlglot's Spark tokenizer, so strings, back-quoted names, numbers and comments are Spark's.
Invariant: whatever the text, reading it raises nothing but DdlSyntaxError, at a place in that text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from sqlglot import Token, TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from hudi_index.errors import DdlSyntaxError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BRACKETS", "Cursor", "depth_of", "is_name", "is_word", "quote_name", "raw_of", "tokens_of"]

_OPENERS = re.compile(r"(\b[xXrR])?['\"]|`|/\*|\{#")
_MAX_TRIES = 64
BRACKETS = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.L_BRACE: TokenType.R_BRACE,
}
"""Closing brackets by those that they close."""
_CLOSING = frozenset(BRACKETS.values())


class _Tokenizer(Spark.Tokenizer):
    # sqlglot swallows what follows SHOW and its like as one string.
    COMMANDS: ClassVar[set[TokenType]] = set()


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, comments left out, `1L` as one: sqlglot makes three of it, all at one place.

    Raises:
        DdlSyntaxError: if a string, a quoted name or a comment does not end.
    """
    if half := re.search("[\ud800-\udfff]", text):
        raise DdlSyntaxError(text=text, position=half.start(), expected="a character, not half of one")
    tokenizer = _Tokenizer(dialect=Spark())
    try:
        tokens = tokenizer.tokenize(text)
        starts = [-1, *(token.start for token in tokens)]
        return [token for token, before in zip(tokens, starts, strict=False) if token.start > before]
    except TokenError:
        found = tokenizer.tokens
    position = _open_end(text, found[-1].end + 1 if found else 0)
    raise DdlSyntaxError(text=text, position=position, expected="an end to what is opened here")


def _open_end(text: str, start: int) -> int:
    """Where the string, name or comment begins that does not end, the tokens before it ending at `start`.

    Between the two are only comments, so it is the last opener up to which the text is whole. An opener
    inside of it follows a piece that is not.
    """
    position = start
    for opener in islice(_OPENERS.finditer(text, start), _MAX_TRIES):
        try:
            _Tokenizer(dialect=Spark()).tokenize(text[start : opener.start()])
        except TokenError:
            continue
        position = opener.start()
    return position


def depth_of(token: Token) -> int:
    """How many brackets a token opens; -1 if it closes one."""
    return (token.token_type in BRACKETS) - (token.token_type in _CLOSING)


def raw_of(token: Token, text: str) -> str:
    """The token as it stands in the text, quotes and all."""
    return text[token.start : token.end + 1]


def is_word(token: Token, text: str) -> bool:
    """Whether the token is a keyword or an unquoted name."""
    return re.fullmatch(r"\w+", raw_of(token, text)) is not None and token.token_type != TokenType.NUMBER


def is_name(token: Token, text: str) -> bool:
    """Whether the token may name something. Spark reserves no word, so each word may."""
    return is_word(token, text) or raw_of(token, text).startswith("`")


def quote_name(name: str) -> str:
    """The name in back-quotes."""
    return "`" + name.replace("`", "``") + "`"


@dataclass
class Cursor:
    """Reads tokens from left to right; what it expects and doesn't find is a DdlSyntaxError there."""

    text: str
    tokens: Sequence[Token]
    index: int = 0

    @property
    def token(self) -> Token | None:
        """The next token, None at the end."""
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    @property
    def position(self) -> int:
        """Where the next token begins, or where the last one ended."""
        if self.token:
            return self.token.start
        return self.tokens[-1].end + 1 if self.tokens else len(self.text)

    def error(self, expected: str, *, position: int | None = None) -> DdlSyntaxError:
        """The error for something else than expected, here unless a place is given."""
        return DdlSyntaxError(
            text=self.text, position=self.position if position is None else position, expected=expected
        )

    def accept(self, *words: str) -> bool:
        """Step over these words or signs if they come next, all of them."""
        following = self.tokens[self.index : self.index + len(words)]
        if tuple(raw_of(token, self.text).upper() for token in following) != words:
            return False
        self.index += len(words)
        return True

    def expect(self, *words: str, hint: str = "") -> None:
        """Step over these words or signs, which must come next."""
        for word in words:
            if not self.accept(word):
                raise self.error((word if word.isalpha() else f"'{word}'") + hint)

    def name(self, expected: str) -> str:
        """Step over a name and return it without its quotes."""
        token = self.token
        if token is None or not is_name(token, self.text):
            raise self.error(expected)
        if not token.text:
            raise self.error(f"{expected}, not an empty one")
        self.index += 1
        return token.text

    def take_dotted_name(self, expected: str) -> tuple[str, ...]:
        """Step over `a.b.c` and return its parts."""
        parts = [self.name(expected)]
        while self.accept("."):
            parts.append(self.name(f"{expected} after the '.'"))
        return tuple(parts)

    def until_closed(self) -> list[tuple[list[Token], int]]:
        """Step over everything up to the `)` that closes an opened `(`.

        Returns:
            What stands between the commas, each with the place of the comma or bracket behind it.
        """
        items: list[tuple[list[Token], int]] = []
        item: list[Token] = []
        depth = 0
        while (token := self.token) is not None and token.token_type != TokenType.SEMICOLON:
            is_end = depth == 0 and token.token_type in (TokenType.COMMA, TokenType.R_PAREN)
            if not is_end:
                item.append(token)
            else:
                items.append((item, token.start))
                item = []
            self.index += 1
            if is_end and token.token_type == TokenType.R_PAREN:
                return items
            depth += depth_of(token)
        raise self.error("')'")
