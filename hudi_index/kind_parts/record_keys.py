"""Record keys: as parts of entry keys, which a constraint speaks of, which of several rows with one wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hudi_index.entries.encoding import encode_array, key_type
from hudi_index.entries.keys import join_keys, partition_part
from hudi_index.entries.schema import KEY
from hudi_index.entries.sorted import first_of_each
from hudi_index.entries.words import are_surely_distinct
from hudi_index.kind_parts.ranges import part_domain
from hudi_index.kind_parts.values import as_array, key_parts, values_of
from hudi_index.predicate.values.condition import Term
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table.record_keys import RECORD_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_index.kind_parts.ranges import PartDomain
    from hudi_index.kind_parts.source import Source
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["encode_ordering", "preferred_of_each", "record_key_parts", "record_keys_of", "spelled_field"]

_NEGATIVE_ZERO = pa.scalar(f"{(1 << 63) - 1:016x}")


def record_key_parts(
    record_keys: pa.Array[Any], partition_paths: pa.Array[Any] | None = None
) -> pa.Array[Any]:
    """What the entries of a record index are known by: their keys without the number of the file group.

    Args:
        record_keys: As Hudi spells them.
        partition_paths: Of the same rows, if the index is partitioned.

    Raises:
        UnencodableValueError: for a record key that no entry can hold.
        ValueError: a record key or a partition path is null.
    """
    for name, values in (("record key", record_keys), ("partition path", partition_paths)):
        if values is not None and values.null_count:
            raise ValueError(f"{values.null_count} of {len(values)} rows have no {name}")
    parts = key_parts(record_keys, RECORD_KEY)
    if partition_paths is None:
        return parts
    # Few paths for many rows.
    paths: Any = partition_paths.dictionary_encode()
    known = pa.array([partition_part(path) for path in paths.dictionary.to_pylist()], pa.string())
    return join_keys([as_array(known.take(paths.indices)), parts])


def encode_ordering(
    batch: pa.RecordBatch, fields: Sequence[str], types_of: Mapping[str, pa.DataType] | None = None
) -> pa.Array[Any]:
    """The ordering values of rows as a record index holds them: their order is that of the values.

    Args:
        batch: The rows.
        fields: Ordering fields, the first one first; without any all values are null.
        types_of: The types that the table has them in, if rows may have others: an int and a long are one
            number, and two texts.

    Raises:
        UnknownColumnError: the batch has no such column.
        UnencodableValueError: for a value that no entry can hold.
    """
    if not fields:
        return pa.nulls(batch.num_rows, pa.string())
    parts: list[pa.Array[Any] | str] = []
    for name in fields:
        values: Any = values_of(batch, name)
        # Not to the type itself: a long that widens the table's column need not fit an int.
        if types_of and key_type(values.type, name) != key_type(types_of[name], name):
            values = values.cast(types_of[name])
        parts.append(_with_negative_zeros(encode_array(values, name), values))
    return join_keys(parts)


def _with_negative_zeros(encoded: pa.Array[Any], values: pa.Array[Any]) -> pa.Array[Any]:
    """With -0.0 below 0.0, as Hudi orders records (Java's `Double.compareTo`), unlike Spark's filters."""
    if not types.is_floating(values.type):
        return encoded
    numbers = np.asarray(values.to_numpy(zero_copy_only=False))
    is_negative_zero = (numbers == 0) & np.signbit(numbers)
    return (
        pc.if_else(pa.array(is_negative_zero), _NEGATIVE_ZERO, encoded) if is_negative_zero.any() else encoded
    )


def spelled_field(field: Source | None) -> Source | None:
    """The record key's field, if it is certain how the key generator spells its values."""
    if field is None:
        return None
    is_certain = types.is_string(field.data_type) or types.is_integer(field.data_type)
    return field if is_certain else None


def record_keys_of(constraint: Constraint, key_field: Source | None) -> PartDomain | None:
    """The record keys of the rows that meet a constraint; None if it doesn't tell.

    Args:
        constraint: On the record key, or on the field that it is the text of.
        key_field: That field, as `spelled_field` gives it.
    """
    domain = constraint.domain
    if domain is None:
        return None
    if constraint.term == Term(RECORD_KEY):
        return part_domain(domain, pa.string())
    # A field that is null, if a table lets it be, has a record key that is not.
    if key_field is None or constraint.term != key_field.term or domain.has_null:
        return None
    return part_domain(domain, pa.string()) if types.is_string(key_field.data_type) else _as_texts(domain)


def _as_texts(domain: Domain) -> PartDomain | None:
    """Integers as record keys spell them; None for ranges, since texts of numbers sort in another order."""
    values = [each.low.value for each in domain.ranges]
    if not all(each.is_point for each in domain.ranges) or not all(type(value) is int for value in values):
        return None
    return part_domain(Domain.of(Range.equal(str(value)) for value in values), pa.string())


def preferred_of_each(rows: pa.Table, preference: Sequence[str]) -> pa.Table:
    """Of each key the row with the largest value of the first column preferred, of those of the next."""
    if are_surely_distinct(rows.column(KEY)):
        return rows
    # Nulls come last in either direction.
    return first_of_each(rows.sort_by([(KEY, "ascending"), *((name, "descending") for name in preference)]))
