"""Where the file groups that an index describes are, by their numbers in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from hudi_index.metadata_table.bulk_lookup import Found
    from hudi_index.table import FileSlice

__all__ = ["LOCATED", "Locations", "file_name_of"]

_FIELDS: Any = [
    pa.field("position", pa.int64()),
    pa.field("path", pa.string()),
    pa.field("name", pa.string()),
    pa.field("instant", pa.string()),
    pa.field("ordering", pa.string()),
]
LOCATED = pa.schema(_FIELDS)
"""Where a record stands: the row that asked, partition path, a file of the group, its instant, its order."""


def file_name_of(file_slice: FileSlice) -> str:
    """A name that Hudi takes the file group's id from: that of its base file, if it has one."""
    return file_slice.base_file or f"{file_slice.group.file_id}_0-0-0_{file_slice.base_instant}.parquet"


@dataclass(frozen=True)
class Locations:
    """Of each number its file group. Arrays, because it travels to every task."""

    numbers: npt.NDArray[np.int64]
    """Rising."""
    paths: pa.Array[Any]
    names: pa.Array[Any]
    instants: pa.Array[Any]

    @classmethod
    def of(cls, numbered: Iterable[tuple[int, FileSlice]]) -> Locations:
        """Those of slices with their numbers."""
        slices = sorted(numbered, key=lambda each: each[0])
        paths: pa.Array[Any] = pa.array([each.group.partition_path for _, each in slices], pa.string())
        return cls(
            np.array([number for number, _ in slices], dtype=np.int64),
            paths.dictionary_encode(),
            pa.array([file_name_of(each) for _, each in slices], pa.string()),
            pa.array([each.base_instant for _, each in slices], pa.string()),
        )

    def locate(self, found: Found) -> pa.Table:
        """What a look-up found, as a table of LOCATED.

        Those of other file groups are left out: they are not described, so what is said of them may be old.
        """
        if not len(self.numbers):
            return LOCATED.empty_table()
        where = np.minimum(np.searchsorted(self.numbers, found.numbers), len(self.numbers) - 1)
        is_here = self.numbers[where] == found.numbers
        chosen: Any = pa.array(where[is_here])
        columns: list[Any] = [
            pa.array(found.positions[is_here]),
            self.paths.take(chosen).cast(pa.string()),
            self.names.take(chosen),
            self.instants.take(chosen),
            found.values.filter(pa.array(is_here)),
        ]
        return pa.table(columns, schema=LOCATED)
