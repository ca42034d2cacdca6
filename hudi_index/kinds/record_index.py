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
slice has one entry there, with the largest ordering value. Long record keys are shortened as
`kind_parts.values` says.

A partitioned index is asked in the partitions of the file groups that are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from hudi_index.entries.keys import SEPARATOR, join_keys, partition_part
from hudi_index.entries.schema import KEY, ORDERING_VALUE, PAYLOADS
from hudi_index.kind_parts.numbers import NumberedQuestion
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.record_keys import (
    encode_ordering,
    preferred_of_each,
    record_keys_of,
    spelled_field,
)
from hudi_index.kind_parts.values import entry_table, key_parts
from hudi_index.kind_specs import built_in
from hudi_index.table.record_keys import RECORD_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.coverage.covered import Candidates, Mask
    from hudi_index.kind_parts.protocol import Question, RowOwners, SliceContext, TableFacts
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["RecordIndex"]

_COMMIT_TIME = "_hoodie_commit_time"

_ORDERING, _INSTANT = ORDERING_VALUE, "instantTime"
_ROWS = pa.schema({KEY: pa.string(), _ORDERING: pa.string(), _INSTANT: pa.string()})


@dataclass(frozen=True)
class RecordIndex(IndexKind):
    """Which file groups hold none of some record keys."""

    spec: ClassVar[KindSpec] = built_in("record_index")
    ordering_fields: tuple[str, ...] = ()
    key_field: Source | None = None
    """The field whose text is the record key; None if there is no such field."""
    is_partitioned: bool = False

    @classmethod
    def of(cls, definition: IndexDefinition, _: tuple[Source, ...], facts: TableFacts, /) -> RecordIndex:
        """With the table's ordering fields and record key."""
        is_partitioned = definition.option("partitioned") == "true"
        key_field = spelled_field(facts.record_key)
        return cls(definition.partition, (), facts.ordering_fields, key_field, is_partitioned)

    @property
    def columns(self) -> tuple[str, ...]:
        """Ordering fields, and the commit time, which batches may lack."""
        return (*self.ordering_fields, _COMMIT_TIME)

    def builder(self, context: SliceContext) -> RecordIndexBuilder:
        """Describes one slice."""
        return RecordIndexBuilder(self, context)

    def builder_of_rows(self, owners: RowOwners) -> RecordIndexBuilder:
        """Describes rows of several."""
        return RecordIndexBuilder(self, owners)

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """The entries of the record keys, of a partitioned index in the partitions that are left."""
        domain = record_keys_of(constraint, self.key_field)
        if domain is None:
            return None
        prefixes = [""]
        if self.is_partitioned:
            partitions, positions = candidates.covered.partitions
            paths: list[Any] = partitions.to_pylist()
            prefixes = [paths[each] + SEPARATOR for each in np.unique(positions[candidates.left]).tolist()]
        return _RecordQuestion(
            candidates,
            [wanted for prefix in prefixes for wanted in domain.keys(prefix)],
            is_partitioned=self.is_partitioned,
        )


@dataclass(frozen=True)
class _RecordQuestion(NumberedQuestion):
    is_partitioned: bool = False

    def refute(self, entries: pa.Table) -> Mask:
        """The file groups that no key names, of the partitions that were looked into."""
        refuted = super().refute(entries)
        if self.is_partitioned:
            _, positions = self.candidates.covered.partitions
            refuted &= np.isin(positions, positions[self.candidates.left])
        return refuted


class RecordIndexBuilder:
    """Keeps the record keys of the rows so far."""

    def __init__(self, kind: RecordIndex, whose: SliceContext | RowOwners) -> None:
        self._kind, self._whose = kind, whose
        self._found = [_ROWS.empty_table()]

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last."""
        record_keys = key_parts(batch.column(RECORD_KEY), RECORD_KEY)
        parts: list[pa.Array[Any] | str] = [record_keys, self._kind.owners_of(self._whose)]
        if self._kind.is_partitioned:
            parts.insert(0, self._whose.text_for_rows(lambda each: partition_part(each.group.partition_path)))
        ordering = encode_ordering(batch, self._kind.ordering_fields)
        instants: pa.Array[Any] = pa.nulls(len(record_keys), pa.string())
        if _COMMIT_TIME in batch.schema.names:
            instants = batch.column(_COMMIT_TIME).cast(pa.string())
        self._found.append(pa.table({KEY: join_keys(parts), _ORDERING: ordering, _INSTANT: instants}))
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """One entry per record key."""
        spec = self._kind.spec
        fields = list(PAYLOADS[spec.payload or ""])
        rows = preferred_of_each(pa.concat_tables(self._found), spec.preference)
        for batch in rows.to_batches() or [pa.RecordBatch.from_pylist([], _ROWS)]:
            arrays = [batch.column(field.name) for field in fields]
            payload = pa.StructArray.from_arrays(arrays, fields=fields)
            yield entry_table(batch.column(KEY), spec, payload)
