"""The `files` partition: which slice of each file group the indexes describe.

    key       <partition path>$<file id>
    payload   filesystemMetadata: the slice's files by name, its row count, the file group's number

It is what makes pruning safe. A file group is covered when its current slice has the identity that stands
here; nothing else may be refuted. All indexes that are ready describe the same slices, since one commit moves
them all.

The number is a short name of the file group inside keys of other partitions. A new file group gets the next
one; none is ever given to another, so an entry left behind by mistake can't be taken for somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from hudi_index.entries import owner_suffix
from hudi_index.entries.schema import PAYLOADS, PayloadType
from hudi_index.kinds.protocol import CoveredGroup
from hudi_index.table.slices import FileGroupId, SliceIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.table.slices import FileSlice

__all__ = ["PARTITION", "PAYLOAD", "IndexedSlice", "entries_of", "indexed_slices"]

PARTITION = "files"
PAYLOAD = "filesystemMetadata"


@dataclass(frozen=True, slots=True)
class IndexedSlice:
    """What the indexes know of a file group."""

    identity: SliceIdentity
    number: int
    row_count: int
    base_size: int = 0
    instant: str = ""
    """Requested time of the slice's latest instant, as far as file names tell."""
    schema_id: str = ""

    @classmethod
    def of(cls, piece: FileSlice, *, number: int, row_count: int, schema_id: str) -> IndexedSlice:
        """What is noted when a slice has been indexed."""
        return cls(piece.identity, number, row_count, piece.base_size, piece.latest_instant, schema_id)

    @property
    def covered(self) -> CoveredGroup:
        """The file group as index kinds see it."""
        return CoveredGroup(self.identity.group, self.number, self.row_count)


def entries_of(slices: Iterable[IndexedSlice]) -> pa.Table:
    """The entries that note these slices, in any order."""
    rows = list(slices)
    payload: list[dict[str, Any]] = [
        {
            "partitionPath": each.identity.group.partition_path,
            "fileId": each.identity.group.file_id,
            "baseFile": each.identity.base_file,
            "baseFileSize": each.base_size,
            "logFiles": list(each.identity.log_files),
            "logFileSizes": list(each.identity.log_sizes),
            "logFileTimes": list(each.identity.log_times),
            "asOf": each.identity.as_of,
            "instantTime": each.instant,
            "rowCount": each.row_count,
            "schemaId": each.schema_id,
            "number": each.number,
        }
        for each in rows
    ]
    keys = [owner_suffix(each.identity.group.partition_path, each.identity.group.file_id) for each in rows]
    return pa.table(
        {
            "key": pa.array(keys, pa.string()),
            "type": pa.array([int(PayloadType.FILES)] * len(rows), pa.int32()),
            PAYLOAD: pa.array(payload, PAYLOADS[PAYLOAD]),
        }
    )


def indexed_slices(entries: pa.Table) -> dict[FileGroupId, IndexedSlice]:
    """The slices that entries of this partition note, by file group."""
    found = {}
    for row in cast("list[dict[str, Any]]", entries.column(PAYLOAD).to_pylist()):
        group = FileGroupId(row["partitionPath"], row["fileId"])
        identity = SliceIdentity(
            group,
            row["baseFile"],
            tuple(row["logFiles"]),
            tuple(row["logFileSizes"]),
            tuple(row["logFileTimes"]),
            row["asOf"],
        )
        found[group] = IndexedSlice(
            identity, row["number"], row["rowCount"], row["baseFileSize"], row["instantTime"], row["schemaId"]
        )
    return found
