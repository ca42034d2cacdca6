"""Ways to make an index wrong, all through real commits or real damage to its files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyroaring import BitMap
from rbloom import Bloom
from xxhash import xxh3_64_intdigest as digest_of

from hudi_index.entries.schema import ENTRY_SCHEMA, KEY
from hudi_index.metadata_table import MetadataTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index import IndexedTable

Entries = dict[str, dict[str, Any]]


def rewritten(partition: str, change: Callable[[Entries], None]) -> Callable[[IndexedTable], None]:
    """Commit what `change` makes of a partition's entries, each to the shard where it stands or `shard`."""

    def damage(table: IndexedTable) -> None:
        metadata_table = MetadataTable.of(table.storage)
        with metadata_table.begin() as transaction:
            for file_slice in metadata_table.view().slices(partition):
                before = {
                    row[KEY]: row
                    for row in metadata_table.reader()
                    .scan(partition, shard=file_slice.shard)
                    .read_all()
                    .to_pylist()
                }
                after = {key: dict(row) for key, row in before.items()}
                change(after)
                upserts = [row for key, row in after.items() if before.get(key) != row]
                deletes = pa.array([key for key in before if key not in after], pa.string())
                if upserts or len(deletes):
                    entries = pa.Table.from_pylist(upserts, schema=ENTRY_SCHEMA)
                    transaction.add(
                        [
                            transaction.writer.write_log(
                                partition, file_slice.shard, upserts=entries, deletes=deletes
                            )
                        ]
                    )
            transaction.commit()

    return damage


def dropped(part: str) -> Callable[[Entries], None]:
    """Without the entries whose key holds `part`."""

    def change(entries: Entries) -> None:
        for key in [key for key in entries if part in key]:
            del entries[key]

    return change


def renamed(part: str, other: str) -> Callable[[Entries], None]:
    """With another text in the keys that hold `part`."""

    def change(entries: Entries) -> None:
        for key in [key for key in entries if part in key]:
            row = entries.pop(key)
            moved = key.replace(part, other)
            entries[moved] = {**row, KEY: moved}

    return change


def copied(part: str, other: str) -> Callable[[Entries], None]:
    """With a second entry beside each whose key holds `part`."""

    def change(entries: Entries) -> None:
        for key in [key for key in entries if part in key]:
            again = key.replace(part, other)
            entries[again] = {**entries[key], KEY: again}

    return change


def changed(part: str, payload: str, **values: Any) -> Callable[[Entries], None]:
    """With other payload values where the key holds `part`; a function is applied to the old value."""

    def change(entries: Entries) -> None:
        for key, row in entries.items():
            if part in key:
                new = {
                    name: each(row[payload][name]) if callable(each) else each
                    for name, each in values.items()
                }
                entries[key] = {**row, payload: {**row[payload], **new}}

    return change


def swapped(part: str, other: str) -> Callable[[Entries], None]:
    """With the contents of two entries exchanged."""

    def change(entries: Entries) -> None:
        one = next((key for key in entries if part in key), None)
        two = next((key for key in entries if other in key), None)
        if one and two:
            entries[one], entries[two] = {**entries[two], KEY: one}, {**entries[one], KEY: two}

    return change


def shifted(data: bytes) -> bytes:
    """A bitmap with every position one further."""
    return BitMap.deserialize(data).shift(1).serialize()


def emptied(_: bytes) -> bytes:
    """A Bloom filter of something else."""
    bloom = Bloom(10, 0.01, digest_of)
    bloom.update([b"nothing", b"of", b"the", b"kind"])
    return bloom.save_bytes()


def moved_between_shards(partition: str, part: str) -> Callable[[IndexedTable], None]:
    """Entries that stand in a shard where no look-up searches for them."""

    def damage(table: IndexedTable) -> None:
        metadata_table = MetadataTable.of(table.storage)
        with metadata_table.begin() as transaction:
            for shard in (0, 1):
                found = metadata_table.reader().scan(partition, shard=shard).read_all()
                chosen = [row for row in found.to_pylist() if part in row[KEY]]
                keys = pa.array([row[KEY] for row in chosen], pa.string())
                if chosen:
                    writer, entries = transaction.writer, pa.Table.from_pylist(chosen, schema=ENTRY_SCHEMA)
                    transaction.add(
                        [
                            writer.write_log(partition, shard, deletes=keys),
                            writer.write_log(partition, 1 - shard, upserts=entries),
                        ]
                    )
                    break
            transaction.commit()

    return damage


def damaged_file(partition: str, *, log: bool, cut: int | None) -> Callable[[IndexedTable], None]:
    """A file that lost its end, or is gone if `cut` is None."""

    def damage(table: IndexedTable) -> None:
        if log:
            # Something to be cut: a log that says what is so already.
            rewritten(partition, lambda entries: entries.update())(table)
            metadata_table = MetadataTable.of(table.storage)
            with metadata_table.begin() as transaction:
                file_slice = metadata_table.view().slices(partition)[0]
                rows = metadata_table.reader().scan(partition, shard=file_slice.shard).read_all()
                transaction.add([transaction.writer.write_log(partition, file_slice.shard, upserts=rows)])
                transaction.commit()
        view = MetadataTable.of(table.storage).view()
        files = [
            file for file_slice in view.slices(partition) for file in file_slice.files if file.is_log == log
        ]
        path = _local(table) / MetadataTable.folder / files[0].path
        if cut is None:
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-cut])

    return damage


def _local(table: IndexedTable) -> Path:
    return Path(table.storage.uri.removeprefix("file://"))
