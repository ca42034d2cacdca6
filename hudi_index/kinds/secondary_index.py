"""Which file groups hold a value of any column (RFC-77), with the record keys that have it.

    key        <value>[$<value of the next column>…]$<record key>$<number of the file group>
    payload    none: the key says it all
    shard      all values, so one secondary key is in one shard
    answers    every domain on the first column; values of several leading columns at once

RFC-77 goes from the secondary key over the record key to the location. Here the location stands in the key:
one look-up. Null is a value. A row that stands twice in a slice, by values and record key, has one entry.
Long values and record keys are shortened as `kind_parts.values` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.keys import SEPARATOR, join_keys
from hudi_index.entries.words import are_surely_distinct
from hudi_index.kind_parts.numbers import NumberedQuestion
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.ranges import part_domain
from hudi_index.kind_parts.values import as_array, entry_table, key_parts, values_of
from hudi_index.kind_specs import built_in
from hudi_index.table.record_keys import RECORD_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_index.coverage.covered import Candidates
    from hudi_index.kind_parts.protocol import Question, RowOwners, SliceContext
    from hudi_index.kind_parts.ranges import PartDomain
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["SecondaryIndex"]

_MOST_COMBINATIONS = 10_000


@dataclass(frozen=True)
class SecondaryIndex(IndexKind):
    """Which file groups hold none of some values."""

    spec: ClassVar[KindSpec] = built_in("secondary_index")

    @property
    def key_tail(self) -> int:
        """Record key and owner: the entries of a secondary key sit together."""
        return 2

    def builder(self, context: SliceContext) -> SecondaryIndexBuilder:
        """Describes one slice."""
        return SecondaryIndexBuilder(self, context)

    def builder_of_rows(self, owners: RowOwners) -> SecondaryIndexBuilder:
        """Describes rows of several."""
        return SecondaryIndexBuilder(self, owners)

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """The entries of the values of the first column."""
        return self._question(self._leading([constraint]), candidates)

    def ask_together(
        self, constraints: Sequence[Constraint], candidates: Candidates
    ) -> tuple[Question, Sequence[Constraint]] | None:
        """The entries of the values of several leading columns."""
        terms = [source.term for source in self.sources]
        fitting = [each for each in constraints if each.term in terms]
        question = self._question(self._leading(fitting), candidates) if len(fitting) > 1 else None
        return None if question is None else (question, fitting)

    def _question(self, domains: Sequence[PartDomain], candidates: Candidates) -> Question | None:
        if not domains:
            return None
        *before, last = domains
        prefixes = [
            "".join(part + SEPARATOR for part in parts)
            for parts in product(*(each.members for each in before))
        ]
        names_shard = len(domains) == len(self.sources)
        ranges = [each for prefix in prefixes for each in last.keys(prefix, names_shard=names_shard)]
        return NumberedQuestion(candidates, ranges)

    def _leading(self, constraints: Sequence[Constraint]) -> list[PartDomain]:
        wanted = {constraint.term: constraint.domain for constraint in constraints}
        found: list[PartDomain] = []
        for source in self.sources:
            domain = wanted.get(source.term)
            parts = None if domain is None else part_domain(domain, source.data_type)
            if parts is None or prod(len(each.members) for each in found) > _MOST_COMBINATIONS:
                break
            found.append(parts)
            if not parts.has_only_points:
                break
        return found


class SecondaryIndexBuilder:
    """Keeps the keys of the rows so far."""

    def __init__(self, kind: SecondaryIndex, whose: SliceContext | RowOwners) -> None:
        self._kind, self._whose = kind, whose
        self._found: list[pa.Array[Any]] = []
        self._record_keys: list[pa.Array[Any]] = []

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last, since any row may come again."""
        values = [key_parts(values_of(batch, source.column), source.name) for source in self._kind.sources]
        record_keys = key_parts(batch.column(RECORD_KEY), RECORD_KEY)
        self._found.append(join_keys([*values, record_keys, self._kind.owners_of(self._whose)]))
        self._record_keys.append(record_keys)
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """One entry per value and record key."""
        keys = pa.chunked_array(self._found, pa.string())
        if are_surely_distinct(pa.chunked_array(self._record_keys, pa.string())):
            yield entry_table(keys, self._kind.spec)
        else:
            yield entry_table(as_array(pc.unique(keys)), self._kind.spec)
