"""A Bloom filter per file group and column.

    key        <column>$<partition path>$<file id>
    payload    BloomFilterMetadata: how the filter was made, its bytes
    shard      the column
    answers    =, IN, <=> and IS NULL

Members are encoded values, null among them, by the 64 bit XXH3 digest of their UTF-8 bytes: equal rows give
equal bytes, whatever the machine and the order. The filter is sized by the exact number of distinct values.
A filter that was made in another way than `TYPE` says refutes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types
from rbloom import Bloom
from xxhash import xxh3_64_intdigest as digest_of

from hudi_index.entries.schema import payload_fields
from hudi_index.kind_parts.columns import ColumnQuestion, column_entries, column_range
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.ranges import find_domain
from hudi_index.kind_parts.values import key_parts, values_of
from hudi_index.kind_specs import built_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.coverage.covered import Candidates, Mask
    from hudi_index.kind_parts.protocol import Question, SliceContext, TableFacts
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["BloomFilters"]

TYPE = "RBLOOM_1_XXH3_64"
"""Names the layout of the bytes and the digest. Another layout gets another name."""

_HEADER_BYTES = 8
"""The number of hash functions, before the bits."""


@dataclass(frozen=True)
class BloomFilters(IndexKind):
    """Which file groups hold none of some values."""

    spec: ClassVar[KindSpec] = built_in("bloom_filters")
    false_positive_rate: float = 0.01

    @classmethod
    def of(cls, definition: IndexDefinition, sources: tuple[Source, ...], _: TableFacts, /) -> BloomFilters:
        """With its rate of false positives."""
        return cls(definition.partition, sources, float(definition.option("false_positive_rate")))

    def builder(self, context: SliceContext) -> BloomFiltersBuilder:
        """Describes one slice."""
        return BloomFiltersBuilder(self, context)

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """All filters of the column; None for anything but a list of values."""
        asked = find_domain(self.sources, constraint)
        if asked is None or not asked[1].has_only_points:
            return None
        source, domain = asked
        return _FilterQuestion(
            candidates,
            column_range(source),
            self.payloads,
            tests=len(domain.members) * len(candidates),
            source=source,
            members=tuple(member.encode() for member in domain.members),
        )


@dataclass(frozen=True)
class _FilterQuestion(ColumnQuestion):
    members: tuple[bytes, ...] = ()

    def says_no(self, entries: pa.Table, rows: Any) -> Mask:
        """Whether a filter holds none of the values."""
        payload = payload_fields(entries, self.payloads[0])
        filters = zip(rows.tolist(), payload["type"].to_pylist(), payload["bloomFilter"], strict=True)
        return np.array([self._excludes(*each) for each in filters], np.bool_)

    def _excludes(self, row: int, made_by: str | None, data: Any) -> bool:
        if row < 0 or not self.candidates.left[row]:
            return False
        found = _load(made_by, data.as_py())
        return found is not None and not any(member in found for member in self.members)


class BloomFiltersBuilder:
    """Keeps the distinct values of the rows so far."""

    def __init__(self, kind: BloomFilters, context: SliceContext) -> None:
        self._kind, self._context = kind, context
        self._found: dict[Source, list[pa.Array[Any]]] = {source: [] for source in kind.sources}

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last."""
        for source, found in self._found.items():
            # Encoding what is there twice would only cost.
            parts = key_parts(pc.unique(values_of(batch, source.column)), source.name)
            # Other values have other parts, but for zeros and NaNs.
            found.append(pc.unique(parts) if types.is_floating(source.data_type) else parts)
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """One entry per column."""
        payloads = [{"type": TYPE, "bloomFilter": self._filter(found)} for found in self._found.values()]
        yield column_entries(self._kind, self._context, self._found, payloads)

    def _filter(self, found: list[pa.Array[Any]]) -> bytes:
        members = found[0] if len(found) == 1 else pc.unique(pa.chunked_array(found, pa.string()))
        bloom = Bloom(max(len(members), 1), self._kind.false_positive_rate, digest_of)
        bloom.update(members.cast(pa.binary()).to_pylist())
        return bloom.save_bytes()


def _load(made_by: str | None, data: bytes | None) -> Bloom | None:
    # rbloom panics on a filter without bits.
    if made_by != TYPE or data is None or len(data) <= _HEADER_BYTES:
        return None
    return Bloom.load_bytes(data, digest_of)
