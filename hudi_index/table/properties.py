r"""The text format of `hoodie.properties`: Java's, as `java.util.Properties` writes and reads it.

    key=value | key:value | key value      first unescaped `=`, `:` or blank ends the key
    # comment, ! comment                   whole lines
    \uXXXX \t \n \r \f \<any>             escapes, in keys and values
    line \                                 continues on the next line, whose leading blanks are dropped

The bytes are ISO-8859-1. hudi-rs 0.5.0 does not undo the escapes, so what it knows of a table that uses
them is wrong (`region\:simple` is what a custom key generator leaves in `hoodie.table.partition.fields`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["parse_properties"]

_BLANKS = " \t\f"
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_KEY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(data: bytes) -> dict[str, str]:
    """Keys and values of a properties file; the last of several equal keys wins."""
    found = {}
    for line in _logical_lines(data.decode("iso-8859-1")):
        match = _KEY.match(line)
        if match:
            found[_unescape(match[1])] = _unescape(match[2])
    return found


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for natural in re.split(r"\r\n|\r|\n", text):
        line = natural.lstrip(_BLANKS)
        if not pending and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _CONTROLS.get(code, code)

    return _ESCAPE.sub(replaced, text)
