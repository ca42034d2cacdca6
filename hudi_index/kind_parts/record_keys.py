"""Record keys: which of them a constraint speaks of, and which of several rows with one key counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from hudi_index.entries.schema import KEY
from hudi_index.entries.sorted import first_of_each
from hudi_index.entries.words import are_surely_distinct
from hudi_index.kind_parts.ranges import part_domain
from hudi_index.predicate.values.condition import Term
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table.record_keys import RECORD_KEY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.kind_parts.ranges import PartDomain
    from hudi_index.kind_parts.source import Source
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["preferred_of_each", "record_keys_of", "spelled_field"]


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
