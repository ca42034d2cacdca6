"""Writes the files of one commit. Plain and picklable: Spark tasks write shards, the driver commits.

A file is nothing until a commit names it. A task that runs twice writes two files under different write
tokens; the commit takes the statistics of one and deletes the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.schema import DELETED, KEY, as_entries, stored_schema, tombstones
from hudi_index.metadata_table.base_file import write_base_file
from hudi_index.metadata_table.layout import file_id_of
from hudi_index.metadata_table.log_file import write_log_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_index.metadata_table.commit_metadata import WriteStat
    from hudi_index.storage import Storage

__all__ = ["ShardWriter"]


@dataclass(frozen=True)
class ShardWriter:
    """Writes shards for one open commit."""

    storage: Storage
    requested_time: str
    file_ids: Mapping[tuple[str, int], str]
    """File groups that exist already, by partition and shard."""

    def file_id(self, partition: str, shard: int) -> str:
        """The file group of a shard: the existing one, or the one this commit starts."""
        return self.file_ids.get((partition, shard)) or file_id_of(partition, shard, self.requested_time)

    def write_base(
        self, partition: str, shard: int, entries: Iterable[pa.Table], *, write_token: str = "0-0-0"
    ) -> WriteStat:
        """Write a shard anew, from tables sorted by key. It must not have files yet, or be compacted."""
        tables = iter(entries)
        # All have the payloads of the first.
        first = next(tables, pa.table({KEY: pa.array([], pa.string())}))
        schema = stored_schema(first.column_names)
        return write_base_file(
            self.storage,
            partition=partition,
            file_id=self.file_id(partition, shard),
            requested_time=self.requested_time,
            write_token=write_token,
            schema=schema,
            entries=(as_entries(table, partition, schema) for table in chain([first], tables)),
        )

    def write_log(
        self,
        partition: str,
        shard: int,
        *,
        upserts: pa.Table | None = None,
        deletes: pa.Array[Any] | None = None,
        write_token: str = "0-0-0",
    ) -> WriteStat:
        """Append changes to a shard. A key stands in `upserts` or in `deletes`, once."""
        changes = []
        if upserts is not None and upserts.num_rows:
            changes.append(as_entries(upserts, partition))
        if deletes is not None and len(deletes):
            changes.append(tombstones(deletes.cast(pa.string()), partition))
        if not changes:
            changes.append(as_entries(pa.table({KEY: pa.array([], pa.string())}), partition))
        ordered = pa.concat_tables(changes).sort_by(KEY)
        return self._write_log(partition, shard, [ordered], write_token)

    def write_sorted_log(
        self, partition: str, shard: int, changes: Iterable[pa.Table], *, write_token: str = "0-0-0"
    ) -> WriteStat:
        """Append changes that come sorted by key, each key once, and say which are deletes."""
        entries = (as_entries(_without_content_if_deleted(table), partition) for table in changes)
        return self._write_log(partition, shard, entries, write_token)

    def _write_log(
        self, partition: str, shard: int, entries: Iterable[pa.Table], write_token: str
    ) -> WriteStat:
        return write_log_file(
            self.storage,
            partition=partition,
            file_id=self.file_id(partition, shard),
            requested_time=self.requested_time,
            write_token=write_token,
            entries=entries,
        )


def _without_content_if_deleted(changes: pa.Table) -> pa.Table:
    """The changes with nothing but the key where they are deletes, as tombstones are."""
    is_kept = pc.invert(changes.column(DELETED)).combine_chunks()
    if pc.all(is_kept).as_py():
        return changes
    columns = {
        name: changes.column(name)
        if name in (KEY, DELETED)
        else changes.column(name).take(_positions_or_null(is_kept))
        for name in changes.column_names
    }
    return pa.table(columns)


def _positions_or_null(is_kept: pa.Array[Any]) -> pa.Array[Any]:
    positions: pa.Array[Any] = pa.array(range(len(is_kept)), pa.int64())
    found: pa.Array[Any] = pc.if_else(is_kept, positions, pa.scalar(None, pa.int64()))
    return found
