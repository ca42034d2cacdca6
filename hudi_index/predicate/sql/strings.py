"""What a string literal stands for, by Spark's escapes, which are not sqlglot's."""

from __future__ import annotations

import re

__all__ = ["string_value"]

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([01][0-7][0-7])|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def string_value(raw: str) -> str | None:
    """The text a string literal stands for; None if Spark's reading isn't certain."""
    if raw[0] in "rR":
        return raw[2:-1]
    body = raw[1:-1]
    if raw[0] in body.replace("\\" + raw[0], ""):
        return None
    try:
        value = _ESCAPE.sub(_unescape, body)
    except (ValueError, OverflowError):
        return None
    return None if re.search("[\ud800-\udfff]", value) else value


def _unescape(found: re.Match[str]) -> str:
    if code := found[1] or found[2]:
        return chr(int(code, 16))
    return chr(int(found[3], 8)) if found[3] else _ESCAPED.get(found[4], found[4])
