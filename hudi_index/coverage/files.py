"""The `files` partition: which slice of each file group the indexes describe.

    key       <partition path>$<file id>
    payload   filesystemMetadata: the slice's files by name, its row count, the file group's number

It is what makes pruning safe. A file group is covered when its current slice has the identity that stands
here; nothing else may be refuted. All indexes that are ready describe the same slices, since one commit moves
them all.

Each commit says which indexes these are, by id. So an index that became ready beside somebody else's commit,
or whose entries were lost with their partition, is seen not to describe them.

The number is a short name of the file group inside keys of other partitions. A new file group gets the next
one; none is ever given to another, so an entry left behind by mistake can't be taken for somebody else's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.coverage.identities import identity_columns
from hudi_index.entries import owner_suffix
from hudi_index.entries.schema import PAYLOADS, payload_fields
from hudi_index.table.slices import FileGroupId, SliceIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from hudi_index.table.slices import FileSlice

__all__ = [
    "DEFINITIONS",
    "INDEXES",
    "PARTITION",
    "PAYLOAD",
    "IndexedSlice",
    "IndexedSlices",
    "columns_of_notes",
    "describing_indexes",
    "entries_of",
    "match_slices",
    "parse_indexed_slices",
]

PARTITION = "files"
PAYLOAD = "filesystemMetadata"
_TYPE = 2
"""What the field `type` of its entries says, in Hudi's numbering."""
INDEXES = "indexes"
"""Where a commit's data snapshot keeps the ids of the indexes that describe it, joined by commas."""


DEFINITIONS = "definitions"
"""Where it keeps the definitions of these indexes, as JSON: for a table whose catalog is lost."""


def describing_indexes(data_snapshot: Mapping[str, str]) -> frozenset[str]:
    """The ids of the indexes that describe the slices noted here."""
    return frozenset(filter(None, data_snapshot.get(INDEXES, "").split(",")))


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
    def of(cls, file_slice: FileSlice, *, number: int, row_count: int, schema_id: str) -> IndexedSlice:
        """What is noted when a slice has been indexed."""
        return cls(
            file_slice.identity, number, row_count, file_slice.base_size, file_slice.latest_instant, schema_id
        )


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
            "type": pa.array([_TYPE] * len(rows), pa.int32()),
            PAYLOAD: pa.array(payload, PAYLOADS[PAYLOAD]),
        }
    )


def columns_of_notes(entries: pa.Table) -> dict[str, Any]:
    """The payload's fields by name, in as many file_slices as the entries come in."""
    struct: Any = entries.column(PAYLOAD)
    return dict(zip((each.name for each in struct.type), struct.flatten(), strict=True))


def parse_indexed_slices(entries: pa.Table) -> IndexedSlices:
    """The slices that entries of this partition note, by file group."""
    return IndexedSlices(entries)


