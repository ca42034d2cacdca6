"""What a caller may give: checked before anything is done with it.

A wrong value is an InvalidOptionError that names the option, the value and what is expected; a value of a
wrong type is a TypeError as well. One text where several are expected is one of them, not its characters.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from hudi_index.errors import InvalidOptionError, WrongTypeError

__all__ = [
    "check_count",
    "check_list_of_texts",
    "check_location",
    "check_options",
    "check_seconds",
    "check_text",
    "check_time_zone",
    "is_time_zone",
]

_OFFSET = re.compile(r"Z|(UTC|GMT|UT)?[+-](0?\d|1[0-8])(:[0-5]\d)?", re.ASCII)
# What Spark knows besides, by java.time.ZoneId.SHORT_IDS.
_JAVA_ZONES = re.compile(
    "ACT|AET|AGT|ART|AST|BET|BST|CAT|CNT|CST|CTT|EAT|ECT|EST|HST|IET|IST|JST|MIT|MST|NET|NST|PLT|PNT|PRT|PST"
    "|SST|VST|UT|UTC|GMT"
)


def check_text(option: str, value: object, expected: str = "a text") -> str:
    """A text. Raises WrongTypeError."""
    if not isinstance(value, str):
        raise WrongTypeError(option=option, value=value, expected=expected)
    return value


def check_list_of_texts(option: str, value: object) -> tuple[str, ...]:
    """Some texts; one alone is the only one. Raises WrongTypeError."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, (bytes, bytearray, Mapping)):
        raise WrongTypeError(option=option, value=value, expected="texts, in a list")
    found = tuple(value)
    for each in found:
        check_text(option, each, "a list of texts")
    return found


def check_count(option: str, value: object, *, least: int = 0) -> int:
    """A whole number. Raises WrongTypeError, InvalidOptionError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise WrongTypeError(option=option, value=value, expected="a whole number")
    number: int = value.__index__()
    if number < least:
        raise InvalidOptionError(
            option=option, value=number, reason=f"it is too small: expected {least} or more"
        )
    return number


def check_seconds(option: str, value: object) -> float:
    """A time. Raises WrongTypeError, InvalidOptionError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise WrongTypeError(option=option, value=value, expected="a number of seconds")
    if not (math.isfinite(value) and value >= 0):
        raise InvalidOptionError(option=option, value=value, reason="expected a number of seconds, 0 or more")
    return float(value)


def check_location(option: str, value: object) -> str:
    """The path or URI of a table. Raises WrongTypeError, InvalidOptionError."""
    found = os.fspath(value) if isinstance(value, os.PathLike) else value
    text = check_text(option, found, "a path or URI")
    if not text.strip():
        raise InvalidOptionError(option=option, value=text, reason="expected a path or URI")
    return text


def check_options(option: str, value: object) -> dict[str, str]:
    """Options by name. Their values may be secrets, so no message shows them. Raises WrongTypeError."""
    if not isinstance(value, Mapping):
        raise WrongTypeError(option=option, value=value, expected="names and values", is_secret=True)
    for name, each in value.items():
        check_text(option, name, "a text as a name")
        if not isinstance(each, str):
            raise WrongTypeError(option=f"{option}.{name}", value=each, expected="a text", is_secret=True)
    return dict(value)


def check_time_zone(option: str, value: object) -> str:
    """A time zone by Spark's names. Raises WrongTypeError, InvalidOptionError."""
    text = check_text(option, value, "the name of a time zone")
    if not is_time_zone(text) and not _JAVA_ZONES.fullmatch(text):
        raise InvalidOptionError(
            option=option,
            value=text,
            reason="no such time zone; expected one such as 'Europe/Berlin', 'UTC' or '+02:00'",
        )
    return text


@lru_cache(maxsize=256)
def is_time_zone(name: str) -> bool:
    """Whether a text is an offset or the name of a region."""
    if _OFFSET.fullmatch(name):
        return True
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        # A machine without a time zone database can't judge; Spark, which can, checks again.
        return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/-]*", name)) and not available_timezones()
    return True
