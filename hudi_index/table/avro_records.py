"""Columns of Avro records, decoded for all records at once.

A log block tells where each of its records begins. So the first field of all of them is decoded by NumPy in
one go, then the second, and so on: field by field, whatever the number of records. Fields that nobody wants
are passed over. Primitive types only, and their unions with null.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

__all__ = ["AvroField", "UndecodableError", "decode_columns", "fields_of"]

_LONGEST_NUMBER, _NULLABLE = 10, 2
_MORE, _SEVEN_BITS = 0x80, 0x7F
_SIZES = {"boolean": 1, "float": 4, "double": 8}
_TYPES: dict[tuple[str, str | None], pa.DataType] = {
    ("boolean", None): pa.bool_(),
    ("int", None): pa.int32(),
    ("int", "date"): pa.date32(),
    ("long", None): pa.int64(),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("float", None): pa.float32(),
    ("double", None): pa.float64(),
    ("string", None): pa.string(),
    ("bytes", None): pa.binary(),
}


class UndecodableError(Exception):
    """These records are not of the few types that are decoded here, or not what their schema says."""


@dataclass(frozen=True, slots=True)
class AvroField:
    """One field of a record."""

    name: str
    primitive: str | None
    """None if it can't even be passed over."""
    data_type: pa.DataType | None
    """What its values are in Arrow; None if they are not decoded."""
    null_branch: int | None
    """Which of the two branches of its union is null; None if it can't be null."""
    size: int = 0
    """How many bytes each value has, if all have as many."""


def fields_of(schema: bytes) -> list[AvroField]:
    """The fields of a record's schema."""
    try:
        return [_field_of(str(each["name"]), each["type"]) for each in json.loads(schema)["fields"]]
    except (ValueError, LookupError, TypeError) as error:
        raise UndecodableError(f"no schema of a record: {error}") from error


def _field_of(name: str, said: Any) -> AvroField:
    null_branch = None
    if isinstance(said, list):
        # A value of a union begins with its branch, also where there is one only.
        if len(said) != _NULLABLE or said.count("null") != 1:
            return AvroField(name, None, None, None)
        null_branch = said.index("null")
        said = said[1 - null_branch]
    described = said if isinstance(said, dict) else {"type": said}
    primitive, logical = described.get("type"), described.get("logicalType")
    size = described.get("size")
    if primitive == "fixed" and isinstance(size, int):
        return AvroField(name, primitive, None, null_branch, size)
    if not isinstance(primitive, str) or (primitive, None) not in _TYPES:
        return AvroField(name, None, None, None)
    return AvroField(name, primitive, _TYPES.get((primitive, logical)), null_branch, _SIZES.get(primitive, 0))


def decode_columns(
    data: npt.NDArray[np.uint8],
    starts: Numbers,
    ends: Numbers,
    fields: Sequence[AvroField],
    wanted: Sequence[str],
) -> dict[str, pa.Array[Any]]:
    """The wanted columns of some records.

    Args:
        data: Bytes that hold them.
        starts: Where each record begins.
        ends: And ends.
        fields: As `fields_of` gives them.
        wanted: Names among those.

    Raises:
        UndecodableError: a wanted field that is not decoded here, or bytes that are no such records.
    """
    by_name = {field.name: field for field in fields}
    for name in wanted:
        if name not in by_name or by_name[name].data_type is None:
            raise UndecodableError(f"field {name}")
    # So that bytes which say nonsense are seen to, and not read beyond.
    reader = _Reader(np.concatenate([data, np.zeros(_LONGEST_NUMBER, np.uint8)]), len(data))
    found: dict[str, pa.Array[Any]] = {}
    positions, missing = starts.astype(np.int64), set(wanted)
    for field in fields:
        if not missing:
            break
        positions, column = reader.field(field, positions, is_wanted=field.name in missing)
        if column is not None:
            found[field.name] = column
            missing.discard(field.name)
    if np.any(positions > ends):
        raise UndecodableError("a record is shorter than its schema")
    return found


