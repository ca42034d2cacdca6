"""The options an index may have: `OPTIONS (name = 'value', …)`.

Those of every kind stand here, a kind's own in its row of `kind_specs`. Names are case-insensitive and stored
in lower case under their first spelling. Values are texts, checked here and stored in one spelling, so equal
options are equal texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_index.arguments import is_time_zone
from hudi_index.errors import InvalidOptionError
from hudi_index.kind_specs import Option, integer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.kind_specs import KindSpec

__all__ = ["COMMON", "check_options", "options_of"]


def _time_zone(value: str) -> str:
    if is_time_zone(value):
        return value
    raise ValueError("a time zone such as 'Europe/Berlin', 'UTC' or '+02:00'")


COMMON = (
    # File group names number the shards with four digits.
    Option("shards", integer(1, 9999)),
    Option("time_zone", _time_zone, aliases=("timezone",), is_for_expressions=True),
)
"""The options of every kind."""


def options_of(spec: KindSpec, *, has_expression: bool) -> tuple[Option, ...]:
    """The options that an index of a kind may have."""
    return tuple(
        option for option in (*COMMON, *spec.options) if has_expression or not option.is_for_expressions
    )


def check_options(options: Mapping[str, str], *, spec: KindSpec, has_expression: bool) -> dict[str, str]:
    """The options by stored name, sorted, each value in its stored spelling.

    Raises:
        InvalidOptionError: for an unknown or repeated name, or a value that is out of range.
    """
    known = options_of(spec, has_expression=has_expression)
    by_name = {name: option for option in known for name in (option.name, *option.aliases)}
    checked: dict[str, str] = {}
    for name, value in options.items():
        option = by_name.get(name.lower())
        if option is None:
            names = ", ".join(option.name for option in known)
            subject = f"{spec.name} indexes" + (" over an expression" if has_expression else "")
            raise InvalidOptionError(
                option=name, value=value, reason=f"{subject} have no such option; options: {names}"
            )
        if option.name in checked:
            raise InvalidOptionError(option=name, value=value, reason=f"{option.name} is given twice")
        try:
            checked[option.name] = option.spelling(value.strip())
        except ValueError as error:
            raise InvalidOptionError(option=name, value=value, reason=f"expected {error}") from error
    return dict(sorted(checked.items()))
