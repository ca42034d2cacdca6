"""Constants of Catalyst's trees as values, and trees as texts for people to read."""

from __future__ import annotations

import base64
import struct
from datetime import date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from hudi_index.predicate.expression import Unknown
from hudi_index.predicate.values import types
from hudi_index.predicate.values.casts import Literal
from hudi_index.predicate.values.numbers import decimal_of
from hudi_index.predicate.values.types import parse_type

if TYPE_CHECKING:
    from hudi_index.predicate.catalyst.meaning import Node
    from hudi_index.predicate.values.types import SqlType

__all__ = ["constant_of", "literal_of", "text_of"]

_SHOWN = 200


def constant_of(node: Any) -> Literal | None:
    """The constant that a parameter is, None if it is none."""
    if not isinstance(node, dict) or "literal" not in node:
        return None
    found = literal_of(node)
    return found if isinstance(found, Literal) and found.value is not None else None


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def literal_of(node: Node) -> Literal | Unknown:
    """The constant that a node is."""
    sql_type, value = parse_type(node["type"]), node["literal"]
    if value is None:
        return Literal(None, sql_type)
    try:
        return Literal(_value(value, sql_type), sql_type)
    except (OverflowError, ValueError):
        return Unknown(f"{value} of type {sql_type}", "such a value is not known here")


def _value(value: Any, sql_type: SqlType) -> Any:
    if sql_type.is_integral or sql_type in (types.BOOLEAN, types.STRING):
        return value
    if sql_type.is_decimal:
        return decimal_of(int(value), sql_type.scale)
    if sql_type == types.FLOAT:
        return struct.unpack(">f", struct.pack(">i", value))[0]
    if sql_type == types.DOUBLE:
        return struct.unpack(">d", struct.pack(">q", value))[0]
    if sql_type == types.BINARY:
        return base64.b64decode(value)
    if sql_type == types.DATE:
        return _EPOCH.date() + timedelta(days=value)
    if sql_type in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
        found = _EPOCH + timedelta(microseconds=value)
        return found if sql_type == types.TIMESTAMP else found.replace(tzinfo=None)
    if sql_type.element is not None:
        return tuple(None if each is None else _value(each, sql_type.element) for each in value)
    raise ValueError(f"values of type {sql_type} have no order here")


def text_of(node: Any) -> str:
    """A tree for people to read, cut where it is long."""
    text = _text(node, 8)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _text(node: Any, depth: int) -> str:
    if isinstance(node, list):
        return f"[{', '.join(_text(each, depth - 1) for each in node[:10])}{', …' if len(node) > 10 else ''}]"
    if not isinstance(node, dict):
        return str(node)
    if "column" in node:
        return ".".join(node["column"])
    if "literal" in node:
        found = literal_of(node)
        value = found.value if isinstance(found, Literal) else node["literal"]
        return str(value) if isinstance(value, (date, datetime)) else repr(value)
    if "class" not in node:
        return str(next(iter(node.values()), ""))
    if not depth:
        return "…"
    return f"{node['class']}({', '.join(_text(each, depth - 1) for each in node['args'][:10])})"
