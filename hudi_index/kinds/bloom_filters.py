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
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types
from rbloom import Bloom
from xxhash import xxh3_64_intdigest as digest_of

from hudi_index.entries.keys import OWNER_PARTS, SEPARATOR, owner_suffix
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, PAYLOADS, PayloadType, payload_fields
from hudi_index.kinds._parts import entry_table, key_parts, owners_of, values_of
from hudi_index.kinds._ranges import PartDomain, asked_of
from hudi_index.kinds.protocol import Lookup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hudi_index.kinds._parts import Source
    from hudi_index.kinds.protocol import CoveredGroup, SliceContext
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.slices import FileGroupId

__all__ = ["BloomFilters"]

PAYLOAD = "BloomFilterMetadata"
TYPE = "RBLOOM_1_XXH3_64"
"""Names the layout of the bytes and the digest. Another layout gets another name."""

_HEADER_BYTES = 8
"""The number of hash functions, before the bits."""


@dataclass(frozen=True)
class BloomFilters:
    """Which file groups hold none of some values."""

    partition: str
    sources: tuple[Source, ...]
    false_positive_rate: float = 0.01

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with a filter."""
        return tuple(source.column for source in self.sources)

    @property
    def payloads(self) -> tuple[str, ...]:
        """The filter."""
        return (PAYLOAD,)

    @property
    def is_divisible(self) -> bool:
        """An entry describes all rows."""
        return False

    def owner_suffix(self, context: SliceContext) -> str:
        """Partition path and file id."""
        return SEPARATOR + owner_suffix(context.group.partition_path, context.group.file_id)

    def builder(self, context: SliceContext) -> BloomFiltersBuilder:
        """Describes one slice."""
        return BloomFiltersBuilder(self, context)

    @property
    def key_tail(self) -> int:
        """The owner: the entries of a column sit together."""
        return OWNER_PARTS

    def lookup(self, constraint: Constraint) -> Lookup | None:
        """All filters of the column; None for anything but a list of values."""
        source, domain = self._asked(constraint)
        if source is None or domain is None:
            return None
        return Lookup([(source.part, KeyRange.prefix(source.part + SEPARATOR))], [PAYLOAD])

    def prune(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups whose filter holds none of the values."""
        source, domain = self._asked(constraint)
        if source is None or domain is None:
            return frozenset()
        owners, prefix = owners_of(covered), source.part + SEPARATOR
        payload = payload_fields(entries, PAYLOAD)
        filters = zip(payload["type"].to_pylist(), payload["bloomFilter"], strict=True)
        members = [member.encode() for member in domain.members]
        refuted: set[FileGroupId] = set()
        keys: list[Any] = entries.column(KEY).to_pylist()
        for key, (made_by, data) in zip(keys, filters, strict=True):
            group = owners.get(key[len(prefix) :]) if key.startswith(prefix) else None
            found = _loaded(made_by, data.as_py()) if group else None
            if group and found is not None and not any(member in found for member in members):
                refuted.add(group)
        return frozenset(refuted)

    def _asked(self, constraint: Constraint) -> tuple[Source | None, PartDomain | None]:
        source, domain = asked_of(self.sources, constraint)
        return source, domain if domain and domain.has_only_points else None


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
        owner = owner_suffix(self._context.group.partition_path, self._context.group.file_id)
        keys = [f"{source.part}{SEPARATOR}{owner}" for source in self._found]
        payloads = [{"type": TYPE, "bloomFilter": self._filter(found)} for found in self._found.values()]
        yield entry_table(
            pa.array(keys, pa.string()), PayloadType.BLOOM_FILTERS, (PAYLOAD, payloads, PAYLOADS[PAYLOAD])
        )

    def _filter(self, found: list[pa.Array[Any]]) -> bytes:
        members = found[0] if len(found) == 1 else pc.unique(pa.chunked_array(found, pa.string()))
        bloom = Bloom(max(len(members), 1), self._kind.false_positive_rate, digest_of)
        bloom.update(members.cast(pa.binary()).to_pylist())
        return bloom.save_bytes()


def _loaded(made_by: str | None, data: bytes | None) -> Bloom | None:
    # rbloom panics on a filter without bits.
    if made_by != TYPE or data is None or len(data) <= _HEADER_BYTES:
        return None
    return Bloom.load_bytes(data, digest_of)