class _Reader:
    def __init__(self, data: npt.NDArray[np.uint8], size: int) -> None:
        self._data, self._size = data, size

    def field(
        self, field: AvroField, positions: Numbers, *, is_wanted: bool
    ) -> tuple[Numbers, pa.Array[Any] | None]:
        """Where the next field begins, and the values of this one if they are wanted."""
        if field.primitive is None:
            raise UndecodableError(f"field {field.name}")
        is_present = np.ones(len(positions), np.bool_)
        if field.null_branch is not None:
            branches, positions = self._numbers(positions)
            if np.any((branches != 0) & (branches != 1)):
                raise UndecodableError(f"field {field.name} has no such branch")
            is_present = branches != field.null_branch
        data_type = field.data_type if is_wanted else None
        if is_present.all():
            values, positions = self._values(field, positions, data_type)
        else:
            values, after = self._values(field, positions[is_present], data_type)
            positions = positions.copy()
            positions[is_present] = after
        if np.any(positions > self._size):
            raise UndecodableError(f"field {field.name} ends beyond its block")
        return positions, None if data_type is None else _spread(values, is_present)

    def _values(
        self, field: AvroField, positions: Numbers, data_type: pa.DataType | None
    ) -> tuple[pa.Array[Any] | None, Numbers]:
        """The values that are not null, if their type is given, and what comes after each."""
        if field.primitive in ("string", "bytes"):
            lengths, begins = self._numbers(positions)
            # Compared without a sum, which may be too large for a number.
            if np.any((lengths < 0) | (lengths > self._size - begins)):
                raise UndecodableError(f"field {field.name} ends beyond its block")
            texts = None if data_type is None else self._texts(begins, lengths, data_type)
            return texts, begins + lengths
        if field.primitive in ("int", "long"):
            numbers, after = self._numbers(positions)
            return None if data_type is None else _as_array(numbers, data_type, field), after
        size = field.size
        after = positions + size
        if data_type is None or np.any(after > self._size):
            return None, after
        values = self._data[positions[:, None] + np.arange(size)]
        if size == 1:
            return pa.array(values[:, 0] != 0), after
        return pa.array(values.view(f"<f{size}")[:, 0]), after

    def _numbers(self, positions: Numbers) -> tuple[Numbers, Numbers]:
        """Zigzag numbers of variable length, and what comes after each."""
        if np.any(positions >= self._size):
            raise UndecodableError("a record ends beyond its block")
        bytes_now = self._data[positions]
        found, after = (bytes_now & _SEVEN_BITS).astype(np.uint64), positions + 1
        left = np.flatnonzero(bytes_now >= _MORE)
        for place in range(1, _LONGEST_NUMBER):
            if not left.size:
                break
            # Where bytes run out, zeros end the number; what it was the check above says next.
            bytes_now = self._data[np.minimum(after[left], self._size)]
            found[left] |= (bytes_now & _SEVEN_BITS).astype(np.uint64) << np.uint64(7 * place)
            after[left] += 1
            left = left[bytes_now >= _MORE]
        if left.size:
            raise UndecodableError("a number has no end")
        one = np.uint64(1)
        numbers = (found >> one).view(np.int64) ^ -(found & one).view(np.int64)
        return numbers, after

    def _texts(self, begins: Numbers, lengths: Numbers, data_type: pa.DataType) -> pa.Array[Any]:
        if not begins.size:
            return pa.array([], data_type)
        # Texts and, between them, what else the records hold: the former are taken out.
        bounds = np.column_stack([begins, begins + lengths]).ravel()
        if np.any(np.diff(bounds) < 0) or self._size > np.iinfo(np.int32).max:
            raise UndecodableError("records that overlap, or of more than two gigabytes")
        held: list[Any] = [bounds.astype(np.int32), self._data]
        between: Any = pa.Array.from_buffers(data_type, len(bounds) - 1, [None, *map(pa.py_buffer, held)])
        found: pa.Array[Any] = between.take(pa.array(np.arange(0, len(bounds), 2)))
        try:
            found.validate(full=True)
        except pa.ArrowInvalid as error:
            raise UndecodableError(str(error)) from error
        return found


def _as_array(numbers: Numbers, data_type: pa.DataType, field: AvroField) -> pa.Array[Any]:
    if field.primitive == "long":
        return pa.array(numbers).view(data_type)
    narrow = numbers.astype(np.int32)
    if not np.array_equal(narrow, numbers):
        raise UndecodableError(f"field {field.name} has a number too large for an int")
    return pa.array(narrow).view(data_type)


def _spread(values: pa.Array[Any] | None, is_present: npt.NDArray[np.bool_]) -> pa.Array[Any]:
    """Values at their places among nulls."""
    if values is None:
        raise UndecodableError("a record ends beyond its block")
    if is_present.all():
        return values
    places: Any = pa.array(np.cumsum(is_present) - 1, mask=~is_present)
    spread: pa.Array[Any] = values.take(places)
    return spread
