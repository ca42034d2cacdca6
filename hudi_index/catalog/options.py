"""The options an index may have: `OPTIONS (name = 'value', …)`.

`OPTIONS` below is the whole table: one line makes an option known to the SQL, to the catalog and to the
messages. Names are case-insensitive and stored in lower case under their first spelling. Values are texts,
checked here and stored in one spelling, so equal options are equal texts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.arguments import is_time_zone
from hudi_index.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["OPTIONS", "Option", "checked_options", "known_options"]

_ALL = ("column_stats", "bloom_filters", "record_index", "secondary_index", "bitmap")


@dataclass(frozen=True, slots=True)
class Option:
    """One option: who may have it, and how its value is read."""

    name: str
    spelling: Callable[[str], str]
    """The value in its one stored spelling; a ValueError says what was expected."""
    kinds: tuple[str, ...] = _ALL
    aliases: tuple[str, ...] = ()
    is_for_expressions: bool = False
    """Whether only an index over an expression has it."""


def _integer(low: int, high: int) -> Callable[[str], str]:
    def spelling(value: str) -> str:
        if re.fullmatch(r"[0-9]{1,18}", value) and low <= int(value) <= high:
            return str(int(value))
        raise ValueError(f"a whole number from {low} to {high}")

    return spelling


def _fraction(value: str) -> str:
    # The pattern keeps out what float() also takes: "nan", "inf", underscores.
    if re.fullmatch(r"[0-9]*\.?[0-9]+([eE]-?[0-9]{1,3})?", value) and 0 < float(value) < 1:
        return repr(float(value))
    raise ValueError("a number between 0 and 1, both excluded")


def _boolean(value: str) -> str:
    if value.lower() in ("true", "false"):
        return value.lower()
    raise ValueError("true or false")


def _time_zone(value: str) -> str:
    if is_time_zone(value):
        return value
    raise ValueError("a time zone such as 'Europe/Berlin', 'UTC' or '+02:00'")


OPTIONS = (
    # File group names number the shards with four digits.
    Option("shards", _integer(1, 9999)),
    Option("time_zone", _time_zone, aliases=("timezone",), is_for_expressions=True),
    Option("false_positive_rate", _fraction, kinds=("bloom_filters",), aliases=("fpp",)),
    Option("max_values", _integer(1, 10**9), kinds=("bitmap",)),
    Option("partitioned", _boolean, kinds=("record_index",)),
)


def known_options(kind: str, *, has_expression: bool) -> tuple[Option, ...]:
    """The options that an index of this kind may have."""
    return tuple(
        option
        for option in OPTIONS
        if kind in option.kinds and (has_expression or not option.is_for_expressions)
    )


def checked_options(options: Mapping[str, str], *, kind: str, has_expression: bool) -> dict[str, str]:
    """The options by stored name, sorted, each value in its stored spelling.

    Raises:
        InvalidOptionError: for an unknown or repeated name, or a value that is out of range.
    """
    known = known_options(kind, has_expression=has_expression)
    by_name = {name: option for option in known for name in (option.name, *option.aliases)}
    checked: dict[str, str] = {}
    for name, value in options.items():
        option = by_name.get(name.lower())
        if option is None:
            names = ", ".join(option.name for option in known)
            subject = f"{kind} index" + (" over an expression" if has_expression else "")
            raise InvalidOptionError(
                option=name, value=value, reason=f"no option of a {subject}; options: {names}"
            )
        if option.name in checked:
            raise InvalidOptionError(option=name, value=value, reason=f"{option.name} is given twice")
        try:
            checked[option.name] = option.spelling(value.strip())
        except ValueError as error:
            raise InvalidOptionError(option=name, value=value, reason=f"expected {error}") from error
    return dict(sorted(checked.items()))
