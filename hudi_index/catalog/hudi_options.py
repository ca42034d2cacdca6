"""Hudi's own way to write an expression index, put into an expression.

    CREATE INDEX i ON t USING column_stats(ts) OPTIONS (expr = 'from_unixtime', format = 'yyyy-MM-dd')

means what we write as `… USING column_stats (from_unixtime(ts, 'yyyy-MM-dd'))`. `FUNCTIONS` lists the
functions of Hudi 1.x with the options that give their further arguments, in the order of Spark's call.
`identity` is the column itself. Hudi 1.0-beta said `func` where `expr` is said now.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hudi_index.errors import InvalidOptionError
from hudi_index.predicate.sql.tokens import quote_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["expression_text"]

FUNCTIONS: dict[str, tuple[str, ...]] = {
    "date_add": ("days",),
    "date_format": ("format",),
    "date_sub": ("days",),
    "day": (),
    "from_unixtime": ("format?",),
    "hour": (),
    "identity": (),
    "length": (),
    "lower": (),
    "ltrim": ("trimstring?",),
    "month": (),
    "regexp_extract": ("pattern", "idx"),
    "regexp_replace": ("pattern", "replacement"),
    "rtrim": ("trimstring?",),
    "split": ("pattern",),
    "substring": ("pos", "len"),
    "to_date": ("format?",),
    "to_timestamp": ("format?",),
    "trim": ("trimstring?",),
    "unix_timestamp": ("format?",),
    "upper": (),
    "year": (),
}
"""Function to the options that are its arguments; `?` ends the name of one that may be left out."""

_NUMBERS = ("days", "idx", "len", "pos")
_NAMES = ("expr", "func")


def expression_text(columns: Sequence[str], options: dict[str, str]) -> str | None:
    """The expression that `expr` and its companions mean; None if there is no `expr`.

    Args:
        columns: the columns between the brackets, dotted.
        options: all options by lower-case name; those that are used are taken out.

    Raises:
        InvalidOptionError: if Hudi has no such function, or not with these options.
    """
    option = next((name for name in _NAMES if name in options), None)
    if option is None:
        return None
    function = options.pop(option)
    word = function.strip().lower()
    if word not in FUNCTIONS:
        raise InvalidOptionError(
            option=option,
            value=function,
            reason="Hudi has no such expression; write it between the brackets instead, "
            f"as in ({columns[0]} + 1). Those of Hudi: {', '.join(FUNCTIONS)}",
        )
    if len(columns) != 1:
        raise InvalidOptionError(
            option=option, value=function, reason=f"it is over one column, not over {', '.join(columns)}"
        )
    column = ".".join(quote_name(part) for part in columns[0].split("."))
    arguments = _arguments(word, options)
    if word == "identity":
        return column
    if word in ("trim", "ltrim", "rtrim") and arguments:
        side = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[word]
        return f"trim({side} {arguments[0]} FROM {column})"
    return f"{word}({', '.join((column, *arguments))})"


def _arguments(function: str, options: dict[str, str]) -> list[str]:
    arguments = []
    for parameter in FUNCTIONS[function]:
        name = parameter.removesuffix("?")
        value = options.pop(name, None)
        if value is not None:
            arguments.append(_literal(name, value))
        elif name == parameter:
            raise InvalidOptionError(option=name, value=None, reason=f"expr = '{function}' needs it")
    return arguments


def _literal(name: str, value: str) -> str:
    if name not in _NUMBERS:
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if not re.fullmatch(r"-?[0-9]{1,9}", value):
        raise InvalidOptionError(option=name, value=value, reason="expected a whole number")
    return value
