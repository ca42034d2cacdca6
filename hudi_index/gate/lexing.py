r"""Where strings, quoted names and comments begin and end: as Spark says, and sqlglot has to agree.

What one reader takes for a comment and another for a call is how a text gets past the first of them. So the
text is cut here by the rules of Spark's lexer (SqlBaseLexer.g4), and refused where sqlglot's tokens do not
cover exactly what is left:

    'a\'b' "a\"b"    strings with escapes        r'a\' R"a\"    without
    `a``b`            names                      -- … \n          comment, going on after a backslash
    /* … */           comment; Spark nests it, but not around a hint, so one inside another is refused
    /*+ … */          hint: refused              ${…}             put in before anything is read: refused
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from hudi_index.errors import RefusedTextError

if TYPE_CHECKING:
    from sqlglot import Token

__all__ = ["LONGEST", "is_quoted_name", "tokens_of"]

LONGEST = 1_000_000
"""Characters of a text."""

_LEXEMES = re.compile(
    r"""
      (?P<string> [rR]'[^']*' | [rR]"[^"]*" | [xX]'[0-9A-Fa-f]*' | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<name> `(?:[^`]|``)*` )
    | (?P<line> --[^\r\n]* )
    | (?P<hint> /\*\+ )
    | (?P<comment> /\*.*?\*/ )
    | (?P<open> /\* | ['"`] )
    | (?P<space> [ \t\n]+ | \r\n )
    | (?P<word> [A-Za-z0-9_]+ )
    | (?P<sign> :: | [-().,+*/%=<>!|&^~\[\];] )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTES = "'\"`"
_SPACES, _SIGNS = re.compile(r"[ \t\r\n]"), re.compile(r"[^ \t\r\n]")
_HALF = re.compile("[\ud800-\udfff]")


class _Tokenizer(Spark.Tokenizer):
    # sqlglot swallows what follows SHOW and its like as one string.
    COMMANDS = set()  # noqa: RUF012  (as sqlglot declares it)


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text that Spark and sqlglot read alike.

    Raises:
        RefusedTextError: it is read in two ways, or holds what no text may hold.
    """
    _refuse_characters(text)
    wanted = _code(text)
    try:
        tokens: list[Token] = _Tokenizer(dialect=Spark()).tokenize(text)
    except TokenError as error:
        reason = f"something in it has no end ({str(error).splitlines()[0]})"
        raise RefusedTextError(text=text, what=reason, way_out="close what it opens") from None
    covered = bytearray(len(text))
    for token in tokens:
        covered[token.start : token.end + 1] = _marks(text[token.start : token.end + 1])
    if covered != wanted:
        position = next(
            at for at, (one, other) in enumerate(zip(covered, wanted, strict=True)) if one != other
        )
        raise RefusedTextError(
            text=text,
            what=f"from character {position + 1} on, {_show(text[position:])}, it can be read in two ways",
            way_out="write it plainly, without that quote or comment",
        )
    return tokens


def is_quoted_name(token: Token, text: str) -> bool:
    """Whether a token is a name in back-quotes."""
    return text[token.start] == "`"


def _refuse_characters(text: str) -> None:
    if len(text) > LONGEST:
        raise RefusedTextError(
            text=text, what=f"it has {len(text)} characters", way_out=f"{LONGEST} is the most"
        )
    if half := _HALF.search(text):
        raise RefusedTextError(
            text=text.replace(half.group(), "?"), what="half a character", way_out="write the whole one"
        )
    if "\0" in text:
        raise RefusedTextError(text=text, what="a NUL character", way_out="leave it out")
    if "${" in text:
        # Also inside of strings: Spark puts variables in before it reads anything.
        raise RefusedTextError(
            text=text,
            what="${…}, in whose place Spark puts settings, properties and environment variables",
            way_out="write the value itself, and two such characters as concat('$', '{')",
        )


def _code(text: str) -> bytearray:
    """A mark for each character that is neither space nor comment."""
    found = bytearray(len(text))
    for each in _LEXEMES.finditer(text):
        kind, piece = each.lastgroup, each.group()
        if kind in ("hint", "open", "other"):
            raise RefusedTextError(text=text, what=_name(kind, piece), way_out=_WAYS[kind])
        if (kind == "comment" and "/*" in piece[2:]) or (kind == "line" and piece.endswith("\\")):
            raise RefusedTextError(
                text=text,
                what=f"the comment {_show(piece)}, which can be read in two ways",
                way_out="leave it out",
            )
        if kind not in ("line", "comment", "space"):
            found[each.start() : each.end()] = _marks(piece)
    return found


def _marks(piece: str) -> bytes:
    """One for each character, such that both ends of a quoted piece can be seen."""
    if piece[-1] in _QUOTES:
        return b"\2" + b"\3" * (len(piece) - 2) + b"\4"
    # sqlglot makes one token of GROUP BY and its like.
    return _SPACES.sub("\0", _SIGNS.sub("\1", piece)).encode()


_WAYS = {
    "hint": "leave it out: an answer does not depend on how it is found",
    "open": "close it",
    "other": "write names with other characters in back-quotes, and texts in quotes",
}


def _name(kind: str, piece: str) -> str:
    if kind == "hint":
        return "a hint, /*+ … */"
    if kind == "open":
        return f"{piece} that is never closed"
    if piece in "?:":
        return f"a parameter, {piece}, which has no value here"
    if piece in "{}":
        return f"{piece}, a template that nobody filled in"
    return f"the character {piece!r} outside of quotes"


def _show(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:20]}…")
