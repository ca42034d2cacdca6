"""Which file groups many keys name, by the hundred thousand: what a writer asks of every row that comes in.

A `part` is all of a key but its last part, the number of a file group: `<part>$<number>`. Parts are sorted
once, and each row group that can hold some of them is asked for those alone: two binary searches for each,
no Python object per key. Of the row groups where some were found, and only of those, one field of the payload
is read. The newest row of a key in the logs wins over all others; a tombstone means that there is none.

What is found is exact: a key counts only if nothing but a number follows the part. Long values stand in
parts shortened, with a SHA-256 of all of them (`kind_parts.values`): two that differ have different parts,
so that a location is never reported for a key that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_index.entries.key_search import as_parts, ending, numbers_behind, search_between, take
from hudi_index.entries.keys import SEPARATOR, shards_of
from hudi_index.entries.schema import DELETED, KEY, PAYLOADS
from hudi_index.entries.sorted import newest_of_each, search_sorted
from hudi_index.entries.words import sort_order
from hudi_index.metadata_table.reader import CachedFiles, shared_cache
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_index.entries.key_search import Flags, Numbers
    from hudi_index.metadata_table.base_file import BaseFile
    from hudi_index.metadata_table.reader import ReaderCache
    from hudi_index.metadata_table.view import ShardSlice, View
    from hudi_index.storage import Storage

__all__ = ["BulkLookup", "Found", "LookupCounts"]

_ABOVE_NUMBERS = SEPARATOR + ":"
"""No number behind a part is above it: `:` follows `9`."""
_NEXT = "\0"
"""Behind a text it is the next one: no key holds it."""
_VALUE = "value"


@dataclass
class LookupCounts:
    """The work of look-ups."""

    keys: int = 0
    """Parts that were looked up."""
    shards: int = 0
    """Shards that were asked."""
    row_groups: int = 0
    """Row groups whose keys were decoded."""
    payloads: int = 0
    """Row groups of whose payload a field was decoded."""
    cache_hits: int = 0
    """Columns of row groups that were there already, of keys or of payloads."""
    seconds: float = 0.0

    def add(self, other: LookupCounts) -> None:
        """Count what another look-up did as well."""
        self.keys += other.keys
        self.shards += other.shards
        self.row_groups += other.row_groups
        self.payloads += other.payloads
        self.cache_hits += other.cache_hits
        self.seconds += other.seconds


@dataclass(frozen=True)
class Found:
    """The entries that a look-up found, in no particular order: three columns of equal length."""

    positions: Numbers
    """Which of the parts that were asked for."""
    numbers: Numbers
    """Of the file group."""
    values: pa.Array[Any]
    """Of the field, text; null if none is wanted or the entry has none."""
    counts: LookupCounts

    def __len__(self) -> int:
        return len(self.positions)


class BulkLookup:
    """Looks up many keys at once in one view."""

    def __init__(self, storage: Storage, view: View, cache: ReaderCache | None = None) -> None:
        """With the files of a view.

        Args:
            storage: Of the index metadata table.
            view: Of the same; `View.only` of a partition travels lightly.
            cache: What was decoded stays there for the next look-up, of a later view too. By default the one
                of the whole process.
        """
        self.view = view
        self._files = CachedFiles(storage, cache or shared_cache())

    def find(
        self,
        partition: str,
        parts: pa.Array[Any] | pa.ChunkedArray[Any],
        *,
        payload: str | None = None,
        field: str | None = None,
    ) -> Found:
        """All entries whose key is `<part>$<number>`.

        Args:
            partition: The partition to read; one that does not exist has no entries. The shard of its keys
                must be decided by all but their last part.
            parts: Encoded; the same one may stand there several times, and is found as often.
            payload: The payload of which a field is wanted.
            field: A field of it that is text.

        Raises:
            MissingFileError: a file of the view is gone.
            EntryCorruptError: a file is not what was committed.
            ValueError: `parts` are not texts, or there is no such field.
        """
        started = perf_counter()
        wanted = _Payload.of(payload, field)
        parts = as_parts(parts)
        asked = [
            _Shard(self._files, shard_slice, wanted, parts, positions)
            for shard_slice, positions in self._by_shard(partition, parts)
        ]
        self._files.read_ahead(shard.shard_slice for shard in asked)
        looks = [look for shard in asked for look in shard.row_groups()]
        answers = each_of(lambda look: look.find(), looks, is_local=self._files.storage.is_local)
        counts = LookupCounts(keys=len(parts), shards=len(asked))
        by_shard: dict[int, list[_Hits]] = {shard.number: [] for shard in asked}
        for look, (hits, done) in zip(looks, answers, strict=True):
            by_shard[look.shard.number].append(hits)
            counts.add(done)
        entries = [shard.merge(by_shard[shard.number]) for shard in asked]
        counts.seconds = perf_counter() - started
        return Found(
            np.concatenate([shard.positions[each.of] for shard, each in zip(asked, entries, strict=True)])
            if asked
            else np.empty(0, dtype=np.int64),
            np.concatenate([np.empty(0, dtype=np.int64), *(each.numbers for each in entries)]),
            pa.concat_arrays([pa.array([], pa.string()), *(each.values for each in entries)]),
            counts,
        )

    def _by_shard(self, partition: str, parts: pa.Array[Any]) -> Iterator[tuple[ShardSlice, Numbers]]:
        shards = self.view.state.shards.get(partition, 1)
        where = shards_of(parts, shards) if shards > 1 else np.zeros(len(parts), dtype=np.int64)
        for shard_slice in self.view.slices(partition):
            positions = np.flatnonzero(where == shard_slice.shard)
            if len(positions):
                yield shard_slice, positions


@dataclass(frozen=True)
class _Payload:
    """A field of a payload."""

    column: str
    field: str

    @classmethod
    def of(cls, column: str | None, field: str | None) -> _Payload | None:
        if column is None and field is None:
            return None
        known = PAYLOADS.get(column or "")
        if known is None or field is None or known.get_field_index(field) < 0:
            raise ValueError(f"there is no field {field!r} of a payload {column!r}")
        if not pa.types.is_string(known.field(field).type):
            raise ValueError(f"the field {field!r} of the payload {column!r} is no text")
        return cls(column or "", field)


@dataclass(frozen=True)
class _Hits:
    """Rows that begin with a part: which of a shard's sorted parts, with which key and value."""

    of: Numbers
    keys: pa.Array[Any]
    values: pa.Array[Any]