class IndexedSlices(Mapping[FileGroupId, IndexedSlice]):
    """What the indexes know of all file groups, kept as columns.

    Most file groups are only ever asked whether they are still what they were. That is answered by comparing
    columns, without an object for each.
    """

    def __init__(self, entries: pa.Table) -> None:
        self._fields = payload_fields(entries, PAYLOAD)
        # As Any: pyarrow's stubs don't know that these are texts, none of them null.
        names: list[Any] = [self._fields[name].to_pylist() for name in _GROUP]
        self._rows = {group: row for row, group in enumerate(zip(*names, strict=True))}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return {name: _as_list(values) for name, values in self._fields.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[FileGroupId]:
        return (FileGroupId(*group) for group in self._rows)

    def __contains__(self, group: object) -> bool:
        return isinstance(group, FileGroupId) and (group.partition_path, group.file_id) in self._rows

    def __getitem__(self, group: FileGroupId) -> IndexedSlice:
        row = self._rows[group.partition_path, group.file_id]
        names, rest = ([self._columns[name][row] for name in part] for part in (_IDENTITY, _REST))
        return IndexedSlice(SliceIdentity(group, *names), *rest)

    def uncovered(self, current: Sequence[FileSlice]) -> list[FileSlice]:
        """Those of these slices that the indexes don't describe."""
        is_described = np.zeros(len(current), np.bool_)
        is_described[match_slices(self._fields, identity_columns(current))[1]] = True
        return [current[position] for position in np.flatnonzero(~is_described).tolist()]

    def gone(self, current: Iterable[FileSlice]) -> list[FileGroupId]:
        """The file groups that are described and not among these slices."""
        left = self._rows.keys() - {
            (file_slice.group.partition_path, file_slice.group.file_id) for file_slice in current
        }
        return sorted(FileGroupId(*group) for group in left)


_GROUP = ("partitionPath", "fileId")
"""The fields that FileGroupId has, in its order."""
_IDENTITY = ("baseFile", "logFiles", "logFileSizes", "logFileTimes", "asOf")
"""The fields that SliceIdentity has after the file group, in its order."""
_REST = ("number", "rowCount", "baseFileSize", "instantTime", "schemaId")
"""The fields that IndexedSlice has after the identity, in its order."""


def match_slices(
    noted: Mapping[str, Any], current: Mapping[str, Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where a slice is exactly the one that is noted: rows of the notes, and the slices' places.

    Args:
        noted: Fields of the payload.
        current: `identity_columns` of slices.
    """
    if _are_same_groups(noted, current):
        # The usual case, and no file group has to be looked for: both are in the order of file groups.
        rows = positions = np.arange(len(current["fileId"]))
        pairs = [(noted[name], current[name]) for name in _IDENTITY]
        same = current["settled"].to_numpy(zero_copy_only=False).copy()
    else:
        found = pc.index_in(_group_names(noted), value_set=_group_names(current))
        rows = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        positions = found.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
        pairs = [
            (noted[name].take(pa.array(rows)), current[name].take(pa.array(positions))) for name in _IDENTITY
        ]
        same = current["settled"].take(pa.array(positions)).to_numpy(zero_copy_only=False).copy()
    for one, other in pairs:
        same &= _equal_lists(one, other) if pa.types.is_list(one.type) else _equal(one, other)
    return rows[same], positions[same]


def _are_same_groups(noted: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Whether notes and slices are of the same file groups, one by one."""
    return len(noted["fileId"]) == len(current["fileId"]) and all(
        pc.all(pc.equal(noted[name], current[name]), min_count=0).as_py() for name in _GROUP
    )


def _group_names(columns: Mapping[str, Any]) -> Any:
    """One text for each file group."""
    return pc.binary_join_element_wise(columns["partitionPath"], columns["fileId"], "\0")


def _equal(one: Any, other: Any) -> npt.NDArray[np.bool_]:
    """Where two columns are the same, null being the same as null."""
    both_null: Any = pc.and_(pc.is_null(one), pc.is_null(other))
    same: Any = pc.or_(pc.equal(one, other).fill_null(False), both_null)  # noqa: FBT003 - a value
    found: npt.NDArray[np.bool_] = same.to_numpy(zero_copy_only=False)
    return found


def _equal_lists(one: Any, other: Any) -> npt.NDArray[np.bool_]:
    sizes = [
        pc.fill_null(pc.list_value_length(each), 0).to_numpy(zero_copy_only=False) for each in (one, other)
    ]
    same: npt.NDArray[np.bool_] = sizes[0] == sizes[1]
    rows = np.flatnonzero(same & (sizes[0] > 0))
    if len(rows):
        chosen = pa.array(rows)
        items = _equal(pc.list_flatten(one.take(chosen)), pc.list_flatten(other.take(chosen)))
        starts = np.concatenate([[0], np.cumsum(sizes[0][rows])[:-1]])
        same[rows] = np.logical_and.reduceat(items, starts)
    return same


def _as_list(values: Any) -> list[Any]:
    """The values of a column; lists as tuples."""
    if not pa.types.is_list(values.type):
        found: list[Any] = values.to_pylist()
        return found
    # All lists at once: one by one costs ten times as much.
    inner: list[Any] = values.flatten().to_pylist()
    if not inner:
        return [()] * len(values)
    ends = np.cumsum(values.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)).tolist()
    return [tuple(inner[start:stop]) for start, stop in pairwise([0, *ends])]
