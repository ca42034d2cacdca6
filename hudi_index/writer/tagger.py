"""Gives rows of a batch the places where their records stand, in whatever process it travels to."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.encoding import NULL
from hudi_index.entries.keys import SEPARATOR
from hudi_index.errors import CommitBetweenError, RowsRefusedError
from hudi_index.kind_parts.record_keys import encode_ordering, record_key_parts
from hudi_index.metadata_table.bulk_lookup import BulkLookup
from hudi_index.table import Timeline
from hudi_index.writer.locations import LOCATED
from hudi_index.writer.report import TagCounts
from hudi_index.writer.tags import (
    COMMIT_TIME,
    FILE_NAME,
    ORDERING,
    PARTITION_PATH,
    RECORD_KEY,
    Rows,
    settle,
    tag_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.metadata_table import View
    from hudi_index.storage import Storage
    from hudi_index.table import TableConfig
    from hudi_index.writer.locations import Locations
    from hudi_index.writer.since import Seen

__all__ = ["Tagger"]

_HAS_NULL = f"(^|[{SEPARATOR}]){NULL}"
"""In an encoded ordering value: one of its fields is null."""


@dataclass(frozen=True)
class Tagger:
    """The table and its record index as they were looked at."""

    storage: Storage
    metadata_storage: Storage
    config: TableConfig
    view: View
    """Of the record index's partition only: it travels with every task."""
    partition: str
    is_partitioned: bool
    """Whether the index names the partition path before the record key."""
    by_partition: bool
    """Whether a record key is one within its partition only."""
    locations: Locations
    ordering_types: Mapping[str, pa.DataType]
    """The ordering fields as the table has them; none where arrival decides."""
    seen: Seen
    """The timeline when the table was looked at."""

    def refuse_if_moved(self) -> None:
        """Raise CommitBetweenError if a commit was completed or undone after the table was looked at.

        Rows are tagged inside Hudi's write, when it has begun: together with what Hudi checks from there on
        no commit is missed.
        """
        if changed := self.seen.changed_by(Timeline.load(self.storage, self.config)):
            raise CommitBetweenError(uri=self.storage.uri, instants=changed)

    def tag(self, table: pa.Table) -> tuple[list[pa.Table], TagCounts]:
        """Rows as Hudi writes them.

        Args:
            table: All rows of the batch with the keys in them, and among them, with a file name, the records
                of slices that the index does not describe.
        """
        counts = TagCounts()
        names: Any = table.column(FILE_NAME)
        is_known: Any = pc.not_equal(names.fill_null(""), pa.scalar(""))
        known, table = table.filter(is_known), table.filter(pc.invert(is_known))
        if ORDERING in table.column_names:
            table = table.drop_columns([ORDERING])
        rows = Rows(table.combine_chunks(), self._ordering(table))
        counts.rows, counts.keys_read = len(rows), known.num_rows
        if not len(rows):
            return [], counts
        rows = settle(rows, by_partition=self.by_partition)
        counts.settled = counts.rows - len(rows)
        started = time.perf_counter()
        located = pa.concat_tables([self._find(rows, counts), self._find_known(rows, known)])
        counts.look_up_seconds = time.perf_counter() - started
        if self.by_partition:
            wanted = rows.paths.take(located.column("position").combine_chunks())
            located = located.filter(pc.equal(located.column("path").combine_chunks(), wanted))
        self._refuse_unordered(rows, located)
        return tag_rows(rows, located.combine_chunks(), counts), counts

    def _find(self, rows: Rows, counts: TagCounts) -> pa.Table:
        """Where the index says that records stand."""
        lookup = BulkLookup(self.metadata_storage, self.view)
        parts = record_key_parts(rows.keys, rows.paths if self.is_partitioned else None)
        has_ordering = bool(self.ordering_types)
        found = lookup.find(
            self.partition,
            parts,
            payload="recordIndexMetadata" if has_ordering else None,
            field="orderingValue" if has_ordering else None,
        )
        counts.keys_looked_up += found.counts.keys
        counts.row_groups_read += found.counts.row_groups
        counts.cache_hits += found.counts.cache_hits
        return self.locations.locate(found)

    def _find_known(self, rows: Rows, known: pa.Table) -> pa.Table:
        """Where records stand that came along with the rows."""
        if not known.num_rows:
            return LOCATED.empty_table()
        names: list[Any] = [rows.keys, rows.paths] if self.by_partition else [rows.keys]
        columns = ["key", "path"][: len(names)]
        asked = pa.table([*names, pa.array(range(len(rows)), pa.int64())], names=[*columns, "position"])
        standing: dict[str, Any] = {
            "key": known.column(RECORD_KEY),
            "path": known.column(PARTITION_PATH),
            "name": known.column(FILE_NAME),
            "instant": known.column(COMMIT_TIME),
            "ordering": known.column(ORDERING),
        }
        found = pa.table(standing).join(asked, keys=columns, join_type="inner")
        return found.select(LOCATED.names).cast(LOCATED)

    def _refuse_unordered(self, rows: Rows, located: pa.Table) -> None:
        """Raise RowsRefusedError where a row meets its record and one of them has no ordering value.

        Hudi fails to compare them: as it writes, or, in a merge-on-read table, when all is written and read.
        """
        if rows.ordering is None:
            return
        for who, found in (
            ("row", rows.ordering.take(located.column("position").combine_chunks())),
            ("record", located.column("ordering").combine_chunks()),
        ):
            is_null: Any = pc.match_substring_regex(found, _HAS_NULL)
            if pc.any(is_null).as_py():
                at = located.column("position").filter(is_null)[0].as_py()
                fields = ", ".join(self.ordering_types)
                reason = (
                    f"the {who} of key {rows.keys[at].as_py()!r} has no value of {fields}, so Hudi "
                    "can't tell whether the row is late; give the row one, or delete the record first"
                )
                raise RowsRefusedError(uri=self.storage.uri, reason=reason)

    def _ordering(self, table: pa.Table) -> pa.Array[Any] | None:
        """The ordering values as the index keeps them; None where arrival decides."""
        if not self.ordering_types:
            return None
        batch = table.combine_chunks().to_batches()
        rows = batch[0] if batch else pa.RecordBatch.from_pylist([], table.schema)
        return encode_ordering(rows, list(self.ordering_types), self.ordering_types)