@dataclass(frozen=True)
class _Entries:
    """Entries of parts: which of a shard's sorted parts, with which number and value."""

    of: Numbers
    numbers: Numbers
    values: pa.Array[Any]

    def filter(self, mask: Flags) -> _Entries:
        if mask.all():
            return self
        return _Entries(self.of[mask], self.numbers[mask], self.values.filter(pa.array(mask)))


class _Shard:
    """The parts that one shard is asked for, sorted."""

    def __init__(
        self,
        files: CachedFiles,
        shard_slice: ShardSlice,
        payload: _Payload | None,
        parts: pa.Array[Any],
        positions: Numbers,
    ) -> None:
        self.files, self.shard_slice, self.payload = files, shard_slice, payload
        self.number = shard_slice.shard
        mine = take(parts, positions) if len(positions) < len(parts) else parts
        # Not the parts themselves: where one begins with another, what comes behind decides.
        lows = ending(mine, SEPARATOR)
        order = sort_order(lows)
        self.lows, self.positions = take(lows, order), positions[order]
        self.highs = ending(self.lows, _ABOVE_NUMBERS.removeprefix(SEPARATOR))

    def row_groups(self) -> Iterator[_Look]:
        """What there is to look up in the base file."""
        if self.shard_slice.base is None:
            return
        base = self.files.base(self.shard_slice.base)
        # The last row groups may have no known bound.
        highs = [*(high + _NEXT for high in base.highs), *[None] * (base.row_groups - len(base.highs))]
        beginnings = [_beginnings(low) for low in base.lows]
        # The few bounds are searched among the many parts, not the other way round.
        texts = [
            text
            for own, shorter in beginnings
            for text in (own, *shorter, *(each + _NEXT for each in shorter))
        ]
        known = sorted({*texts, *(high for high in highs if high is not None)})
        places = search_sorted(self.lows, pa.array(known, pa.string())).tolist()
        at: dict[str | None, int] = {**dict(zip(known, places, strict=True)), None: len(self.lows)}
        for group, ((own, shorter), high) in enumerate(zip(beginnings, highs, strict=True)):
            ranges = [(at[each], at[each + _NEXT]) for each in shorter] + [(at[own], at[high])]
            ranges = [(start, stop) for start, stop in ranges if start < stop]
            if ranges:
                yield _Look(self, base, group, np.concatenate([np.arange(*each) for each in ranges]))

    def merge(self, hits: list[_Hits]) -> _Entries:
        """What was found in the base file and what the logs say."""
        found = self._entries(hits)[0]
        changes = self._changes()
        if changes is None:
            return found
        rows, of, keys = search_between(_flat(changes, KEY), self.lows, self.highs)
        logged, kept = self._entries([_Hits(of, keys, take(_flat(changes, _VALUE), rows))])
        # May be null, which is not deleted.
        flags: Any = take(_flat(changes, DELETED), rows[kept])
        live = logged.filter(~flags.fill_null(False).to_numpy(zero_copy_only=False))  # noqa: FBT003
        found = _without(found, logged)
        return _Entries(
            np.concatenate([found.of, live.of]),
            np.concatenate([found.numbers, live.numbers]),
            pa.concat_arrays([found.values, live.values]),
        )

    def _entries(self, hits: Sequence[_Hits]) -> tuple[_Entries, Flags]:
        """The entries among rows, and which of the rows they are."""
        of = np.concatenate([np.empty(0, dtype=np.int64), *(each.of for each in hits)])
        values = pa.concat_arrays([pa.array([], pa.string()), *(each.values for each in hits)])
        if not len(of):
            return _Entries(of, of, values), np.empty(0, dtype=np.bool_)
        numbers, is_number = numbers_behind(pa.concat_arrays([each.keys for each in hits]), self.lows, of)
        return _Entries(of, numbers, values).filter(is_number), is_number

    def _changes(self) -> pa.Table | None:
        """The newest row of each key of all logs: its key, whether it is gone, and the field."""
        if not self.shard_slice.logs:
            return None
        key = ("newest", tuple(map(self.files.identity, self.shard_slice.logs)), self.payload)
        found: pa.Table = self.files.cache.fetch(key, self._load_changes, lambda table: int(table.nbytes))
        return found

    def _load_changes(self) -> pa.Table:
        logs = [self._fields_of(self.files.log(stat)) for stat in self.shard_slice.logs]
        return newest_of_each(logs).combine_chunks()

    def _fields_of(self, log: pa.Table) -> pa.Table:
        values: pa.Array[Any] = pa.nulls(log.num_rows, pa.string())
        if self.payload is not None:
            struct: Any = _flat(log, self.payload.column)
            values = struct.flatten()[struct.type.get_field_index(self.payload.field)]
        return log.select([KEY, DELETED]).append_column(_VALUE, values)


