"""Arrow's compute expressions as trees: fields, typed constants, calls with their options.

An expression says in Python only what it prints, and a text is no border for values. What it is pickled as is
whole: an IPC file whose one row holds every constant and every call's options in its own type, and whose
schema's metadata lists the nodes in order (`call`, `field_ref`, `nested_field_ref`, `literal`, `options`,
`end`). Substrait would be the standard way, but has no words for safe casts, dictionaries or LIKE, and
refuses the whole expression for one of them.

The list has the same key many times, which Python's dictionary of metadata can't hold, so it is read through
Arrow's C data interface. Anything that is not as expected is None, and then nothing is known of the filter.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.compute as pc

__all__ = ["ArrowCall", "ArrowField", "ArrowLiteral", "ArrowNode", "fields_of", "read_expression"]


@dataclass(frozen=True)
class ArrowField:
    """A column, or a field inside of one."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class ArrowLiteral:
    """A constant."""

    scalar: pa.Scalar[Any]


@dataclass(frozen=True)
class ArrowCall:
    """A function of `pyarrow.compute`."""

    name: str
    arguments: tuple[ArrowNode, ...]
    options: Any = None
    """A struct scalar with one field per option, None where the function has none."""


ArrowNode: TypeAlias = ArrowField | ArrowLiteral | ArrowCall


def read_expression(expression: pc.Expression) -> ArrowNode | None:
    """The tree of an expression; None if it can't be told."""
    try:
        reduced: Any = expression.__reduce__()
        pickled = reduced[1][0]
        with pa.ipc.open_file(pickled) as file:
            return _build(_metadata_of(file.schema), file.get_batch(0))
    # A field by its number, a constant that is an array, another layout: nothing is known of it then.
    except (pa.ArrowException, ValueError, LookupError, TypeError):
        return None


def fields_of(node: ArrowNode) -> Iterator[ArrowField]:
    """The columns that an expression reads."""
    pending = [node]
    while pending:
        each = pending.pop()
        if isinstance(each, ArrowField):
            yield each
        elif isinstance(each, ArrowCall):
            pending.extend(each.arguments)


@dataclass
class _Open:
    """A call whose arguments are still coming."""

    name: str
    arguments: list[ArrowNode]
    options: Any = None


def _build(steps: list[tuple[str, str]], constants: pa.RecordBatch) -> ArrowNode:
    # No recursion: a long chain of OR is deep.
    bottom = _Open("", [])
    calls, rest = [bottom], iter(steps)
    for step, value in rest:
        if step == "call":
            calls.append(_Open(value, []))
        elif step == "literal":
            calls[-1].arguments.append(ArrowLiteral(constants.column(int(value))[0]))
        elif step == "options":
            calls[-1].options = constants.column(int(value))[0]
        elif step == "field_ref":
            calls[-1].arguments.append(ArrowField((value,)))
        elif step == "nested_field_ref":
            parts = [next(rest, ("", "")) for _ in range(int(value))]
            if any(kind != "field_ref" for kind, _ in parts):
                raise ValueError(step)
            calls[-1].arguments.append(ArrowField(tuple(name for _, name in parts)))
        elif step == "end" and calls[-1] is not bottom and calls[-1].name == value:
            done = calls.pop()
            calls[-1].arguments.append(ArrowCall(done.name, tuple(done.arguments), done.options))
        else:
            raise ValueError(step)
    (root,) = bottom.arguments
    if calls != [bottom]:
        raise ValueError(calls[-1].name)
    return root


class _Schema(ctypes.Structure):
    """The beginning of `struct ArrowSchema`."""

    _fields_ = (("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p))


def _metadata_of(schema: pa.Schema) -> list[tuple[str, str]]:
    """Keys and values in order: a count, then lengths and bytes, as the C data interface lays them out."""
    capsule = schema.__arrow_c_schema__()
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    place = _Schema.from_address(pointer_of(capsule, b"arrow_schema")).metadata
    if place is None:
        raise ValueError("no metadata")
    texts: list[str] = []
    count, place = ctypes.c_int32.from_address(place).value, place + 4
    for _ in range(2 * count):
        length, place = ctypes.c_int32.from_address(place).value, place + 4
        texts.append(ctypes.string_at(place, length).decode())
        place += length
    return list(zip(texts[::2], texts[1::2], strict=True))
