"""Catalyst's classes of functions, as the calls that `functions` knows by Spark's names of them.

A call has one argument that is no constant. Parameters of a class that give it another meaning are looked at
here: a time zone other than the session's, or a mode that makes null of what can't be computed, and the call
is not known. In ANSI mode a function has the same value as without, or the query fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from hudi_index.predicate.expression import Call
from hudi_index.predicate.values.types import TIMESTAMP, parse_type

if TYPE_CHECKING:
    from hudi_index.predicate.catalyst.meaning import Node
    from hudi_index.predicate.values.casts import Literal

__all__ = ["CALLS", "inner_call"]

_Constant: TypeAlias = Callable[[Any], "Literal | None"]


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the parameters of a class are those of a function."""

    name: str
    arguments: int
    """How many of the parameters, from the first on, are arguments."""
    used: int | None = None
    """How many of those have a meaning, None for all."""
    of_type: str | None = None
    """The type of the first that the function is known for, None for any."""


_TO_SECONDS = _Shape("UNIX_TIMESTAMP", 2, used=1, of_type=str(TIMESTAMP))
CALLS = {
    "Add": _Shape("+", 2),
    "Subtract": _Shape("-", 2),
    "Multiply": _Shape("*", 2),
    "Divide": _Shape("/", 2),
    "UnaryMinus": _Shape("NEGATIVE", 1),
    "Floor": _Shape("FLOOR", 1),
    "Ceil": _Shape("CEIL", 1),
    "Substring": _Shape("SUBSTRING", 3),
    "DateFormatClass": _Shape("DATE_FORMAT", 2),
    "FromUnixTime": _Shape("FROM_UNIXTIME", 2),
    "Year": _Shape("YEAR", 1),
    "TruncTimestamp": _Shape("DATE_TRUNC", 2),
    "TruncDate": _Shape("TRUNC", 2),
    "DateAdd": _Shape("DATE_ADD", 2),
    "DateSub": _Shape("DATE_SUB", 2),
    # Of a timestamp they take no pattern, though there always is one.
    "UnixTimestamp": _TO_SECONDS,
    "ToUnixTimestamp": _TO_SECONDS,
    "UnixSeconds": _Shape("UNIX_SECONDS", 1),
    "UnixMillis": _Shape("UNIX_MILLIS", 1),
    "UnixMicros": _Shape("UNIX_MICROS", 1),
    "SecondsToTimestamp": _Shape("TIMESTAMP_SECONDS", 1),
    "MillisToTimestamp": _Shape("TIMESTAMP_MILLIS", 1),
    "MicrosToTimestamp": _Shape("TIMESTAMP_MICROS", 1),
}
"""By the class's name; beside Cast, whose parameters are of its own."""


def inner_call(node: Node, time_zone: str, constant: _Constant) -> tuple[Node, Call | None] | str:
    """What a node calls its function on, and the call; None for one that changes nothing; else a reason."""
    name, parameters = node.get("class"), node.get("args", [])
    if name is None:
        return _reason_against(node)
    zones = [each["zone"] for each in parameters if isinstance(each, dict) and "zone" in each]
    if any(zone != time_zone for zone in zones):
        return f"it was analysed in time zone {zones[0]} and runs in {time_zone}"
    if {"name": "TRY"} in parameters:
        return "it makes null of what it can't compute"
    if name == "Cast":
        child, target = parameters[0], parse_type(parameters[1]["dataType"])
        return child, None if child.get("type") == parameters[1]["dataType"] else Call.cast(target)
    shape = CALLS.get(name)
    if shape is None:
        return f"no index is over this expression, and {name} is not known to rise or fall with its argument"
    return _call(shape, parameters[: shape.arguments], constant)


def _call(shape: _Shape, arguments: list[Any], constant: _Constant) -> tuple[Node, Call] | str:
    if shape.of_type and arguments[0].get("type") != shape.of_type:
        return f"no index is over this expression, and {shape.name} of such a type is not known"
    literals = [constant(each) for each in arguments[: shape.used]]
    open_positions = [position for position, literal in enumerate(literals) if literal is None]
    if len(open_positions) != 1:
        return "no index is over this expression, and not all but one of its arguments are constants"
    position = open_positions[0]
    before = tuple(literal for literal in literals[:position] if literal)
    after = tuple(literal for literal in literals[position + 1 :] if literal)
    return arguments[position], Call(shape.name, before, after)


def _reason_against(node: Node) -> str:
    if "opaque" in node:
        short = node["opaque"].rpartition(".")[2]
        return f"{short} is a function of somebody's own, or not told whole"
    return "it is no value of one row"