@dataclass(frozen=True)
class _Look:
    """A row group and the parts that it can hold entries of."""

    shard: _Shard
    base: BaseFile
    group: int
    of: Numbers
    """Rising."""

    def find(self) -> tuple[_Hits, LookupCounts]:
        counts = LookupCounts()
        keys = self._keys(counts)
        shard, start, length = self.shard, int(self.of[0]), len(self.of)
        if int(self.of[-1]) - start + 1 == length:
            lows, highs = shard.lows.slice(start, length), shard.highs.slice(start, length)
        else:
            lows, highs = (take(each, self.of) for each in (shard.lows, shard.highs))
        rows, of, found = search_between(keys, lows, highs)
        values: pa.Array[Any] = pa.nulls(len(rows), pa.string())
        if len(rows) and shard.payload is not None:
            values = take(self._values(shard.payload, counts), rows)
        return _Hits(self.of[of], found, values), counts

    def _keys(self, counts: LookupCounts) -> pa.Array[Any]:
        found, is_read = self.shard.files.row_group(self.base, self.group, [KEY])
        counts.row_groups += is_read
        counts.cache_hits += not is_read
        return _flat(found, KEY)

    def _values(self, payload: _Payload, counts: LookupCounts) -> pa.Array[Any]:
        found, is_read = self.shard.files.field(self.base, self.group, payload.column, payload.field)
        counts.payloads += is_read
        counts.cache_hits += not is_read
        return found


def _beginnings(low: str) -> tuple[str, list[str]]:
    """From where on parts have keys that are not below `low`, and which before that have some nevertheless.

    `a$1$2` is of `a$1`, and keys above it are of `a$1` or of parts behind that; but `a$5`, of `a`, is above
    it too. No index mixes these: it costs next to nothing to be right nevertheless.
    """
    found = [low[: place + 1] for place, each in enumerate(low) if each == SEPARATOR]
    return (found[-1], found[:-1]) if found else (low, [])


def _flat(table: pa.Table, name: str) -> pa.Array[Any]:
    """A column as one array, without a copy where it is one."""
    column: Any = table.column(name)
    found: pa.Array[Any] = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return found


def _without(base: _Entries, logged: _Entries) -> _Entries:
    """What was found in a base file, but for the entries that logs speak of."""
    if not len(logged.of) or not len(base.of):
        return base
    is_changed = np.isin(base.of, logged.of)
    if not is_changed.any():
        return base
    _, dense = np.unique(np.concatenate([base.numbers, logged.numbers]), return_inverse=True)
    many = int(dense.max()) + 1
    codes = np.concatenate([base.of, logged.of]) * many + dense
    return base.filter(~np.isin(codes[: len(base.of)], codes[len(base.of) :]))
