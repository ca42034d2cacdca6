"""Which file groups hold a record key.

    key        <record key>$<number of the file group>
               <partition path>$<record key>$<number of the file group>      option partitioned
    payload    recordIndexMetadata: encoded ordering value (of several fields joined by `$`) and
               commit time of the row
    shard      what comes before the number
    answers    =, IN and ranges on `_hoodie_record_key`; on the record key field as well if the record key is
               its text, ranges only if it is a text itself

The record key of several fields is one text, `a:1,b:2`: constraints on a single field of it are not answered.
A record key that stands in several file groups has an entry for each; one that stands several times in a
slice has one entry there, with the largest ordering value. Long record keys are shortened as `_parts` says.

A partitioned index answers nothing until `within` says in which partitions to look.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hudi_index.entries.encoding import encode_array
from hudi_index.entries.keys import SEPARATOR, join_keys, partition_part
from hudi_index.entries.schema import KEY, PAYLOADS, PayloadType
from hudi_index.entries.words import are_surely_distinct
from hudi_index.kinds._numbers import without_entry
from hudi_index.kinds._parts import Source, entry_table, key_parts, values_of
from hudi_index.kinds._ranges import part_domain
from hudi_index.kinds.protocol import Lookup
from hudi_index.predicate.values.condition import Term
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table.record_keys import RECORD_KEY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hudi_index.kinds._ranges import PartDomain
    from hudi_index.kinds.protocol import CoveredGroup, SliceContext
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.slices import FileGroupId

__all__ = ["COMMIT_TIME", "RecordIndex"]

PAYLOAD = "recordIndexMetadata"
COMMIT_TIME = "_hoodie_commit_time"

_NUMBER_PARTS = 1
_ORDERING, _INSTANT = "orderingValue", "instantTime"
PREFERENCE = (PAYLOAD, (_ORDERING, _INSTANT))
"""Of entries that share a key the one with the largest of these fields counts."""
_ROWS = pa.schema({KEY: pa.string(), _ORDERING: pa.string(), _INSTANT: pa.string()})


@dataclass(frozen=True)
class RecordIndex:
    """Which file groups hold none of some record keys."""

    partition: str
    ordering_fields: tuple[str, ...] = ()
    key_field: Source | None = None
    """The field whose text is the record key; None if there is no such field."""
    is_partitioned: bool = False
    within_paths: tuple[str, ...] | None = None
    """The partition paths to look in, for a partitioned index."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Ordering fields, and the commit time, which batches may lack."""
        return (*self.ordering_fields, COMMIT_TIME)

    @staticmethod
    def may_answer(data_type: pa.DataType) -> bool:
        """Whether constraints on a record key field of this type can be answered: its text is certain."""
        return types.is_string(data_type) or types.is_integer(data_type)

    def within(self, partition_paths: Collection[str]) -> RecordIndex:
        """A copy that looks into these partitions only, and refutes only file groups there."""
        return replace(self, within_paths=tuple(sorted(set(partition_paths))))

    @property
    def payloads(self) -> tuple[str, ...]:
        """Ordering value and commit time."""
        return (PAYLOAD,)

    @property
    def is_divisible(self) -> bool:
        """Every row has an entry of its own."""
        return True

    def owner_suffix(self, context: SliceContext) -> str:
        """The number of the file group."""
        return f"{SEPARATOR}{context.number}"

    def builder(self, context: SliceContext) -> RecordIndexBuilder:
        """Describes one slice."""
        return RecordIndexBuilder(self, context)

    @property
    def key_tail(self) -> int:
        """The owner: the entries of a record key, in a partitioned index with its partition, sit together."""
        return _NUMBER_PARTS

    def lookup(self, constraint: Constraint) -> Lookup | None:
        """The entries of the wanted record keys."""
        domain = self._asked(constraint)
        if domain is None or (self.is_partitioned and self.within_paths is None):
            return None
        prefixes = [""]
        if self.is_partitioned:
            prefixes = [partition_part(path) + SEPARATOR for path in self.within_paths or ()]
        return Lookup([wanted for prefix in prefixes for wanted in domain.keys(prefix)])

    def prune(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups that hold none of the record keys."""
        if self.lookup(constraint) is None:
            return frozenset()
        if self.is_partitioned:
            inside = frozenset(self.within_paths or ())
            covered = [each for each in covered if each.group.partition_path in inside]
        return without_entry(entries.column(KEY), covered)

    def _asked(self, constraint: Constraint) -> PartDomain | None:
        domain = constraint.domain
        if domain is None:
            return None
        if constraint.term == Term(RECORD_KEY):
            return part_domain(domain, pa.string())
        # A field that is null, if a table lets it be, has a record key that is not.
        if self.key_field is None or constraint.term != self.key_field.term or domain.has_null:
            return None
        if types.is_string(self.key_field.data_type):
            return part_domain(domain, pa.string())
        return _as_texts(domain)


class RecordIndexBuilder:
    """Keeps the record keys of the rows so far."""

    def __init__(self, kind: RecordIndex, context: SliceContext) -> None:
        self._kind, self._context = kind, context
        self._found = [_ROWS.empty_table()]

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last."""
        record_keys = key_parts(batch.column(RECORD_KEY), RECORD_KEY)
        parts: list[pa.Array[Any] | str] = [record_keys, str(self._context.number)]
        if self._kind.is_partitioned:
            parts.insert(0, partition_part(self._context.group.partition_path))
        ordering: pa.Array[Any] = pa.nulls(len(record_keys), pa.string())
        if self._kind.ordering_fields:
            ordering = join_keys(
                [encode_array(values_of(batch, name), name) for name in self._kind.ordering_fields]
            )
        instants: pa.Array[Any] = pa.nulls(len(record_keys), pa.string())
        if COMMIT_TIME in batch.schema.names:
            instants = batch.column(COMMIT_TIME).cast(pa.string())
        self._found.append(pa.table({KEY: join_keys(parts), _ORDERING: ordering, _INSTANT: instants}))
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """One entry per record key."""
        rows = _one_of_each(pa.concat_tables(self._found))
        for batch in rows.to_batches() or [pa.RecordBatch.from_pylist([], _ROWS)]:
            fields = [batch.column(name) for name in (_ORDERING, _INSTANT)]
            payload = pa.StructArray.from_arrays(fields, fields=list(PAYLOADS[PAYLOAD]))
            yield entry_table(
                batch.column(KEY), PayloadType.RECORD_INDEX, (PAYLOAD, payload, PAYLOADS[PAYLOAD])
            )


def _one_of_each(rows: pa.Table) -> pa.Table:
    """Of each key the row with the largest ordering value, of those the one with the largest commit time."""
    if are_surely_distinct(rows.column(KEY)):
        return rows
    # Nulls come last in either direction.
    ordered = rows.sort_by([(KEY, "ascending"), (_ORDERING, "descending"), (_INSTANT, "descending")])
    keys = ordered.column(KEY).combine_chunks()
    is_first = np.ones(len(keys), dtype=np.bool_)
    is_first[1:] = pc.not_equal(keys.slice(1), keys.slice(0, len(keys) - 1)).to_numpy(zero_copy_only=False)
    return ordered.filter(pa.array(is_first))


def _as_texts(domain: Domain) -> PartDomain | None:
    """Integers as record keys spell them; None for ranges, since texts of numbers sort in another order."""
    values = [each.low.value for each in domain.ranges]
    if not all(each.is_point for each in domain.ranges) or not all(type(value) is int for value in values):
        return None
    return part_domain(Domain.of(Range.equal(str(value)) for value in values), pa.string())
