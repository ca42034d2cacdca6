"""Which file groups hold a value of any column (RFC-77), with the record keys that have it.

    key        <value>[$<value of the next column>…]$<record key>$<number of the file group>
    payload    none: the key says it all
    shard      all values, so one secondary key is in one shard
    answers    every domain on the first column; with `lookup_all`, values of several leading columns at once

RFC-77 goes from the secondary key over the record key to the location. Here the location stands in the key:
one look-up. Null is a value. A row that stands twice in a slice, by values and record key, has one entry.
Long values and record keys are shortened as `_parts` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.keys import SEPARATOR, join_keys
from hudi_index.entries.schema import KEY, PayloadType
from hudi_index.entries.words import are_surely_distinct
from hudi_index.kinds._numbers import without_entry
from hudi_index.kinds._parts import as_array, entry_table, key_parts, values_of
from hudi_index.kinds._ranges import part_domain
from hudi_index.kinds.protocol import Lookup
from hudi_index.table.record_keys import RECORD_KEY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hudi_index.kinds._parts import Source
    from hudi_index.kinds._ranges import PartDomain
    from hudi_index.kinds.protocol import CoveredGroup, SliceContext
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.slices import FileGroupId

__all__ = ["SecondaryIndex", "record_keys_of"]

_RECORD_PARTS = 2
"""Record key and number."""

_MOST_COMBINATIONS = 10_000


@dataclass(frozen=True)
class SecondaryIndex:
    """Which file groups hold none of some values."""

    partition: str
    sources: tuple[Source, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the secondary key, in order."""
        return tuple(source.column for source in self.sources)

    @property
    def payloads(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def is_divisible(self) -> bool:
        """Every row has an entry of its own."""
        return True

    def owner_suffix(self, context: SliceContext) -> str:
        """The number of the file group."""
        return f"{SEPARATOR}{context.number}"

    def builder(self, context: SliceContext) -> SecondaryIndexBuilder:
        """Describes one slice."""
        return SecondaryIndexBuilder(self, context)

    @property
    def key_tail(self) -> int:
        """Record key and owner: the entries of a secondary key sit together."""
        return _RECORD_PARTS

    def lookup(self, constraint: Constraint) -> Lookup | None:
        """The entries of the wanted values of the first column."""
        return self.lookup_all([constraint])

    def prune(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups that hold none of the values."""
        return self.prune_all([constraint], entries, covered)

    def lookup_all(self, constraints: Sequence[Constraint]) -> Lookup | None:
        """The entries of rows that meet several constraints, as far as the order of columns lets it.

        Constraints on leading columns are used up to the first that is more than a list of values, that one
        included. None if there is none on the first column.
        """
        domains = self._leading(constraints)
        if not domains:
            return None
        *before, last = domains
        prefixes = [
            "".join(part + SEPARATOR for part in parts)
            for parts in product(*(each.members for each in before))
        ]
        names_shard = len(domains) == len(self.sources)
        return Lookup([each for prefix in prefixes for each in last.keys(prefix, names_shard=names_shard)])

    def prune_all(
        self, constraints: Sequence[Constraint], entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups without a row that meets all, by the entries `lookup_all` asked for."""
        if not self._leading(constraints):
            return frozenset()
        return without_entry(entries.column(KEY), covered)

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

    def __init__(self, kind: SecondaryIndex, context: SliceContext) -> None:
        self._kind, self._context = kind, context
        self._found: list[pa.Array[Any]] = []
        self._record_keys: list[pa.Array[Any]] = []

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last, since any row may come again."""
        values = [key_parts(values_of(batch, source.column), source.name) for source in self._kind.sources]
        record_keys = key_parts(batch.column(RECORD_KEY), RECORD_KEY)
        self._found.append(join_keys([*values, record_keys, str(self._context.number)]))
        self._record_keys.append(record_keys)
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """One entry per value and record key."""
        keys = pa.chunked_array(self._found, pa.string())
        if are_surely_distinct(pa.chunked_array(self._record_keys, pa.string())):
            yield entry_table(keys, PayloadType.SECONDARY_INDEX)
        else:
            yield entry_table(as_array(pc.unique(keys)), PayloadType.SECONDARY_INDEX)


def record_keys_of(entries: pa.Table) -> dict[str, frozenset[str]]:
    """The other direction: by record key its secondary keys, all as key parts, of one owner's entries."""
    found: dict[str, set[str]] = {}
    keys: list[Any] = entries.column(KEY).to_pylist()
    for key in keys:
        secondary_key, record_key, _ = key.rsplit(SEPARATOR, _RECORD_PARTS)
        found.setdefault(record_key, set()).add(secondary_key)
    return {record_key: frozenset(each) for record_key, each in found.items()}
