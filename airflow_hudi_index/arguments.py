"""Checks of what operators, sensors and triggers are given: what can't be is refused, by name and value."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from hudi_index.errors import InvalidOptionError

__all__ = ["check_names", "check_number", "check_truth"]

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "none", "")


def check_number(
    option: str, value: Any, *, least: float = 0.0, whole: bool = False, above: bool = False
) -> Any:
    """The value, a number or a span of time, if it is finite and no less than `least`; None is fine.

    Args:
        option: its name.
        value: the number.
        least: the smallest that can be.
        whole: whether it has to be a whole number.
        above: whether `least` itself can't be.
    """
    if value is None:
        return value
    number = value.total_seconds() if isinstance(value, timedelta) else value
    wanted = f"a {'whole ' if whole else ''}number {'above' if above else 'of at least'} {least:g}"
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise InvalidOptionError(option=option, value=value, reason=f"expected {wanted}")
    if number < least or (above and number == least) or (whole and number != int(number)):
        raise InvalidOptionError(option=option, value=value, reason=f"expected {wanted}")
    return value


def check_names(option: str, value: Any, known: tuple[str, ...] = ()) -> Any:
    """The value, if it is None or a list of texts, of those that are known if that is given."""
    if value is None:
        return value
    if isinstance(value, (str, bytes)) or not all(isinstance(each, str) for each in _as_list(option, value)):
        raise InvalidOptionError(option=option, value=value, reason="expected a list of texts")
    strange = [each for each in value if known and each not in known]
    if strange:
        reason = f"{', '.join(map(repr, strange))} is none of {', '.join(known)}"
        raise InvalidOptionError(option=option, value=value, reason=reason)
    return value


def _as_list(option: str, value: Any) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise InvalidOptionError(option=option, value=value, reason="expected a list of texts") from None


def check_truth(option: str, value: Any) -> bool:
    """What a template may have made a text."""
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in (*_TRUE, *_FALSE):
        raise InvalidOptionError(option=option, value=value, reason="expected true or false")
    return text in _TRUE
