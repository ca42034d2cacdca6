"""Entries of a view: look-ups and scans, merged over base and log files.

Points, prefixes and ranges are all key ranges. For each shard that can hold them, a look-up takes the
matching rows of the row groups that can match, and of every log; the newest row of a key wins, a tombstone
means there is none. Results are sorted by key inside a shard.

Files never change, so what was read of them stays true: footers, logs and recently read row groups are kept,
up to a number of bytes, for all readers of a table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.keys import shard_of
from hudi_index.entries.ranges import KeyRange, merge_ranges
from hudi_index.entries.schema import DELETED, ENTRY_SCHEMA, KEY, PAYLOADS
from hudi_index.entries.sorted import newest_of_each
from hudi_index.metadata_table.base_file import BaseFile
from hudi_index.metadata_table.log_file import load_log_file
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from hudi_index.metadata_table.commit_metadata import WriteStat
    from hudi_index.metadata_table.view import ShardSlice, View
    from hudi_index.storage import Storage

__all__ = ["CachedFiles", "Reader", "ReaderCache", "compact_entries", "merge_slice", "shared_cache"]

T = TypeVar("T")

CACHE_BYTES = 256 * 1024 * 1024
_MANY_ROW_GROUPS = 4
"""So many are worth the threads to decode them side by side."""


class ReaderCache:
    """What was read of files that never change, the least recently used forgotten first."""

    def __init__(self, capacity: int = CACHE_BYTES) -> None:
        self._capacity, self._held = capacity, 0
        self._items: OrderedDict[object, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()

    def fetch(self, key: object, load: Callable[[], T], size_of: Callable[[T], int]) -> T:
        """The value under `key`, loaded if it is not here."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
                found: T = self._items[key][0]
                return found
        value = load()
        size = size_of(value)
        with self._lock:
            if key not in self._items and size <= self._capacity:
                self._items[key] = (value, size)
                self._held += size
            while self._held > self._capacity:
                self._held -= self._items.popitem(last=False)[1][1]
        return value


_SHARED = ReaderCache()


def shared_cache() -> ReaderCache:
    """The cache of this process: a long-lived worker finds there what it read for earlier tasks."""
    return _SHARED


class CachedFiles:
    """Base and log files of a table, read through a cache, which may be that of other tables too."""

    def __init__(self, storage: Storage, cache: ReaderCache | None = None) -> None:
        self.storage, self.cache = storage, cache or ReaderCache()

    def identity(self, stat: WriteStat) -> tuple[object, ...]:
        """What no other content is known by: a table may be made anew in the same place."""
        return (self.storage.uri, stat.path, stat.size, stat.checksum, stat.content)

    def read_ahead(self, slices: Iterable[ShardSlice]) -> None:
        """Bring the logs and footers of slices, where each costs a request, all at once."""
        if not self.storage.is_local:
            stats = [stat for shard_slice in slices for stat in shard_slice.files]
            each_of(lambda stat: self.log(stat) if stat.is_log else self.base(stat), stats, is_local=False)

    def base(self, stat: WriteStat) -> BaseFile:
        """A base file, opened."""
        found = self.cache.fetch(
            self.identity(stat),
            lambda: BaseFile.open(self.storage, stat),
            lambda file: file.held_bytes,
        )
        # Somebody else may have opened it, with credentials that no longer hold.
        return found if found.storage is self.storage else replace(found, storage=self.storage)

    def log(self, stat: WriteStat) -> pa.Table:
        """The changes of a log file."""
        found: pa.Table = self.cache.fetch(
            self.identity(stat), lambda: load_log_file(self.storage, stat), _bytes_of
        )
        return found

    def row_group(self, base: BaseFile, group: int, names: Sequence[str]) -> tuple[pa.Table, bool]:
        """Columns of a row group, and whether they were not here yet."""
        return self._of_base(base, (group, tuple(names)), lambda: base.read_row_group(group, names))

    def field(self, base: BaseFile, group: int, payload: str, name: str) -> tuple[pa.Array[Any], bool]:
        """One field of a payload in a row group, and whether it was not here yet."""
        return self._of_base(base, (group, payload, name), lambda: base.read_field(group, payload, name))

    def _of_base(self, base: BaseFile, key: tuple[object, ...], load: Callable[[], T]) -> tuple[T, bool]:
        is_read = False

        def read() -> T:
            nonlocal is_read
            is_read = True
            return load()

        found = self.cache.fetch((*self.identity(base.stat), *key), read, _bytes_of)
        return found, is_read


class Reader:
    """Reads the entries of one view."""

    def __init__(self, storage: Storage, view: View, cache: ReaderCache | None = None) -> None:
        self.view, self.storage = view, storage
        self._files = CachedFiles(storage, cache)

    def lookup(
        self,
        partition: str,
        ranges: Iterable[KeyRange],
        *,
        columns: Sequence[str] | None = None,
        within: str | None = None,
        shard: int | None = None,
    ) -> pa.Table:
        """The entries whose key lies in one of the ranges, with the given payload columns (all if None).

        Args:
            partition: The partition to read; one that does not exist has no entries.
            ranges: In any order; they may overlap.
            columns: Names of ENTRY_SCHEMA; the key always comes first.
            within: The lookup part that all wanted keys share: only its shard is read.
            shard: Only this shard is read.
        """
        wanted = merge_ranges(ranges)
        if within is not None:
            shard = shard_of(within, self.view.state.shards.get(partition, 1))
        slices = [
            shard_slice for shard_slice in self.view.slices(partition) if shard in (None, shard_slice.shard)
        ]
        return self._read(slices, [wanted] * len(slices), columns)

    def lookup_sharded(
        self,
        partition: str,
        ranges: Iterable[tuple[str, KeyRange]],
        *,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """As `lookup`, for ranges that each bring their own lookup part: a shard is read once, for all."""
        shards = self.view.state.shards.get(partition, 1)
        by_shard: dict[int, list[KeyRange]] = {}
        for lookup, wanted in ranges:
            by_shard.setdefault(shard_of(lookup, shards), []).append(wanted)
        slices = [shard_slice for shard_slice in self.view.slices(partition) if shard_slice.shard in by_shard]
        return self._read(
            slices, [merge_ranges(by_shard[shard_slice.shard]) for shard_slice in slices], columns
        )

    def scan(
        self, partition: str, *, columns: Sequence[str] | None = None, shard: int | None = None
    ) -> pa.RecordBatchReader:
        """All entries of a partition, or of one shard, row group by row group."""
        names = _with_key(columns)
        slices = [
            shard_slice for shard_slice in self.view.slices(partition) if shard in (None, shard_slice.shard)
        ]
        tables = (table for shard_slice in slices for table in merge_slice(self.storage, shard_slice, names))
        batches = (batch for table in tables for batch in table.to_batches())
        return pa.RecordBatchReader.from_batches(_schema_of(names), batches)

    def _read(
        self, slices: list[ShardSlice], ranges: list[list[KeyRange]], columns: Sequence[str] | None
    ) -> pa.Table:
        names = _with_key(columns)
        self._files.read_ahead(
            shard_slice for shard_slice, wanted in zip(slices, ranges, strict=True) if wanted
        )
        found = [
            self._read_slice(shard_slice, wanted, names)
            for shard_slice, wanted in zip(slices, ranges, strict=True)
            if wanted
        ]
        return pa.concat_tables(found) if found else _schema_of(names).empty_table()

    def _read_slice(self, shard_slice: ShardSlice, wanted: list[KeyRange], names: list[str]) -> pa.Table:
        logs = [_rows_in(self._files.log(stat), wanted) for stat in shard_slice.logs]
        changes = _newest(logs)
        if shard_slice.base is None:
            return _live(changes, names)
        base = self._files.base(shard_slice.base)
        groups = sorted({group for one in wanted for group in base.row_groups_of(one.low, one.high)})
        rows = [_rows_in(each, wanted) for each in self._row_groups(base, groups, names)]
        return _overlay(_join(rows, names), changes, names)

    def _row_groups(self, base: BaseFile, groups: list[int], names: list[str]) -> list[pa.Table]:
        if len(groups) < _MANY_ROW_GROUPS:
            return [self._files.row_group(base, group, names)[0] for group in groups]
        # Statistics of a large table, or what `files` notes of it: decoding takes longer than all else.
        with ThreadPoolExecutor(pa.cpu_count()) as pool:
            return list(pool.map(lambda group: self._files.row_group(base, group, names)[0], groups))


def merge_slice(
    storage: Storage, shard_slice: ShardSlice, names: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """All live entries of a slice in key order, about one base row group at a time.

    Holds the slice's logs in memory, and one row group of its base file.
    """
    return _merge(*_open(storage, shard_slice), _with_key(names))


def compact_entries(storage: Storage, shard_slice: ShardSlice) -> Iterator[pa.Table]:
    """The same without the payloads that no entry has."""
    base, changes = _open(storage, shard_slice)
    held = set(base.columns if base else ())
    held.update(name for name in PAYLOADS if changes.column(name).null_count < changes.num_rows)
    return _merge(base, changes, [name for name in _with_key(None) if name not in PAYLOADS or name in held])


def _open(storage: Storage, shard_slice: ShardSlice) -> tuple[BaseFile | None, pa.Table]:
    changes = _newest([load_log_file(storage, stat) for stat in shard_slice.logs])
    return (BaseFile.open(storage, shard_slice.base) if shard_slice.base else None), changes


def _merge(base: BaseFile | None, changes: pa.Table, columns: list[str]) -> Iterator[pa.Table]:
    if base is None or not base.row_groups:
        yield _live(changes, columns)
        return
    keys = changes.column(KEY).combine_chunks()
    start = 0
    for group in range(base.row_groups):
        rows = base.read_row_group(group, columns)
        last = group + 1 == base.row_groups
        # Changes up to this row group's last key belong here; what is above the last row group goes with it.
        stop = len(keys) if last else _first_above(keys, rows.column(KEY)[-1].as_py())
        yield _overlay(rows, changes.slice(start, stop - start), columns)
        start = stop


def _with_key(columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        return [name for name in ENTRY_SCHEMA.names if name != DELETED]
    return [KEY, *(name for name in columns if name not in (KEY, DELETED))]


def _schema_of(names: Sequence[str]) -> pa.Schema:
    return pa.schema([ENTRY_SCHEMA.field(name) for name in names])


def _bytes_of(values: Any) -> int:
    return int(values.nbytes)


class _Probe:
    """Sorted keys as a sequence that decodes only what a binary search looks at."""

    def __init__(self, keys: pa.Array[Any]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, position: int) -> str:
        key: str = self._keys[position].as_py()
        return key


def _first_above(keys: pa.Array[Any], key: str) -> int:
    return bisect_left(_Probe(keys), key + "\0")


def _rows_in(table: pa.Table, wanted: list[KeyRange]) -> pa.Table:
    """The rows of a sorted table whose key is in one of the sorted, disjoint ranges."""
    keys = table.column(KEY).combine_chunks()
    probe: list[str] | _Probe = _Probe(keys)
    if len(wanted) * 32 > len(keys):
        # Decoding all keys once is cheaper than many searches that decode as they go.
        probe = cast("list[str]", keys.to_pylist())
    shard_slices, length = [], len(keys)
    start = 0
    for one in wanted:
        start = bisect_left(probe, one.low, start)
        if start == length:
            break
        stop = length if one.high is None else bisect_left(probe, one.high, start)
        if stop > start:
            shard_slices.append(table.slice(start, stop - start))
        start = stop
    return pa.concat_tables(shard_slices) if shard_slices else table.slice(0, 0)


def _join(tables: list[pa.Table], names: Sequence[str]) -> pa.Table:
    return pa.concat_tables(tables) if tables else _schema_of(names).empty_table()


def _newest(logs: list[pa.Table]) -> pa.Table:
    """The newest row of each key of logs that come oldest first, sorted by key."""
    return newest_of_each(logs) if logs else ENTRY_SCHEMA.empty_table()


def _live(changes: pa.Table, names: Sequence[str]) -> pa.Table:
    """Changes without tombstones."""
    # The filter keeps rows whose mask is true: is_deleted may be null, which is not deleted.
    kept = pc.field(DELETED).is_null() | ~pc.field(DELETED)
    return changes.filter(kept).select(list(names))


def _overlay(base: pa.Table, changes: pa.Table, names: Sequence[str]) -> pa.Table:
    """Base rows with changes applied, sorted by key."""
    if changes.num_rows == 0:
        return base
    changed = pc.is_in(base.column(KEY), value_set=changes.column(KEY).combine_chunks())
    kept, added = base.filter(pc.invert(changed)), _live(changes, names)
    if added.num_rows == 0:
        return kept
    return pa.concat_tables([kept, added]).sort_by(KEY)
